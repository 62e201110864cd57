//! What people think of an answer: a thumb and a comment, kept with the run.

use std::time::SystemTime;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use ibid_core::metric;
use ibid_engine::{Feedback, Run};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{find, ids};
use crate::http::{Caller, Json, Problem};
use crate::messages::answer_of;
use crate::state::ServerState;
use crate::threads::stamp;

/// The longest comment, in characters.
const LONGEST: usize = 4000;

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "FeedbackGive")]
pub(super) struct Give {
    /// 1 for good, -1 for bad, 0 for neither.
    #[schemars(range(min = -1, max = 1))]
    score: i8,
    /// Why.
    #[serde(default)]
    comment: String,
}

pub(super) async fn give(
    State(app): State<ServerState>,
    caller: Caller,
    Path(path): Path<(String, String)>,
    Json(asked): Json<Give>,
) -> Result<(StatusCode, axum::Json<FeedbackView>), Problem> {
    let (thread, run) = ids(path)?;
    let found = find(&app, &caller, thread, run).await?;
    if !(-1..=1).contains(&asked.score) {
        return Err(Problem::invalid("`score` is 1 for good, -1 for bad, or 0 for neither"));
    }
    let comment: String = asked.comment.chars().take(LONGEST).collect();
    let author = caller.name.to_string();
    let given = Feedback { score: asked.score, comment, author, created: SystemTime::now() };
    app.engine().add_feedback(&caller.scope, run, given.clone()).await?;
    let verdict = match given.score {
        1.. => "good",
        0 => "neither",
        _ => "bad",
    };
    metric::feedback(&found.assistant, verdict);
    if given.score < 0 {
        forget(&app, &caller, &found).await?;
    }
    Ok((StatusCode::CREATED, axum::Json(to_wire(&given))))
}

/// An answer that somebody finds wrong is not given again.
async fn forget(app: &ServerState, caller: &Caller, run: &Run) -> Result<(), Problem> {
    let answer = answer_of(app.engine(), &caller.scope, run).await?;
    let cached = answer.and_then(|answer| answer.message.metadata?.cached);
    let first = cached.and_then(|cached| cached.run_id.parse().ok()).unwrap_or(run.id);
    Ok(app.forget_answer(&caller.scope, first).await?)
}

pub(super) async fn given(
    State(app): State<ServerState>,
    caller: Caller,
    Path(path): Path<(String, String)>,
) -> Result<axum::Json<Vec<FeedbackView>>, Problem> {
    let (thread, run) = ids(path)?;
    find(&app, &caller, thread, run).await?;
    let given = app.engine().feedback(&caller.scope, run).await?;
    Ok(axum::Json(given.iter().map(to_wire).collect()))
}

/// What somebody thought of an answer.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Feedback")]
pub(super) struct FeedbackView {
    score: i8,
    comment: String,
    /// Who gave it: the name of a key or a person.
    author: String,
    created_at: String,
}

fn to_wire(given: &Feedback) -> FeedbackView {
    FeedbackView {
        score: given.score,
        comment: given.comment.clone(),
        author: given.author.clone(),
        created_at: stamp(given.created),
    }
}
