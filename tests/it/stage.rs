//! One assistant on a real engine, with models at a server that the test has started.

use std::path::Path;
use std::sync::Arc;

use futures_util::StreamExt;
use ibid_assistants::tools::of_documents;
use ibid_assistants::{Assistant, Ports, SHIPPED, program};
use ibid_core::evidence::Index;
use ibid_core::model::ChatModel;
use ibid_core::tool::Tool;
use ibid_core::{Message, RunId, Scope, Tenant, ThreadId};
use ibid_engine::{
    Assistant as Runnable, Assistants, Engine, Event, LocalEngine, LocalSettings, MessageWindow, Turn,
};
use ibid_graph::Kind;
use ibid_models::{Chat, ChatSettings, Provider, ProviderSettings, RemoteChat};
use serde_json::Value;

/// One assistant and what it works with.
pub(crate) struct Stage {
    pub(crate) assistant: Assistant,
    pub(crate) index: Arc<dyn Index>,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    /// Where the models are.
    pub(crate) url: String,
    /// How many tokens they hold.
    pub(crate) context: usize,
}

/// A turn that has ended.
pub(crate) struct Played {
    pub(crate) events: Vec<Event>,
    pub(crate) message: Option<Message>,
    pub(crate) error: Option<String>,
}

impl Stage {
    /// A shipped assistant.
    pub(crate) fn of(name: &str, index: Arc<dyn Index>, url: String) -> Self {
        let shipped = SHIPPED.iter().find(|shipped| shipped.name == name).expect("it ships");
        let assistant = shipped.read().unwrap();
        let tools = assistant
            .definition
            .tools
            .iter()
            .filter_map(|tool| of_documents(tool, &index, &assistant.definition.retrieval))
            .collect();
        Self { assistant, index, tools, url, context: 16_384 }
    }

    fn chat(&self, name: &str) -> Arc<dyn ChatModel> {
        let provider = Provider::new(ProviderSettings::new(name, &self.url), None).unwrap();
        let mut settings = ChatSettings::new(name, name);
        settings.context_tokens = self.context;
        Arc::new(Chat::new(RemoteChat::new(provider, settings), Vec::new()))
    }

    /// The engine with this assistant, on a file.
    pub(crate) async fn engine(&self, file: &Path) -> LocalEngine {
        let (answer, small) = (self.chat("strong"), self.chat("small"));
        let ports = Ports { answer, small, index: self.index.clone(), tools: self.tools.clone() };
        let Assistant { name, definition, prompts } = self.assistant.clone();
        let history = definition.limits.history_messages;
        let program = program(&name, definition, prompts, ports).unwrap();
        let assistants: Assistants = [(name, Runnable { program, history })].into_iter().collect();
        LocalEngine::open(file, assistants, LocalSettings::default()).await.unwrap()
    }

    /// Submits a turn.
    pub(crate) async fn submit(
        &self,
        engine: &LocalEngine,
        thread: ThreadId,
        say: &str,
        options: &[(&str, &str)],
    ) -> RunId {
        let mut turn = Turn::new(thread, &self.assistant.name, Message::user(say));
        for (name, value) in options {
            turn.options.insert((*name).to_owned(), (*value).into());
        }
        engine.submit(&scope(), turn).await.unwrap().run
    }
}

/// Everybody at the one tenant of the tests.
pub(crate) fn scope() -> Scope {
    Scope::of(Tenant::local())
}

/// Waits for the end of a turn.
pub(crate) async fn played(engine: &LocalEngine, thread: ThreadId, run: RunId) -> Played {
    let events = engine.events(&scope(), run, 0).await.unwrap();
    let events: Vec<Event> = events.map(Result::unwrap).collect().await;
    let error = events.iter().find_map(|event| match &event.what.kind {
        Kind::Ended { error, .. } => error.clone(),
        _ => None,
    });
    let window = MessageWindow { before: None, limit: 1 };
    let message = engine.messages(&scope(), thread, window).await.unwrap().pop().map(|said| said.message);
    Played { events, message, error }
}

impl Played {
    /// The nodes that worked, in their order.
    pub(crate) fn path(&self) -> Vec<String> {
        let started = self.events.iter().filter_map(|event| match &event.what.kind {
            Kind::Started { node } => Some(node.to_string()),
            _ => None,
        });
        started.collect()
    }

    /// What was told under a name.
    pub(crate) fn told(&self, wanted: &str) -> Vec<Value> {
        let told = self.events.iter().filter_map(|event| match &event.what.kind {
            Kind::Data { name, value } if name == wanted => Some(value.clone()),
            _ => None,
        });
        told.collect()
    }
}
