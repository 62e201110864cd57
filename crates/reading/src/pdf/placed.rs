//! Tables where they stand on a page.

use super::glyphs::Glyph;
use crate::page::{Rect, Table};

/// A table and the part of the page that it takes.
pub(crate) struct PlacedTable {
    pub(crate) table: Table,
    pub(crate) place: Rect,
}

impl PlacedTable {
    /// Whether a glyph stands in it.
    pub(crate) fn holds(&self, glyph: &Glyph) -> bool {
        self.place.holds(glyph.centre())
    }
}

/// The glyphs in a part of the page.
pub(crate) fn inside(glyphs: &[Glyph], place: Rect) -> Vec<Glyph> {
    glyphs.iter().filter(|glyph| place.holds(glyph.centre())).copied().collect()
}
