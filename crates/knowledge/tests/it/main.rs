//! Loading and finding, on a real store: a folder, and a real server of object storage.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]
#![recursion_limit = "256"]

mod cache;
mod erasing;
mod loading;
mod power;
mod remote;
mod replacing;
mod scopes;
mod stage;
mod tables;
