//! Where settings come from: a file, the environment and flags, each with its source.

mod known;
mod layers;
mod reference;

pub(crate) use layers::{Loaded, load};
pub(crate) use reference::reference;
