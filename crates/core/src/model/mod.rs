//! The ports to models: chat, embedding, reranking, grounding. Whoever holds one knows neither provider nor protocol.

mod caller;
mod chat;
mod embed;
mod error;
mod grounding;
mod part;
mod price;
mod progress;
mod prompt;
mod rerank;
mod share;
mod speed;
mod spending;

pub use caller::{Caller, Class};
pub use chat::{AnswerSchema, ChatModel, ChatRequest, ChatStream, ToolChoice, ToolSpec, ask, ask_for};
pub use embed::{Embedder, Purpose, Similarity, Vectors};
pub use error::ModelError;
pub use grounding::Grounding;
pub use part::{ChatPart, ChatReply, Finish, Usage};
pub use price::TokenPrices;
pub use progress::{CallProgress, ProgressListener, ReadingProgress};
pub use prompt::{Prompt, ToolCall};
pub use rerank::Reranker;
pub use share::AccountShare;
pub use speed::ReadingSpeed;
pub use spending::{Day, Spending, SpendingError};
