//! Conversations that a command takes part in: their turns run in this process, or at a server.

use anyhow::{Context, bail};
use futures_util::{StreamExt, TryStreamExt};
use http::Method;
use ibid_app::{App, AssistantRegistry, OfflineThreads, Settings, rehearsal};
use ibid_core::{Message, Role, RunId, Scope, ThreadId, TurnEvent, TurnOptions};
use ibid_engine::{MessageWindow, Stop, Turn, turn_events};
use serde_json::{Map, Value, json};

use crate::client::{Client, Events};
use crate::place::Place;

/// The assistant that answers where none is named.
const DEFAULT: &str = "default";
/// So many messages are read at most, and so many a server gives at once.
const MOST: usize = 10_000;
const MOST_AT_ONCE: usize = 1000;

/// Conversations with one assistant.
pub(crate) struct Conversations {
    /// Who answers.
    pub(crate) assistant: String,
    /// What it says first; empty if nothing.
    pub(crate) greeting: String,
    place: Running,
}

/// Where turns run.
enum Running {
    Here { app: App, scope: Scope },
    Server(Client),
}

/// A question that a turn waits with.
pub(crate) struct Interrupt {
    pub(crate) run: RunId,
    /// The event that asks it.
    pub(crate) seq: u64,
    pub(crate) question: Value,
}

impl Conversations {
    /// With the assistant that is named, else with whoever answered last in the conversation.
    pub(crate) async fn open(
        config: &Settings,
        place: Place,
        assistant: Option<String>,
        thread: Option<ThreadId>,
    ) -> anyhow::Result<Self> {
        match place {
            Place::Here(scope) => {
                let assistant = match (assistant, thread) {
                    (None, Some(thread)) => last_here(config, &scope, thread).await?,
                    (assistant, _) => assistant,
                };
                let assistant = assistant.unwrap_or_else(|| DEFAULT.to_owned());
                let known = AssistantRegistry::find(config, &assistant);
                let greeting = known.map(|known| known.definition.greeting).unwrap_or_default();
                let app = open_app(config, &assistant).await?;
                Ok(Self { assistant, greeting, place: Running::Here { app, scope } })
            }
            Place::Server(client) => {
                let last = last_assistant(&client, thread).await;
                let assistant = assistant.or(last).unwrap_or_else(|| DEFAULT.to_owned());
                let known = client.call(Method::GET, &format!("/assistants/{assistant}"), None).await;
                let known: Value = match known {
                    Err(error) if AssistantRegistry::find(config, &assistant).is_ok() => {
                        return Err(error.context(format!(
                            "the server does not have the assistant {assistant}; start it anew to use it"
                        )));
                    }
                    known => known?,
                };
                let greeting = known["metadata"]["greeting"].as_str().unwrap_or_default().to_owned();
                Ok(Self { assistant, greeting, place: Running::Server(client) })
            }
        }
    }

    /// Asks in a conversation. The turn goes on until it ends, whether anybody follows it or not.
    pub(crate) async fn ask(
        &self,
        thread: ThreadId,
        question: &str,
        options: TurnOptions,
    ) -> anyhow::Result<RunId> {
        match &self.place {
            Running::Here { app, scope } => {
                app.can_answer(&self.assistant, options.mode(), options.format()).await?;
                let turn = Turn::new(thread, &self.assistant, Message::user(question));
                Ok(app.engine()?.submit(scope, Turn { options, ..turn }).await?.run)
            }
            Running::Server(client) => {
                let body = json!({
                    "assistant_id": self.assistant,
                    "input": { "messages": [{ "role": "user", "content": question }] },
                    "config": { "configurable": options.as_map() },
                    "if_not_exists": "create",
                });
                begun(client, thread, body).await
            }
        }
    }

    /// Answers what a turn asks.
    pub(crate) async fn resume(&self, thread: ThreadId, run: RunId, answer: &str) -> anyhow::Result<()> {
        match &self.place {
            Running::Here { app, scope } => {
                Ok(app.engine()?.resume(scope, run, Value::from(answer)).await.map(drop)?)
            }
            Running::Server(client) => {
                let body = json!({ "assistant_id": self.assistant, "command": { "resume": answer } });
                begun(client, thread, body).await.map(drop)
            }
        }
    }

    /// The events of a turn after one of them.
    pub(crate) async fn events(
        &self,
        thread: ThreadId,
        run: RunId,
        after: u64,
    ) -> anyhow::Result<Events<TurnEvent>> {
        match &self.place {
            Running::Here { app, scope } => {
                Ok(turn_events(app.engine()?, scope, run, after).await?.map_err(Into::into).boxed())
            }
            Running::Server(client) => {
                client.events(&format!("/threads/{thread}/runs/{run}/stream?format=ibid"), after).await
            }
        }
    }

    /// Stops a turn and keeps what there is.
    pub(crate) async fn stop(&self, thread: ThreadId, run: RunId) -> anyhow::Result<()> {
        match &self.place {
            Running::Here { app, scope } => Ok(app.engine()?.stop(scope, run, Stop::Keep).await?),
            Running::Server(client) => {
                client.cancel(&format!("/threads/{thread}/runs/{run}/cancel?action=interrupt")).await
            }
        }
    }

    /// What the conversation was left with, if a turn of it waits for an answer.
    pub(crate) async fn interrupt(&self, thread: ThreadId) -> anyhow::Result<Option<Interrupt>> {
        let (run, step) = match &self.place {
            Running::Here { app, scope } => {
                let runs = app.engine()?.runs(scope, thread).await.unwrap_or_default();
                match runs.iter().find_map(|run| Some((run.id, run.interrupted_step?))) {
                    Some((run, step)) => (run, Some(step)),
                    None => return Ok(None),
                }
            }
            Running::Server(client) => {
                // A conversation that is only just begun is not there yet.
                let path = format!("/threads/{thread}");
                let found: Value = client.call(Method::GET, &path, None).await.unwrap_or_default();
                match found["interrupts"].as_object().and_then(|asked| asked.keys().next()) {
                    Some(run) => (run.parse()?, None),
                    None => return Ok(None),
                }
            }
        };
        // Events of a turn at a server end with its question; those of an engine do not.
        let (mut events, mut last) = (self.events(thread, run, 0).await?, None);
        while let Some(event) = events.next().await.transpose()? {
            last = match event.event {
                TurnEvent::Interrupted { value } => Some((event.step, event.seq, value)),
                _ => None,
            };
            if step.is_some() && last.as_ref().map(|(asked, ..)| *asked) == step {
                break;
            }
        }
        Ok(last.map(|(_, seq, question)| Interrupt { run, seq, question }))
    }

    /// What was said in a conversation, each with its position.
    pub(crate) async fn messages(&self, thread: ThreadId) -> anyhow::Result<Vec<(u64, Message)>> {
        match &self.place {
            Running::Here { app, scope } => {
                let window = MessageWindow { before: None, limit: MOST };
                let said = app.engine()?.messages(scope, thread, window).await?;
                Ok(said.into_iter().map(|said| (said.position, said.message)).collect())
            }
            Running::Server(client) => read_messages(client, thread, MOST).await,
        }
    }

    /// Begins a conversation with what was said before a position in another.
    pub(crate) async fn copy_before(&self, thread: ThreadId, position: u64) -> anyhow::Result<ThreadId> {
        match &self.place {
            Running::Here { app, scope } => {
                Ok(app.engine()?.copy_thread(scope, thread, Some(position)).await?.id)
            }
            Running::Server(client) => {
                let (path, body) = (format!("/threads/{thread}/copy"), json!({ "position": position }));
                let copy: Value = client.call(Method::POST, &path, Some(body)).await?;
                Ok(copy["thread_id"].as_str().unwrap_or_default().parse()?)
            }
        }
    }

    /// Ends what runs here. What has not ended goes on with the next command.
    pub(crate) async fn close(&self) {
        if let Running::Here { app, .. } = &self.place {
            app.close().await;
        }
    }
}

/// The application with one assistant. One that needs neither model nor documents is there without them.
async fn open_app(config: &Settings, assistant: &str) -> anyhow::Result<App> {
    let builder = App::builder(config.clone()).only(assistant);
    if assistant == rehearsal::NAME {
        return Ok(builder.without_documents().open().await?);
    }
    AssistantRegistry::find(config, assistant)?;
    let app = builder.without_loads().open().await?;
    for (name, error) in app.assistants().left_out() {
        if name == assistant {
            let error = error.clone();
            app.close().await;
            bail!(error);
        }
        tracing::debug!("the assistant {name} is left out: {error}");
    }
    Ok(app)
}

/// Whoever answered last in a conversation that is kept here.
async fn last_here(config: &Settings, scope: &Scope, thread: ThreadId) -> anyhow::Result<Option<String>> {
    match OfflineThreads::open(config).await? {
        Some(threads) => Ok(threads.last_assistant(scope, thread).await),
        None => Ok(None),
    }
}

async fn last_assistant(client: &Client, thread: Option<ThreadId>) -> Option<String> {
    let path = format!("/threads/{}/runs?limit=1", thread?);
    let runs: Value = client.call(Method::GET, &path, None).await.ok()?;
    runs[0]["assistant_id"].as_str().map(str::to_owned)
}

async fn begun(client: &Client, thread: ThreadId, body: Value) -> anyhow::Result<RunId> {
    let run: Value = client.call(Method::POST, &format!("/threads/{thread}/runs"), Some(body)).await?;
    run["run_id"].as_str().unwrap_or_default().parse().context("the server does not say which turn began")
}

/// The newest messages of a conversation at a server, each with its position.
pub(crate) async fn read_messages(
    client: &Client,
    thread: ThreadId,
    limit: usize,
) -> anyhow::Result<Vec<(u64, Message)>> {
    let mut said: Vec<(u64, Message)> = Vec::new();
    loop {
        let before = said.first().map(|(first, _)| format!("?before={first}")).unwrap_or_default();
        let path = format!("/threads/{thread}/messages{before}");
        let page: Vec<Value> = client.call(Method::GET, &path, None).await?;
        let is_last = page.len() < MOST_AT_ONCE;
        let position = |said: &Value| said["position"].as_u64().unwrap_or_default();
        said.splice(..0, page.iter().map(|said| (position(said), read_message(said))));
        if is_last || said.len() >= limit {
            said.drain(..said.len().saturating_sub(limit));
            return Ok(said);
        }
    }
}

/// A message as a server sends it.
fn read_message(message: &Value) -> Message {
    let role = match message["type"].as_str() {
        Some("human") => Role::User,
        Some("tool") => Role::Tool,
        Some("system") => Role::System,
        _ => Role::Assistant,
    };
    let mut fields: Map<String, Value> =
        message["additional_kwargs"].as_object().cloned().unwrap_or_default();
    let text = message["content"].as_str().unwrap_or_default();
    fields.insert("role".to_owned(), json!(role));
    fields.insert("text".to_owned(), text.into());
    serde_json::from_value(Value::Object(fields)).unwrap_or_else(|_| Message::new(role, text))
}
