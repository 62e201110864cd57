//! From the space of a PDF to an upright page, and on to the page as a viewer shows it.

use crate::page::Rect;

/// Quarter turns of a page. A file's own coordinates grow upwards; reading wants them from the upper
/// left corner with the text upright; a viewer turns the page as the file says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// The visible part: left, bottom, right, top.
    bounds: [f32; 4],
    /// Counter-clockwise quarter turns of the text in the file's space.
    text: usize,
    /// Clockwise quarter turns that a viewer gives the page.
    seen: usize,
}

impl Turn {
    pub(crate) fn new(bounds: [f32; 4], text: usize, seen: usize) -> Self {
        Self { bounds, text, seen }
    }

    fn extent(&self) -> (f32, f32) {
        (self.bounds[2] - self.bounds[0], self.bounds[3] - self.bounds[1])
    }

    /// The width and height of the page after some clockwise quarter turns.
    fn turned(&self, quarters: usize) -> (f32, f32) {
        let (width, height) = self.extent();
        if quarters.is_multiple_of(2) { (width, height) } else { (height, width) }
    }

    /// The width and height of the upright page.
    pub(crate) fn size(&self) -> (f32, f32) {
        self.turned(self.text)
    }

    /// The width and height of the page as a viewer shows it.
    pub(crate) fn seen_size(&self) -> (f32, f32) {
        self.turned(self.seen)
    }

    /// A point of the file on the upright page.
    pub(crate) fn point(&self, x: f32, y: f32) -> (f32, f32) {
        let (width, height) = self.extent();
        let (x, y) = (x - self.bounds[0], self.bounds[3] - y);
        clockwise(x, y, width, height, self.text)
    }

    /// A rectangle of the file (left, bottom, right, top) on the upright page.
    pub(crate) fn upright(&self, [left, bottom, right, top]: [f32; 4]) -> Rect {
        Rect::between(self.point(left, bottom), self.point(right, top))
    }

    /// A place on the upright page as a viewer shows it.
    pub(crate) fn as_seen(&self, place: Rect) -> Rect {
        let (width, height) = self.size();
        let quarters = (self.seen + 4 - self.text) % 4;
        let turn = |x, y| clockwise(x, y, width, height, quarters);
        Rect::between(turn(place.left, place.top), turn(place.right, place.bottom))
    }
}

/// A point of a page of this size, after the page is turned clockwise.
fn clockwise(x: f32, y: f32, width: f32, height: f32, quarters: usize) -> (f32, f32) {
    match quarters {
        1 => (height - y, x),
        2 => (width - x, height - y),
        3 => (y, width - x),
        _ => (x, y),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_a_viewer_turns_reads_upright_and_is_shown_where_it_is() {
        // Text that runs upwards in the file, on a page that the viewer turns clockwise.
        let turn = Turn::new([0.0, 0.0, 600.0, 800.0], 1, 1);
        assert_eq!(turn.size(), (800.0, 600.0));
        // The first letter stands at the lower left of the file, hence at the upper left as read.
        assert_eq!(turn.point(0.0, 0.0), (0.0, 0.0));
        let place = turn.upright([10.0, 20.0, 30.0, 40.0]);
        assert_eq!(turn.as_seen(place), place);
    }

    #[test]
    fn text_that_lies_on_its_side_is_read_upright_and_shown_lying() {
        let turn = Turn::new([0.0, 0.0, 600.0, 800.0], 1, 0);
        let place = turn.upright([100.0, 50.0, 112.0, 300.0]);
        assert!(place.right - place.left > place.bottom - place.top);
        assert_eq!(turn.as_seen(place), Rect { left: 100.0, top: 500.0, right: 112.0, bottom: 750.0 });
    }
}
