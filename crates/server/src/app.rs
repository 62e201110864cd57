//! What the server stands on.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::BoxFuture;
use ibid_assistants::Definition;
use ibid_core::tool::Tool;
use ibid_engine::Engine;
use ibid_graph::Shape;
use serde_json::Value;
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
    /// What must work for the server to be ready.
    pub checks: Vec<Check>,
}

/// Looks whether a part works.
pub struct Check {
    /// What it is called.
    pub name: String,
    /// Looks, and says what is wrong.
    pub look: Box<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>,
}

/// What every handler has at hand. Cheap to clone.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

struct Inner {
    parts: Parts,
    readiness: Mutex<Option<Readiness>>,
}

/// When it was looked whether the server is ready, whether it was, and what was told.
type Readiness = (Instant, bool, Value);

impl App {
    /// An application of these parts.
    pub(crate) fn new(parts: Parts) -> Self {
        Self(Arc::new(Inner { parts, readiness: Mutex::default() }))
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

    /// Whether the server was ready when somebody last looked.
    pub(crate) fn readiness(&self) -> &Mutex<Option<Readiness>> {
        &self.0.readiness
    }

    /// What must work for the server to be ready.
    pub(crate) fn checks(&self) -> &[Check] {
        &self.0.parts.checks
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
