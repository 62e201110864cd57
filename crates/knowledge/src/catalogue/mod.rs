//! Catalogues: rows of things that are offered, loaded like documents and asked through DataFusion.
//!
//! The chunk that describes a catalogue says which version is searched, so that the commit that replaces it replaces the rows.
//! Rows lie apart, each version in a place of its own, and never change there.

mod names;
mod numbers;
mod query;
mod rows;
mod table;

use std::sync::Arc;

use arrow_array::RecordBatch;
use async_trait::async_trait;
use datafusion::datasource::MemTable;
use datafusion::prelude::SessionContext;
use ibid_core::Scope;
use ibid_core::catalogue::{CATALOGUE, CatalogueInfo, CatalogueQuery, CatalogueRows, Catalogues};
use ibid_core::evidence::{DocumentId, EvidenceError, Question};
use lance::datafusion::LanceTableProvider;
use lance::dataset::Dataset;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use self::query::RowTable;
pub(crate) use self::table::{CatalogueReader, MadeCatalogue, StoredCatalogue};
use crate::search::to_evidence_error;
use crate::store::question_filter;
use crate::{ContentHash, Error, Store};

/// So many catalogues stay open, and so many bytes of their rows in memory.
const MOST_OPEN: usize = 64;
const MOST_BYTES: u64 = 512 << 20;
/// The rows of a catalogue that needs more are read from the store.
const MOST_OF_ONE: usize = 256 << 20;
/// So many rows are a batch in memory.
const BATCH: usize = 8192;
/// So many lists of catalogues are remembered.
const MOST_LISTS: usize = 256;

/// A document and the version of it that is searched.
type Version = (DocumentId, ContentHash);

/// The catalogues of a store.
pub struct StoredCatalogues {
    store: Arc<Store>,
    session: SessionContext,
    open: Cache<Version, Arc<OpenCatalogue>, ByBytes>,
    /// What a scope sees in one version of the chunks, by that version and the filter.
    seen: Cache<(u64, String), Arc<Vec<Version>>>,
}

/// A version of a catalogue never changes, so it stays open.
struct OpenCatalogue {
    stored: StoredCatalogue,
    rows: RowTable,
}

#[derive(Clone)]
struct ByBytes;

impl Weighter<Version, Arc<OpenCatalogue>> for ByBytes {
    fn weight(&self, _: &Version, open: &Arc<OpenCatalogue>) -> u64 {
        let bytes = open.rows.in_memory.as_ref().map_or(0, RecordBatch::get_array_memory_size);
        u64::try_from(bytes).unwrap_or(u64::MAX).max(1)
    }
}

impl StoredCatalogues {
    /// Those of a store.
    pub fn new(store: Arc<Store>) -> Self {
        let open = Cache::with_weighter(MOST_OPEN, MOST_BYTES, ByBytes);
        Self { store, session: SessionContext::new(), open, seen: Cache::new(MOST_LISTS) }
    }

    async fn open(&self, key: &Version) -> Result<Option<Arc<OpenCatalogue>>, Error> {
        if let Some(open) = self.open.get(key) {
            return Ok(Some(open));
        }
        let Some((stored, rows)) = self.store.catalogue(&key.0, &key.1).await? else { return Ok(None) };
        let open = Arc::new(OpenCatalogue { stored, rows: table(rows).await? });
        self.open.insert(key.clone(), open.clone());
        Ok(Some(open))
    }

    /// The versions that a scope sees.
    async fn versions(&self, scope: &Scope) -> Result<Arc<Vec<Version>>, Error> {
        let mut question = Question::new("");
        question.kinds = vec![CATALOGUE.to_owned()];
        let Some(filter) = &question_filter(scope, &question) else { return Ok(Arc::default()) };
        let versions = |chunks: Arc<Dataset>| async move {
            let key = (chunks.version_id(), filter.clone());
            if let Some(seen) = self.seen.get(&key) {
                return Ok(seen);
            }
            let seen = Arc::new(Store::versions(&chunks, filter).await?);
            self.seen.insert(key, seen.clone());
            Ok(seen)
        };
        Ok(self.store.read_chunks(versions).await?.unwrap_or_default())
    }

    async fn seen(&self, scope: &Scope) -> Result<Vec<Arc<OpenCatalogue>>, Error> {
        let mut seen = Vec::new();
        for version in self.versions(scope).await?.iter() {
            // One that is gone was replaced at this moment.
            seen.extend(self.open(version).await?);
        }
        Ok(seen)
    }

    async fn ask(&self, scope: &Scope, query: &CatalogueQuery) -> Result<CatalogueRows, Error> {
        let versions = self.versions(scope).await?;
        let Some(version) = versions.iter().find(|(document, _)| *document == query.document) else {
            return Ok(CatalogueRows::default());
        };
        let Some(open) = self.open(version).await? else { return Ok(CatalogueRows::default()) };
        query::ask(&self.session, &open.rows, &open.stored, query).await
    }
}

/// The rows in memory, if they are not too many; else as they lie in the store.
async fn table(rows: Arc<Dataset>) -> Result<RowTable, Error> {
    let count = rows.count_rows(None).await?;
    // A row takes at least as much as its numbers.
    let least = count.saturating_mul(rows.schema().fields.len() * size_of::<u32>());
    if least <= MOST_OF_ONE {
        let whole = rows.scan().try_into_batch().await?;
        if whole.get_array_memory_size() <= MOST_OF_ONE {
            let batches =
                (0..count).step_by(BATCH).map(|at| whole.slice(at, BATCH.min(count - at))).collect();
            let table = MemTable::try_new(whole.schema(), vec![batches]).map_err(query::unreadable)?;
            return Ok(RowTable { provider: Arc::new(table), in_memory: Some(whole) });
        }
    }
    let provider = Arc::new(LanceTableProvider::new_with_ordering(rows, false, false, false));
    Ok(RowTable { provider, in_memory: None })
}

#[async_trait]
impl Catalogues for StoredCatalogues {
    async fn list(&self, scope: &Scope) -> Result<Vec<Arc<CatalogueInfo>>, EvidenceError> {
        let seen = self.seen(scope).await.map_err(to_evidence_error)?;
        Ok(seen.iter().map(|open| open.stored.info.clone()).collect())
    }

    async fn rows(&self, scope: &Scope, query: &CatalogueQuery) -> Result<CatalogueRows, EvidenceError> {
        self.ask(scope, query).await.map_err(to_evidence_error)
    }
}
