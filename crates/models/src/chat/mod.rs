//! Chat models behind any server that speaks OpenAI's protocol.
//!
//! The way of a call: `fit` leaves out what the model cannot hold, `wire` writes the request with what the
//! provider has (`abilities`) and puts the rest into the prompt (`prompted`), the governor lets it go, an `SseDecoder` and
//! `decode` read what comes (`thinking` and `written_calls` sort the text), `pieces` keeps the time, `reply`
//! checks the form (`schema`) and asks once more if it is wrong.

mod abilities;
mod decode;
mod fit;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod pieces;
mod prompted;
mod remote;
mod reply;
mod schema;
mod settings;
mod speed;
mod thinking;
mod tokens;
mod wire;
mod written_calls;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use ibid_core::model::{ChatModel, ChatRequest, ChatStream, ModelError, ReadingSpeed};

pub use abilities::{SchemaUse, ToolUse};
pub use remote::RemoteChat;
pub use settings::{ChatSettings, WindowSource};
pub(crate) use speed::LearnedSpeed;
pub use speed::ModelSpeed;
pub use tokens::{Tokenizer, UnknownTokenizer};

use reply::Reply;

/// A chat model with those that stand in for it: the first that can answer does.
pub struct Chat {
    first: Arc<RemoteChat>,
    fallbacks: Vec<Arc<RemoteChat>>,
    fallen_back: AtomicU64,
}

impl Chat {
    /// A model, and the ones to ask in its place, in their order.
    pub fn new(first: Arc<RemoteChat>, fallbacks: Vec<Arc<RemoteChat>>) -> Self {
        Self { first, fallbacks, fallen_back: AtomicU64::new(0) }
    }

    /// The model that is asked first.
    pub fn first(&self) -> &Arc<RemoteChat> {
        &self.first
    }

    /// How often another model was asked because the one before it could not answer.
    pub fn fallen_back(&self) -> u64 {
        self.fallen_back.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl ChatModel for Chat {
    fn name(&self) -> &str {
        &self.first.settings.name
    }

    fn context_tokens(&self) -> usize {
        self.first.context_tokens()
    }

    fn count_tokens(&self, text: &str) -> usize {
        self.first.settings.tokenizer.count(text)
    }

    fn reading_speed(&self) -> ReadingSpeed {
        self.first.reading_speed()
    }

    async fn chat(&self, request: ChatRequest) -> Result<ChatStream, ModelError> {
        let more = !self.fallbacks.is_empty();
        self.first.learn_window().await;
        let mut outcome = Reply::begin(self.first.clone(), request.clone(), more).await;
        for (index, next) in self.fallbacks.iter().enumerate() {
            match &outcome {
                Err(error) if error.other_model_may_help() => {
                    tracing::warn!(next = next.settings.name, %error, "asking the next model of the chain");
                }
                _ => break,
            }
            self.fallen_back.fetch_add(1, Ordering::Relaxed);
            next.learn_window().await;
            let more = index + 1 < self.fallbacks.len();
            outcome = Reply::begin(next.clone(), request.clone(), more).await;
        }
        outcome.inspect_err(|_| ibid_core::metric::model_failed(self.name()))
    }
}
