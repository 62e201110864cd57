//! The nouns that every other crate speaks in, the events of turns and loads, and the ports through which assistants reach
//! the world. They carry rules in their types and know no engine, no store and no network.

mod access_role;
pub mod answer;
pub mod cache;
pub mod catalogue;
mod decimal;
mod draft;
mod error_chain;
pub mod event;
pub mod evidence;
mod id;
pub mod load;
mod location;
mod message;
pub mod metric;
pub mod model;
mod name;
pub mod research;
mod scope;
mod secret;
mod status;
pub mod table;
pub mod table_query;
pub mod tool;
pub mod trace;
mod turn;
pub mod value;
pub mod web;

pub use access_role::{AccessRole, InvalidRole};
pub use answer::AnswerMetadata;
pub use error_chain::error_chain;
pub use event::{LoadEvent, RunEvent, TurnEvent};
pub use id::{InvalidId, QueueId, RunId, ThreadId};
pub use location::{Location, LocationUnit, place_in_words};
pub use message::{Message, Role};
pub use name::{Corpus, InvalidName, KeyName, Label, SourceName, Tenant};
pub use scope::{Focus, Scope};
pub use secret::Secret;
pub use status::RunStatus;
pub use turn::{JobInput, TurnInput, TurnOptions};
