//! How long a hit takes with many answers, and how long the turn takes that it ends, beside the same turn without it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator, StringArray};
use futures_util::StreamExt;
use ibid_assistants::{Ports, SHIPPED, assistant_graph};
use ibid_core::model::ChatModel;
use ibid_core::{Message, ThreadId, TurnEvent, TurnOptions};
use ibid_engine::{Engine, GraphEntry, Graphs, LocalEngine, RunSettings, Turn, turn_events};
use ibid_models::{Chat, ChatSettings, Provider, ProviderSettings, RemoteChat};
use ibid_testkit::{Reply, Script, ScriptedServer, Seen};
use lance::dataset::{Dataset, WriteMode, WriteParams};
use serde_json::{Value, json};

use super::Cached;
use crate::knowledge::scope;

const QUESTION: &str = "What is the rate for seats?";
/// So many answers are kept.
const SIZES: [usize; 2] = [1000, 100_000];
/// So often each is measured.
const REPEATS: usize = 100;
/// So many rows are written at once.
const BATCH: usize = 10_000;

/// Measures, and prints a table.
pub(super) async fn measure(data: &Path) -> anyhow::Result<()> {
    println!(
        "\n## A hit among many answers\n\n| answers | a hit | a miss | the turn that a hit ends | the same turn with a model that answers at once |\n|---|---|---|---|---|"
    );
    let cached = Cached::open(data).await?;
    for size in SIZES {
        fill(&cached, size).await?;
        cached.keep(&scope(), QUESTION).await?;
        cached.store.maintain().await?;
        let hit = median(async || cached.is_hit(&scope(), QUESTION).await.map(drop)).await?;
        let miss =
            median(async || cached.is_hit(&scope(), "What is the rate for lamps?").await.map(drop)).await?;
        let turns = Turns::begin(&cached, size).await?;
        turns.ask(true).await?;
        let ended = median(async || turns.ask(true).await).await?;
        let whole = median(async || turns.ask(false).await).await?;
        let told = [hit, miss, ended, whole].map(|time| format!("{:.1} ms", time.as_secs_f64() * 1000.0));
        println!("| {size} | {} |", told.join(" | "));
        turns.engine.close().await;
    }
    Ok(())
}

async fn median<F: Future<Output = anyhow::Result<()>>>(work: impl Fn() -> F) -> anyhow::Result<Duration> {
    let mut times = Vec::new();
    for _ in 0..REPEATS {
        let began = Instant::now();
        work().await?;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    Ok(times[REPEATS / 2])
}

/// Copies one answer under other names, as often as it takes.
async fn fill(cached: &Cached, wanted: usize) -> anyhow::Result<()> {
    cached.keep(&scope(), "What is kept first?").await?;
    let place = cached.folder.path().join("store/cache.lance");
    let place = place.to_string_lossy();
    let dataset = Dataset::open(&place).await?;
    let mut rows = dataset.count_rows(None).await?;
    let mut scan = dataset.scan();
    let one = scan.limit(Some(1), None)?.try_into_batch().await?;
    while rows < wanted {
        let count = BATCH.min(wanted - rows);
        let all = one.schema();
        let columns: Vec<ArrayRef> = all
            .fields()
            .iter()
            .map(|field| {
                let column = one.column_by_name(field.name()).context("a column")?;
                if field.name() == "id" {
                    let ids = (0..count).map(|number| format!("{:064x}", (rows + number) * 7919));
                    return Ok(Arc::new(StringArray::from_iter_values(ids)) as ArrayRef);
                }
                let copies = arrow_array::UInt32Array::from(vec![0; count]);
                Ok(arrow_select::take::take(column, &copies, None)?)
            })
            .collect::<anyhow::Result<_>>()?;
        let batch = RecordBatch::try_new(all.clone(), columns)?;
        let params = WriteParams { mode: WriteMode::Append, ..WriteParams::default() };
        let reader = RecordBatchIterator::new([Ok(batch)], all);
        Dataset::write(reader, place.as_ref(), Some(params)).await?;
        rows += count;
    }
    Ok(())
}

/// What the models say: everything holds.
fn model(seen: &Seen) -> Reply {
    let shown = seen.body["messages"].to_string();
    let verdict: Value = if shown.contains("whether it helps to answer") {
        json!({ "passages": [] })
    } else if shown.contains("whether the sources say it") {
        json!({ "sentences": [{ "number": 1, "supported": true }] })
    } else if shown.contains("whether the answer answers") {
        json!({ "answers": true, "missing": "" })
    } else {
        return Reply::text("Seats have a rate of their own [1].");
    };
    Reply::text(&verdict.to_string())
}

/// Whole turns of the assistant `research`.
struct Turns {
    engine: LocalEngine,
    _models: ScriptedServer,
}

impl Turns {
    async fn begin(cached: &Cached, size: usize) -> anyhow::Result<Self> {
        let models = ScriptedServer::start(Script::new().by(model)).await;
        let chat = |name: &str| -> anyhow::Result<Arc<dyn ChatModel>> {
            let provider = Provider::new(ProviderSettings::new(name, &models.url()), None)?;
            let mut settings = ChatSettings::new(name, name);
            settings.context_tokens = 16_384;
            Ok(Arc::new(Chat::new(RemoteChat::new(provider, settings), Vec::new())))
        };
        let shipped = SHIPPED.iter().find(|shipped| shipped.name == "research").context("no research")?;
        let assistant = shipped.read()?;
        let ports = Ports {
            answer: chat("strong")?,
            small: chat("small")?,
            index: cached.search.clone(),
            cache: Some(cached.cache.clone()),
            ..Ports::absent()
        };
        let graph = assistant_graph(assistant, ports)?;
        let graphs: Graphs = [("research".to_owned(), GraphEntry::turn(graph))].into_iter().collect();
        let file = cached.folder.path().join(format!("engine-{size}.db"));
        let engine = LocalEngine::open(&file, graphs, RunSettings::default()).await?;
        Ok(Self { engine, _models: models })
    }

    /// Asks, and waits for the end; answered before, or anew.
    async fn ask(&self, cache: bool) -> anyhow::Result<()> {
        let mut turn = Turn::new(ThreadId::new(), "research", Message::user(QUESTION));
        turn.options = TurnOptions::from(json!({ "cache": cache }).as_object().cloned().unwrap_or_default());
        let run = self.engine.submit(&scope(), turn).await?.run;
        let shared: Arc<dyn Engine> = Arc::new(self.engine.clone());
        let mut events = turn_events(&shared, &scope(), run, 0).await?;
        while let Some(event) = events.next().await {
            if let TurnEvent::Ended { error: Some(error), .. } = event?.event {
                anyhow::bail!("{error}");
            }
        }
        Ok(())
    }
}
