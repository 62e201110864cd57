//! The nodes of the graphs. Each reads the turn, does one thing, and says what changed.

mod agent;
mod arguments;
mod check_answer;
mod check_grounding;
mod conclude;
mod condense;
mod generate;
mod grade;
mod look_up;
mod plan;
mod remember;
mod retrieve;
mod rewrite;
mod route;
mod search_again;
mod tools;
mod verify;
mod web_search;

pub(crate) use agent::{agent, wants_tools};
pub(crate) use check_answer::check_answer;
pub(crate) use check_grounding::check_grounding;
pub(crate) use conclude::conclude;
pub(crate) use condense::condense;
pub(crate) use generate::{generate, repair};
pub(crate) use grade::grade;
pub(crate) use look_up::{look_up, or_recall};
pub(crate) use plan::plan;
pub(crate) use remember::{may_be_kept, remember};
pub(crate) use retrieve::retrieve;
pub(crate) use rewrite::rewrite;
pub(crate) use route::{classify, route};
pub(crate) use search_again::search_again;
pub(crate) use tools::tools;
pub(crate) use verify::{MOST_REPAIRS, is_rejected, verify};
pub(crate) use web_search::{WebReply, next_to_web, web_query, web_search};
