//! What came of many turns, and the conversations behind each figure.

use std::time::{Duration, SystemTime};

use axum::extract::State;
use ibid_app::{Insights, TurnFilter};
use ibid_engine::{FactsRange, TurnFacts};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::{Api, operation};
use crate::http::{Caller, Problem, Query};
use crate::state::ServerState;
use crate::threads::stamp;

/// So far back it is looked if nobody says.
const USUAL: Duration = Duration::from_secs(7 * 24 * 3600);
/// So many turns are listed if nobody says, and at most.
const LISTED: (usize, usize) = (50, 500);

/// The routes.
pub(crate) fn routes(api: Api) -> Api {
    let on = |summary| {
        operation("Insights", summary)
            .query("from", "when it begins, in seconds since 1970; seven days ago if not given")
            .query("to", "when it ends, in seconds since 1970; now if not given")
            .query("assistant", "only turns of this assistant")
    };
    let names: &'static str = "which ones: all, failed, unanswered, warned, good or bad";
    let turns = on("The turns behind a figure, the newest first")
        .query("filter", names)
        .query("limit", "how many, at most 500")
        .gives::<Vec<TurnView>>();
    api.get("/insights", insights, on("What came of the turns in some time").gives::<Insights>()).get(
        "/insights/turns",
        turns_behind,
        turns,
    )
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
    let wanted = query.one("filter").unwrap_or("all");
    let filter = TurnFilter::ALL.into_iter().find(|(name, _)| *name == wanted).map(|(_, filter)| filter);
    let Some(filter) = filter else {
        let names: Vec<&str> = TurnFilter::ALL.iter().map(|(name, _)| *name).collect();
        return Err(Problem::invalid(format!(
            "there is no filter `{wanted}`; there are {}",
            names.join(", ")
        )));
    };
    let limit = match query.one("limit") {
        Some(text) => text.parse().map_err(|_| Problem::invalid("`limit` is a number"))?,
        None => LISTED.0,
    };
    let assistant = query.one("assistant").map(str::to_owned);
    let range = FactsRange { from, to, assistant, at_most: limit.min(LISTED.1) };
    let turns = app.app().turns_behind(&caller.scope, range, filter).await?;
    Ok(axum::Json(turns.into_iter().filter_map(to_wire).collect()))
}

fn times(query: &Query) -> Result<(SystemTime, SystemTime), Problem> {
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
