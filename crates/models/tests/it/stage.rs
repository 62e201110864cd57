//! What the tests have in common: a provider, a model and a question.

use std::sync::Arc;
use std::time::Duration;

use ibid_core::Tenant;
use ibid_core::model::{Caller, ChatModel, ChatReply, ChatRequest, ModelError, Prompt, ask};
use ibid_models::{Chat, ChatSettings, Provider, ProviderSettings, RemoteChat};
use ibid_testkit::ScriptedServer;

pub(crate) fn provider(url: &str) -> ProviderSettings {
    ProviderSettings::new("scripted", url)
}

pub(crate) fn model_of(settings: ProviderSettings) -> Chat {
    Chat::new(remote(&Provider::new(settings, None).unwrap(), "test"), Vec::new())
}

pub(crate) fn remote(provider: &Arc<Provider>, name: &str) -> Arc<RemoteChat> {
    RemoteChat::new(provider.clone(), ChatSettings::new(name, "tiny"))
}

pub(crate) fn model(server: &ScriptedServer) -> Chat {
    model_of(provider(&server.url()))
}

pub(crate) fn caller() -> Caller {
    Caller::chat(Tenant::local())
}

pub(crate) fn question(text: &str) -> ChatRequest {
    ChatRequest::new(caller(), vec![Prompt::User(text.to_owned())])
}

pub(crate) async fn reply(model: &dyn ChatModel, text: &str) -> Result<ChatReply, ModelError> {
    ask(model, question(text)).await
}

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
