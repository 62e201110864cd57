//! Datasets: questions that were picked from conversations, to compare configurations with.

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use ibid_core::AccessRole;
use ibid_engine::FactsRange;
use ibid_evals::{DatasetItem, ExpectedPage, check_dataset_name, write_dataset};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::{Api, operation};
use crate::http::{Caller, Json, Problem, Query};
use crate::insights::{filter_of, times};
use crate::state::ServerState;

/// So many turns are added at once at most.
const MOST_AT_ONCE: usize = 500;

/// The routes.
pub(crate) fn routes(api: Api) -> Api {
    let on = |summary| operation("Datasets", summary, AccessRole::Admin);
    let turns = on("Add the turns behind a figure")
        .query("from", "when it begins, in seconds since 1970; seven days ago if not given")
        .query("to", "when it ends, in seconds since 1970; now if not given")
        .query("assistant", "only turns of this assistant")
        .query("filter", "which ones: all, failed, unanswered, warned, good or bad")
        .gives::<AddedTurns>();
    api.get("/datasets", list, on("Datasets by name").gives::<Vec<DatasetView>>())
        .get("/datasets/{dataset}", items, on("The questions of a dataset").gives::<Vec<DatasetItem>>())
        .delete("/datasets/{dataset}", delete, on("Delete a dataset").nothing())
        .get("/datasets/{dataset}/export", export, on("A dataset as a file for `ibid eval`").file().audited())
        .post(
            "/datasets/{dataset}/items",
            add,
            operation("Datasets", "Add the question of a turn", AccessRole::Editor)
                .takes::<NewItem>()
                .gives::<DatasetItem>(),
        )
        .delete("/datasets/{dataset}/items/{item}", delete_item, on("Delete a question").nothing())
        .post("/datasets/{dataset}/turns", add_turns, turns)
}

/// A dataset.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Dataset")]
struct DatasetView {
    name: String,
    /// How many questions it has.
    items: u64,
}

/// A turn that becomes a question of a dataset. What is expected is what the turn did, unless it is said.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "DatasetItemAdd")]
struct NewItem {
    /// Which turn.
    run_id: String,
    /// The pages that hold the answer; those that it cites if not given.
    #[serde(default)]
    pages: Option<Vec<ExpectedPage>>,
    /// What a right answer says word for word.
    #[serde(default)]
    values: Vec<String>,
    /// What a right answer says in some words.
    #[serde(default)]
    facts: Vec<String>,
    /// Whether the documents do not hold the answer; as the turn found if not given.
    #[serde(default)]
    refusal: Option<bool>,
}

/// How many turns were added.
#[derive(Serialize, JsonSchema)]
struct AddedTurns {
    added: usize,
}

async fn list(
    State(app): State<ServerState>,
    caller: Caller,
) -> Result<axum::Json<Vec<DatasetView>>, Problem> {
    let all = app.engine().datasets(&caller.scope).await?;
    Ok(axum::Json(all.into_iter().map(|(name, items)| DatasetView { name, items }).collect()))
}

async fn items(
    State(app): State<ServerState>,
    caller: Caller,
    Path(dataset): Path<String>,
) -> Result<axum::Json<Vec<DatasetItem>>, Problem> {
    Ok(axum::Json(known(&app, &caller, &dataset).await?))
}

/// The questions of a dataset that is there.
async fn known(app: &ServerState, caller: &Caller, dataset: &str) -> Result<Vec<DatasetItem>, Problem> {
    let items = app.app().dataset(&caller.scope, dataset).await?;
    if items.is_empty() {
        return Err(Problem::not_found(format!("there is no dataset `{dataset}`")));
    }
    Ok(items)
}

async fn export(
    State(app): State<ServerState>,
    caller: Caller,
    Path(dataset): Path<String>,
) -> Result<Response, Problem> {
    let items = known(&app, &caller, &dataset).await?;
    let file: String =
        dataset.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect();
    let headers = [
        (header::CONTENT_TYPE, "application/jsonl".to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{file}.jsonl\"")),
    ];
    Ok((headers, write_dataset(&items)).into_response())
}

async fn add(
    State(app): State<ServerState>,
    caller: Caller,
    Path(dataset): Path<String>,
    Json(asked): Json<NewItem>,
) -> Result<(StatusCode, axum::Json<DatasetItem>), Problem> {
    check_dataset_name(&dataset).map_err(Problem::invalid)?;
    let run = asked.run_id.parse().map_err(|_| Problem::invalid("`run_id` is the id of a turn"))?;
    let mut item = app.app().dataset_item_of(&caller.scope, run).await?;
    (item.values, item.facts) = (asked.values, asked.facts);
    item.refusal = asked.refusal.or(item.refusal);
    item.pages = asked.pages.unwrap_or(item.pages);
    if item.refusal == Some(true) {
        item.pages.clear();
        if !(item.values.is_empty() && item.facts.is_empty()) {
            return Err(Problem::invalid("`refusal` is true, so there are no `values` or `facts` to say"));
        }
    }
    app.app().add_to_dataset(&caller.scope, &dataset, &item).await?;
    Ok((StatusCode::CREATED, axum::Json(item)))
}

async fn add_turns(
    State(app): State<ServerState>,
    caller: Caller,
    Path(dataset): Path<String>,
    query: Query,
) -> Result<axum::Json<AddedTurns>, Problem> {
    check_dataset_name(&dataset).map_err(Problem::invalid)?;
    let (from, to) = times(&query)?;
    let filter = filter_of(query.one("filter").unwrap_or("all"))?;
    let assistant = query.one("assistant").map(str::to_owned);
    let at_most = MOST_AT_ONCE;
    let range = FactsRange { assistant, filter, existing: true, at_most, ..FactsRange::between(from, to) };
    let added = app.app().add_turns_to_dataset(&caller.scope, &dataset, range).await?;
    Ok(axum::Json(AddedTurns { added }))
}

async fn delete(
    State(app): State<ServerState>,
    caller: Caller,
    Path(dataset): Path<String>,
) -> Result<StatusCode, Problem> {
    deleted(app.engine().delete_dataset_items(&caller.scope, &dataset, None).await?, &dataset)
}

async fn delete_item(
    State(app): State<ServerState>,
    caller: Caller,
    Path((dataset, item)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    deleted(app.engine().delete_dataset_items(&caller.scope, &dataset, Some(&item)).await?, &item)
}

fn deleted(count: usize, name: &str) -> Result<StatusCode, Problem> {
    match count {
        0 => Err(Problem::not_found(format!("there is no `{name}`"))),
        _ => Ok(StatusCode::NO_CONTENT),
    }
}
