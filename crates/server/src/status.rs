//! What works and what does not, what the server is set up with, and what it holds.

use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use axum::response::IntoResponse as _;
use ibid_engine::ThreadFilter;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::{Api, about};
use crate::app::{App, Facts, Finding};
use crate::documents::Figures;
use crate::health::examine;
use crate::http::{Caller, Problem};
use crate::library::problem;

/// The routes.
pub(crate) fn routes(api: Api) -> Api {
    let on = about("Health", "What works, what the server is set up with, and what it holds");
    api.get("/status", status, on.gives::<Status>())
}

/// How the server is.
#[derive(Serialize, JsonSchema)]
struct Status<'a> {
    version: &'static str,
    /// What was found of each part.
    parts: Vec<Examined<'a>>,
    #[serde(flatten)]
    facts: &'a Facts,
    /// What the documents come to that the caller may see.
    documents: Figures,
    /// How many conversations the caller's tenant has.
    threads: u64,
}

#[derive(Serialize, JsonSchema)]
struct Examined<'a> {
    name: &'a str,
    finding: Finding,
}

async fn status(State(app): State<App>, caller: Caller) -> Result<Response<Body>, Problem> {
    let listed = app.library().store.listed(&caller.scope);
    let threads = app.engine().count_threads(&caller.scope, ThreadFilter::default());
    let (found, listed, threads) = tokio::join!(examine(&app, |_| true), listed, threads);
    let told = Status {
        version: env!("CARGO_PKG_VERSION"),
        parts: found
            .into_iter()
            .map(|(name, finding)| Examined { name, finding: told(&app, finding) })
            .collect(),
        facts: app.facts(),
        documents: Figures::of(&listed.map_err(problem)?),
        threads: threads?,
    };
    Ok(axum::Json(told).into_response())
}

/// Where others use the server too, they are not told where things lie on its disk, nor what its providers say: only
/// whether a part works. `ibid doctor` and the log say the rest.
fn told(app: &App, finding: Finding) -> Finding {
    if app.access().is_open() {
        return finding;
    }
    match finding {
        Finding::Fine { .. } => Finding::fine(""),
        Finding::Missing { .. } => Finding::missing(""),
        Finding::Wrong { .. } => Finding::wrong("", "whoever runs this server finds more with `ibid doctor`"),
    }
}
