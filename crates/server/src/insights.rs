//! What came of many turns, and the conversations behind each figure.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use axum::extract::State;
use ibid_app::Insights;
use ibid_core::AccessRole;
use ibid_engine::{FactsRange, TurnFacts, TurnFilter};
use ibid_evals::MetricComparison;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::{Api, operation};
use crate::http::{Caller, Problem, Query};
use crate::messages::answer_of;
use crate::state::ServerState;
use crate::threads::stamp;

/// So far back it is looked if nobody says.
const USUAL: Duration = Duration::from_secs(7 * 24 * 3600);
/// So many turns are listed if nobody says, and at most.
const LISTED: (usize, usize) = (50, 500);

/// The routes.
pub(crate) fn routes(api: Api) -> Api {
    let on = |summary| {
        operation("Insights", summary, AccessRole::Admin)
            .query("from", "when it begins, in seconds since 1970; seven days ago if not given")
            .query("to", "when it ends, in seconds since 1970; now if not given")
            .query("assistant", "only turns of this assistant")
    };
    let compared = on("How another assistant differs from one, with the spread of each difference")
        .query("with", "the other assistant")
        .gives::<Vec<MetricComparison>>();
    let passages =
        on("The passages of answers that were marked wrong, those that are most often there first")
            .gives::<Vec<MarkedPassage>>();
    let names: &'static str = "which ones: all, failed, unanswered, warned, good or bad";
    let turns = on("The turns behind a figure, the newest first")
        .query("filter", names)
        .query("limit", "how many, at most 500")
        .gives::<Vec<TurnView>>();
    api.get("/insights", insights, on("What came of the turns in some time").gives::<Insights>())
        .get("/insights/turns", turns_behind, turns)
        .get("/insights/comparison", comparison, compared)
        .get("/insights/passages", marked_passages, passages)
}

/// A turn behind a figure.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "InsightTurn")]
struct TurnView {
    run_id: String,
    thread_id: String,
    /// The beginning of the conversation.
    title: String,
    assistant: String,
    ended_at: String,
    /// How it ended.
    status: &'static str,
    /// What became of the question, if it was answered.
    outcome: Option<&'static str>,
    /// How long it took.
    milliseconds: Option<u64>,
    /// The kinds of what the guard found.
    warnings: Vec<&'static str>,
    good: u32,
    bad: u32,
}

async fn insights(
    State(app): State<ServerState>,
    caller: Caller,
    query: Query,
) -> Result<axum::Json<Insights>, Problem> {
    let (from, to) = times(&query)?;
    let assistant = query.one("assistant").map(str::to_owned);
    Ok(axum::Json(app.app().insights(&caller.scope, from, to, assistant).await?))
}

async fn turns_behind(
    State(app): State<ServerState>,
    caller: Caller,
    query: Query,
) -> Result<axum::Json<Vec<TurnView>>, Problem> {
    let (from, to) = times(&query)?;
    let filter = filter_of(query.one("filter").unwrap_or("all"))?;
    let limit = match query.one("limit") {
        Some(text) => text.parse().map_err(|_| Problem::invalid("`limit` is a number"))?,
        None => LISTED.0,
    };
    let assistant = query.one("assistant").map(str::to_owned);
    let at_most = limit.min(LISTED.1);
    let range = FactsRange { assistant, filter, existing: true, at_most, ..FactsRange::between(from, to) };
    let turns = app.engine().turn_facts(&caller.scope, range).await?;
    Ok(axum::Json(turns.into_iter().filter_map(to_wire).collect()))
}

async fn comparison(
    State(app): State<ServerState>,
    caller: Caller,
    query: Query,
) -> Result<axum::Json<Vec<MetricComparison>>, Problem> {
    let (from, to) = times(&query)?;
    let (Some(one), Some(other)) = (query.one("assistant"), query.one("with")) else {
        return Err(Problem::invalid("`assistant` and `with` say which two are compared"));
    };
    let range = FactsRange { assistant: Some(one.to_owned()), ..FactsRange::between(from, to) };
    Ok(axum::Json(app.app().compare_assistants(&caller.scope, range, other).await?))
}

/// A page that answers cite which were marked wrong.
#[derive(Serialize, JsonSchema)]
struct MarkedPassage {
    document_id: String,
    title: String,
    page: Option<u32>,
    /// How many of these answers cite it.
    answers: usize,
    /// The words that were cited last.
    snippet: String,
    /// Why the answers were marked, in the words of those who did, and who they are.
    comments: Vec<String>,
    /// The last of the turns.
    run_id: String,
    thread_id: String,
}

async fn marked_passages(
    State(app): State<ServerState>,
    caller: Caller,
    query: Query,
) -> Result<axum::Json<Vec<MarkedPassage>>, Problem> {
    let (from, to) = times(&query)?;
    let assistant = query.one("assistant").map(str::to_owned);
    let (filter, at_most) = (TurnFilter::Bad, LISTED.0);
    let range = FactsRange { assistant, filter, existing: true, at_most, ..FactsRange::between(from, to) };
    let (engine, scope) = (app.engine(), &caller.scope);
    let mut pages: BTreeMap<(String, Option<u32>), MarkedPassage> = BTreeMap::new();
    for turn in engine.turn_facts(scope, range).await? {
        let Some(run) = turn.run else { continue };
        let found = engine.run(scope, run).await?;
        let answer = answer_of(engine, scope, &found).await?.and_then(|answer| answer.message.metadata);
        let given = engine.feedback(scope, run).await?;
        let why = given.iter().filter(|one| one.score < 0 && !one.comment.is_empty());
        let comments: Vec<String> = why.map(|one| format!("{}: {}", one.author, one.comment)).collect();
        let cited = answer.map(|answer| answer.citations).unwrap_or_default();
        let mut seen = BTreeSet::new();
        for citation in cited.into_iter().filter(|one| seen.insert((one.document_id.clone(), one.page))) {
            let at = (citation.document_id.clone(), citation.page);
            let page = pages.entry(at).or_insert_with(|| MarkedPassage {
                document_id: citation.document_id,
                title: citation.title,
                page: citation.page,
                answers: 0,
                snippet: citation.snippet,
                comments: Vec::new(),
                run_id: run.to_string(),
                thread_id: found.thread.to_string(),
            });
            page.answers += 1;
            page.comments.extend(comments.iter().cloned());
        }
    }
    let mut pages: Vec<MarkedPassage> = pages.into_values().collect();
    pages.sort_by_key(|page| std::cmp::Reverse(page.answers));
    Ok(axum::Json(pages))
}

pub(crate) fn times(query: &Query) -> Result<(SystemTime, SystemTime), Problem> {
    let time = |name: &str| {
        let Some(text) = query.one(name) else { return Ok::<_, Problem>(None) };
        let seconds = text.parse::<u32>().map_err(|_| {
            Problem::invalid(format!("`{name}` is no time: give seconds since 1970, such as 1767225600"))
        })?;
        Ok(Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.into())))
    };
    let to = time("to")?.unwrap_or_else(SystemTime::now);
    let from = time("from")?.unwrap_or(to - USUAL);
    if from >= to {
        return Err(Problem::invalid("`from` must be before `to`"));
    }
    Ok((from, to))
}

/// The filter of a name.
pub(crate) fn filter_of(wanted: &str) -> Result<TurnFilter, Problem> {
    let filter = TurnFilter::ALL.into_iter().find(|(name, _)| *name == wanted).map(|(_, filter)| filter);
    filter.ok_or_else(|| {
        let names: Vec<&str> = TurnFilter::ALL.iter().map(|(name, _)| *name).collect();
        Problem::invalid(format!("there is no filter `{wanted}`; there are {}", names.join(", ")))
    })
}

fn to_wire(turn: TurnFacts) -> Option<TurnView> {
    Some(TurnView {
        run_id: turn.run?.to_string(),
        thread_id: turn.thread?.to_string(),
        title: turn.title,
        assistant: turn.assistant,
        ended_at: stamp(turn.ended),
        status: turn.status.as_str(),
        outcome: turn.measures.outcome.map(|outcome| outcome.as_str()),
        milliseconds: turn.measures.took_ms,
        warnings: turn.measures.warnings.iter().map(|kind| kind.as_str()).collect(),
        good: turn.good,
        bad: turn.bad,
    })
}
