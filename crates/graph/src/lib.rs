//! Typed state graphs whose every finished step is written down.
//!
//! A [`Graph`] has a typed [`State`], named nodes, edges, branches and bounded cycles. A node reads the
//! state and returns what it changes; that change is the step's record. Running is split in two:
//! a [`Walk`] (pure) says what comes next given the changes so far, and [`run`] (effectful) performs it
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
//!     type Change = String;
//!     fn apply(&mut self, change: String) { self.text = Some(change); }
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
#[cfg(feature = "conformance")]
pub mod conformance;
mod context;
mod error;
mod event;
mod graph;
mod journal;
mod mermaid;
mod program;
mod record;
mod retry;
mod run;
mod shape;
mod state;
mod task;
mod typed;
mod validate;
mod walk;

pub use builder::GraphBuilder;
pub use context::{Context, Host};
pub use error::{
    AnswerError, ErrorExt, JournalError, NodeError, Retryable, RunError, StepError, Terminal, WalkError,
};
pub use event::{EventSink, Kind, Silent, StepEvent};
pub use graph::Graph;
pub use journal::{Asked, Journal, MemoryJournal, MemoryJournals, Perform, Taken, Unjournaled};
pub use program::{Begin, Course, Next, Program};
pub use record::{Change, RECORD_LIMIT_BYTES, Record, RecordError, StepRef};
pub use retry::RetryPolicy;
pub use run::{Ending, run, run_unsettled};
pub use shape::{Bound, END, InvalidVersion, START, Shape, ShapeEdge, ShapeKind, ShapeNode, Version};
pub use state::State;
pub use task::{Attempts, Performed, Task};
pub use validate::{BuildError, Problem};
pub use walk::Walk;
