//! Looks at what was found, passage by passage: what does not help to answer the question is left out.

use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt, stream};
use ibid_core::event::TurnEvent;
use ibid_core::model::Prompt;
use ibid_core::research::{Grade, Relevance, ResearchRound};
use ibid_graph::{Context, NodeError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::node_context::{NodeContext, emit};
use crate::source::{Source, beginning, harmless};
use crate::turn::{TurnCost, TurnState, TurnUpdate};

/// A verdict on one passage has at most so many tokens.
const MOST_TOKENS: usize = 30;
/// A passage is judged by its beginning, up to so many bytes.
const LONGEST: usize = 6000;

/// The grades as a model writes them.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "grades")]
struct Grades {
    /// One for each passage, in their order.
    passages: Vec<One>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct One {
    /// The number of the passage.
    number: u32,
    /// Whether it helps to answer the question.
    relevant: bool,
}

/// Grades.
pub(crate) async fn grade(
    node_context: Arc<NodeContext>,
    turn: Arc<TurnState>,
    context: Context,
) -> Result<TurnUpdate, NodeError> {
    let new = turn.research.ungraded(&turn.sources);
    let round = turn.research.rounds.last().cloned().unwrap_or_default();
    if new.is_empty() {
        context.status("nothing new was found");
        return Ok(TurnUpdate::Graded { grades: Vec::new(), spent: TurnCost::default() });
    }
    context.status(match new.len() {
        1 => "reading the passage that was found".to_owned(),
        several => format!("reading the {several} passages that were found"),
    });
    let settings = &node_context.definition.corrective;
    let batches: Vec<Vec<Source>> = new
        .chunks(settings.passages_per_call.max(1))
        .map(|batch| batch.iter().copied().cloned().collect())
        .collect();
    let asked = stream::iter(batches).map(|batch| {
        let (node_context, turn, context) = (node_context.clone(), turn.clone(), context.clone());
        async move { grade_together(&node_context, &turn, &context, &batch).await }
    });
    let graded: Vec<(Vec<Grade>, TurnCost)> =
        asked.buffered(settings.parallel_calls.max(1)).try_collect().await?;
    let spent = graded.iter().fold(TurnCost::default(), |spent, (_, more)| spent.and(*more));
    let grades: Vec<Grade> = graded.into_iter().flat_map(|(grades, _)| grades).collect();
    emit(&context, &TurnEvent::Research(ResearchRound { grades: grades.clone(), ..round }));
    Ok(TurnUpdate::Graded { grades, spent })
}

/// Has passages graded in one call. What the model does not say of a passage, or not so that it can be read, is no reason to
/// leave it out.
async fn grade_together(
    node_context: &NodeContext,
    turn: &TurnState,
    context: &Context,
    batch: &[Source],
) -> Result<(Vec<Grade>, TurnCost), NodeError> {
    let shown = batch.iter().map(|source| source.tagged(&harmless(&beginning(source.text(), LONGEST))));
    let passages = shown.collect::<Vec<_>>().join("\n\n");
    let variables = json!({ "question": turn.question, "passages": passages });
    let prompt = node_context.prompt("grade", turn, variables)?;
    let mut request = node_context.request(turn, vec![Prompt::User(prompt)]);
    request.max_output_tokens = Some(MOST_TOKENS * batch.len());
    let (found, spent) =
        node_context.ask_for::<Grades>(context, node_context.ports.small.as_ref(), request).await?;
    let found = found.map(|found| found.passages).unwrap_or_default();
    let relevance = |source: &Source| match found.iter().find(|one| one.number == source.number) {
        Some(One { relevant: true, .. }) => Relevance::Relevant,
        Some(One { relevant: false, .. }) => Relevance::Irrelevant,
        None => Relevance::NotSure,
    };
    let grades = batch.iter().map(|source| {
        let info = source.info();
        Grade {
            source: source.number,
            title: info.title.unwrap_or(info.document_id),
            page: info.page,
            relevance: relevance(source),
        }
    });
    Ok((grades.collect(), spent))
}
