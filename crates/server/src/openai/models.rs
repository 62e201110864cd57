//! `/v1/models`: the assistants.

use axum::extract::{Path, State};
use ibid_core::AccessRole;
use serde_json::{Value, json};

use crate::api::{Api, operation};
use ibid_app::AssistantInfo;

use crate::http::{Caller, Problem};
use crate::state::ServerState;

pub(super) fn routes(api: Api) -> Api {
    api.get("/v1/models", list, operation("OpenAI", "The assistants, as models", AccessRole::Reader)).get(
        "/v1/models/{model}",
        one,
        operation("OpenAI", "An assistant, as a model", AccessRole::Reader),
    )
}

async fn list(State(app): State<ServerState>, _: Caller) -> axum::Json<Value> {
    let data: Vec<Value> = app.assistants().iter().map(|(name, info)| to_wire(name, info)).collect();
    axum::Json(json!({ "object": "list", "data": data }))
}

async fn one(
    State(app): State<ServerState>,
    _: Caller,
    Path(name): Path<String>,
) -> Result<axum::Json<Value>, Problem> {
    Ok(axum::Json(to_wire(&name, &*app.assistant(&name)?)))
}

fn to_wire(name: &str, info: &AssistantInfo) -> Value {
    let definition = &info.definition;
    json!({
        "id": name, "object": "model", "created": 0, "owned_by": "ibid",
        "name": definition.title, "description": definition.description,
    })
}
