//! The nouns that every other crate speaks in, and the ports through which assistants reach the world.
//! They carry rules in their types and know no engine, no store and no network.

pub mod evidence;
mod id;
mod message;
pub mod model;
mod name;
mod scope;
mod secret;
pub mod tool;
mod turn;

pub use id::{InvalidId, RunId, ThreadId};
pub use message::{Message, Role};
pub use name::{Corpus, InvalidName, Label, Tenant};
pub use scope::Scope;
pub use secret::Secret;
pub use turn::TurnInput;
