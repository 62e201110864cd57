//! How the graph `adaptive` tells what a person wants: the tiers that need no model.

pub mod mentions;
pub mod smalltalk;
