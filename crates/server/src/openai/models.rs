//! `/v1/models`: the assistants.

use axum::extract::{Path, State};
use serde_json::{Value, json};

use crate::api::{Api, about};
use crate::app::{App, Offer};
use crate::http::{Caller, Problem};

pub(super) fn routes(api: Api) -> Api {
    api.get("/v1/models", list, about("OpenAI", "The assistants, as models")).get(
        "/v1/models/{model}",
        one,
        about("OpenAI", "An assistant, as a model"),
    )
}

async fn list(State(app): State<App>, _: Caller) -> axum::Json<Value> {
    let data: Vec<Value> = app.assistants().iter().map(|(name, offer)| told(name, offer)).collect();
    axum::Json(json!({ "object": "list", "data": data }))
}

async fn one(
    State(app): State<App>,
    _: Caller,
    Path(name): Path<String>,
) -> Result<axum::Json<Value>, Problem> {
    Ok(axum::Json(told(&name, app.assistant(&name)?)))
}

fn told(name: &str, offer: &Offer) -> Value {
    let definition = &offer.definition;
    json!({
        "id": name, "object": "model", "created": 0, "owned_by": "ibid",
        "name": definition.title, "description": definition.description,
    })
}
