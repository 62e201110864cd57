//! What the ledger says of documents.

use std::sync::Arc;

use futures_util::TryStreamExt;
use ibid_core::Scope;
use ibid_core::evidence::DocumentId;
use lance::dataset::Dataset;
use serde::de::DeserializeOwned;

use super::{Store, filter, rows};
use crate::document::{Document, PageCounts};
use crate::{DocumentStatus, Error};

impl Store {
    /// The documents that a scope may see, by corpus and source.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn documents(&self, scope: &Scope) -> Result<Vec<Document>, Error> {
        self.sorted(scope).await
    }

    /// The same with a tally of their pages only, which is much less where there are many.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn listed(&self, scope: &Scope) -> Result<Vec<Document<PageCounts>>, Error> {
        self.sorted(scope).await
    }

    async fn sorted<P: DeserializeOwned>(&self, scope: &Scope) -> Result<Vec<Document<P>>, Error> {
        let Some(filter) = filter::of_scope(scope) else { return Ok(Vec::new()) };
        let mut documents = self.ledger(Some(filter)).await?;
        documents.sort_by(|a, b| (&a.corpus, &a.source, &a.key).cmp(&(&b.corpus, &b.source, &b.key)));
        Ok(documents)
    }

    /// One document, if the scope may see it.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn document(&self, scope: &Scope, id: &DocumentId) -> Result<Option<Document>, Error> {
        let Some(scoped) = filter::of_scope(scope) else { return Ok(None) };
        let filter = format!("document = {} AND {scoped}", filter::quoted(&id.0));
        Ok(self.ledger(Some(filter)).await?.into_iter().next())
    }

    /// The documents of all tenants of which the ledger says that they are being loaded.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn unsettled(&self) -> Result<Vec<Document>, Error> {
        let filter = r#"pending != '' OR record LIKE '%"status":"loading"%'"#;
        let mut documents: Vec<Document> = self.ledger(Some(filter.to_owned())).await?;
        documents.retain(|document| {
            document.state.status() == DocumentStatus::Loading || document.state.pending().is_some()
        });
        Ok(documents)
    }

    /// What the ledger says of a document, whoever may see it.
    pub(crate) async fn row(&self, id: &DocumentId) -> Result<Option<Document>, Error> {
        Ok(self.ledger(Some(format!("document = {}", filter::quoted(&id.0)))).await?.into_iter().next())
    }

    /// The document of a corpus that has this content already, for the same readers, if there is one.
    pub(crate) async fn with_content(&self, document: &Document) -> Result<Option<Document>, Error> {
        let found = self.of_content(document).await?;
        let same = |found: &Document| {
            found.id != document.id
                && found.state.is_ready()
                && found.state.pending().is_none()
                && found.labels == document.labels
        };
        Ok(found.into_iter().find(same))
    }

    /// What the ledger says of documents in a corpus that have the content of one.
    pub(super) async fn of_content(&self, document: &Document) -> Result<Vec<Document>, Error> {
        let Document { tenant, corpus, content, .. } = document;
        let [tenant, corpus, version] = [tenant.as_str(), corpus.as_str(), content].map(filter::quoted);
        self.ledger(Some(format!("tenant = {tenant} AND corpus = {corpus} AND version = {version}"))).await
    }

    pub(super) async fn ledger<P: DeserializeOwned>(
        &self,
        filter: Option<String>,
    ) -> Result<Vec<Document<P>>, Error> {
        let filter = &filter;
        let read = |dataset: Arc<Dataset>| async move { Self::read_ledger(&dataset, filter.clone()).await };
        Ok(self.documents.read(read).await?.unwrap_or_default())
    }

    pub(super) async fn read_ledger<P: DeserializeOwned>(
        dataset: &Dataset,
        filter: Option<String>,
    ) -> Result<Vec<Document<P>>, Error> {
        let mut scan = dataset.scan();
        scan.project(&["record"])?;
        if let Some(filter) = filter {
            scan.filter(&filter)?;
        }
        let mut documents = Vec::new();
        let mut batches = scan.try_into_stream().await?;
        while let Some(batch) = batches.try_next().await? {
            for record in rows::texts(&batch, "record")?.iter().flatten() {
                let document = serde_json::from_str(record).map_err(|error| {
                    Error::Damaged(format!("a row of the ledger cannot be read: {error}"))
                })?;
                documents.push(document);
            }
        }
        Ok(documents)
    }
}
