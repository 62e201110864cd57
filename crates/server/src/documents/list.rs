//! The list of documents, with what there is to choose from and the figures of what was chosen.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use axum::extract::State;
use ibid_knowledge::{Document, DocumentStatus, PageCounts};
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::{Caller, Problem, Query};
use crate::state::ServerState;

/// So many documents are listed at once, unless said otherwise, and at most.
const USUAL: usize = 100;
const MOST: usize = 1000;

/// A part of the documents, and what all of them come to.
#[derive(Serialize, JsonSchema)]
pub(super) struct Documents {
    documents: Vec<Listed>,
    /// How many fit.
    total: usize,
    /// What those that fit come to.
    figures: Figures,
    /// The sets that there are, and how many documents each has.
    corpora: BTreeMap<String, usize>,
    /// The types that there are, and how many documents each has.
    types: BTreeMap<String, usize>,
}

/// A document with a tally of its pages.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DocumentListed")]
struct Listed {
    #[serde(flatten)]
    document: Document<PageCounts>,
}

/// What documents come to.
#[derive(Default, Serialize, JsonSchema)]
#[schemars(rename = "DocumentFigures")]
pub(crate) struct Figures {
    documents: usize,
    /// How many of them can be searched.
    ready: usize,
    pages: u64,
    /// How many pages are left out of the search.
    skipped: u64,
    chunks: u64,
    tables: u64,
    bytes: u64,
}

impl Figures {
    /// Of some documents.
    pub(crate) fn of<'a>(documents: impl IntoIterator<Item = &'a Document<PageCounts>>) -> Self {
        let mut figures = Self::default();
        for document in documents {
            figures.documents += 1;
            figures.ready += usize::from(document.state.is_ready());
            figures.pages += u64::from(document.pages.count);
            figures.skipped += u64::from(document.pages.skipped);
            figures.chunks += u64::from(document.chunks);
            figures.tables += u64::from(document.tables);
            figures.bytes += document.bytes;
        }
        figures
    }
}

pub(super) async fn list(
    State(app): State<ServerState>,
    caller: Caller,
    query: Query,
) -> Result<axum::Json<Documents>, Problem> {
    let (skip, limit) =
        (query.number("offset")?.unwrap_or(0), query.number("limit")?.unwrap_or(USUAL).min(MOST));
    let mut all = app.documents()?.store().listed(&caller.scope).await?;
    match query.one("sort") {
        None | Some("source") => {}
        Some("title") => all.sort_by_key(|document| document.title.to_lowercase()),
        Some("changed") => all.sort_by_key(|document| Reverse(document.changed)),
        Some("pages") => all.sort_by_key(|document| Reverse(document.pages.count)),
        Some(other) => {
            return Err(Problem::invalid(format!(
                "documents cannot be sorted by `{other}`: use source, title, changed or pages"
            )));
        }
    }
    let fits = |name: &str, value: &str| query.one(name).is_none_or(|wanted| wanted == value);
    let named = query.one("search").map(str::to_lowercase);
    let wanted = |document: &&Document<PageCounts>| {
        fits("corpus", document.corpus.as_str())
            && fits("type", &document.kind)
            && (fits("status", document.state.status().name())
                || fits("status", DocumentStatus::Loading.name()) && document.state.pending().is_some())
            && named.as_ref().is_none_or(|named| {
                document.title.to_lowercase().contains(named)
                    || document.source.to_lowercase().contains(named)
            })
    };
    let fitting: Vec<&Document<PageCounts>> = all.iter().filter(wanted).collect();
    let page = fitting.iter().skip(skip).take(limit);
    let documents = page.map(|document| Listed { document: (*document).clone() }).collect();
    Ok(axum::Json(Documents {
        documents,
        total: fitting.len(),
        figures: Figures::of(fitting.iter().copied()),
        corpora: counted(all.iter().map(|document| document.corpus.as_str())),
        types: counted(all.iter().map(|document| document.kind.as_str())),
    }))
}

fn counted<'a>(names: impl Iterator<Item = &'a str>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for name in names {
        match counts.get_mut(name) {
            Some(count) => *count += 1,
            None => drop(counts.insert(name.to_owned(), 1)),
        }
    }
    counts
}
