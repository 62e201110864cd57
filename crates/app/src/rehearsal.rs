//! An assistant that needs no model: it repeats what it is told, shortened until it fits, and asks if there is nothing to
//! repeat. It shows nodes, a bounded cycle, a question, events and durable steps before any document or model is set up.

use std::sync::Arc;
use std::time::Duration;

use ibid_core::{Message, TurnInput};
use ibid_engine::GraphEntry;
use ibid_graph::{BuildError, Context, END, Graph, NodeError, START, State};
use serde::{Deserialize, Serialize};

/// How long the answer may be, in letters.
const FITS: usize = 60;

#[derive(Clone, Serialize)]
struct Line {
    heard: String,
    draft: String,
    said: Option<String>,
}

#[derive(Serialize, Deserialize)]
enum Update {
    Drafted(String),
    Said(String),
}

impl State for Line {
    type Update = Update;

    fn apply(&mut self, update: Update) {
        match update {
            Update::Drafted(draft) => self.draft = draft,
            Update::Said(said) => self.said = Some(said),
        }
    }
}

impl Line {
    fn fits(&self) -> bool {
        self.draft.chars().count() <= FITS
    }
}

/// What it does, in a sentence.
pub const DESCRIPTION: &str = "Repeats what it is told, without a model, to show the machine at work.";

/// What it is called.
pub const NAME: &str = "rehearsal";

/// Its graph, for an engine.
///
/// # Errors
/// Fails when the graph is not sound, which a test would show.
pub fn graph_entry() -> Result<GraphEntry, BuildError> {
    let compiled = graph()?.compile(
        |input: TurnInput| {
            let heard: Vec<_> = input.messages.iter().map(|message| message.text.as_str()).collect();
            Ok(Line { heard: heard.join(" "), draft: String::new(), said: None })
        },
        |line: &Line| line.said.as_ref().map(Message::assistant).into_iter().collect(),
    );
    Ok(GraphEntry::turn(compiled))
}

fn graph() -> Result<Graph<Line>, BuildError> {
    Graph::builder(NAME)
        .interrupt("ask", |_: &Line| "What shall I repeat?", |_, answer: String| Update::Drafted(answer))
        .node("draft", draft)
        .node("shorten", shorten)
        .node("say", say)
        .branch(START, first, ["ask", "draft"])
        .branch("ask", next, ["shorten", "say"])
        .branch("draft", next, ["shorten", "say"])
        .branch("shorten", next, ["shorten", "say"])
        .at_most("shorten", 3, "say")
        .edge("say", END)
        .build()
}

/// A message without a word is nothing to repeat.
fn first(line: &Line) -> &'static str {
    if line.heard.chars().any(char::is_alphanumeric) { "draft" } else { "ask" }
}

fn next(line: &Line) -> &'static str {
    if line.fits() { "say" } else { "shorten" }
}

async fn draft(line: Arc<Line>, context: Context) -> Result<Update, NodeError> {
    context.status("writing a draft");
    Ok(Update::Drafted(line.heard.clone()))
}

async fn shorten(line: Arc<Line>, context: Context) -> Result<Update, NodeError> {
    context.status(format!("the draft has more than {FITS} letters, leaving out a third"));
    let words: Vec<_> = line.draft.split_whitespace().collect();
    Ok(Update::Drafted(words[..words.len() * 2 / 3].join(" ")))
}

async fn say(line: Arc<Line>, context: Context) -> Result<Update, NodeError> {
    context.status("answering");
    let mut said = String::new();
    for word in line.draft.split_inclusive(' ') {
        let pause = tokio::time::sleep(Duration::from_millis(30));
        if context.cancel().run_until_cancelled(pause).await.is_none() {
            break;
        }
        context.token(word);
        said.push_str(word);
    }
    Ok(Update::Said(said))
}
