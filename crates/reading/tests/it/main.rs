//! Reading real documents with the real PDFium, in real processes.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(target_os = "linux")]
mod confined;
mod forms;
mod hard;
mod office;
mod schedule;
mod stage;
mod tables;
