//! Where conversations come from: the data folder of this machine, or a server.

use anyhow::bail;
use http::Method;
use ibid_app::OfflineThreads;
use ibid_core::{Message, Scope, ThreadId};
use ibid_engine::{Conversation, MessageWindow, RunStatus, Thread, ThreadPage};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::client::Client;
use crate::conversations::read_messages;

/// Where conversations are.
pub(super) enum ThreadSource {
    Folder(OfflineThreads, Scope),
    Server(Client),
}

/// A conversation in a list.
pub(super) struct Listed {
    pub(super) id: ThreadId,
    pub(super) title: String,
    pub(super) messages: u64,
    pub(super) created: Timestamp,
    pub(super) updated: Timestamp,
}

/// A conversation with its newest messages.
pub(super) struct Shown {
    pub(super) of: Listed,
    pub(super) messages: Vec<Message>,
    /// What became of turns that did not get through.
    pub(super) turns: Vec<String>,
}

impl ThreadSource {
    /// Conversations, the most recent first, after one of them.
    pub(super) async fn list(&self, limit: usize, after: Option<ThreadId>) -> anyhow::Result<Vec<Listed>> {
        match self {
            Self::Folder(threads, scope) => {
                let none = MessageWindow { before: None, limit: 0 };
                let after = match after {
                    Some(id) => Some(threads.thread(scope, id, none).await?.thread.cursor()),
                    None => None,
                };
                let listed = threads.list(scope, ThreadPage { after, ..ThreadPage::first(limit) }).await?;
                Ok(listed.into_iter().map(Listed::from).collect())
            }
            Self::Server(server) => {
                let mut listed: Vec<Listed> = Vec::new();
                let mut skip = 0;
                // The server counts places; the terminal names the last one of the page before.
                let mut passed = after.is_none();
                while listed.len() < limit {
                    let asked = json!({
                        "limit": PAGE, "offset": skip,
                        "select": ["thread_id", "title", "message_count", "created_at", "updated_at"],
                    });
                    let page: Vec<Value> = server.call(Method::POST, "/threads/search", Some(asked)).await?;
                    skip += page.len();
                    for thread in page.iter().map(listed_at) {
                        let thread = thread?;
                        if passed && listed.len() < limit {
                            listed.push(thread);
                        } else {
                            passed |= Some(thread.id) == after;
                        }
                    }
                    if page.len() < PAGE {
                        break;
                    }
                }
                if let Some(after) = after.filter(|_| !passed) {
                    bail!("there is no thread {after}");
                }
                Ok(listed)
            }
        }
    }

    /// One conversation.
    pub(super) async fn show(&self, thread: ThreadId, limit: usize) -> anyhow::Result<Shown> {
        match self {
            Self::Folder(threads, scope) => {
                let window = MessageWindow { before: None, limit };
                let Conversation { thread, messages, runs } = threads.thread(scope, thread, window).await?;
                let open = runs.iter().filter(|run| run.status != RunStatus::Done);
                let turns = open
                    .map(|run| became(&run.id, &run.status.as_str().replace('_', " "), run.error.as_deref()));
                let (of, turns) = (thread.into(), turns.collect());
                Ok(Shown { of, messages: messages.into_iter().map(|said| said.message).collect(), turns })
            }
            Self::Server(server) => {
                let found: Value = server.call(Method::GET, &format!("/threads/{thread}"), None).await?;
                let path = format!("/threads/{thread}/runs?limit=1000");
                let runs: Vec<Value> = server.call(Method::GET, &path, None).await?;
                let open = runs.iter().filter(|run| run["status"] != "success");
                let text = |run: &Value, name: &str| run[name].as_str().unwrap_or_default().to_owned();
                let turns =
                    open.map(|run| became(&text(run, "run_id"), &text(run, "status"), run["error"].as_str()));
                let messages = read_messages(server, thread, limit).await?;
                let messages = messages.into_iter().map(|(_, message)| message).collect();
                Ok(Shown { of: listed_at(&found)?, messages, turns: turns.collect() })
            }
        }
    }

    /// Deletes a conversation.
    pub(super) async fn delete(&self, thread: ThreadId) -> anyhow::Result<()> {
        match self {
            Self::Folder(threads, scope) => Ok(threads.delete(scope, thread).await?),
            Self::Server(server) => {
                let path = format!("/threads/{thread}");
                server.call::<Value>(Method::DELETE, &path, None).await.map(drop)
            }
        }
    }
}

/// So many conversations are asked for at once.
const PAGE: usize = 100;

impl From<Thread> for Listed {
    fn from(thread: Thread) -> Self {
        let time = |time| Timestamp::try_from(time).unwrap_or_default();
        Self {
            id: thread.id,
            title: thread.title,
            messages: thread.messages,
            created: time(thread.created),
            updated: time(thread.updated),
        }
    }
}

fn became(turn: &impl std::fmt::Display, status: &str, error: Option<&str>) -> String {
    let error = error.map(|error| format!(": {error}")).unwrap_or_default();
    format!("turn {turn} is {status}{error}")
}

fn listed_at(thread: &Value) -> anyhow::Result<Listed> {
    let text = |name: &str| thread[name].as_str().unwrap_or_default();
    Ok(Listed {
        id: text("thread_id").parse()?,
        title: text("title").to_owned(),
        messages: thread["message_count"].as_u64().unwrap_or_default(),
        created: text("created_at").parse()?,
        updated: text("updated_at").parse()?,
    })
}
