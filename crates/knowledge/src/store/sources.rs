//! Documents that are kept in step with a source, and what is written down of that.

use ibid_core::{SourceName, Tenant};
use serde::de::IgnoredAny;

use super::{Store, filter};
use crate::Error;
use crate::document::Document;

/// What the ledger says of a document, without its pages.
pub type DocumentRow = Document<IgnoredAny>;

impl Store {
    /// The documents of a tenant that came from a source, in whatever corpus they are, and whoever may see them.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn documents_of_source(
        &self,
        tenant: &Tenant,
        source: &SourceName,
    ) -> Result<Vec<DocumentRow>, Error> {
        // As a row is written. An underscore of the name stands for any letter here, so that it is compared once more.
        let pattern = filter::quoted(&format!("%\"origin\":{{\"source\":\"{source}\",%"));
        let tenant = filter::quoted(tenant.as_str());
        self.documents.newest().await?;
        let mut documents: Vec<DocumentRow> =
            self.ledger(Some(format!("tenant = {tenant} AND record LIKE {pattern}"))).await?;
        documents.retain(|document| document.origin.as_ref().is_some_and(|origin| origin.source == *source));
        Ok(documents)
    }

    /// What was written down of how a source was kept in step.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn sync_record(
        &self,
        tenant: &Tenant,
        source: &SourceName,
    ) -> Result<Option<bytes::Bytes>, Error> {
        self.place.get(&sync_object(tenant, source)).await
    }

    /// Writes that down, in place of what was there.
    ///
    /// # Errors
    /// Fails when the store cannot be written.
    pub async fn put_sync_record(
        &self,
        tenant: &Tenant,
        source: &SourceName,
        record: &[u8],
    ) -> Result<(), Error> {
        self.place.put(&sync_object(tenant, source), record).await
    }
}

impl Store {
    /// Forgets how the sources of a tenant were kept in step.
    pub(super) async fn forget_sources(&self, tenant: &Tenant) -> Result<(), Error> {
        let folder = format!("sources/{tenant}");
        for record in self.place.list(&folder).await? {
            self.place.remove(&format!("{folder}/{record}")).await?;
        }
        Ok(())
    }
}

fn sync_object(tenant: &Tenant, source: &SourceName) -> String {
    format!("sources/{tenant}/{source}.json")
}
