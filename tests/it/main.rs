//! Assistants from the question to the answer: a real engine, a real index of real documents, models over real HTTP.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]
#![recursion_limit = "256"]

mod answers;
mod cache;
mod catalogue;
mod concierge;
mod examples;
mod grounding;
mod injection;
mod knowledge;
mod laptop;
mod library;
mod mcp;
mod research;
mod resuming;
mod retrieval;
mod routing;
mod scenario;
mod scenarios;
mod showroom;
mod stage;
mod web;
