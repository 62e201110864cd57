//! What the engines promise, by behaviour, on real files and a real database.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod conforms;
mod copying;
mod crash;
mod faulty_database;
mod faulty_disk;
mod file;
mod pending_events;
mod postgres;
mod scale;
mod shared;
