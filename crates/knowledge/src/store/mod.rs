//! One store at one place: the chunks that are searched, the ledger of documents, the originals.
//!
//! Tables do not commit together. The version of a document in `chunks` is the truth; the ledger is
//! told before what is being loaded and after what is searched, and [`fsck`] settles what a crash left in between.

mod answers;
mod catalogues;
mod disk;
mod edit;
mod erasing;
mod filter;
pub(crate) mod fsck;
mod ledger;
mod maintenance;
mod measure;
mod objects;
mod pin;
mod rows;
mod search;
mod snapshot;
mod sources;
mod table;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ibid_core::Scope;
use ibid_core::evidence::DocumentId;
use ibid_core::model::Similarity;
use lance::dataset::Dataset;
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;

pub(crate) use self::answers::{AnswerRow, FoundAnswer};
pub use self::disk::Disk;
pub use self::edit::{DocumentChange, DocumentEdit};
pub(crate) use self::filter::of_question as question_filter;
pub use self::maintenance::MaintenanceReport;
use self::maintenance::MakeIndexes;
pub(crate) use self::objects::LocalFile;
pub use self::objects::{BlobInfo, BlobStore};
pub use self::pin::BlobPin;
use self::pin::BlobPins;
pub(crate) use self::rows::{Hit, chunk_id, of_tables};
pub use self::snapshot::{SnapshotObjects, StoreSnapshot};
pub use self::sources::DocumentRow;
use self::table::Table;
use crate::Error;
use crate::chunk::Chunk;
use crate::document::{Document, PageCounts};
use crate::{ContentHash, DocumentState, DocumentStatus, LoadResult};

/// The tables.
const LEDGER: &str = "documents";
const CHUNKS: &str = "chunks";
const ANSWERS: &str = "cache";
/// Where the table of chunks says which model made its vectors.
const EMBEDDER: &str = "ibid.embedder";
/// And in which format all of the store is.
const FORMAT: &str = "ibid.format";
/// The format that is written. Raise it with a change that earlier versions would misread: they refuse what is newer.
const KNOWN_FORMAT: u32 = 1;
/// Under this and its name, the table of chunks says of each language that there are documents in it.
const LANGUAGE: &str = "ibid.language.";
/// And here, the scale of the model's cosines as it was calibrated.
const SIMILARITY: &str = "ibid.similarity";

/// How a store keeps itself quick.
#[derive(Clone, Copy, Debug)]
pub struct MaintenanceSettings {
    /// Above so many chunks, vectors are searched through an index; below, all of them are compared.
    pub index_above: usize,
    /// An index over so many parts is merged into one.
    pub most_parts: usize,
    /// A table of more fragments is compacted.
    pub most_fragments: usize,
    /// Of more answers that may be given again, the oldest are forgotten.
    pub most_answers: usize,
    /// A version that was replaced so long ago is removed. A turn that reads it is over by then.
    pub keep_versions: Duration,
}

impl Default for MaintenanceSettings {
    fn default() -> Self {
        Self {
            index_above: 20_000,
            most_parts: 8,
            most_fragments: 64,
            most_answers: 100_000,
            keep_versions: Duration::from_secs(3600),
        }
    }
}

/// A store.
pub struct Store {
    place: BlobStore,
    /// The model whose vectors it holds; none for one that only looks.
    embedder: Option<String>,
    dimensions: usize,
    chunks: Table,
    documents: Table,
    answers: Table,
    maintenance: MaintenanceSettings,
    holds: BlobPins,
    /// Whether the model of the store was compared with the one that is used.
    checked: OnceCell<()>,
}

impl Store {
    /// Opens the store at a folder or URL, for vectors of one model. Options are those of object storage,
    /// such as `endpoint` and `access_key_id`.
    ///
    /// # Errors
    /// Fails when the place cannot be reached.
    pub async fn open(
        place: &str,
        options: HashMap<String, String>,
        embedder: impl Into<String>,
        dimensions: usize,
    ) -> Result<Self, Error> {
        Ok(Self::on(BlobStore::at(place, options).await?, Some(embedder.into()), dimensions))
    }

    /// Opens the store in a folder of a disk, for vectors of one model.
    ///
    /// # Errors
    /// Fails when the folder cannot be made.
    pub async fn open_on_disk(
        folder: &str,
        embedder: impl Into<String>,
        dimensions: usize,
        disk: Arc<dyn Disk>,
    ) -> Result<Self, Error> {
        Ok(Self::on(BlobStore::on(folder, HashMap::new(), disk).await?, Some(embedder.into()), dimensions))
    }

    /// Opens the store at a folder or URL to look after what is there, without a model: nothing can be loaded.
    ///
    /// # Errors
    /// Fails when the place cannot be reached.
    pub async fn look(place: &str, options: HashMap<String, String>) -> Result<Self, Error> {
        Ok(Self::on(BlobStore::at(place, options).await?, None, 0))
    }

    fn on(place: BlobStore, embedder: Option<String>, dimensions: usize) -> Self {
        Self {
            embedder,
            dimensions,
            chunks: Table::new(&place, CHUNKS, rows::chunk_schema(dimensions)),
            documents: Table::new(&place, LEDGER, rows::document_schema()),
            answers: Table::new(&place, ANSWERS, answers::schema(dimensions)),
            maintenance: MaintenanceSettings::default(),
            holds: BlobPins::default(),
            checked: OnceCell::new(),
            place,
        }
    }

    /// With other rules of maintenance.
    #[must_use]
    pub fn keeping(mut self, maintenance: MaintenanceSettings) -> Self {
        self.maintenance = maintenance;
        self
    }

    /// How many chunks and documents it holds, of all tenants.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn count(&self) -> Result<(u64, u64), Error> {
        Ok((self.chunks.rows().await?, self.documents.rows().await?))
    }

    /// How many bytes its caches hold.
    pub fn cached(&self) -> u64 {
        self.place.cached()
    }

    /// What a read of the newest version of the chunks gives, or none if nothing was ever loaded. What belongs together is
    /// read in one.
    pub(crate) async fn read_chunks<T, F>(&self, read: impl Fn(Arc<Dataset>) -> F) -> Result<Option<T>, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        if self.pinned().await?.is_none() {
            return Ok(None);
        }
        self.chunks.read(read).await
    }

    /// The newest version of the chunks, or none if nothing was ever loaded.
    pub(crate) async fn pinned(&self) -> Result<Option<Arc<Dataset>>, Error> {
        let Some(dataset) = self.chunks.latest().await? else { return Ok(None) };
        self.checked.get_or_try_init(|| async { self.fits(&dataset) }).await?;
        Ok(Some(dataset))
    }

    /// Whether this version can read it, with this model.
    fn fits(&self, dataset: &Dataset) -> Result<(), Error> {
        let format = dataset.config().get(FORMAT).and_then(|text| text.parse().ok());
        if let Some(found) = format.filter(|found| *found > KNOWN_FORMAT) {
            return Err(Error::TooNew { found, known: KNOWN_FORMAT });
        }
        match (dataset.config().get(EMBEDDER), &self.embedder) {
            (Some(stored), Some(asked)) if stored != asked => {
                Err(Error::OtherModel { stored: stored.clone(), asked: asked.clone() })
            }
            _ => Ok(()),
        }
    }

    /// The languages of the documents in one version of the chunks.
    pub(crate) fn languages(dataset: &Dataset) -> Vec<String> {
        let names = dataset.config().keys().filter_map(|key| key.strip_prefix(LANGUAGE));
        names.map(str::to_owned).collect()
    }

    /// The scale of cosines in one version of the chunks, if it was calibrated.
    pub(crate) fn similarity(dataset: &Dataset) -> Option<Similarity> {
        serde_json::from_str(dataset.config().get(SIMILARITY)?).ok()
    }

    /// Keeps the scale of cosines.
    pub(crate) async fn calibrate(&self, similarity: Similarity) -> Result<(), Error> {
        let text = serde_json::to_string(&similarity).map_err(|error| Error::Damaged(error.to_string()))?;
        self.chunks.configure(SIMILARITY, &text).await
    }

    /// Makes the table of chunks with its indexes, if there is none, and ready for a language.
    async fn prepare(&self, language: &str) -> Result<(), Error> {
        let Some(embedder) = &self.embedder else {
            return Err(Error::Document("nothing can be loaded without an embedding model".to_owned()));
        };
        let (dataset, made) = self.chunks.made().await?;
        self.fits(&dataset)?;
        if made || !dataset.config().contains_key(EMBEDDER) {
            let mut dataset = dataset.as_ref().clone();
            // The name of the model comes last: it says that the table is complete.
            self.index(&mut dataset, MakeIndexes::Missing).await?;
            let format = KNOWN_FORMAT.to_string();
            dataset.update_config([(FORMAT, &*format), (EMBEDDER, embedder)]).await?;
            self.chunks.saw(Arc::new(dataset)).await;
        }
        self.chunks.complete(|dataset| rows::missing_columns(dataset, self.dimensions)).await?;
        let language = format!("{LANGUAGE}{language}");
        if !dataset.config().contains_key(&language) && language != LANGUAGE {
            self.chunks.configure(&language, "").await?;
        }
        Ok(())
    }

    /// Puts the chunks of a document, with their vectors one after the other, in the place of those that it
    /// had, in one commit. The ledger is not told: that is for [`Ingestion`](crate::Ingestion).
    ///
    /// # Errors
    /// Fails when the store cannot be written, or holds vectors of another model.
    pub async fn replace(
        &self,
        document: &Document,
        chunks: Vec<Chunk>,
        vectors: Vec<f32>,
    ) -> Result<(), Error> {
        self.prepare(&document.language).await?;
        let (of, dimensions) = (document.clone(), self.dimensions);
        let rows = spawn_blocking(move || rows::chunk_rows(&of, &chunks, vectors, dimensions)).await;
        let rows =
            rows.map_err(|error| Error::Damaged(format!("the chunks cannot be written: {error}")))??;
        self.chunks.replace("document", &document.id.0, Some(rows)).await?;
        self.forget_answers_from(&document.id).await
    }

    /// Writes what is known of a document.
    pub(crate) async fn record(&self, document: &Document) -> Result<(), Error> {
        self.documents.replace("document", &document.id.0, Some(rows::document_row(document)?)).await
    }

    /// The version of a document that is searched, if any is.
    pub(crate) async fn indexed_content(&self, id: &DocumentId) -> Result<Option<ContentHash>, Error> {
        let Some(dataset) = self.chunks.newest().await? else { return Ok(None) };
        let mut scan = dataset.scan();
        scan.filter(&format!("document = {}", filter::quoted(&id.0)))?
            .project(&["version"])?
            .limit(Some(1), None)?;
        let batch = scan.try_into_batch().await?;
        Ok(rows::texts(&batch, "version")?.iter().flatten().next().map(ContentHash::stored))
    }

    /// Takes a document out of what is searched, and leaves its row in the ledger.
    pub(crate) async fn unsearch(&self, id: &DocumentId) -> Result<(), Error> {
        if self.chunks.latest().await?.is_some() {
            self.chunks.replace("document", &id.0, None).await?;
        }
        self.forget_answers_from(id).await
    }

    /// Deletes a document that the scope may see from everything that is searched, and its original if no
    /// other document has it. Says whether there was one.
    ///
    /// # Errors
    /// Fails when the store cannot be written. Doing it again goes on where it failed.
    pub async fn delete(&self, scope: &Scope, id: &DocumentId) -> Result<bool, Error> {
        let Some(document) = self.document(scope, id).await? else { return Ok(false) };
        self.unsearch(id).await?;
        self.remove_old_rows(id).await?;
        self.orphan_duplicates(&document).await?;
        self.unstage_all(id).await?;
        // The ledger comes last: while it names the document, the rest of it can be found and deleted again.
        for content in [Some(&document.content), document.state.pending()].into_iter().flatten() {
            self.delete_blob_of(id, content).await?;
        }
        self.forget(id).await?;
        Ok(true)
    }

    /// Takes a document out of the ledger.
    pub(crate) async fn forget(&self, id: &DocumentId) -> Result<(), Error> {
        self.documents.replace("document", &id.0, None).await
    }

    /// Says of documents that had the content of one that is gone that they are searched no more.
    pub(crate) async fn orphan_duplicates(&self, gone: &Document) -> Result<(), Error> {
        // Of one that was a duplicate itself, the others were none.
        if !gone.state.is_ready() {
            return Ok(());
        }
        for mut document in self.of_content(gone).await? {
            if document.state.status() == DocumentStatus::Duplicate && document.labels == gone.labels {
                let problem = format!(
                    "{}, which had the same content, is gone or has other labels; load it again",
                    gone.source
                );
                let pending = document.state.pending().cloned();
                // A source that it is kept in step with loads it again by itself.
                if let Some(origin) = &mut document.origin {
                    origin.mark.clear();
                }
                document.state =
                    DocumentState::Settled { result: LoadResult::Failed, problem: Some(problem), pending };
                self.record(&document).await?;
            }
        }
        Ok(())
    }

    /// Removes an original that a document had, if none has it any more and none is being loaded from it.
    /// The ledger may not know yet which version of that document is searched, if it was loaded twice at once.
    pub(crate) async fn delete_unused_blob(
        &self,
        of: &DocumentId,
        content: &ContentHash,
    ) -> Result<(), Error> {
        let has = |document: &Document<PageCounts>| document.id == *of;
        if self.indexed_content(of).await?.is_some_and(|held| held == *content)
            || self.named_by(content).await?.iter().any(has)
        {
            return Ok(());
        }
        self.delete_blob_of(of, content).await
    }

    /// Removes an original of a document that goes, if no other has it and none is being loaded from it.
    async fn delete_blob_of(&self, of: &DocumentId, content: &ContentHash) -> Result<(), Error> {
        let is_other = |document: &Document<PageCounts>| document.id != *of;
        if content.is_known()
            && !self.holds.has(content)
            && !self.named_by(content).await?.iter().any(is_other)
        {
            self.place.remove(&original(content)).await?;
        }
        Ok(())
    }

    /// The documents that have a content, or are about to.
    async fn named_by(&self, content: &ContentHash) -> Result<Vec<Document<PageCounts>>, Error> {
        self.documents.newest().await?;
        let quoted = filter::quoted(content);
        self.ledger(Some(format!("version = {quoted} OR pending = {quoted}"))).await
    }

    /// Keeps a content from being forgotten.
    pub(crate) fn pin_blob(&self, content: &ContentHash) -> BlobPin {
        self.holds.hold(content)
    }

    /// Keeps the content of a document, in place of one under its name that is not it any more.
    pub(crate) async fn put_blob(&self, content: &ContentHash, bytes: &[u8]) -> Result<(), Error> {
        let name = original(content);
        if self.place.hash(&name).await?.as_ref() != Some(content) {
            self.place.put(&name, bytes).await?;
        }
        Ok(())
    }

    /// The content of a document as a file.
    pub(crate) async fn original(&self, content: &ContentHash) -> Result<Arc<LocalFile>, Error> {
        self.place.as_file(&original(content)).await
    }

    /// The content of a document that the scope may see, as a file that is there for as long as this is held.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn content_of(&self, scope: &Scope, id: &DocumentId) -> Result<Option<Content>, Error> {
        let document = self.document(scope, id).await?.filter(|document| document.content.is_known());
        let Some(document) = document else { return Ok(None) };
        let file = self.original(&document.content).await?;
        Ok(Some(Content { document, file }))
    }

    /// Keeps a part of the work on a document until it is done.
    pub(crate) async fn stage(&self, work: &str, part: &str, bytes: &[u8]) -> Result<(), Error> {
        self.place.put(&format!("staging/{work}/{part}"), bytes).await
    }

    /// A part of the work on a document.
    pub(crate) async fn staged(&self, work: &str, part: &str) -> Result<bytes::Bytes, Error> {
        let name = format!("staging/{work}/{part}");
        self.place.get(&name).await?.ok_or_else(|| Error::Damaged(format!("the object {name} is missing")))
    }

    /// Forgets the work of one run on a document.
    pub(crate) async fn unstage(&self, work: &str) -> Result<(), Error> {
        for part in self.place.list(&format!("staging/{work}")).await? {
            self.place.remove(&format!("staging/{work}/{part}")).await?;
        }
        Ok(())
    }

    /// Forgets the work of all runs on a document.
    pub(crate) async fn unstage_all(&self, id: &DocumentId) -> Result<(), Error> {
        let run = format!("{id}-");
        for part in self.place.list("staging").await?.iter().filter(|part| part.starts_with(&run)) {
            self.place.remove(&format!("staging/{part}")).await?;
        }
        Ok(())
    }
}

/// A document with its content.
pub struct Content {
    /// What is known of it.
    pub document: Document,
    file: Arc<LocalFile>,
}

impl Content {
    /// The file that has the content.
    pub fn path(&self) -> &std::path::Path {
        self.file.path()
    }
}

/// The name of the object that holds a content.
fn original(version: &str) -> String {
    format!("originals/{version}")
}
