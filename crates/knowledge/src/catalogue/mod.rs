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

use async_trait::async_trait;
use datafusion::datasource::TableProvider;
use datafusion::prelude::SessionContext;
use ibid_core::Scope;
use ibid_core::catalogue::{CATALOGUE, CatalogueInfo, CatalogueQuery, CatalogueRows, Catalogues};
use ibid_core::evidence::{DocumentId, EvidenceError};
use lance::datafusion::LanceTableProvider;
use quick_cache::sync::Cache;

pub(crate) use self::table::{CatalogueReader, MadeCatalogue, StoredCatalogue};
use crate::search::to_evidence_error;
use crate::{ContentHash, Error, Store};

/// So many catalogues stay open.
const MOST_OPEN: usize = 64;

/// The catalogues of a store.
pub struct StoredCatalogues {
    store: Arc<Store>,
    session: SessionContext,
    open: Cache<(DocumentId, ContentHash), Arc<OpenCatalogue>>,
}

struct OpenCatalogue {
    stored: StoredCatalogue,
    rows: Arc<dyn TableProvider>,
}

impl StoredCatalogues {
    /// Those of a store.
    pub fn new(store: Arc<Store>) -> Self {
        Self { store, session: SessionContext::new(), open: Cache::new(MOST_OPEN) }
    }

    async fn open(
        &self,
        id: &DocumentId,
        version: &ContentHash,
    ) -> Result<Option<Arc<OpenCatalogue>>, Error> {
        let key = (id.clone(), version.clone());
        if let Some(open) = self.open.get(&key) {
            return Ok(Some(open));
        }
        let Some((stored, rows)) = self.store.catalogue(id, version).await? else { return Ok(None) };
        let rows = Arc::new(LanceTableProvider::new_with_ordering(rows, false, false, false));
        let open = Arc::new(OpenCatalogue { stored, rows });
        self.open.insert(key, open.clone());
        Ok(Some(open))
    }

    async fn seen(&self, scope: &Scope) -> Result<Vec<Arc<OpenCatalogue>>, Error> {
        let mut seen = Vec::new();
        for (id, version) in self.store.searched_of_kind(scope, CATALOGUE).await? {
            // One that is gone was replaced at this moment.
            seen.extend(self.open(&id, &version).await?);
        }
        Ok(seen)
    }

    async fn ask(&self, scope: &Scope, query: &CatalogueQuery) -> Result<CatalogueRows, Error> {
        let seen = self.seen(scope).await?;
        let Some(open) = seen.into_iter().find(|open| open.stored.info.document == query.document) else {
            return Ok(CatalogueRows::default());
        };
        query::ask(&self.session, open.rows.clone(), &open.stored, query).await
    }
}

#[async_trait]
impl Catalogues for StoredCatalogues {
    async fn list(&self, scope: &Scope) -> Result<Vec<CatalogueInfo>, EvidenceError> {
        let seen = self.seen(scope).await.map_err(to_evidence_error)?;
        Ok(seen.iter().map(|open| open.stored.info.clone()).collect())
    }

    async fn rows(&self, scope: &Scope, query: &CatalogueQuery) -> Result<CatalogueRows, EvidenceError> {
        self.ask(scope, query).await.map_err(to_evidence_error)
    }
}
