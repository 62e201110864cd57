//! Typed state graphs whose every finished step is written down.
//!
//! A [`Graph`] has a typed [`State`], named nodes, edges, branches and bounded cycles. A node reads the
//! state and returns what it changes; that update is the step's record. Running is split in two:
//! a [`Walk`] (pure) says what comes next given the updates so far, and [`run`] (effectful) performs it
//! and has a [`Journal`] write it down before the next step begins. So a run can be stopped after any
//! step and taken up later, in another process, with no finished step run again; and the state after
//! any step can be rebuilt, and a new run forked from it.
//!
//! The crate knows no model, no HTTP and no SQL. It can be used alone:
//!
//! ```
//! use std::sync::Arc;
//! use ibid_graph::{Context, END, Graph, NodeError, START, State};
//!
//! #[derive(Clone, serde::Serialize)]
//! struct Greeting { name: String, text: Option<String> }
//!
//! impl State for Greeting {
//!     type Update = String;
//!     fn apply(&mut self, update: String) { self.text = Some(update); }
//! }
//!
//! async fn greet(state: Arc<Greeting>, context: Context) -> Result<String, NodeError> {
//!     context.status("greeting");
//!     Ok(format!("hello, {}", state.name))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let graph = Graph::builder("greeting")
//!     .node("greet", greet)
//!     .edge(START, "greet")
//!     .edge("greet", END)
//!     .build()?;
//! let end = graph.run(Greeting { name: "Ada".into(), text: None }).await?;
//! assert_eq!(end.text.as_deref(), Some("hello, Ada"));
//! # Ok(())
//! # }
//! ```
//!
//! `examples/corrective_loop.rs` shows a cycle with a bound and a journal that outlives a crash.

mod builder;
mod compiled;
#[cfg(feature = "conformance")]
pub mod conformance;
mod context;
mod error;
mod event;
mod graph;
mod journal;
mod mermaid;
mod record;
mod retry;
mod run;
mod state;
mod task;
mod topology;
mod typed;
mod validate;
mod walk;

pub use builder::GraphBuilder;
pub use compiled::{CompiledGraph, InvalidInput, Next, RunCursor};
pub use context::{Context, RunHost};
pub use error::{
    ErrorExt, JournalError, NodeError, ResumeError, Retryable, RunError, StepError, Terminal, WalkError,
};
pub use event::{EventKind, EventSink, NullSink, StepEvent};
pub use graph::Graph;
pub use journal::{Interrupted, Journal, MemoryJournal, MemoryJournals, NoJournal, Perform, StepOutcome};
pub use record::{RECORD_LIMIT_BYTES, Record, RecordError, StepRef, Update};
pub use retry::RetryPolicy;
pub use run::{Ending, run, run_unflushed};
pub use state::State;
pub use task::{Attempts, Performed, Task};
pub use topology::{
    Bound, END, InvalidVersion, START, Topology, TopologyEdge, TopologyNode, TopologyNodeKind, Version,
};
pub use validate::{BuildError, GraphProblem};
pub use walk::Walk;
