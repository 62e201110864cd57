//! The page, and what keeps it safe: nothing comes from elsewhere, and nothing runs that is not one of its files.

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use ibid_page::File;

use crate::http::Problem;

/// For the page itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
     font-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'";
/// For what reads PDFs, in a thread of its own: pictures in them are decoded by WebAssembly.
const OF_THE_WORKER: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'";
/// Files whose names change with their content.
const FOR_EVER: &str = "public, max-age=31536000, immutable";
const ASK_AGAIN: &str = "no-cache";

const NOT_BUILT: &str =
    "this ibid was built without its page: run `just page` and build it again; the API is at /docs";

/// The routes.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new().route("/", get(page)).route("/assets/{*path}", get(page)).route("/icon.svg", get(page))
}

async fn page(request: Request) -> Result<Response, Problem> {
    let address = request.uri().path();
    match ibid_page::file(address) {
        Some(file) => Ok(sent(file, request.headers())),
        None if address == "/" => Ok((StatusCode::NOT_FOUND, NOT_BUILT).into_response()),
        None => Err(Problem::not_found(format!("the page has no file {address}"))),
    }
}

fn sent(file: &'static File, asked: &HeaderMap) -> Response {
    let policy = if file.address.contains("pdf.worker") { OF_THE_WORKER } else { POLICY };
    let named_by_content =
        file.address.starts_with("/assets/") && !file.address.starts_with("/assets/pdfjs/");
    let kept = if named_by_content { FOR_EVER } else { ASK_AGAIN };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(file.kind)),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy)),
        (header::CACHE_CONTROL, HeaderValue::from_static(kept)),
        (header::VARY, HeaderValue::from_static("accept-encoding")),
    ];
    match file.compressed.filter(|_| takes_gzip(asked)) {
        Some(compressed) => {
            let encoding = [(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"))];
            (headers, encoding, compressed).into_response()
        }
        None => (headers, file.content).into_response(),
    }
}

fn takes_gzip(asked: &HeaderMap) -> bool {
    let taken = asked.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    taken.flat_map(|list| list.split(',')).any(|one| {
        let (name, weight) = one.split_once(';').unwrap_or((one, ""));
        name.trim() == "gzip" && weight.trim() != "q=0"
    })
}
