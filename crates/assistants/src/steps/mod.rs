//! The nodes of the graphs. Each reads the turn, does one thing, and says what changed.

mod agent;
mod arguments;
mod condense;
mod generate;
mod plan;
mod retrieve;
mod rewrite;
mod route;
mod tools;
mod verify;

pub(crate) use agent::{agent, wants_tools};
pub(crate) use condense::condense;
pub(crate) use generate::{generate, repair};
pub(crate) use plan::plan;
pub(crate) use retrieve::retrieve;
pub(crate) use rewrite::rewrite;
pub(crate) use route::{classify, route};
pub(crate) use tools::tools;
pub(crate) use verify::{MOST_REPAIRS, is_rejected, verify};
