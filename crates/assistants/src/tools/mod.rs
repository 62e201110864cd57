//! The tools that ship with ibid. Each takes typed arguments, and whoever sends others is told what is wrong.

mod documents;
mod mcp;
mod stocks;
mod weather;
mod web;

use std::sync::Arc;

use ibid_core::evidence::Index;
use ibid_core::model::{AnswerSchema, ToolSpec};
use ibid_core::tool::{Tool, ToolError};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::definition::Retrieval;
pub use mcp::connect;
pub use stocks::Stocks;
pub use weather::Weather;

/// The tools that need nothing but the documents.
pub const OF_DOCUMENTS: [&str; 5] =
    ["search_documents", "search_knowledge", "lookup_hts_code", "check_tariffs", "check_agency_requirements"];
/// The tools that ask services elsewhere.
pub const OF_THE_WEB: [&str; 2] = ["get_weather", "get_stock_price"];

/// A tool that searches documents, by its name.
pub fn of_documents(name: &str, index: &Arc<dyn Index>, retrieval: &Retrieval) -> Option<Arc<dyn Tool>> {
    documents::named(name, index, retrieval)
}

/// What a model is told of a tool that takes arguments of a type.
fn spec<T: JsonSchema>(name: &str, description: &str) -> ToolSpec {
    let AnswerSchema { mut schema, .. } = AnswerSchema::of::<T>();
    // The name of our type says nothing to a model, and a small one takes it for an argument.
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("title");
    }
    ToolSpec { name: name.to_owned(), description: description.to_owned(), parameters: schema }
}

/// The arguments of a call, if they have the form that the tool takes.
fn arguments<T: DeserializeOwned>(given: Value) -> Result<T, ToolError> {
    serde_json::from_value(given).map_err(|error| ToolError::Arguments(error.to_string()))
}

/// A service did not do what it was asked.
fn failure(service: &str, reason: impl std::fmt::Display) -> ToolError {
    ToolError::Service { service: service.to_owned(), reason: reason.to_string() }
}
