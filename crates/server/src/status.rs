//! What works and what does not, what the server is set up with, and what it holds.

use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use axum::response::IntoResponse as _;
use ibid_app::{CheckResult, ServerInfo};
use ibid_core::{AccessRole, Corpus, Label};
use ibid_engine::ThreadFilter;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::{Api, operation};
use crate::documents::Figures;
use crate::health::examine;
use crate::http::{Caller, Problem};
use crate::state::ServerState;

/// The routes.
pub(crate) fn routes(api: Api) -> Api {
    let summary = "What works, what the server is set up with, and what it holds";
    let on = |summary| operation("Health", summary, AccessRole::Reader);
    api.get("/status", status, on(summary).gives::<Status>()).get(
        "/me",
        me,
        on("Who asks, and what they may see and do").gives::<Me<'_>>(),
    )
}

/// How the server is.
#[derive(Serialize, JsonSchema)]
struct Status<'a> {
    version: &'static str,
    /// What was found of each part.
    parts: Vec<Examined<'a>>,
    #[serde(flatten)]
    info: &'a ServerInfo,
    /// What the documents come to that the caller may see.
    documents: Figures,
    /// How many conversations the caller may see.
    threads: u64,
}

#[derive(Serialize, JsonSchema)]
struct Examined<'a> {
    name: &'a str,
    finding: CheckResult,
}

/// Who asks.
#[derive(Serialize, JsonSchema)]
struct Me<'a> {
    /// The name of the key or the person, as it is in limits and in the log.
    name: &'a str,
    role: AccessRole,
    /// The owner of the threads that they begin; null if those belong to everybody at the tenant.
    owner: Option<&'a str>,
    tenant: &'a str,
    /// The corpora that they see; null for all.
    corpora: Option<Vec<&'a Corpus>>,
    /// The labels that they have.
    labels: Vec<&'a Label>,
}

async fn me(caller: Caller) -> Response<Body> {
    let scope = &caller.scope;
    let me = Me {
        name: &caller.name,
        role: caller.role,
        owner: scope.caller(),
        tenant: scope.tenant().as_str(),
        corpora: scope.corpora().map(|corpora| corpora.iter().collect()),
        labels: scope.labels().iter().collect(),
    };
    axum::Json(me).into_response()
}

async fn status(State(app): State<ServerState>, caller: Caller) -> Result<Response<Body>, Problem> {
    let documents = app.documents().ok();
    let listed = async {
        match documents {
            Some(documents) => documents.store().listed(&caller.scope).await,
            None => Ok(Vec::new()),
        }
    };
    let threads = app.engine().count_threads(&caller.scope, ThreadFilter::default());
    let (found, listed, threads) = tokio::join!(examine(&app, |_| true), listed, threads);
    let status = Status {
        version: env!("CARGO_PKG_VERSION"),
        parts: found
            .into_iter()
            .map(|(name, finding)| Examined { name, finding: public(&app, finding) })
            .collect(),
        info: app.info(),
        documents: Figures::of(&listed?),
        threads: threads?,
    };
    Ok(axum::Json(status).into_response())
}

/// Where others use the server too, they are not told where things lie on its disk, nor what its providers say: only
/// whether a part works. `ibid doctor` and the log say the rest.
fn public(app: &ServerState, finding: CheckResult) -> CheckResult {
    if app.access().is_open() {
        return finding;
    }
    match finding {
        CheckResult::Fine { .. } => CheckResult::fine(""),
        CheckResult::Missing { .. } => CheckResult::missing(""),
        CheckResult::Wrong { .. } => {
            CheckResult::wrong("", "whoever runs this server finds more with `ibid doctor`")
        }
    }
}
