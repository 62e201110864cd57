//! For tests only: a scripted model server over real HTTP, and the real one with a real small model.
//!
//! A [`ScriptedServer`] speaks OpenAI's protocol and plays what a [`Script`] says: fixed answers, tool calls in
//! pieces, refusals with `Retry-After`, stalls, cut connections. It records every request and how it ended.
//! [`RealModels`] knows where the real model files are and starts the real server. A [`Pulse`] measures a wait.

#![allow(clippy::expect_used, clippy::panic, reason = "what goes wrong here fails a test, and says so")]

pub mod cars;
mod data;
mod link;
mod postgres;
mod proxy;
mod pulse;
mod real;
mod reply;
mod script;
mod seen;
mod server;
mod storage;

pub use data::test_set;
pub use link::WeakLink;
pub use postgres::{RealPostgres, RealPostgresPair, SmallDisk};
pub use proxy::RoundRobinProxy;
pub use pulse::Pulse;
pub use real::{RealModels, RealServer};
pub use reply::Reply;
pub use script::Script;
pub use seen::{Ending, Seen};
pub use server::ScriptedServer;
pub use storage::RealStorage;
