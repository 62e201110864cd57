//! Looks at what was found, passage by passage: what does not help to answer the question is left out.

use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt, stream};
use ibid_core::event::TurnEvent;
use ibid_core::model::{Prompt, ReadingSpeed};
use ibid_core::research::{Grade, Relevance, ResearchRound};
use ibid_core::trace::{self, Evaluation};
use ibid_graph::{Context, NodeError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::definition::Corrective;
use crate::node_context::{NodeContext, emit};
use crate::source::{Origin, Source, beginning, harmless};
use crate::steps::generate::Shown;
use crate::turn::{TurnCost, TurnState, TurnUpdate};

/// A verdict on one passage has at most so many tokens.
const MOST_TOKENS: usize = 30;
/// What the prompt takes besides passages, with the form of the answer, where a server needs it in words.
const INSTRUCTIONS: usize = 500;
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
    let (clear, new) = by_reranker(&node_context, turn.research.ungraded(&turn.sources));
    let round = turn.research.rounds.last().cloned().unwrap_or_default();
    if new.is_empty() {
        if clear.is_empty() {
            context.status("nothing new was found");
        } else {
            told(&clear);
            emit(&context, &TurnEvent::Research(ResearchRound { grades: clear.clone(), ..round }));
        }
        return Ok(TurnUpdate::Graded { grades: clear, spent: TurnCost::default() });
    }
    context.status(match new.len() {
        1 => "reading the passage that was found".to_owned(),
        several => format!("reading the {several} passages that were found"),
    });
    let parallel = node_context.definition.corrective.parallel_calls.max(1);
    let asked = stream::iter(batches(&node_context, &turn, &new)).map(|batch| {
        let (node_context, turn, context) = (node_context.clone(), turn.clone(), context.clone());
        async move { grade_together(&node_context, &turn, &context, &batch).await }
    });
    let graded: Vec<(Vec<Grade>, TurnCost)> = asked.buffered(parallel).try_collect().await?;
    let spent = graded.iter().fold(TurnCost::default(), |spent, (_, more)| spent.and(*more));
    let mut grades = clear;
    grades.extend(graded.into_iter().flat_map(|(grades, _)| grades));
    grades.sort_by_key(|grade| grade.source);
    told(&grades);
    emit(&context, &TurnEvent::Research(ResearchRound { grades: grades.clone(), ..round }));
    Ok(TurnUpdate::Graded { grades, spent })
}

/// Tells the grades in the trace.
fn told(grades: &[Grade]) {
    let span = tracing::Span::current();
    for grade in grades {
        let (label, score) = match grade.relevance {
            Relevance::Relevant => ("relevant", Some(1.0)),
            Relevance::Irrelevant => ("not_relevant", Some(0.0)),
            Relevance::NotSure => ("not_sure", None),
        };
        let explanation = Some(format!("[{}] {}", grade.source, grade.title));
        trace::evaluated(&span, Evaluation { name: "relevance", label, score, explanation });
    }
}

/// The grades of what a reranker is sure of, and what is left to a model.
fn by_reranker<'a>(node_context: &NodeContext, new: Vec<&'a Source>) -> (Vec<Grade>, Vec<&'a Source>) {
    let Corrective { clearly_relevant, clearly_irrelevant, .. } = node_context.definition.corrective;
    let (mut clear, mut open) = (Vec::new(), Vec::new());
    for source in new {
        let relevance = match &source.origin {
            Origin::Passage(passage) => passage.relevance,
            Origin::Tool { .. } | Origin::Web(_) => None,
        };
        match relevance {
            Some(relevance) if relevance >= clearly_relevant => {
                clear.push(grade_of(source, Relevance::Relevant));
            }
            Some(relevance) if relevance <= clearly_irrelevant => {
                clear.push(grade_of(source, Relevance::Irrelevant));
            }
            _ => open.push(source),
        }
    }
    (clear, open)
}

fn grade_of(source: &Source, relevance: Relevance) -> Grade {
    let info = source.info();
    Grade { source: source.number, title: info.title.unwrap_or(info.document_id), page: info.page, relevance }
}

/// Passages that are graded in one call.
struct Batch {
    sources: Vec<Source>,
    shown: String,
}

/// What is graded together: so many as the assistant is set up for; all of them, by what fits the question best, where the model
/// reads so slowly that a person would wait for every call.
fn batches(node_context: &NodeContext, turn: &TurnState, new: &[&Source]) -> Vec<Batch> {
    let model = node_context.ports.small.as_ref();
    let owned = |sources: &[&Source]| sources.iter().copied().cloned().collect::<Vec<Source>>();
    let speed = model.reading_speed();
    if speed == ReadingSpeed::Unknown || speed.is_slow() {
        let sources = owned(new);
        let room = node_context.room_beside(model, INSTRUCTIONS, MOST_TOKENS * sources.len());
        let shown = Shown::within(model, &sources, &turn.question, room).sources.join("\n\n");
        return vec![Batch { sources, shown }];
    }
    let batches = new.chunks(node_context.definition.corrective.passages_per_call.max(1));
    let whole = |source: &&Source| source.tagged(&harmless(&beginning(source.text(), LONGEST)));
    let batch = |sources: &[&Source]| {
        let shown = sources.iter().map(whole).collect::<Vec<_>>().join("\n\n");
        Batch { sources: owned(sources), shown }
    };
    batches.map(batch).collect()
}

/// Has passages graded in one call. What the model does not say of a passage, or not so that it can be read, is no reason to
/// leave it out.
async fn grade_together(
    node_context: &NodeContext,
    turn: &TurnState,
    context: &Context,
    Batch { sources, shown }: &Batch,
) -> Result<(Vec<Grade>, TurnCost), NodeError> {
    let variables = json!({ "question": turn.question, "passages": shown });
    let prompt = node_context.prompt("grade", turn, variables)?;
    let mut request = node_context.request(turn, vec![Prompt::User(prompt)]);
    request.max_output_tokens = Some(MOST_TOKENS * sources.len());
    let (found, spent) =
        node_context.ask_for::<Grades>(context, node_context.ports.small.as_ref(), request).await?;
    let found = found.map(|found| found.passages).unwrap_or_default();
    let is_shown = |source: &Source| shown.contains(&format!("<source number=\"{}\" ", source.number));
    let none_is = !found.is_empty() && found.iter().all(|one| !one.relevant);
    let relevance = |source: &Source| match found.iter().find(|one| one.number == source.number) {
        Some(One { relevant: true, .. }) => Relevance::Relevant,
        Some(One { relevant: false, .. }) => Relevance::Irrelevant,
        // What there was no room for fits the question less than what was shown.
        None if none_is && !is_shown(source) => Relevance::Irrelevant,
        None => Relevance::NotSure,
    };
    Ok((sources.iter().map(|source| grade_of(source, relevance(source))).collect(), spent))
}
