//! A turn on the local engine: its events as they are told, a question that waits in the file while no
//! process runs, the answer, the state after a step, and a fork.

#![expect(clippy::print_stdout, reason = "an example shows itself")]

use std::sync::Arc;

use futures_util::StreamExt;
use ibid_core::{Message, Scope, Tenant, ThreadId, TurnInput};
use ibid_engine::{Engine, GraphEntry, Graphs, LocalEngine, RunSettings, Turn};
use ibid_graph::{Context, END, EventKind, Graph, NodeError, START, State};
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize)]
struct Order {
    wanted: String,
    price: u32,
    confirmed: bool,
}

#[derive(Serialize, Deserialize)]
enum Update {
    Priced(u32),
    Confirmed(bool),
}

impl State for Order {
    type Update = Update;

    fn apply(&mut self, change: Update) {
        match change {
            Update::Priced(price) => self.price = price,
            Update::Confirmed(yes) => self.confirmed = yes,
        }
    }
}

async fn price(order: Arc<Order>, context: Context) -> Result<Update, NodeError> {
    context.status(format!("looking up the price of {}", order.wanted));
    Ok(Update::Priced(42))
}

fn graphs() -> Result<Graphs, Box<dyn std::error::Error>> {
    let graph = Graph::<Order>::builder("order")
        .node("price", price)
        .interrupt(
            "confirm",
            |order: &Order| format!("{} costs {}. Order it?", order.wanted, order.price),
            |_, yes: bool| Update::Confirmed(yes),
        )
        .edge(START, "price")
        .edge("price", "confirm")
        .edge("confirm", END)
        .build()?;
    let program = graph.compile(
        |input: TurnInput| Ok(Order { wanted: input.messages[0].text.clone(), price: 0, confirmed: false }),
        |order: &Order| vec![Message::assistant(if order.confirmed { "Ordered." } else { "As you like." })],
    );
    Ok([("order".to_owned(), GraphEntry::turn(program))].into_iter().collect())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::temp_dir().join(format!("durable-turn-{}/engine.db", std::process::id()));
    let scope = Scope::of(Tenant::local());

    let engine = LocalEngine::open(&path, graphs()?, RunSettings::default()).await?;
    let turn = Turn::new(ThreadId::new(), "order", Message::user("a lamp"));
    let run = engine.submit(&scope, turn).await?.run;
    let mut events = engine.events(&scope, run, 0).await?;
    while let Some(event) = events.next().await {
        let event = event?;
        println!("{}", serde_json::to_string(&event)?);
        if matches!(event.what.kind, EventKind::Interrupted { .. }) {
            break;
        }
    }
    engine.close().await;
    println!("(no process runs; the question waits in {})", path.display());

    let engine = LocalEngine::open(&path, graphs()?, RunSettings::default()).await?;
    engine.resume(&scope, run, true.into()).await?;
    let mut events = engine.events(&scope, run, 4).await?;
    while let Some(event) = events.next().await {
        println!("{}", serde_json::to_string(&event?)?);
    }
    println!("the state after step 1: {}", engine.state(&scope, run, 1).await?);
    let (thread, _) = engine.fork(&scope, run, 1).await?;
    println!("a fork from step 1 asks again, in thread {thread}");
    engine.close().await;
    Ok(())
}
