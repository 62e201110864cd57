//! The assistant of the suite: three nodes that do what the message tells them, and a stage that sees
//! from outside what was performed.

use std::sync::{Arc, Mutex, PoisonError};

use ibid_core::{JobInput, Message, RunId, TurnInput};
use ibid_graph::{Context, END, Graph, NodeError, START, State, Terminal};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::{GraphEntry, Graphs};

/// The state of a turn in the suite.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Talk {
    run: RunId,
    history: usize,
    heard: String,
    said: Vec<String>,
    labels: Vec<String>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Uttered(String);

impl State for Talk {
    type Update = Uttered;

    fn apply(&mut self, change: Uttered) {
        self.said.push(change.0);
    }
}

/// What is seen from outside, and what lets waiting nodes go on.
pub(super) struct Stage {
    performed: Mutex<Vec<(RunId, String)>>,
    gate: Semaphore,
}

impl Stage {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { performed: Mutex::default(), gate: Semaphore::new(0) })
    }

    /// Lets one waiting node go on.
    pub(super) fn let_one_go_on(&self) {
        self.gate.add_permits(1);
    }

    /// Which nodes were performed for a run, in order, over all engines.
    pub(super) fn performed(&self, run: RunId) -> Vec<String> {
        let performed = self.performed.lock().unwrap_or_else(PoisonError::into_inner);
        performed.iter().filter(|(other, _)| *other == run).map(|(_, node)| node.clone()).collect()
    }

    fn saw(&self, run: RunId, node: &str) {
        self.performed.lock().unwrap_or_else(PoisonError::into_inner).push((run, node.to_owned()));
    }

    /// `echo` answers with what it heard; it keeps two earlier messages in view.
    pub(super) fn graphs(self: &Arc<Self>, version: u32) -> Graphs {
        let program = self.graph(version).compile(
            |input: TurnInput| {
                let heard = input.messages.iter().map(|message| message.text.as_str()).collect::<Vec<_>>();
                Ok(Talk {
                    run: input.run,
                    history: input.history.len(),
                    heard: heard.join(" "),
                    said: Vec::new(),
                    labels: input.scope.labels().iter().map(ToString::to_string).collect(),
                })
            },
            |talk: &Talk| talk.said.get(1).map(Message::assistant).into_iter().collect(),
        );
        let work = self.graph(version).compile(
            |input: JobInput| {
                let heard = input.request.as_str().unwrap_or_default().to_owned();
                Ok(Talk { run: input.run, history: 0, heard, said: Vec::new(), labels: Vec::new() })
            },
            |talk: &Talk| json!(talk.said.get(1)),
        );
        let turns = GraphEntry::turn(program).with_history(2);
        [("echo".to_owned(), turns), ("work".to_owned(), GraphEntry::job(work))].into_iter().collect()
    }

    /// hear → think → (sure?) → close. In version 3 another node stands before them all.
    fn graph(self: &Arc<Self>, version: u32) -> Graph<Talk> {
        let node = |name: &'static str| {
            let stage = self.clone();
            move |talk: Arc<Talk>, _: Context| {
                stage.saw(talk.run, name);
                std::future::ready(Ok(Uttered(name.to_owned())))
            }
        };
        let (stage, closing) = (self.clone(), self.clone());
        let graph = Graph::builder("echo")
            .version(if version == 2 { 2 } else { 1 })
            .node("hear", node("hear"))
            .node("think", move |talk, context| think(stage.clone(), talk, context))
            .interrupt(
                "sure",
                |talk: &Talk| json!(talk.heard),
                |_, yes: bool| Uttered(format!("sure: {yes}")),
            )
            .node("close", move |talk, context| close(closing.clone(), talk, context))
            .edge("hear", "think")
            .branch("think", after_thinking, ["sure", "close"])
            .edge("sure", "close")
            .edge("close", END);
        let graph = match version {
            3 => graph.node("greet", node("greet")).edge(START, "greet").edge("greet", "hear"),
            _ => graph.edge(START, "hear"),
        };
        graph.build().expect("the test graph is sound")
    }
}

fn after_thinking(talk: &Talk) -> &'static str {
    assert_ne!(talk.heard, "panic", "the message asks for it");
    if talk.heard == "ask" { "sure" } else { "close" }
}

/// The last node. Told to linger, it works until it is stopped, and gives back what it has.
async fn close(stage: Arc<Stage>, talk: Arc<Talk>, context: Context) -> Result<Uttered, NodeError> {
    stage.saw(talk.run, "close");
    if talk.heard == "linger" {
        context.token("last words");
        context.cancel().cancelled().await;
    }
    Ok(Uttered("close".to_owned()))
}

async fn think(stage: Arc<Stage>, talk: Arc<Talk>, context: Context) -> Result<Uttered, NodeError> {
    stage.saw(talk.run, "think");
    match talk.heard.split_whitespace().next() {
        Some("big") => Ok(Uttered("x".repeat(ibid_graph::RECORD_LIMIT_BYTES + 1))),
        Some("fail") => Err(Terminal::new("no such model").into()),
        Some("many") => {
            (0..2000).for_each(|number| context.token(format!("{number} ")));
            Ok(Uttered("many".to_owned()))
        }
        Some("wait") => {
            context.token("first words");
            let permit = context.cancel().run_until_cancelled(stage.gate.acquire()).await;
            if let Some(Ok(permit)) = permit {
                permit.forget();
                return Ok(Uttered(format!("heard {}", talk.heard)));
            }
            Ok(Uttered("first words".to_owned()))
        }
        _ => {
            context.token(&talk.heard);
            Ok(Uttered(format!("heard {} after {}", talk.heard, talk.history)))
        }
    }
}
