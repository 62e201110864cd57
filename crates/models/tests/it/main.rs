//! Models against servers: a scripted one that plays what real providers do, and the real one.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test that fails says so")]

mod chatting;
mod elsewhere;
mod forms;
mod governing;
mod here;
mod lacking;
mod near;
mod secrets;
mod stage;
mod stopping;
mod windows;
mod with_real_server;
