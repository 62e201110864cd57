//! Assistants: graphs that answer from documents, their tools and prompts, and the guard over what they say.
//!
//! An [`Assistant`] is a folder of configuration and prompts. [`assistant_graph`] makes of it, with [`Ports`] to models, documents
//! and tools, what an engine runs: from the history of a thread and a new message to an answer with citations, each
//! looked up in the page that it names.

mod answer;
mod cache;
pub mod catalogue;
mod columns;
mod concierge;
pub mod definition;
pub mod financing;
mod folder;
mod format;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod graph;
pub mod guard;
mod language;
mod node_context;
mod packing;
mod payment;
mod prompts;
mod records;
mod research;
pub mod route;
mod shipped;
mod source;
mod steps;
mod tool_use;
pub mod tools;
mod turn;

pub use cache::question_form;
pub use columns::named_columns;
pub use definition::Definition;
pub use folder::{Assistant, FAQ_FOLDER, FILE, InvalidAssistant, PROMPTS_FOLDER};
pub use format::{AnswerFormat, CitationDraft, Draft, FORMATS_FOLDER, ParsedAnswer, TEXT};
pub use graph::assistant_graph;
pub use language::{Language, Spoken};
pub use node_context::{Ports, WebAccess};
pub use prompts::{Declared, PROMPTS, PromptError, Prompts};
pub use shipped::{SHIPPED, Shipped};
pub use source::{Origin, Source};
pub use steps::FAQ;
