//! What the local engine promises, by behaviour, on a real file.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod conforms;
mod crash;
mod faulty_disk;
mod file;
mod pending_events;
mod postgres;
mod shared;
