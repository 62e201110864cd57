//! What the graph core promises, by behaviour.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod building;
mod drawing;
mod journals;
mod random_graphs;
mod running;
