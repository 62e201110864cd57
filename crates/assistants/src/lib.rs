//! Assistants: graphs that answer from documents, their tools and prompts, and the guard over what they say.
//!
//! An [`Assistant`] is a folder of configuration and prompts. [`program`] makes of it, with [`Ports`] to models, documents
//! and tools, what an engine runs: from the history of a thread and a new message to an answer with citations, each
//! looked up in the page that it names.

mod basis;
pub mod definition;
mod folder;
mod format;
mod graph;
pub mod guard;
mod kit;
mod language;
mod prompts;
pub mod route;
mod shipped;
mod source;
mod steps;
pub mod tools;
mod turn;

pub use basis::Basis;
pub use definition::Definition;
pub use folder::{Assistant, FILE, InvalidAssistant, PROMPTS_FOLDER};
pub use format::{Cited, Confidence, Draft, Format, SCHEMA_VERSION, Written};
pub use graph::program;
pub use kit::Ports;
pub use language::Language;
pub use prompts::{Declared, PROMPTS, PromptError, Prompts};
pub use shipped::{SHIPPED, Shipped};
pub use source::{Listed, Origin, Source};
