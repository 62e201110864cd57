//! `/search`: what the documents say, without an assistant.

use axum::extract::State;
use ibid_core::evidence::{DocumentId, Passage, Question};
use ibid_core::{AccessRole, Corpus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::{Api, operation};
use crate::http::{Caller, Json, Problem};
use crate::state::ServerState;

/// So many passages are found at most.
const MOST: usize = 100;
/// So many ways to ask are taken at most.
const MOST_PHRASINGS: usize = 8;

pub(super) fn routes(api: Api) -> Api {
    api.post(
        "/search",
        search,
        operation("Documents", "Find what documents say", AccessRole::Reader)
            .takes::<Search>()
            .gives::<Found>(),
    )
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Search {
    /// What is looked for.
    query: String,
    /// The same in other words.
    #[serde(default)]
    phrasings: Vec<String>,
    /// Only in these sets of documents.
    #[serde(default)]
    corpora: Option<Vec<Corpus>>,
    /// Only in documents of these types.
    #[serde(default)]
    types: Vec<String>,
    /// Only in these documents.
    #[serde(default)]
    documents: Vec<DocumentId>,
    /// Only in documents of these languages.
    #[serde(default)]
    languages: Vec<String>,
    /// How many passages.
    #[serde(default)]
    limit: Option<usize>,
    /// How many chunks before and after each.
    #[serde(default)]
    neighbours: Option<u32>,
}

/// What was found.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SearchFound")]
struct Found {
    /// The best first.
    passages: Vec<Passage>,
}

async fn search(
    State(app): State<ServerState>,
    caller: Caller,
    Json(asked): Json<Search>,
) -> Result<axum::Json<Found>, Problem> {
    if asked.query.trim().is_empty() {
        return Err(Problem::invalid("`query` is empty"));
    }
    let mut question = Question::new(asked.query);
    question.phrasings.extend(asked.phrasings.into_iter().take(MOST_PHRASINGS));
    (question.kinds, question.documents, question.languages) =
        (asked.types, asked.documents, asked.languages);
    question.top = asked.limit.unwrap_or(question.top).clamp(1, MOST);
    question.neighbours = asked.neighbours.unwrap_or(question.neighbours).min(3);
    let scope = match asked.corpora {
        Some(corpora) => caller.scope.within(corpora),
        None => caller.scope,
    };
    let found = app.documents()?.index().retrieve(&scope, &question).await;
    let found = found.map_err(|error| Problem::unavailable(error.to_string()))?;
    Ok(axum::Json(Found { passages: found.passages }))
}
