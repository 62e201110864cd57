//! The one service for documents: it loads, follows, cancels and deletes them, takes up loads that an earlier process left, and
//! keeps the store in order. The server, the terminal, tests and benchmarks use it.

mod watching;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

use ibid_assistants::definition::{Chunks, Definition};
use ibid_core::evidence::{DocumentId, Index};
use ibid_core::load::LoadSummary;
use ibid_core::{Corpus, Label, RunId, Scope};
use ibid_engine::{Engine, Job, LoadEvents, NewJob, Stop, load_events};
use ibid_knowledge::{
    ContentHash, DocumentOrigin, Error as StoreError, Ingestion, LoadRequest, LoadSettings, Store,
};
use tokio::sync::oneshot;

use crate::error::Error;
use crate::settings::IngestSettings;

/// The graph that loads documents, by its name in the engine.
pub(crate) const GRAPH: &str = "ingestion";
/// The corpus of documents that nobody says otherwise of.
const DEFAULT_CORPUS: &str = "documents";

/// Loads, follows and deletes documents. Cheap to clone.
#[derive(Clone)]
pub struct DocumentService(Arc<Inner>);

/// The same, without keeping it open.
#[derive(Clone)]
pub(crate) struct WeakDocuments(Weak<Inner>);

impl WeakDocuments {
    pub(crate) fn upgrade(&self) -> Option<DocumentService> {
        self.0.upgrade().map(DocumentService)
    }
}

struct Inner {
    store: Arc<Store>,
    index: Arc<dyn Index>,
    ingestion: Ingestion,
    engine: Arc<dyn Engine>,
    settings: IngestSettings,
    /// The assistants, which know the types of their files.
    definitions: RwLock<Vec<Definition>>,
    /// How many loads are under way, and how many have ended.
    under_way: AtomicUsize,
    ended: AtomicUsize,
    /// Documents that the last look found to be left by loads that ended.
    left: Mutex<BTreeSet<DocumentId>>,
}

/// What is known of a document that comes in.
#[derive(Debug, Clone, Default)]
pub struct DocumentFields {
    /// What tells it apart in its corpus: the source unless said otherwise.
    pub key: Option<String>,
    /// The corpus that it belongs to.
    pub corpus: Option<Corpus>,
    /// Its type; otherwise its file name tells it.
    pub document_type: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// Its language, as ISO 639-1 has it.
    pub language: Option<String>,
    /// Who may see it; empty means everybody at the tenant.
    pub labels: Vec<Label>,
    /// The most characters of a chunk, and how many two neighbours share, where it has its own.
    pub chunk: (Option<usize>, Option<usize>),
    /// Where it came from, if it is kept in step with a source.
    pub origin: Option<DocumentOrigin>,
}

/// Where the content of a document is.
#[derive(Debug, Clone, Copy)]
pub enum LoadContent<'a> {
    /// In a file.
    File(&'a Path),
    /// Here.
    Bytes(&'a [u8]),
    /// At its source, a URL.
    Remote,
}

/// What to do if the document is being loaded already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfLoading {
    /// Load it after that.
    Enqueue,
    /// Go on with that load if it is the same; else stop it, since this one would come after it.
    ResumeOrReplace,
}

/// What loading a document began with.
pub enum StartedLoad {
    /// Nothing is to be done: it is there, in the same version and loaded in the same way.
    Unchanged(LoadSummary),
    /// It is being loaded.
    Running(LoadHandle),
}

/// A load that is under way. To drop it does not stop it.
pub struct LoadHandle {
    /// Its run.
    pub run: RunId,
    /// Whether an earlier process or caller had begun it.
    pub resumed: bool,
    ended: oneshot::Receiver<Result<LoadSummary, Error>>,
}

impl LoadHandle {
    /// Waits until it has ended and nothing is left to clean up.
    ///
    /// # Errors
    /// Says why it failed.
    pub async fn finish(self) -> Result<LoadSummary, Error> {
        self.ended
            .await
            .unwrap_or_else(|_| Err(Error::Failed("the load was not watched to its end".to_owned())))
    }
}

impl DocumentService {
    pub(crate) fn new(
        store: Arc<Store>,
        index: Arc<dyn Index>,
        ingestion: Ingestion,
        engine: Arc<dyn Engine>,
        settings: IngestSettings,
        definitions: Vec<Definition>,
    ) -> Self {
        Self(Arc::new(Inner {
            store,
            index,
            ingestion,
            engine,
            settings,
            definitions: RwLock::new(definitions),
            under_way: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
            left: Mutex::default(),
        }))
    }

    /// For tasks that end when nobody uses the documents any more.
    pub(crate) fn downgrade(&self) -> WeakDocuments {
        WeakDocuments(Arc::downgrade(&self.0))
    }

    /// Learns what assistants say of their documents now.
    pub(crate) fn know(&self, definitions: Vec<Definition>) {
        *self.0.definitions.write().unwrap_or_else(PoisonError::into_inner) = definitions;
    }

    /// Where they are stored.
    pub fn store(&self) -> &Arc<Store> {
        &self.0.store
    }

    /// Finds what they say.
    pub fn index(&self) -> &Arc<dyn Index> {
        &self.0.index
    }

    /// The engine that runs loads.
    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.0.engine
    }

    /// The largest file, in bytes.
    pub fn largest_bytes(&self) -> u64 {
        self.0.settings.largest_mb << 20
    }

    /// What to load, and how: what is said of the document, else what the settings and its corpus's assistant know.
    ///
    /// # Errors
    /// Fails when the usual corpus has no valid name, which a test would show.
    pub fn request(
        &self,
        scope: &Scope,
        source: &str,
        fields: &DocumentFields,
    ) -> Result<LoadRequest, Error> {
        let corpus = match &fields.corpus {
            Some(corpus) => corpus.clone(),
            None => DEFAULT_CORPUS.parse().map_err(Error::other)?,
        };
        let mut settings = self.settings_of(source, &corpus);
        settings.kind = fields.document_type.clone().unwrap_or(settings.kind);
        settings.title.clone_from(&fields.title);
        settings.language.clone_from(&fields.language);
        settings.labels = fields.labels.iter().cloned().collect();
        settings.origin.clone_from(&fields.origin);
        let (characters, overlap) = fields.chunk;
        settings.size.characters = characters.unwrap_or(settings.size.characters);
        settings.size.overlap = overlap.unwrap_or(settings.size.overlap);
        Ok(LoadRequest {
            tenant: scope.tenant().clone(),
            corpus,
            key: fields.key.clone().unwrap_or_else(|| source.to_owned()),
            source: source.to_owned(),
            content: None,
            settings,
        })
    }

    /// How a file of a corpus is loaded. An assistant that answers from the corpus may know what its files are.
    fn settings_of(&self, source: &str, corpus: &Corpus) -> LoadSettings {
        let name = source.rsplit('/').next().unwrap_or(source);
        let definitions = self.0.definitions.read().unwrap_or_else(PoisonError::into_inner);
        let of_corpus: Vec<&Definition> =
            definitions.iter().filter(|known| known.corpora.contains(corpus)).collect();
        let own = of_corpus.iter().find(|known| !known.types.is_empty());
        let types = own.map_or(&self.0.settings.types, |known| &known.types);
        let mut settings = self.0.settings.load_settings(name, types);
        if let Some(Chunks { characters, overlap }) =
            of_corpus.iter().map(|known| known.chunks).find(|chunks| *chunks != Chunks::default())
        {
            settings.size.characters = characters.unwrap_or(settings.size.characters);
            settings.size.overlap = overlap.unwrap_or(settings.size.overlap);
        }
        settings
    }

    /// Loads a document.
    ///
    /// # Errors
    /// Says why the scope may not load it, or fails when the content, the store or the engine does.
    pub async fn load(
        &self,
        scope: &Scope,
        mut request: LoadRequest,
        content: LoadContent<'_>,
        if_loading: IfLoading,
    ) -> Result<StartedLoad, Error> {
        let known = self.0.ingestion.permit(scope, &request).await?;
        let read;
        let bytes = match content {
            LoadContent::File(path) => {
                read = tokio::fs::read(path).await.map_err(Error::other)?;
                Some(read.as_slice())
            }
            LoadContent::Bytes(bytes) => Some(bytes),
            LoadContent::Remote => None,
        };
        let mut pin = None;
        if let Some(bytes) = bytes {
            let content_hash = ContentHash::of(bytes);
            pin = Some(self.0.ingestion.pin(&content_hash));
            request.content = Some(content_hash);
        }
        let same = match if_loading {
            IfLoading::Enqueue => None,
            IfLoading::ResumeOrReplace => self.same_or_stopped(scope, &request).await?,
        };
        if if_loading == IfLoading::ResumeOrReplace
            && same.is_none()
            && let Some(unchanged) = known.and_then(|known| request.unchanged(&known))
        {
            // It is there, unless the store was damaged.
            self.put(&request, bytes).await?;
            return Ok(StartedLoad::Unchanged(unchanged));
        }
        if let Some(run) = same {
            self.put(&request, bytes).await?;
            let ended = self.watch(scope.clone(), request, pin, run);
            return Ok(StartedLoad::Running(LoadHandle { run, resumed: true, ended }));
        }
        let run = Box::pin(self.submit(scope, &request, bytes)).await?;
        let ended = self.watch(scope.clone(), request, pin, run);
        Ok(StartedLoad::Running(LoadHandle { run, resumed: false, ended }))
    }

    async fn put(&self, request: &LoadRequest, bytes: Option<&[u8]>) -> Result<(), Error> {
        if let (Some(content_hash), Some(bytes)) = (&request.content, bytes) {
            self.0.ingestion.put_blob_as(content_hash, bytes).await?;
        }
        Ok(())
    }

    /// Begins a load. The ledger names its content before that is there, so that whatever ends this process leaves nothing behind that
    /// nobody knows of.
    async fn submit(
        &self,
        scope: &Scope,
        request: &LoadRequest,
        bytes: Option<&[u8]>,
    ) -> Result<RunId, Error> {
        let payload = serde_json::to_value(request).map_err(Error::other)?;
        let queue = LoadRequest::queue(&request.document());
        let marked = self.0.ingestion.mark_pending(request, bytes.map_or(0, <[u8]>::len) as u64).await?;
        let begun = async {
            self.put(request, bytes).await?;
            let job = NewJob { queue, graph: GRAPH.to_owned(), request: payload };
            Ok(self.0.engine.submit_job(scope, job).await?)
        };
        let begun = begun.await;
        if begun.is_err() && marked {
            self.0.ingestion.rollback(request, RunId::new()).await?;
        }
        begun
    }

    /// The unfinished load of the same document that loads the same in the same way. One that loads something else is
    /// stopped and rolled back.
    async fn same_or_stopped(&self, scope: &Scope, request: &LoadRequest) -> Result<Option<RunId>, Error> {
        let jobs = self.jobs(scope, &request.document()).await?;
        let Some((job, loads)) = jobs.into_iter().rev().find(|(job, _)| !job.status.is_final()) else {
            return Ok(None);
        };
        if loads == *request {
            return Ok(Some(job.id));
        }
        self.0.engine.stop(scope, job.id, Stop::Keep).await?;
        self.until_ended(scope, job.id).await;
        self.0.ingestion.rollback(&loads, job.id).await?;
        Ok(None)
    }

    /// The loads of a document, oldest first, with what each loads.
    async fn jobs(&self, scope: &Scope, document: &DocumentId) -> Result<Vec<(Job, LoadRequest)>, Error> {
        let jobs = self.0.engine.jobs(scope, LoadRequest::queue(document)).await?;
        let read = |job: Job| Some((serde_json::from_value(job.request.clone()).ok()?, job));
        Ok(jobs.into_iter().filter_map(read).map(|(request, job)| (job, request)).collect())
    }

    /// A load of a document, the last one unless said otherwise, if the scope may see what it loads. What is asked for says
    /// who may see it: the ledger does not know it yet.
    ///
    /// # Errors
    /// Fails when the engine does.
    pub async fn load_of(
        &self,
        scope: &Scope,
        document: &DocumentId,
        run: Option<RunId>,
    ) -> Result<Option<Job>, Error> {
        let mut jobs = self.jobs(scope, document).await?;
        jobs.retain(|(job, _)| run.is_none_or(|run| job.id == run));
        let seen = |(_, loads): &(Job, LoadRequest)| {
            scope.sees(&loads.tenant, &loads.corpus, &loads.settings.labels)
        };
        Ok(jobs.pop().filter(seen).map(|(job, _)| job))
    }

    /// Whether a document is being loaded, or waits for it.
    pub(crate) async fn is_under_way(&self, scope: &Scope, document: &DocumentId) -> Result<bool, Error> {
        Ok(self.jobs(scope, document).await?.iter().any(|(job, _)| !job.status.is_final()))
    }

    /// Whether the last load of a document was given up because it ended its process. Whoever asks for it themselves tries again.
    pub(crate) async fn was_set_aside(&self, scope: &Scope, request: &LoadRequest) -> Result<bool, Error> {
        let last = self.jobs(scope, &request.document()).await?.pop();
        Ok(last.is_some_and(|(job, of)| {
            job.set_aside && (&of.source, &of.settings) == (&request.source, &request.settings)
        }))
    }

    /// The events of a load after a number, those that were and those to come.
    ///
    /// # Errors
    /// Fails when there is no such load.
    pub async fn follow(&self, scope: &Scope, run: RunId, after: u64) -> Result<LoadEvents, Error> {
        Ok(load_events(&self.0.engine, scope, run, after).await?)
    }

    /// Stops one load of a document or every one, the last one first, so that none begins when another ends. Says which they
    /// are.
    ///
    /// # Errors
    /// Fails when the engine does.
    pub async fn cancel(
        &self,
        scope: &Scope,
        document: &DocumentId,
        run: Option<RunId>,
    ) -> Result<Vec<RunId>, Error> {
        if self.load_of(scope, document, run).await?.is_none() {
            return Ok(Vec::new());
        }
        self.stop_loads(scope, document, run).await
    }

    async fn stop_loads(
        &self,
        scope: &Scope,
        document: &DocumentId,
        run: Option<RunId>,
    ) -> Result<Vec<RunId>, Error> {
        let mut stopped = Vec::new();
        for (job, _) in self.jobs(scope, document).await?.into_iter().rev() {
            if !job.status.is_final() && run.is_none_or(|run| job.id == run) {
                self.0.engine.stop(scope, job.id, Stop::Keep).await?;
                stopped.push(job.id);
            }
        }
        Ok(stopped)
    }

    /// Deletes a document, also one that is being loaded. Says whether there was one.
    ///
    /// # Errors
    /// Fails when the store or the engine does.
    pub async fn delete(&self, scope: &Scope, document: &DocumentId) -> Result<bool, Error> {
        // Whoever may delete what is there may stop what would take its place, whoever may see that.
        let is_seen = self.0.store.document(scope, document).await?.is_some();
        if !is_seen && self.load_of(scope, document, None).await?.is_none() {
            return Ok(false);
        }
        let stopped = self.stop_loads(scope, document, None).await?;
        // What is being loaded must not come back, so it has to have ended first.
        for run in &stopped {
            self.until_ended(scope, *run).await;
        }
        if let Some((job, loads)) = self.jobs(scope, document).await?.pop() {
            if !stopped.is_empty() {
                self.0.ingestion.rollback(&loads, job.id).await?;
            }
            self.0.engine.delete_jobs(scope, job.queue).await?;
        }
        Ok(self.0.store.delete(scope, document).await? || !stopped.is_empty())
    }

    /// Takes up the loads that an earlier process left. Their contents are pinned before they go on.
    ///
    /// # Errors
    /// Fails when the engine does.
    pub async fn recover(&self) -> Result<(), Error> {
        for left in self.0.engine.unfinished_jobs().await? {
            let Ok(request) = serde_json::from_value::<LoadRequest>(left.job.request) else { continue };
            let pin = request.content.as_ref().map(|content_hash| self.0.ingestion.pin(content_hash));
            drop(self.watch(left.scope, request, pin, left.job.id));
        }
        Ok(self.0.engine.recover().await?)
    }
}

impl Error {
    /// Whether the store refused because of who asks.
    pub fn not_allowed(&self) -> Option<&str> {
        match self {
            Self::Store(StoreError::NotAllowed(why)) => Some(why),
            _ => None,
        }
    }
}
