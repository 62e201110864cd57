//! Measures what assistants promise: that quotations are checked rightly, and that questions find their way.

mod cache;
mod catalogue;
mod cells;
mod library;
mod quotes;
mod table_caller;
mod tables;

pub(crate) use cache::measure as cache;
pub(crate) use catalogue::measure as catalogue;
pub(crate) use cells::measure as cells;
pub(crate) use quotes::measure as quotes;
pub(crate) use tables::measure as tables;
