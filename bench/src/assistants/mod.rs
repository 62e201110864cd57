//! Measures what assistants promise: that quotations are checked rightly, and that questions find their way.

mod cells;
mod quotes;

pub(crate) use cells::measure as cells;
pub(crate) use quotes::measure as quotes;
