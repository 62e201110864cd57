//! Loading a document: a graph whose every step, once done, is never done again.
//!
//! fetch → read (a step for each batch of pages) → chunk → embed (a step for each batch of chunks) → commit → cleanup.
//! What a step finds lies staged in the store, named by the document and its version, so that any machine
//! can go on; the step's record only refers to it.

mod catalogue;
mod download;
mod job;
mod steps;

use std::sync::Arc;
use std::time::Duration;

use ibid_core::load::LoadSummary;
use ibid_core::model::Embedder;
use ibid_core::{JobInput, RunId, Scope};
use ibid_graph::{
    BuildError, CompiledGraph, END, Graph, InvalidInput, NodeError, RetryPolicy, Retryable, START, Terminal,
};
use ibid_reading::Reader;
use serde_json::Value;

pub use self::download::Download;
pub use self::job::{LoadRequest, LoadSettings};
use self::job::{Loading, work_of};
use crate::document::Document;
use crate::store::BlobPin;
use crate::{ContentHash, DocumentState, LoadResult};
use crate::{Error, Store};

/// Loads documents into a store.
#[derive(Clone)]
pub struct Ingestion {
    store: Arc<Store>,
    embedder: Arc<dyn Embedder>,
    reader: Reader,
    download: Option<Download>,
    /// How many pages are read in one step.
    pages_at_once: u32,
}

/// So many pages are read in one step unless said otherwise.
const PAGES: u32 = 64;

impl Ingestion {
    /// Loads with a reader and an embedding model.
    pub fn new(store: Arc<Store>, embedder: Arc<dyn Embedder>, reader: Reader) -> Self {
        Self { store, embedder, reader, download: None, pages_at_once: PAGES }
    }

    /// Reads so many pages in one step.
    #[must_use]
    pub fn reading_at_once(mut self, pages: u32) -> Self {
        self.pages_at_once = pages.max(1);
        self
    }

    /// Loads from URLs too.
    #[must_use]
    pub fn downloading(mut self, download: Download) -> Self {
        self.download = Some(download);
        self
    }

    /// Keeps the content of a document that is about to be loaded, and gives its hash.
    ///
    /// # Errors
    /// Fails when the store cannot be written.
    pub async fn keep(&self, bytes: &[u8]) -> Result<ContentHash, Error> {
        let content = ContentHash::of(bytes);
        self.put_blob_as(&content, bytes).await?;
        Ok(content)
    }

    /// The same for a content whose hash is known.
    ///
    /// # Errors
    /// Fails when the store cannot be written.
    pub async fn put_blob_as(&self, content: &ContentHash, bytes: &[u8]) -> Result<(), Error> {
        self.store.put_blob(content, bytes).await
    }

    /// Whether a scope may load this: into its own corpora, and over nothing that it may not see. Gives what is
    /// there under its name.
    ///
    /// # Errors
    /// Says why it may not, or fails when the store cannot be read.
    pub async fn permit(&self, scope: &Scope, job: &LoadRequest) -> Result<Option<Document>, Error> {
        let LoadRequest { tenant, corpus, key, settings, .. } = job;
        if !scope.sees(tenant, corpus, &settings.labels) {
            return Err(Error::NotAllowed(format!("{key} cannot be loaded into {corpus} with these labels")));
        }
        match self.store.row(&job.document()).await? {
            Some(there) if !scope.sees(tenant, corpus, &there.labels) => Err(Error::NotAllowed(format!(
                "{key} is in {corpus} already, for those who hold one of its labels; \
                 hold one, or load it into another corpus"
            ))),
            there => Ok(there),
        }
    }

    /// Says in the ledger that a document is about to be loaded, so that it is listed while it waits for its turn. Gives
    /// whether the ledger has changed.
    ///
    /// # Errors
    /// Fails when the store cannot be written.
    pub async fn mark_pending(&self, job: &LoadRequest, bytes: u64) -> Result<bool, Error> {
        let content = job.content.clone().unwrap_or_default();
        let row = match self.store.row(&job.document()).await? {
            None => steps::announced(job, content, bytes),
            Some(known)
                if known.state != DocumentState::Loading
                    && known.state.pending().is_none()
                    && content.is_known()
                    && known.content != content =>
            {
                Document { state: known.state.with_pending(content), ..known }
            }
            // Something else is on its way, or there is nothing to keep that is not kept already.
            Some(_) => return Ok(false),
        };
        self.store.record(&row).await.map(|()| true)
    }

    /// Keeps the content of a load, whatever becomes of others, until it is let go of.
    pub fn pin(&self, content: &ContentHash) -> BlobPin {
        self.store.pin_blob(content)
    }

    /// Lets go of the content of a load that is over; it is removed if nothing else needs it.
    ///
    /// # Errors
    /// Fails when the store cannot be written.
    pub async fn release(&self, job: &LoadRequest, hold: BlobPin) -> Result<(), Error> {
        drop(hold);
        match &job.content {
            Some(content) => self.store.delete_unused_blob(&job.document(), content).await,
            None => Ok(()),
        }
    }

    /// Leaves nothing of a load that was stopped or failed while others of the same document go on: what the ledger says
    /// is theirs.
    ///
    /// # Errors
    /// Fails when the store cannot be written.
    pub async fn discard_staging(&self, job: &LoadRequest, run: RunId) -> Result<(), Error> {
        self.store.unstage(&work_of(job, run)).await
    }

    /// Leaves everything as it was before a load that was stopped or failed. Says whether it was too late for
    /// that, and the document is loaded. Doing it again does no harm.
    ///
    /// # Errors
    /// Fails when the store cannot be written.
    pub async fn rollback(&self, job: &LoadRequest, run: RunId) -> Result<bool, Error> {
        let (id, work) = (job.document(), work_of(job, run));
        let mut content = job.content.clone();
        if let Some(known) = self.store.row(&id).await? {
            let is_new = known.state == DocumentState::Loading;
            let pending = known.state.pending().cloned();
            let loading = if is_new { known.content.clone() } else { pending.unwrap_or_default() };
            let is_mine = content.as_ref().is_none_or(|content| *content == loading);
            // The same content in another way: what is searched does not tell whether it came so far.
            let is_unclear = known.state.is_ready() && loading == known.content;
            if is_mine && is_unclear {
                let problem = "loading it in another way was not finished; load it again";
                let state = DocumentState::flawed(LoadResult::Ready, problem);
                self.store.record(&Document { state, ..known }).await?;
            } else if is_mine && (is_new || loading.is_known()) {
                if loading.is_known() && self.store.indexed_content(&id).await?.as_ref() == Some(&loading) {
                    let document = steps::staged(self, &work, steps::LEDGER).await?;
                    if let Some(replaced) = steps::tell(self, document).await? {
                        self.store.delete_unused_blob(&id, &replaced).await?;
                    }
                    self.store.unstage(&work).await?;
                    return Ok(true);
                }
                if is_new {
                    self.store.forget(&id).await?;
                } else {
                    let state = known.state.clone().without_pending();
                    self.store.record(&Document { state, ..known }).await?;
                }
                content = Some(loading);
            }
        }
        self.store.unstage(&work).await?;
        if let Some(content) = content {
            self.store.delete_unused_blob(&id, &content).await?;
        }
        Ok(false)
    }

    /// Undoes a load that is given up, and writes down why. A version that was there before stays searchable. Says whether
    /// the load had got through after all.
    ///
    /// # Errors
    /// Fails when the store cannot be written.
    pub async fn give_up(&self, job: &LoadRequest, run: RunId, why: &str) -> Result<bool, Error> {
        if self.rollback(job, run).await? {
            return Ok(true);
        }
        let known = self.store.row(&job.document()).await?;
        let before =
            known.as_ref().filter(|known| !known.state.is_ready()).map(|known| known.content.clone());
        let document = match known.filter(|known| known.state.is_ready()) {
            Some(known) => {
                let problem = format!("a newer version could not be loaded: {why}");
                let origin = job.settings.origin.clone().or(known.origin);
                Document { state: DocumentState::flawed(LoadResult::Ready, problem), origin, ..known }
            }
            None => steps::unread(&Loading::new(job.clone(), run), why),
        };
        self.store.record(&document).await?;
        if let Some(before) = before {
            self.store.delete_unused_blob(&document.id, &before).await?;
        }
        Ok(false)
    }

    /// The graph as a job of an engine: a [`LoadRequest`] in, a [`LoadSummary`] out.
    ///
    /// # Errors
    /// Fails when the graph is not sound, which a test would show.
    pub fn compiled(&self) -> Result<Arc<dyn CompiledGraph<JobInput, Value>>, BuildError> {
        let begin = |input: JobInput| {
            let request = serde_json::from_value(input.request).map_err(|error| {
                InvalidInput::from(format!("this is no request to load a document: {error}"))
            })?;
            Ok(Loading::new(request, input.run))
        };
        Ok(self
            .graph()?
            .compile(begin, |loading: &Loading| serde_json::to_value(loading.summary()).unwrap_or_default()))
    }

    /// Loads a document here and now, without a journal: what is interrupted begins anew.
    ///
    /// # Errors
    /// Fails when the store or the model fails for good. A document that cannot be read is no failure: the
    /// summary says so.
    pub async fn load(&self, job: LoadRequest) -> Result<LoadSummary, Error> {
        let unsound = |error: BuildError| Error::Damaged(error.to_string());
        let loaded = self.graph().map_err(unsound)?.run(Loading::new(job, RunId::new())).await;
        loaded.map(|loading| loading.summary()).map_err(|error| Error::Document(error.to_string()))
    }

    /// The graph.
    fn graph(&self) -> Result<Graph<Loading>, BuildError> {
        let node = |work: fn(Ingestion, Arc<Loading>, ibid_graph::Context) -> steps::Step| {
            let ingestion = self.clone();
            move |loading: Arc<Loading>, context: ibid_graph::Context| {
                work(ingestion.clone(), loading, context)
            }
        };
        let patience = RetryPolicy::times(10).delays(Duration::from_millis(200), Duration::from_secs(60));
        Graph::builder("ingestion")
            .node("fetch", node(steps::fetch))
            .node("read", node(steps::read))
            .node("chunk", node(steps::chunk))
            .node("embed", node(steps::embed))
            .node("commit", node(steps::commit))
            .node("cleanup", node(steps::cleanup))
            .former_name("chunk", "cut")
            .former_name("cleanup", "tidy")
            .edge(START, "fetch")
            .branch("fetch", Loading::next, ["read", END])
            .branch("read", Loading::next, ["read", "chunk", "commit", END])
            .branch("chunk", Loading::next, ["embed", "commit", END])
            .branch("embed", Loading::next, ["embed", "commit", END])
            .edge("commit", "cleanup")
            .edge("cleanup", END)
            .at_most("read", 10_000, "chunk")
            .at_most("embed", 100_000, "commit")
            .time_limit("fetch", Duration::from_secs(1800))
            .time_limit("read", Duration::from_secs(7200))
            .time_limit("chunk", Duration::from_secs(1800))
            .time_limit("embed", Duration::from_secs(7200))
            .time_limit("commit", Duration::from_secs(1800))
            .time_limit("cleanup", Duration::from_secs(600))
            .retry("fetch", patience)
            .retry("read", patience)
            .retry("chunk", patience)
            .retry("embed", patience)
            .retry("commit", patience)
            .retry("cleanup", patience)
            .build()
    }
}

impl From<Error> for NodeError {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        if error.may_pass() {
            Retryable::new(text).caused_by(error).into()
        } else {
            Terminal::new(text).caused_by(error).into()
        }
    }
}
