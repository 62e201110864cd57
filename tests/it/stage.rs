//! One assistant on a real engine, with models at a server that the test has started.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use ibid_assistants::tools::{ToolContext, ToolEntry, ToolSettings};
use ibid_assistants::{Assistant, Ports, SHIPPED, WebAccess, assistant_graph, named_columns};
use ibid_core::cache::AnswerCache;
use ibid_core::catalogue::Catalogues;
use ibid_core::evidence::Index;
use ibid_core::model::{ChatModel, Grounding};
use ibid_core::tool::Tool;
use ibid_core::{Message, RunEvent, RunId, Scope, Tenant, ThreadId, TurnEvent, TurnOptions};
use ibid_engine::{Engine, GraphEntry, Graphs, LocalEngine, RunSettings, Turn, turn_events};
use ibid_models::{Chat, ChatSettings, Provider, ProviderSettings, RemoteChat};
use serde_json::Value;

/// So long a model here may take to begin.
const NEAR: Duration = Duration::from_secs(900);

/// So long a test may take to reply where a person is asked, and so long a turn may be silent.
const A_REPLY: Duration = Duration::from_secs(20);
const A_STEP: Duration = Duration::from_secs(1200);

/// One assistant and what it works with.
pub(crate) struct Stage {
    pub(crate) assistant: Assistant,
    pub(crate) index: Arc<dyn Index>,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) web: WebAccess,
    pub(crate) cache: Option<Arc<dyn AnswerCache>>,
    pub(crate) grounding: Option<Arc<dyn Grounding>>,
    pub(crate) catalogues: Option<Arc<dyn Catalogues>>,
    /// Where the models are.
    pub(crate) url: String,
    /// How many tokens they hold.
    pub(crate) context: usize,
    /// Whether they run here and are slow: they may take long to begin, and are not asked twice.
    pub(crate) is_near: bool,
    /// Whether a provider that fails is given up at once.
    pub(crate) is_impatient: bool,
}

/// A turn that has ended.
pub(crate) struct Played {
    pub(crate) events: Vec<RunEvent<TurnEvent>>,
    pub(crate) message: Option<Message>,
    pub(crate) error: Option<String>,
}

impl Stage {
    /// A shipped assistant, or one of the examples.
    pub(crate) fn of(name: &str, index: Arc<dyn Index>, url: String) -> Self {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/assistants");
        let mut assistant = match SHIPPED.iter().find(|shipped| shipped.name == name) {
            Some(shipped) => shipped.read().unwrap(),
            None => Assistant::load(&examples.join(name), &[]).unwrap(),
        };
        // One test is not to be answered with what another has asked.
        assistant.definition.cache.enabled = false;
        let index = named_columns(index, &assistant.definition.columns);
        let tools = assistant
            .definition
            .tools
            .iter()
            .filter_map(|tool| {
                let (definition, settings) = (&assistant.definition, &ToolSettings::default());
                let context = ToolContext { index: &index, catalogues: None, definition, settings };
                ToolEntry::find(tool)
                    .filter(|entry| entry.name != "search_catalogue")?
                    .build(&context)
                    .unwrap()
            })
            .collect();
        Self {
            assistant,
            index,
            tools,
            web: WebAccess::Off,
            cache: None,
            grounding: None,
            catalogues: None,
            url,
            context: 16_384,
            is_near: false,
            is_impatient: false,
        }
    }

    fn chat(&self, name: &str) -> Arc<dyn ChatModel> {
        let mut settings = ProviderSettings::new(name, &self.url);
        if self.is_near {
            settings.is_near = true;
            (settings.limits.first_token, settings.governor.chat_wait) = (NEAR, NEAR);
        }
        if self.is_impatient {
            (settings.governor.attempts, settings.governor.breaker_pause) = (1, Duration::from_millis(20));
        }
        let provider = Provider::new(settings, None).unwrap();
        let mut settings = ChatSettings::new(name, name);
        settings.context_tokens = self.context;
        Arc::new(Chat::new(RemoteChat::new(provider, settings), Vec::new()))
    }

    /// Gives verified answers again, from a store.
    pub(crate) fn caching(&mut self, cache: Arc<dyn AnswerCache>) {
        self.assistant.definition.cache.enabled = true;
        self.cache = Some(cache);
    }

    /// The engine with this assistant, on a file.
    pub(crate) async fn engine(&self, file: &Path) -> LocalEngine {
        let (answer, small) = (self.chat("strong"), self.chat("small"));
        let (tools, web) = (self.tools.clone(), self.web.clone());
        let (index, cache, grounding) = (self.index.clone(), self.cache.clone(), self.grounding.clone());
        let catalogues = self.catalogues.clone();
        let ports = Ports { answer, small, index, tools, web, cache, catalogues, grounding };
        let assistant = self.assistant.clone();
        let (name, history) = (assistant.name.clone(), assistant.definition.limits.history_messages);
        let graph = assistant_graph(assistant, ports).unwrap();
        let graphs: Graphs = [(name, GraphEntry::turn(graph).with_history(history))].into_iter().collect();
        LocalEngine::open(file, graphs, RunSettings::default()).await.unwrap()
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
        let option = |wanted: &str| {
            options.iter().find(|(name, _)| *name == wanted).map(|(_, value)| (*value).to_owned())
        };
        let mut fields = serde_json::Map::new();
        fields.extend(option("cache").map(|cache| ("cache".to_owned(), (cache == "on").into())));
        turn.options = TurnOptions::from(fields).with(option("mode"), option("format"));
        engine.submit(&scope(), turn).await.unwrap().run
    }
}

/// Everybody at the one tenant of the tests.
pub(crate) fn scope() -> Scope {
    Scope::of(Tenant::local())
}

/// What a person is asked in a turn.
pub(crate) async fn asked(engine: &LocalEngine, run: RunId) -> Value {
    let shared: Arc<dyn Engine> = Arc::new(engine.clone());
    let mut events = turn_events(&shared, &scope(), run, 0).await.unwrap();
    loop {
        match events.next().await.expect("a person is asked").unwrap().event {
            TurnEvent::Interrupted { value } => return value,
            TurnEvent::Ended { error, .. } => panic!("nobody was asked: {error:?}"),
            _ => {}
        }
    }
}

/// Waits for the end of a turn.
pub(crate) async fn played(engine: &LocalEngine, run: RunId) -> Played {
    let shared: Arc<dyn Engine> = Arc::new(engine.clone());
    let mut stream = turn_events(&shared, &scope(), run, 0).await.unwrap();
    let mut events: Vec<RunEvent<TurnEvent>> = Vec::new();
    loop {
        let is_waiting = matches!(events.last().map(|last| &last.event), Some(TurnEvent::Interrupted { .. }));
        let limit = if is_waiting { A_REPLY } else { A_STEP };
        let Ok(next) = tokio::time::timeout(limit, stream.next()).await else {
            panic!("nothing happens any more after {:?}", events.last());
        };
        let Some(event) = next else { break };
        events.push(event.unwrap());
    }
    let (message, error) = match &events.last().expect("the turn has ended").event {
        TurnEvent::Ended { message, error, .. } => (message.as_deref().cloned(), error.clone()),
        other => panic!("the last event is {other:?}"),
    };
    Played { events, message, error }
}

impl Played {
    /// The nodes that worked, in their order.
    pub(crate) fn path(&self) -> Vec<String> {
        let started = self.events.iter().filter_map(|event| match &event.event {
            TurnEvent::StepStarted { node } => Some(node.clone()),
            _ => None,
        });
        started.collect()
    }

    /// What the graph emitted under a name.
    pub(crate) fn told(&self, wanted: &str) -> Vec<Value> {
        let emitted = self.events.iter().filter_map(|event| event.event.to_custom());
        emitted.filter(|(name, _)| *name == wanted).map(|(_, value)| value).collect()
    }
}
