//! A real small model that calls a tool.

use std::time::Duration;

use futures_util::StreamExt;
use ibid_core::Tenant;
use ibid_core::model::{Caller, ChatModel, ChatPart, ChatRequest, Prompt, ToolChoice, ToolSpec};
use ibid_models::{Chat, ChatSettings, Provider, ProviderSettings, RemoteChat};
use ibid_testkit::RealServer;
use serde_json::Value;

/// So long it may take to begin.
const PATIENCE: Duration = Duration::from_secs(900);
/// What its server holds at once.
const CONTEXT: usize = 4096;
/// A call has at most so many tokens.
const MOST_TOKENS: usize = 300;

/// The model, and the tool that it calls.
pub(super) struct TableCaller {
    model: Chat,
    tool: ToolSpec,
}

impl TableCaller {
    /// Starts its server.
    pub(super) fn start(tool: ToolSpec) -> anyhow::Result<Self> {
        let url = RealServer::large().url();
        let mut settings = ProviderSettings::new("local", &url);
        settings.is_near = true;
        (settings.limits.first_token, settings.governor.chat_wait) = (PATIENCE, PATIENCE);
        let mut chat = ChatSettings::new("local", "local");
        chat.context_tokens = CONTEXT;
        let model = Chat::new(RemoteChat::new(Provider::new(settings, None)?, chat), Vec::new());
        Ok(Self { model, tool })
    }

    /// The arguments of the call that it makes for a question; none if that cannot be read.
    pub(super) async fn call(&self, question: &str) -> anyhow::Result<Option<Value>> {
        let told = "Call the tool once with the arguments that answer the question.".to_owned();
        let prompts = vec![Prompt::System(told), Prompt::User(question.to_owned())];
        let mut request = ChatRequest::new(Caller::chat(Tenant::local()), prompts);
        request.tools = vec![self.tool.clone()];
        request.tool_choice = ToolChoice::Named(self.tool.name.clone());
        request.temperature = Some(0.0);
        request.max_output_tokens = Some(MOST_TOKENS);
        let mut parts = match self.model.chat(request).await {
            Ok(parts) => parts,
            Err(error) => {
                eprintln!("{error}");
                return Ok(None);
            }
        };
        let mut text = String::new();
        while let Some(part) = parts.next().await {
            match part {
                Ok(ChatPart::Call(call)) => return Ok(Some(call.arguments)),
                Ok(ChatPart::Text(piece)) => text.push_str(&piece),
                Ok(_) => {}
                Err(error) => {
                    eprintln!("{error}");
                    return Ok(None);
                }
            }
        }
        eprintln!("no call: {text}");
        Ok(None)
    }
}
