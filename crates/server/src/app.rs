//! What the server stands on.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::BoxFuture;
use ibid_assistants::Definition;
use ibid_core::tool::Tool;
use ibid_engine::Engine;
use ibid_graph::Shape;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::Mutex;

use crate::access::Access;
use crate::http::Problem;
use crate::library::Library;

/// An assistant as it is offered.
pub struct Offer {
    /// What it is.
    pub definition: Definition,
    /// Its graph.
    pub shape: Shape,
    /// Its tools.
    pub tools: Vec<Arc<dyn Tool>>,
}

/// What a server is made of.
pub struct Parts {
    /// Runs turns.
    pub engine: Arc<dyn Engine>,
    /// Who can answer, by name.
    pub assistants: BTreeMap<String, Offer>,
    /// The documents.
    pub library: Library,
    /// Who may ask.
    pub access: Access,
    /// What is looked at to see whether the server can work.
    pub checks: Vec<Check>,
    /// What it is set up with.
    pub facts: Facts,
}

/// Looks whether a part works.
pub struct Check {
    /// What it is called.
    pub name: String,
    /// Whether the server is not ready without it.
    pub vital: bool,
    /// Looks.
    pub look: Box<dyn Fn() -> BoxFuture<'static, Finding> + Send + Sync>,
}

/// What came of looking at a part.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Finding {
    /// It works.
    Fine {
        /// What is there.
        what: String,
    },
    /// It is not there, and can be done without.
    Missing {
        /// What that means.
        what: String,
    },
    /// It does not work.
    Wrong {
        /// What happened.
        what: String,
        /// What helps.
        help: String,
    },
}

impl Finding {
    /// It works, and this is there.
    pub fn fine(what: impl Into<String>) -> Self {
        Self::Fine { what: what.into() }
    }

    /// It is not there.
    pub fn missing(what: impl Into<String>) -> Self {
        Self::Missing { what: what.into() }
    }

    /// It does not work, and this helps.
    pub fn wrong(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Wrong { what: what.into(), help: help.into() }
    }
}

/// What a server is set up with, as it is shown to those who use it: nothing secret.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Facts {
    /// The models that may answer.
    pub models: Vec<Model>,
    /// What is limited, by the names of the settings.
    pub limits: BTreeMap<String, String>,
}

/// A model that may answer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Model {
    /// What it is called here.
    pub name: String,
    /// Who has it.
    pub provider: String,
    /// What it is called there.
    pub model: String,
    /// How many tokens it can read and write in one call.
    pub context: usize,
    /// What a million tokens that it reads cost, if that is known.
    pub input_price: Option<f64>,
    /// What a million tokens that it writes cost, if that is known.
    pub output_price: Option<f64>,
}

/// What every handler has at hand. Cheap to clone.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

struct Inner {
    parts: Parts,
    /// What was found of each part when somebody last looked, in the order of the checks.
    found: Vec<Mutex<Option<Found>>>,
}

/// When a part was looked at, and what was found.
pub(crate) type Found = (Instant, Finding);

impl App {
    /// An application of these parts.
    pub(crate) fn new(parts: Parts) -> Self {
        let found = parts.checks.iter().map(|_| Mutex::default()).collect();
        Self(Arc::new(Inner { parts, found }))
    }

    /// Runs turns.
    pub(crate) fn engine(&self) -> &Arc<dyn Engine> {
        &self.0.parts.engine
    }

    /// The documents.
    pub(crate) fn library(&self) -> &Library {
        &self.0.parts.library
    }

    /// Who may ask.
    pub(crate) fn access(&self) -> &Access {
        &self.0.parts.access
    }

    /// What is looked at to see whether the server can work.
    pub(crate) fn checks(&self) -> &[Check] {
        &self.0.parts.checks
    }

    /// What was found when somebody last looked at a part, in the order of the checks.
    pub(crate) fn found(&self, part: usize) -> &Mutex<Option<Found>> {
        &self.0.found[part]
    }

    /// What it is set up with.
    pub(crate) fn facts(&self) -> &Facts {
        &self.0.parts.facts
    }

    /// Who can answer, by name.
    pub(crate) fn assistants(&self) -> &BTreeMap<String, Offer> {
        &self.0.parts.assistants
    }

    /// One that can answer.
    pub(crate) fn assistant(&self, name: &str) -> Result<&Offer, Problem> {
        let offer = self.0.parts.assistants.get(name);
        offer.ok_or_else(|| {
            let names: Vec<&str> = self.0.parts.assistants.keys().map(String::as_str).collect();
            Problem::not_found(format!("there is no assistant `{name}`; there are {}", names.join(", ")))
        })
    }
}
