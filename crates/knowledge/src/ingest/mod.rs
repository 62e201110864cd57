//! Loading a document: a graph whose every step, once done, is never done again.
//!
//! fetch → read (a step for each batch of pages) → cut → embed (a step for each batch of chunks) → commit → tidy.
//! What a step finds lies staged in the store, named by the document and its version, so that any machine
//! can go on; the step's record only refers to it.

mod download;
mod job;
mod steps;

use std::sync::Arc;
use std::time::Duration;

use ibid_core::model::Embedder;
use ibid_core::{Message, RunId, Scope, TurnInput};
use ibid_graph::{
    Begin, BuildError, END, Graph, NodeError, Program, RetryPolicy, Retryable, START, Terminal,
};
use ibid_reading::Reader;

pub use self::download::Download;
pub use self::job::{Job, Outcome, Settings, Summary};
use self::job::{Loading, work_of};
use crate::document::{Document, Status};
use crate::store::Hold;
use crate::{Error, Store};

/// Loads documents into a store.
#[derive(Clone)]
pub struct Ingestion {
    store: Arc<Store>,
    embedder: Arc<dyn Embedder>,
    reader: Reader,
    download: Option<Download>,
}

impl Ingestion {
    /// Loads with a reader and an embedding model.
    pub fn new(store: Arc<Store>, embedder: Arc<dyn Embedder>, reader: Reader) -> Self {
        Self { store, embedder, reader, download: None }
    }

    /// Loads from URLs too.
    #[must_use]
    pub fn downloading(mut self, download: Download) -> Self {
        self.download = Some(download);
        self
    }

    /// The name of a content.
    pub fn name(bytes: &[u8]) -> String {
        crate::document::sha256(bytes)
    }

    /// Keeps the content of a document that is about to be loaded, and says under which name.
    ///
    /// # Errors
    /// Fails when the store cannot be written.
    pub async fn keep(&self, bytes: &[u8]) -> Result<String, Error> {
        let version = Self::name(bytes);
        self.keep_as(&version, bytes).await?;
        Ok(version)
    }

    /// The same for a content whose [name](Self::name) is known.
    ///
    /// # Errors
    /// Fails when the store cannot be written.
    pub async fn keep_as(&self, version: &str, bytes: &[u8]) -> Result<(), Error> {
        self.store.keep_original(version, bytes).await
    }

    /// Whether a scope may load this: into its own corpora, and over nothing that it may not see. Gives what is
    /// there under its name.
    ///
    /// # Errors
    /// Says why it may not, or fails when the store cannot be read.
    pub async fn permit(&self, scope: &Scope, job: &Job) -> Result<Option<Document>, Error> {
        let Job { tenant, corpus, key, settings, .. } = job;
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
    pub async fn announce(&self, job: &Job, bytes: u64) -> Result<bool, Error> {
        let version = job.version.clone().unwrap_or_default();
        let row = match self.store.row(&job.document()).await? {
            None => steps::announced(job, version, bytes),
            Some(known)
                if known.status != Status::Loading
                    && known.pending.is_empty()
                    && !version.is_empty()
                    && known.version != version =>
            {
                Document { pending: version, ..known }
            }
            // Something else is on its way, or there is nothing to keep that is not kept already.
            Some(_) => return Ok(false),
        };
        self.store.record(&row).await.map(|()| true)
    }

    /// Keeps the content of a load, whatever becomes of others, until it is let go of.
    pub fn hold(&self, content: &str) -> Hold {
        self.store.hold(content)
    }

    /// Lets go of the content of a load that is over; it is removed if nothing else needs it.
    ///
    /// # Errors
    /// Fails when the store cannot be written.
    pub async fn let_go(&self, job: &Job, hold: Hold) -> Result<(), Error> {
        drop(hold);
        match &job.version {
            Some(content) => self.store.forget_original(&job.document(), content).await,
            None => Ok(()),
        }
    }

    /// Leaves nothing of a load that was stopped or failed while others of the same document go on: what the ledger says
    /// is theirs.
    ///
    /// # Errors
    /// Fails when the store cannot be written.
    pub async fn withdraw(&self, job: &Job, run: RunId) -> Result<(), Error> {
        self.store.unstage(&work_of(job, run)).await
    }

    /// Leaves everything as it was before a load that was stopped or failed. Says whether it was too late for
    /// that, and the document is loaded. Doing it again does no harm.
    ///
    /// # Errors
    /// Fails when the store cannot be written.
    pub async fn abandon(&self, job: &Job, run: RunId) -> Result<bool, Error> {
        let (id, work) = (job.document(), work_of(job, run));
        let mut content = job.version.clone();
        if let Some(known) = self.store.row(&id).await? {
            let is_new = known.status == Status::Loading;
            let loading = if is_new { known.version.clone() } else { known.pending.clone() };
            let is_mine = content.as_ref().is_none_or(|content| *content == loading);
            // The same content in another way: what is searched does not tell whether it came so far.
            let is_unclear = known.status == Status::Ready && loading == known.version;
            if is_mine && is_unclear {
                let problem = Some("loading it in another way was not finished; load it again".to_owned());
                self.store.record(&Document { pending: String::new(), problem, ..known }).await?;
            } else if is_mine && (is_new || !loading.is_empty()) {
                if !loading.is_empty() && self.store.held(&id).await?.as_ref() == Some(&loading) {
                    let document = steps::staged(self, &work, steps::LEDGER).await?;
                    if let Some(replaced) = steps::tell(self, document).await? {
                        self.store.forget_original(&id, &replaced).await?;
                    }
                    self.store.unstage(&work).await?;
                    return Ok(true);
                }
                if is_new {
                    self.store.forget(&id).await?;
                } else {
                    self.store.record(&Document { pending: String::new(), ..known }).await?;
                }
                content = Some(loading);
            }
        }
        self.store.unstage(&work).await?;
        if let Some(content) = content {
            self.store.forget_original(&id, &content).await?;
        }
        Ok(false)
    }

    /// The graph as a program for an engine: a [`Job`] as JSON in, a [`Summary`] as JSON out.
    ///
    /// # Errors
    /// Fails when the graph is not sound, which a test would show.
    pub fn program(&self) -> Result<Arc<dyn Program<TurnInput, Vec<Message>>>, BuildError> {
        let begin = |input: TurnInput| {
            let job = Job::asked(&input.messages)
                .map_err(|error| Begin::from(format!("this is no job: {error}")))?;
            Ok(Loading::new(job, input.run))
        };
        let finish = |loading: &Loading| {
            let summary = loading.summary();
            serde_json::to_string(&summary).map(Message::assistant).into_iter().collect()
        };
        Ok(self.graph()?.program(begin, finish))
    }

    /// Loads a document here and now, without a journal: what is interrupted begins anew.
    ///
    /// # Errors
    /// Fails when the store or the model fails for good. A document that cannot be read is no failure: the
    /// summary says so.
    pub async fn load(&self, job: Job) -> Result<Summary, Error> {
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
            .node("cut", node(steps::cut))
            .node("embed", node(steps::embed))
            .node("commit", node(steps::commit))
            .node("tidy", node(steps::tidy))
            .edge(START, "fetch")
            .branch("fetch", Loading::next, ["read", END])
            .branch("read", Loading::next, ["read", "cut", "commit", END])
            .branch("cut", Loading::next, ["embed", "commit", END])
            .branch("embed", Loading::next, ["embed", "commit", END])
            .edge("commit", "tidy")
            .edge("tidy", END)
            .at_most("read", 10_000, "cut")
            .at_most("embed", 100_000, "commit")
            .time_limit("fetch", Duration::from_secs(1800))
            .time_limit("read", Duration::from_secs(7200))
            .time_limit("cut", Duration::from_secs(1800))
            .time_limit("embed", Duration::from_secs(7200))
            .time_limit("commit", Duration::from_secs(1800))
            .time_limit("tidy", Duration::from_secs(600))
            .retry("fetch", patience)
            .retry("read", patience)
            .retry("cut", patience)
            .retry("embed", patience)
            .retry("commit", patience)
            .retry("tidy", patience)
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
