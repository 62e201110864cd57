//! Documents that are kept in step with a source: which there are, and what changes of them without being read again.

use std::collections::BTreeSet;

use ibid_core::evidence::DocumentId;
use ibid_core::{Label, SourceName, Tenant};
use serde::de::IgnoredAny;

use super::{Store, filter, rows};
use crate::document::{Document, DocumentOrigin};
use crate::{DocumentState, Error};

/// What the ledger says of a document, without its pages.
pub type DocumentRow = Document<IgnoredAny>;

/// What is said of a document, apart from what was read of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentEdit {
    /// Its file or URL.
    pub source: String,
    /// Its type.
    pub kind: String,
    /// Who may see it; empty means everybody at the tenant.
    pub labels: BTreeSet<Label>,
    /// Where it came from, if it is kept in step with a source.
    pub origin: Option<DocumentOrigin>,
}

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

    /// Changes what is said of a document, without reading or embedding it again: it keeps its id. Whoever searches sees all of it before
    /// or after. Says whether it was changed; one that is being loaded is not.
    ///
    /// # Errors
    /// Fails when the store cannot be written. Doing it again goes on where it failed.
    pub async fn edit(&self, id: &DocumentId, edit: DocumentEdit) -> Result<bool, Error> {
        let Some(known) = self.row(id).await?.filter(is_at_rest) else { return Ok(false) };
        // A title that is the name of the file follows it.
        let title =
            if known.title == file_name(&known.source) { file_name(&edit.source) } else { &known.title };
        let document = Document {
            title: title.to_owned(),
            source: edit.source,
            kind: edit.kind,
            labels: edit.labels,
            origin: edit.origin,
            ..known.clone()
        };
        if document == known {
            return Ok(true);
        }
        let searched = |document: &Document| {
            let Document { source, title, kind, labels, .. } = document.clone();
            (source, title, kind, labels)
        };
        if searched(&document) != searched(&known) {
            let labels: Vec<String> = rows::labels(&document).map(filter::quoted).collect();
            let values = [
                ("source", filter::quoted(&document.source)),
                ("title", filter::quoted(&document.title)),
                ("kind", filter::quoted(&document.kind)),
                ("labels", format!("[{}]", labels.join(", "))),
            ];
            self.chunks.update(&format!("document = {}", filter::quoted(&id.0)), &values).await?;
            // They cite it by what it was called, and were given to those who saw it then.
            self.forget_answers_from(id).await?;
        }
        self.record(&document).await?;
        Ok(true)
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

/// Whether nothing is on its way that would write the ledger, too.
fn is_at_rest(document: &Document) -> bool {
    matches!(document.state, DocumentState::Settled { pending: None, .. })
}

fn file_name(source: &str) -> &str {
    source.rsplit(['/', '\\']).next().unwrap_or(source)
}

fn sync_object(tenant: &Tenant, source: &SourceName) -> String {
    format!("sources/{tenant}/{source}.json")
}
