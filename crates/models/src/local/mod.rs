//! Models that run in this process on ONNX Runtime, from files: the library (`runtime`), what a model's folder
//! says of it (`card`), and the network with its tokenizer (`network`).

mod card;
mod network;
mod runtime;

pub use card::{Card, ModelKind, Pooling};
pub(crate) use card::{FILE as CARD_FILE, unusable};
pub(crate) use network::{Input, Network, Output};
pub use runtime::Runtime;
