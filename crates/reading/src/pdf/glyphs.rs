//! What PDFium sees on a page: glyphs and rules, upright, from the upper left corner.

use pdfium_render::prelude::{
    PdfMatrix, PdfPage, PdfPageObject, PdfPageObjectCommon, PdfPageObjectsCommon, PdfPageRenderRotation,
    PdfPathSegmentType, PdfiumError,
};

use super::turn::Turn;
use crate::page::Rect;

/// More glyphs than this on one page are an attack or a drawing, not a text.
const MOST_GLYPHS: usize = 200_000;
/// More objects than this on one page are not looked at for rules.
const MOST_OBJECTS: usize = 100_000;
/// Forms inside forms are followed this deep.
const DEEPEST_FORM: usize = 8;
/// What stands further from the page than this, in points, is not on it.
const FARTHEST: f32 = 100_000.0;
/// What is thinner than this is a rule, not an area.
const THINNEST: f32 = 3.0;

/// A character and its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Glyph {
    pub(crate) char: char,
    pub(crate) place: Rect,
    /// The line on which it stands.
    pub(crate) baseline: f32,
    pub(crate) size: f32,
    /// Whether the file has a space before it.
    pub(crate) spaced: bool,
}

impl Glyph {
    /// The middle of its place.
    pub(crate) fn centre(&self) -> (f32, f32) {
        let place = self.place;
        (f32::midpoint(place.left, place.right), f32::midpoint(place.top, place.bottom))
    }
}

/// A straight line that separates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rule {
    /// Where it stands: x if it is vertical, y if it is horizontal.
    pub(crate) at: f32,
    pub(crate) from: f32,
    pub(crate) to: f32,
    pub(crate) vertical: bool,
}

/// Everything on a page that reading needs.
pub(crate) struct Canvas {
    pub(crate) glyphs: Vec<Glyph>,
    pub(crate) rules: Vec<Rule>,
    /// How the page was turned so that its text is upright.
    pub(crate) turn: Turn,
    /// Whether an image covers much of the page.
    pub(crate) pictured: bool,
    /// Whether one covers nearly all of it, as a scan does.
    pub(crate) covered: bool,
    /// Whether there was more than is looked at.
    pub(crate) cut: bool,
    /// Glyphs that stand for no character.
    pub(crate) unknown: usize,
}

impl Canvas {
    pub(crate) fn of(page: &PdfPage<'_>) -> Result<Self, PdfiumError> {
        let text = page.text()?;
        let mut raw = Vec::new();
        let mut angles = [0_usize; 4];
        let (mut cut, mut spaced, mut unknown) = (false, false, 0);
        for char in text.chars().iter() {
            if raw.len() == MOST_GLYPHS {
                cut = true;
                break;
            }
            let value = char.unicode_char().unwrap_or('\0');
            if char.is_generated().unwrap_or(false) {
                continue;
            }
            if value.is_whitespace() {
                spaced = true;
                continue;
            }
            // What PDFium cannot name comes as 0, as a replacement or from an area for private use; a
            // hyphen at the end of a line comes as a control character.
            let value = if value == '\u{2}' { '-' } else { value };
            if value == '\0'
                || value == char::REPLACEMENT_CHARACTER
                || ('\u{e000}'..='\u{f8ff}').contains(&value)
            {
                unknown += 1;
                continue;
            }
            if value.is_control() {
                continue;
            }
            let (Ok(place), Ok((x, y))) = (char.loose_bounds(), char.origin()) else { continue };
            let angle = quarter(char.angle_radians().unwrap_or_default());
            angles[angle] += 1;
            raw.push((value, place, x.value, y.value, char.scaled_font_size().value.abs(), spaced));
            spaced = false;
        }
        let dominant = (0..4).max_by_key(|&angle| (angles[angle], 4 - angle)).unwrap_or_default();
        let bounds =
            page.boundaries().bounding().map_or_else(|_| page.page_size(), |boundary| boundary.bounds);
        let seen = match page.rotation().unwrap_or(PdfPageRenderRotation::None) {
            PdfPageRenderRotation::None => 0,
            PdfPageRenderRotation::Degrees90 => 1,
            PdfPageRenderRotation::Degrees180 => 2,
            PdfPageRenderRotation::Degrees270 => 3,
        };
        let turn = Turn::new(
            [bounds.left().value, bounds.bottom().value, bounds.right().value, bounds.top().value],
            dominant,
            seen,
        );
        let glyphs = raw.into_iter().map(|(char, place, x, y, size, spaced)| {
            let place = turn.upright([
                place.left().value,
                place.bottom().value,
                place.right().value,
                place.top().value,
            ]);
            let (_, baseline) = turn.point(x, y);
            let size = if size > 0.0 { size } else { place.bottom - place.top };
            Glyph { char, place, baseline, size, spaced }
        });
        let far = |place: Rect| {
            let sides = [place.left, place.top, place.right, place.bottom];
            !sides.iter().all(|side| side.is_finite() && side.abs() < FARTHEST)
        };
        let glyphs = glyphs.filter(|glyph| !far(glyph.place) && glyph.baseline.is_finite()).collect();
        let mut canvas =
            Self { glyphs, rules: Vec::new(), turn, pictured: false, covered: false, cut, unknown };
        let mut left = MOST_OBJECTS;
        for object in page.objects().iter() {
            canvas.look(&object, &PdfMatrix::IDENTITY, 0, &mut left);
        }
        canvas.cut |= left == 0;
        canvas.without_doubles();
        Ok(canvas)
    }

    /// The width and height of the upright page.
    pub(crate) fn size(&self) -> (f32, f32) {
        self.turn.size()
    }

    fn look(&mut self, object: &PdfPageObject<'_>, outer: &PdfMatrix, depth: usize, left: &mut usize) {
        if *left == 0 {
            return;
        }
        *left -= 1;
        match object {
            PdfPageObject::Path(path) => {
                let drawn = path.is_stroked().unwrap_or(true)
                    || !matches!(path.fill_mode(), Ok(pdfium_render::prelude::PdfPathFillMode::None));
                if !drawn {
                    return;
                }
                let Ok(matrix) = path.matrix() else { return };
                let matrix = matrix.multiply(*outer);
                self.path(path, &matrix);
            }
            PdfPageObject::XObjectForm(form) if depth < DEEPEST_FORM => {
                let Ok(matrix) = form.matrix() else { return };
                let matrix = matrix.multiply(*outer);
                for inner in form.iter() {
                    self.look(&inner, &matrix, depth + 1, left);
                }
            }
            PdfPageObject::Image(image) => {
                let Ok(bounds) = image.bounds() else { return };
                let place = self.turn.upright([
                    bounds.left().value,
                    bounds.bottom().value,
                    bounds.right().value,
                    bounds.top().value,
                ]);
                let (width, height) = self.size();
                let area = (place.right - place.left) * (place.bottom - place.top);
                self.pictured |= depth > 0 || area > 0.3 * width * height;
                self.covered |= area > 0.8 * width * height;
            }
            _ => {}
        }
    }

    /// The straight sides of a path.
    fn path(&mut self, path: &pdfium_render::prelude::PdfPagePathObject<'_>, matrix: &PdfMatrix) {
        use pdfium_render::prelude::PdfPathSegments as _;
        let segments = path.segments();
        let (mut start, mut last) = ((0.0, 0.0), (0.0, 0.0));
        let mut sides: Vec<((f32, f32), (f32, f32))> = Vec::new();
        for segment in segments.iter() {
            let (x, y) = segment.point();
            let (x, y) = matrix.apply_to_points(x, y);
            let here = self.turn.point(x.value, y.value);
            match segment.segment_type() {
                PdfPathSegmentType::MoveTo => start = here,
                PdfPathSegmentType::LineTo => sides.push((last, here)),
                PdfPathSegmentType::BezierTo | PdfPathSegmentType::Unknown => {}
            }
            last = here;
            if segment.is_close() {
                sides.push((last, start));
            }
            if sides.len() > 400 {
                return;
            }
        }
        let Some(all) = Rect::around(sides.iter().map(|&(a, b)| Rect::between(a, b))) else { return };
        if ![all.left, all.top, all.right, all.bottom]
            .iter()
            .all(|side| side.is_finite() && side.abs() < FARTHEST)
        {
            return;
        }
        let (width, height) = (all.right - all.left, all.bottom - all.top);
        if width <= THINNEST && height > THINNEST {
            self.rules.push(Rule {
                at: f32::midpoint(all.left, all.right),
                from: all.top,
                to: all.bottom,
                vertical: true,
            });
        } else if height <= THINNEST && width > THINNEST {
            self.rules.push(Rule {
                at: f32::midpoint(all.top, all.bottom),
                from: all.left,
                to: all.right,
                vertical: false,
            });
        } else {
            for (a, b) in sides {
                let side = Rect::between(a, b);
                let (width, height) = (side.right - side.left, side.bottom - side.top);
                if width < 1.0 && height > THINNEST {
                    self.rules.push(Rule { at: side.left, from: side.top, to: side.bottom, vertical: true });
                } else if height < 1.0 && width > THINNEST {
                    self.rules.push(Rule { at: side.top, from: side.left, to: side.right, vertical: false });
                }
            }
        }
    }

    /// Bold is sometimes drawn as the same glyph twice, a hair apart: one is enough.
    fn without_doubles(&mut self) {
        let mut seen: std::collections::HashMap<(char, i32, i32), Vec<(f32, f32)>> =
            std::collections::HashMap::new();
        self.glyphs.retain(|glyph| {
            let (beside, above) = (glyph.size * 0.1, glyph.size * 0.25);
            let bucket = |value: f32| (value / 4.0).round() as i32;
            let (x, y) = (glyph.place.left, glyph.baseline);
            for dx in -1..=1 {
                for dy in -1..=1 {
                    if let Some(found) = seen.get(&(glyph.char, bucket(x) + dx, bucket(y) + dy))
                        && found.iter().any(|&(a, b)| (a - x).abs() < beside && (b - y).abs() < above)
                    {
                        return false;
                    }
                }
            }
            seen.entry((glyph.char, bucket(x), bucket(y))).or_default().push((x, y));
            true
        });
    }
}

/// Which quarter turn, counter-clockwise, an angle is nearest to. PDFium counts clockwise.
fn quarter(radians: f32) -> usize {
    (-radians / std::f32::consts::FRAC_PI_2).round().rem_euclid(4.0) as usize
}
