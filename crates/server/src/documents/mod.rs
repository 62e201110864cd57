//! Documents: uploaded, fetched, listed, followed while they are loaded, shown page by page, deleted.

mod list;
mod search;
mod upload;

pub(crate) use list::Figures;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse as _;
use ibid_core::evidence::{DocumentId, Passage};
use ibid_knowledge::{Content, Document, Job, PageRecord};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::io::AsyncReadExt as _;
use tower_http::services::ServeFile;

use crate::api::{Api, about};
use crate::app::App;
use crate::http::{Caller, Problem};
use crate::library::problem;
use crate::stream::{Following, Format, Modes, Place, answered};

/// The routes.
pub(crate) fn routes(api: Api) -> Api {
    let on = |summary| about("Documents", summary);
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
        &on("Load files").takes_files::<upload::About>().gives::<upload::Taken>(),
    )
    .post(
        "/documents/fetch",
        upload::fetch,
        on("Load a document from an address").takes::<upload::Fetch>().gives::<upload::Taken>(),
    )
    .get("/documents/{document}", one, on("A document, with what was read of each page").gives::<Document>())
    .delete("/documents/{document}", delete, on("Delete a document").nothing())
    .get("/documents/{document}/events", events, on("Follow how a document is loaded").events())
    .post("/documents/{document}/cancel", cancel, on("Stop loading a document").nothing())
    .get("/documents/{document}/original", original, on("The file itself").file())
    .get(
        "/documents/{document}/pages/{page}",
        page,
        on("The text of a page, and where each part stands").gives::<PageText>(),
    )
    .and(search::routes)
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
    if app.library().cancel(&caller.scope, &id).await?.is_empty() {
        return Err(Problem::not_found(format!("the document {id} is not being loaded")));
    }
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
    let (kind, policy) = if is_pdf(&content).await {
        // Browsers show a PDF with parts of their own, which a stricter policy would keep out.
        ("application/pdf", "frame-ancestors 'none'")
    } else {
        ("text/plain; charset=utf-8", "sandbox; default-src 'none'; frame-ancestors 'none'")
    };
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("inline"));
    // A document may be replaced at any time, and is for those who may see it.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    Ok(response.into_response())
}

async fn is_pdf(content: &Content) -> bool {
    let mut start = [0; 5];
    match tokio::fs::File::open(content.path()).await {
        Ok(mut file) => file.read_exact(&mut start).await.is_ok() && &start == b"%PDF-",
        Err(_) => false,
    }
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
    State(app): State<App>,
    caller: Caller,
    Path((id, page)): Path<(String, u32)>,
) -> Result<axum::Json<PageText>, Problem> {
    let document = find(&app, &caller, &id).await?;
    let record = document.pages.iter().find(|record| record.number == page).cloned();
    let record =
        record.ok_or_else(|| Problem::not_found(format!("{} has no page {page}", document.title)))?;
    let passages = app.library().index.page(&caller.scope, &document.id, page).await;
    let passages = passages.map_err(|error| Problem::unavailable(error.to_string()))?;
    Ok(axum::Json(PageText { page: record, passages }))
}
