//! Documents: uploaded, fetched, listed, followed while they are loaded, shown page by page, deleted.

mod incoming;
mod list;
mod search;
mod upload;

pub(crate) use list::Figures;
use upload::printable;
pub(crate) use upload::remove_left_uploads;

use std::collections::BTreeSet;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse as _;
use ibid_core::evidence::{DocumentId, Passage};
use ibid_core::{AccessRole, Label};
use ibid_knowledge::{Content, Document, DocumentChange, PageRecord};
use ibid_reading::{SNIFFED, format_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncReadExt as _;
use tower_http::services::ServeFile;

use crate::api::{Api, operation};
use crate::http::{Caller, Json, Problem, Query, run_id};
use crate::state::ServerState;
use crate::stream::{StreamCursor, load_stream};

/// A title or type has at most so many characters.
const LONGEST_TEXT: usize = 300;

/// The routes.
pub(crate) fn routes(api: Api) -> Api {
    let on = |summary| operation("Documents", summary, AccessRole::Reader);
    let change = |summary| operation("Documents", summary, AccessRole::Editor);
    api.get(
        "/documents",
        list::list,
        on("List documents")
            .query("corpus", "only of this set")
            .query("type", "only of this type")
            .query("status", "only those that stand so")
            .query("search", "only those whose title or source contains this")
            .query("sort", "source unless said otherwise, or title, changed or pages")
            .query("limit", "how many")
            .query("offset", "leave out so many")
            .gives::<list::Documents>(),
    )
    .on(
        "post",
        "/documents",
        upload::route(),
        &change("Load files").takes_files::<upload::DocumentForm>().gives::<upload::Taken>(),
    )
    .post(
        "/documents/fetch",
        upload::fetch,
        change("Load a document from an address").takes::<upload::Fetch>().gives::<upload::Taken>(),
    )
    .get("/documents/{document}", one, on("A document, with what was read of each page").gives::<Document>())
    .patch(
        "/documents/{document}",
        edit,
        change("Change what is said of a document, without reading it again")
            .takes::<DocumentEditForm>()
            .gives::<Document>(),
    )
    .delete("/documents/{document}", delete, change("Delete a document").nothing())
    .get(
        "/documents/{document}/events",
        events,
        on("Follow how a document is loaded")
            .query("run", "which load; the last one unless said otherwise")
            .events(),
    )
    .post(
        "/documents/{document}/cancel",
        cancel,
        change("Stop loading a document")
            .query("run", "which load; every one unless said otherwise")
            .nothing(),
    )
    .get("/documents/{document}/original", original, on("The file itself").file())
    .get(
        "/documents/{document}/pages/{page}",
        page,
        on("The text of a page, and where each part stands").gives::<PageText>(),
    )
    .and(search::routes)
}

async fn find(app: &ServerState, caller: &Caller, id: &str) -> Result<Document, Problem> {
    let found = app.documents()?.store().document(&caller.scope, &DocumentId(id.to_owned())).await?;
    found.ok_or_else(|| Problem::not_found(format!("there is no document {id}")))
}

/// A document with what was read of each page.
async fn one(
    State(app): State<ServerState>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<axum::Json<Document>, Problem> {
    Ok(axum::Json(find(&app, &caller, &id).await?))
}

/// What is to be said of a document; what is not given stays as it is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "DocumentChange")]
struct DocumentEditForm {
    /// Its title.
    #[serde(default)]
    title: Option<String>,
    /// Its type.
    #[serde(default, rename = "type")]
    kind: Option<String>,
    /// Who may see it; empty means everybody at the tenant.
    #[serde(default)]
    labels: Option<BTreeSet<Label>>,
}

async fn edit(
    State(app): State<ServerState>,
    caller: Caller,
    Path(id): Path<String>,
    Json(asked): Json<DocumentEditForm>,
) -> Result<axum::Json<Document>, Problem> {
    let DocumentEditForm { title, kind, labels } = asked;
    let text = |text: Option<String>| text.map(|text| printable(&text).chars().take(LONGEST_TEXT).collect());
    let change = DocumentChange { title: text(title), kind: text(kind), labels };
    let changed = Box::pin(app.documents()?.store().change(&caller.scope, &named(&id)?, change)).await?;
    changed.map(axum::Json).ok_or_else(|| no_such_document(&id))
}

async fn delete(
    State(app): State<ServerState>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    match app.documents()?.delete(&caller.scope, &named(&id)?).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(no_such_document(&id)),
    }
}

/// The name of a document, if it is one.
fn named(id: &str) -> Result<DocumentId, Problem> {
    let digit = |sign: u8| sign.is_ascii_digit() || (b'a'..=b'f').contains(&sign);
    let plain = id.len() == 24 && id.bytes().all(digit);
    plain.then(|| DocumentId(id.to_owned())).ok_or_else(|| no_such_document(id))
}

fn no_such_document(id: &str) -> Problem {
    Problem::not_found(format!("there is no document {id}"))
}

/// How the loading of a document goes on.
async fn events(
    State(app): State<ServerState>,
    caller: Caller,
    Path(id): Path<String>,
    query: Query,
    headers: HeaderMap,
) -> Result<Response<Body>, Problem> {
    let (id, run) = (named(&id)?, query.one("run").map(run_id).transpose()?);
    let load = app.documents()?.load_of(&caller.scope, &id, run).await?;
    let load =
        load.ok_or_else(|| Problem::not_found(format!("the document {id} was not loaded by this server")))?;
    let after = StreamCursor::of(&headers)?.map_or(0, |cursor| cursor.seq);
    Ok(load_stream(app.documents()?.clone(), caller.scope, load.id, after))
}

/// Stops loading; what was there before stays.
async fn cancel(
    State(app): State<ServerState>,
    caller: Caller,
    Path(id): Path<String>,
    query: Query,
) -> Result<StatusCode, Problem> {
    let (id, run) = (named(&id)?, query.one("run").map(run_id).transpose()?);
    if app.documents()?.cancel(&caller.scope, &id, run).await?.is_empty() {
        return Err(Problem::not_found(format!("the document {id} is not being loaded")));
    }
    Ok(StatusCode::ACCEPTED)
}

/// The file itself, also in parts. It is shown and never run: not as a page of this server.
async fn original(
    State(app): State<ServerState>,
    caller: Caller,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response<Body>, Problem> {
    let found = app.documents()?.store().content_of(&caller.scope, &DocumentId(id.clone())).await?;
    let content = found.ok_or_else(|| Problem::not_found(format!("there is no document {id}")))?;
    let served = ServeFile::new(content.path()).try_call(request).await;
    let mut response = served.map_err(|error| Problem::internal(&error))?.map(Body::new);
    let headers = response.headers_mut();
    // HTML and the like are for reading, so they come as plain text; what is neither text nor shown by browsers is saved.
    let beginning = beginning(&content).await;
    let format = format_of("", &beginning);
    let kind = format.map_or("application/octet-stream", |format| format.shown_as(&beginning));
    let policy = if kind.starts_with("text/plain") {
        "sandbox; default-src 'none'; frame-ancestors 'none'"
    } else {
        // Browsers show a PDF with parts of their own, which a stricter policy would keep out.
        "frame-ancestors 'none'"
    };
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("inline"));
    // A document may be replaced at any time, and is for those who may see it.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    Ok(response.into_response())
}

/// The first bytes of a file, which tell its format.
async fn beginning(content: &Content) -> Vec<u8> {
    let mut start = Vec::new();
    if let Ok(file) = tokio::fs::File::open(content.path()).await {
        // What cannot be read is shown as the text that it is not.
        let _ = file.take(SNIFFED as u64).read_to_end(&mut start).await;
    }
    start
}

/// What a page says.
#[derive(Serialize, JsonSchema)]
struct PageText {
    /// What was read of it.
    page: PageRecord,
    /// Its text, chunk by chunk in reading order, and where each stands.
    passages: Vec<Passage>,
}

/// The text of a page, and where on it each part stands.
async fn page(
    State(app): State<ServerState>,
    caller: Caller,
    Path((id, page)): Path<(String, u32)>,
) -> Result<axum::Json<PageText>, Problem> {
    let document = find(&app, &caller, &id).await?;
    let record = document.pages.iter().find(|record| record.number == page).cloned();
    let record =
        record.ok_or_else(|| Problem::not_found(format!("{} has no page {page}", document.title)))?;
    let passages = app.documents()?.index().page(&caller.scope, &document.id, page).await;
    let passages = passages.map_err(|error| Problem::unavailable(error.to_string()))?;
    Ok(axum::Json(PageText { page: record, passages }))
}
