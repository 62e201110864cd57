//! A bounded corrective loop: it is taken up after its second step, and no finished step runs again.

#![expect(clippy::print_stdout, reason = "an example shows itself")]

use std::sync::Arc;

use ibid_graph::{Context, END, Graph, MemoryJournals, NodeError, RunHost, START, State, run};
use serde::{Deserialize, Serialize};

#[derive(Clone, Default, Serialize)]
struct Essay {
    text: String,
    good: bool,
}

#[derive(Serialize, Deserialize)]
enum Edit {
    Wrote(String),
    Checked(bool),
}

impl State for Essay {
    type Update = Edit;
    fn apply(&mut self, edit: Edit) {
        match edit {
            Edit::Wrote(text) => self.text = text,
            Edit::Checked(good) => self.good = good,
        }
    }
}

async fn write(essay: Arc<Essay>, context: Context) -> Result<Edit, NodeError> {
    println!("step {}: {}", context.step(), context.node());
    Ok(Edit::Wrote(format!("{}word ", essay.text)))
}

async fn check(essay: Arc<Essay>, context: Context) -> Result<Edit, NodeError> {
    println!("step {}: {}", context.step(), context.node());
    Ok(Edit::Checked(essay.text.len() > 100))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let graph = Graph::builder("corrective").node("draft", write).node("check", check).node("revise", write);
    let graph = graph.edge(START, "draft").edge("draft", "check").edge("revise", "check");
    let graph =
        graph.branch("check", |essay: &Essay| if essay.good { END } else { "revise" }, ["revise", END]);
    let graph = graph.at_most("revise", 2, END).build()?;
    println!("{}", graph.mermaid());

    let essay = graph.compile(|()| Ok(Essay::default()), |essay: &Essay| essay.text.clone());
    let journals = MemoryJournals::default();
    run(&mut *essay.start(())?, &mut journals.open("first"), &RunHost::default()).await?;
    journals.fork("first", 2, "taken up");
    let mut cursor = essay.start(())?;
    run(&mut *cursor, &mut journals.open("taken up"), &RunHost::default()).await?;
    println!("the essay: {}", cursor.output());
    Ok(())
}
