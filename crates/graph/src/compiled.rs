//! A graph with a beginning and a result, and its state hidden. An engine keeps programs of many
//! states side by side, and a graph can have one as a node.

use std::error::Error;

use serde_json::Value;

use crate::error::{ResumeError, WalkError};
use crate::record::{Record, StepRef, Update};
use crate::task::Task;
use crate::topology::Topology;

/// Why a program cannot begin with an input.
pub type InvalidInput = Box<dyn Error + Send + Sync>;

/// Something that runs from an input `I` to an output `O`.
pub trait CompiledGraph<I, O>: Send + Sync {
    /// The plan of the graph.
    fn topology(&self) -> &Topology;

    /// Stands before the first step.
    ///
    /// # Errors
    /// Fails when the input does not do, or when a route out of START leaves the graph.
    fn start(&self, input: I) -> Result<Box<dyn RunCursor<O>>, WalkError>;
}

/// The way of one run through a graph: the pure part of running. It says what comes next and takes
/// what each step changed; it does nothing itself.
pub trait RunCursor<O>: Send {
    /// What comes next.
    fn next(&self) -> Next;

    /// The work of the next step, if the next step is work.
    fn task(&self) -> Option<Task>;

    /// What the answer to the question being asked changes.
    ///
    /// # Errors
    /// Refuses an answer that has not the form of the question, or that nothing asked for.
    fn resume(&self, answer: &Value) -> Result<Update, ResumeError>;

    /// Takes what the next step changed, and moves on.
    ///
    /// # Errors
    /// Fails when a route leaves the graph.
    fn apply(&mut self, update: Update) -> Result<(), WalkError>;

    /// Takes the record of the next step, and moves on.
    ///
    /// # Errors
    /// Fails when the record is not one of the step that comes next.
    fn replay(&mut self, record: &Record) -> Result<(), WalkError>;

    /// Reads what the next step changed from JSON.
    ///
    /// # Errors
    /// Fails when it is not an update of the state that the next step works on.
    fn decode(&self, json: &str) -> Result<Update, serde_json::Error>;

    /// The state as it is now.
    ///
    /// # Errors
    /// Fails when the state does not serialise.
    fn state(&self) -> Result<Value, serde_json::Error>;

    /// The result as it would be now. A stopped run keeps this.
    fn output(&self) -> O;
}

/// What comes next in a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// A node works.
    Work(StepRef),
    /// A node asks a person.
    Interrupt {
        /// The step that the answer will finish.
        step: StepRef,
        /// What is asked.
        question: Value,
    },
    /// The run is over.
    End,
}
