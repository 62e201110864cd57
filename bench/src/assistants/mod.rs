//! Measures what assistants promise: that quotations are checked rightly, and that questions find their way.

mod quotes;

pub(crate) use quotes::measure as quotes;
