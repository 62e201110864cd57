//! The nouns that every other crate speaks in. They carry rules in their types and know no engine,
//! no store and no network.

mod id;
mod message;
mod scope;
mod turn;

pub use id::{InvalidId, RunId, ThreadId};
pub use message::{Message, Role};
pub use scope::{InvalidTenant, Scope, Tenant};
pub use turn::TurnInput;
