//! The port to a chat model.

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Caller, ChatPart, ChatReply, ModelError, ProgressListener, Prompt, ReadingSpeed};

/// The parts of a reply as they come. To drop it is to stop: the connection to the model is closed.
pub type ChatStream = BoxStream<'static, Result<ChatPart, ModelError>>;

/// A model that holds a conversation.
#[async_trait]
pub trait ChatModel: Send + Sync {
    /// Its name in the configuration.
    fn name(&self) -> &str;

    /// How many tokens it can read and write in one call.
    fn context_tokens(&self) -> usize;

    /// How many tokens a text takes, or a safe estimate that is not lower.
    fn count_tokens(&self, text: &str) -> usize;

    /// How fast it reads, as tokens are counted here.
    fn reading_speed(&self) -> ReadingSpeed {
        ReadingSpeed::Fast
    }

    /// Asks the model. It comes back with the first piece, so that a failure before that is an error here and
    /// a failure after it an error in the stream. To drop what this returns, or the stream, is to stop.
    ///
    /// # Errors
    /// Fails when no model of the chain could answer, the budget is spent, or the request cannot be met.
    async fn chat(&self, request: ChatRequest) -> Result<ChatStream, ModelError>;
}

/// What a model is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRequest {
    /// On whose behalf.
    pub caller: Caller,
    /// What it is shown. Where that does not fit, the oldest part of the conversation is left out; system
    /// prompts and the last question with what follows it never are.
    pub prompts: Vec<Prompt>,
    /// The tools that it may call.
    pub tools: Vec<ToolSpec>,
    /// Whether it may, must or must not call one.
    pub tool_choice: ToolChoice,
    /// The form that the answer must have. The reply then either has it or ends in an error.
    pub schema: Option<AnswerSchema>,
    /// How freely it chooses its words; the provider's own if not set.
    pub temperature: Option<f32>,
    /// How many tokens it may write; the model's own setting if not set.
    pub max_output_tokens: Option<usize>,
    /// Who is told how far the call is until the answer begins.
    pub progress: Option<ProgressListener>,
}

impl ChatRequest {
    /// Asks with these prompts.
    pub fn new(caller: Caller, prompts: Vec<Prompt>) -> Self {
        Self {
            caller,
            prompts,
            tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            schema: None,
            temperature: None,
            max_output_tokens: None,
            progress: None,
        }
    }
}

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name: letters, digits, underscores and hyphens.
    pub name: String,
    /// What it does and when it helps.
    pub description: String,
    /// A JSON schema of its arguments.
    pub parameters: Value,
}

/// Whether the model calls a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// As it sees fit.
    #[default]
    Auto,
    /// It must not.
    None,
    /// It must call one.
    Required,
    /// It must call this one.
    Named(String),
}

/// The form that an answer must have.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerSchema {
    /// What it is called.
    pub name: String,
    /// The JSON schema.
    pub schema: Value,
}

impl AnswerSchema {
    /// The schema of a Rust type, without references where possible: not every provider follows them.
    pub fn of<T: JsonSchema>() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        });
        let schema = settings.into_generator().into_root_schema_for::<T>().to_value();
        Self { name: T::schema_name().into_owned(), schema }
    }
}

/// Asks, and waits for the whole reply.
///
/// # Errors
/// Fails as [`ChatModel::chat`] and its stream fail.
pub async fn ask(model: &dyn ChatModel, request: ChatRequest) -> Result<ChatReply, ModelError> {
    ChatReply::collect(model.chat(request).await?).await
}

/// Asks for an answer of a Rust type.
///
/// # Errors
/// Fails as [`ask`] fails, and when the answer does not have the form even after the model was told.
pub async fn ask_for<T: JsonSchema + DeserializeOwned>(
    model: &dyn ChatModel,
    mut request: ChatRequest,
) -> Result<(T, ChatReply), ModelError> {
    request.schema = Some(AnswerSchema::of::<T>());
    let reply = ask(model, request).await?;
    let answer = serde_json::from_str(&reply.text)
        .map_err(|error| ModelError::Form { model: reply.model.clone(), reason: error.to_string() })?;
    Ok((answer, reply))
}
