//! The server in this process: every stream mode and API with an assistant that needs no model, as snapshots.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod chaos;
mod in_process;
mod own_graph;
