//! What a graph carries from node to node, and how it changes.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The typed state of a run.
///
/// A node reads the state and returns a [`Update`](State::Update); it never writes the state itself.
/// The update is what a journal keeps, so a step costs what it changed, however large the state is,
/// and a run is rebuilt by applying its changes in order to the state it began with.
///
/// `apply` must depend on nothing but its arguments: no clock, no randomness, no outside world.
/// Old changes are read by newer code, so give new fields of an update a `#[serde(default)]`.
pub trait State: Clone + Serialize + Send + Sync + 'static {
    /// What one step changed. Often an enum with one variant for each node.
    type Update: Serialize + DeserializeOwned + Send + 'static;

    /// Brings the state up to date with one update.
    fn apply(&mut self, update: Self::Update);
}
