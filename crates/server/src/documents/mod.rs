//! Documents: uploaded, fetched, listed, followed while they are loaded, shown page by page, deleted.

mod search;
mod upload;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse as _;
use ibid_core::evidence::DocumentId;
use ibid_engine::Stop;
use ibid_knowledge::{Content, Document, Job};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tower_http::services::ServeFile;

use crate::api::{Api, about};
use crate::app::App;
use crate::http::{Caller, Problem, Query};
use crate::library::problem;
use crate::stream::{Following, Format, Modes, Place, answered};

/// So many documents are listed at once, unless said otherwise, and at most.
const USUAL: usize = 100;
const MOST: usize = 1000;

/// The routes.
pub(crate) fn routes(api: Api) -> Api {
    let on = |summary| about("Documents", summary);
    api.get(
        "/documents",
        list,
        on("List documents")
            .query("corpus", "only of this set")
            .query("type", "only of this type")
            .query("status", "only those that stand so")
            .query("search", "only those whose title or source contains this")
            .query("limit", "how many")
            .query("offset", "leave out so many"),
    )
    .on("post", "/documents", upload::route(), &on("Load files").takes_files::<upload::About>())
    .post("/documents/fetch", upload::fetch, on("Load a document from an address").takes::<upload::Fetch>())
    .get("/documents/{document}", one, on("A document, with what was read of each page"))
    .delete("/documents/{document}", delete, on("Delete a document").nothing())
    .get("/documents/{document}/events", events, on("Follow how a document is loaded").events())
    .post("/documents/{document}/cancel", cancel, on("Stop loading a document").nothing())
    .get("/documents/{document}/original", original, on("The file itself").file())
    .get("/documents/{document}/pages/{page}", page, on("The text of a page, and where each part stands"))
    .and(search::routes)
}

async fn list(State(app): State<App>, caller: Caller, query: Query) -> Result<axum::Json<Value>, Problem> {
    let (skip, limit) =
        (query.number("offset")?.unwrap_or(0), query.number("limit")?.unwrap_or(USUAL).min(MOST));
    let all = app.library().store.documents(&caller.scope).await.map_err(problem)?;
    let fits = |name: &str, value: &str| query.one(name).is_none_or(|wanted| wanted == value);
    let named = query.one("search").map(str::to_lowercase);
    let wanted = |document: &&Document| {
        fits("corpus", document.corpus.as_str())
            && fits("type", &document.kind)
            && fits("status", document.status.name())
            && named.as_ref().is_none_or(|named| {
                document.title.to_lowercase().contains(named)
                    || document.source.to_lowercase().contains(named)
            })
    };
    let fitting: Vec<&Document> = all.iter().filter(wanted).collect();
    let page: Vec<Value> = fitting.iter().skip(skip).take(limit).map(|document| told(document)).collect();
    Ok(axum::Json(json!({ "documents": page, "total": fitting.len() })))
}

/// A document without its pages.
fn told(document: &Document) -> Value {
    let mut told = json!(document);
    if let Some(fields) = told.as_object_mut() {
        fields.shift_remove("pages");
        fields.insert("pages".to_owned(), document.pages.len().into());
        let skipped = document.pages.iter().filter(|page| page.skipped.is_some()).count();
        fields.insert("skipped".to_owned(), skipped.into());
    }
    told
}

async fn find(app: &App, caller: &Caller, id: &str) -> Result<Document, Problem> {
    let found =
        app.library().store.document(&caller.scope, &DocumentId(id.to_owned())).await.map_err(problem)?;
    found.ok_or_else(|| Problem::not_found(format!("there is no document {id}")))
}

/// A document with what was read of each page.
async fn one(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<axum::Json<Document>, Problem> {
    Ok(axum::Json(find(&app, &caller, &id).await?))
}

async fn delete(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    match app.library().delete(&caller.scope, &named(&id)?).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(unknown(&id)),
    }
}

/// The name of a document, if it is one.
fn named(id: &str) -> Result<DocumentId, Problem> {
    let digit = |sign: u8| sign.is_ascii_digit() || (b'a'..=b'f').contains(&sign);
    let plain = id.len() == 24 && id.bytes().all(digit);
    plain.then(|| DocumentId(id.to_owned())).ok_or_else(|| unknown(id))
}

fn unknown(id: &str) -> Problem {
    Problem::not_found(format!("there is no document {id}"))
}

/// How the loading of a document goes on.
async fn events(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response<Body>, Problem> {
    let id = named(&id)?;
    let run = app.library().last_load(&caller.scope, &id).await?;
    let (run, _) =
        run.ok_or_else(|| Problem::not_found(format!("the document {id} was not loaded by this server")))?;
    let following = Following {
        engine: app.library().loads.clone(),
        scope: caller.scope,
        thread: Job::thread(&id),
        run: run.id,
        from: 0,
        after: Place::of(&headers)?,
        modes: Modes::default(),
        format: Format::Ibid,
        stop_when_gone: false,
    };
    Ok(answered(following, HeaderMap::new()))
}

/// Stops loading; what was there before stays.
async fn cancel(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let id = named(&id)?;
    let run = app.library().last_load(&caller.scope, &id).await?.filter(|(run, _)| !run.status.is_final());
    let (run, _) = run.ok_or_else(|| Problem::not_found(format!("the document {id} is not being loaded")))?;
    app.library().loads.stop(&caller.scope, run.id, Stop::Keep).await?;
    Ok(StatusCode::ACCEPTED)
}

/// The file itself, also in parts. It is shown and never run: not as a page of this server.
async fn original(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response<Body>, Problem> {
    let found =
        app.library().store.content_of(&caller.scope, &DocumentId(id.clone())).await.map_err(problem)?;
    let content = found.ok_or_else(|| Problem::not_found(format!("there is no document {id}")))?;
    let served = ServeFile::new(content.path()).try_call(request).await;
    let mut response = served.map_err(|error| Problem::internal(&error))?.map(Body::new);
    let headers = response.headers_mut();
    // HTML and the like are for reading, so they come as plain text.
    let kind = if is_pdf(&content).await { "application/pdf" } else { "text/plain; charset=utf-8" };
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox; default-src 'none'"));
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("inline"));
    Ok(response.into_response())
}

async fn is_pdf(content: &Content) -> bool {
    let mut start = [0; 5];
    match tokio::fs::File::open(content.path()).await {
        Ok(mut file) => file.read_exact(&mut start).await.is_ok() && &start == b"%PDF-",
        Err(_) => false,
    }
}

/// The text of a page, and where on it each part stands.
async fn page(
    State(app): State<App>,
    caller: Caller,
    Path((id, page)): Path<(String, u32)>,
) -> Result<axum::Json<Value>, Problem> {
    let document = find(&app, &caller, &id).await?;
    let record = document.pages.iter().find(|record| record.number == page);
    let record =
        record.ok_or_else(|| Problem::not_found(format!("{} has no page {page}", document.title)))?;
    let passages = app.library().index.page(&caller.scope, &document.id, page).await;
    let passages = passages.map_err(|error| Problem::unavailable(error.to_string()))?;
    Ok(axum::Json(json!({ "page": record, "passages": passages })))
}
