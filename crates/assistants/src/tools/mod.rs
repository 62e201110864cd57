//! The tools that ship with ibid, in one table. Each takes typed arguments, and whoever sends others is told what is wrong.

mod catalogue;
mod documents;
mod mcp;
mod stocks;
mod tables;
mod weather;
mod web;
mod web_search;

use std::sync::Arc;

use ibid_core::catalogue::Catalogues;
use ibid_core::evidence::Index;
use ibid_core::model::{AnswerSchema, ToolSpec};
use ibid_core::tool::{Tool, ToolError};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::definition::Definition;
pub use mcp::connect;
use stocks::Stocks;
use weather::Weather;
pub use web_search::{OnlineSearch, WebProvider, WebSettings};

/// A tool that ships with ibid.
pub struct ToolEntry {
    /// Its name.
    pub name: &'static str,
    /// The setting that switches it on, if it needs one.
    pub setting: Option<ToolSwitch>,
    build: fn(&ToolContext<'_>) -> Result<Arc<dyn Tool>, String>,
}

/// A setting that switches a tool on.
pub struct ToolSwitch {
    /// Its name in the configuration.
    pub name: &'static str,
    is_on: fn(&ToolSettings) -> bool,
}

/// What tools are made with.
pub struct ToolContext<'a> {
    /// The documents.
    pub index: &'a Arc<dyn Index>,
    /// The catalogues.
    pub catalogues: Option<&'a Arc<dyn Catalogues>>,
    /// What the assistant is.
    pub definition: &'a Definition,
    /// The services that tools may ask.
    pub settings: &'a ToolSettings,
}

/// All of them. A new tool is a row here and a file beside this one.
pub const TOOLS: [ToolEntry; 10] = [
    ToolEntry { name: "search_documents", setting: None, build: documents::search_documents },
    ToolEntry { name: "search_knowledge", setting: None, build: documents::search_knowledge },
    ToolEntry { name: "query_tables", setting: None, build: tables::query_tables },
    ToolEntry { name: "search_catalogue", setting: None, build: catalogue::search_catalogue },
    ToolEntry { name: "compute_financing", setting: None, build: catalogue::compute_financing },
    ToolEntry { name: "lookup_hts_code", setting: None, build: documents::lookup_hts_code },
    ToolEntry { name: "check_tariffs", setting: None, build: documents::check_tariffs },
    ToolEntry {
        name: "check_agency_requirements",
        setting: None,
        build: documents::check_agency_requirements,
    },
    ToolEntry {
        name: "get_weather",
        setting: Some(ToolSwitch { name: "tools.weather", is_on: |settings| settings.weather }),
        build: |context| {
            Ok(Arc::new(Weather::new(&context.settings.weather_places, &context.settings.weather_forecasts)?))
        },
    },
    ToolEntry {
        name: "get_stock_price",
        setting: Some(ToolSwitch { name: "tools.stocks", is_on: |settings| settings.stocks }),
        build: |context| Ok(Arc::new(Stocks::new(&context.settings.stocks_quotes)?)),
    },
];

impl ToolEntry {
    /// The tool of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        TOOLS.iter().find(|entry| entry.name == name)
    }

    /// The setting that would switch it on, if it is off.
    pub fn switched_off(&self, settings: &ToolSettings) -> Option<&'static str> {
        self.setting.as_ref().filter(|switch| !(switch.is_on)(settings)).map(|switch| switch.name)
    }

    /// Makes it; none if it is switched off.
    ///
    /// # Errors
    /// Says which setting cannot be used.
    pub fn build(&self, context: &ToolContext<'_>) -> Result<Option<Arc<dyn Tool>>, String> {
        if self.switched_off(context.settings).is_some() {
            return Ok(None);
        }
        (self.build)(context).map(Some)
    }
}

/// The settings of tools that ask services elsewhere. Each is off until it is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ToolSettings {
    /// Whether assistants may ask Open-Meteo for the weather.
    pub weather: bool,
    /// Where places are looked up for it.
    pub weather_places: String,
    /// Where its forecasts are.
    pub weather_forecasts: String,
    /// Whether assistants may ask Stooq for prices of shares.
    pub stocks: bool,
    /// Where its prices are.
    pub stocks_quotes: String,
    /// The search of the web.
    pub web: WebSettings,
}

impl Default for ToolSettings {
    fn default() -> Self {
        Self {
            weather: false,
            weather_places: Weather::PLACES.to_owned(),
            weather_forecasts: Weather::FORECASTS.to_owned(),
            stocks: false,
            stocks_quotes: Stocks::QUOTES.to_owned(),
            web: WebSettings::default(),
        }
    }
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
