//! The rows of catalogues: a table for each version, beside what is known of it. The chunks say which version is searched.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::RecordBatchIterator;
use ibid_core::evidence::DocumentId;
use lance::dataset::builder::DatasetBuilder;
use lance::dataset::{Dataset, WriteMode, WriteParams};

use super::{Store, rows};
use crate::catalogue::{MadeCatalogue, StoredCatalogue};
use crate::{ContentHash, Error};

/// Where all of them lie.
pub(super) const FOLDER: &str = "catalogues";

fn place(id: &DocumentId, version: &ContentHash) -> String {
    format!("{FOLDER}/{id}/{version}")
}

impl Store {
    /// Keeps the rows of a catalogue. They are searched once a chunk says so.
    pub(crate) async fn put_catalogue(&self, made: MadeCatalogue) -> Result<(), Error> {
        let MadeCatalogue { stored, batches, .. } = made;
        let place = place(&stored.info.document, &ContentHash::stored(&stored.info.version));
        let Some(schema) = batches.first().map(arrow_array::RecordBatch::schema) else {
            return Err(Error::Damaged("a catalogue without rows".to_owned()));
        };
        let params = WriteParams {
            mode: WriteMode::Overwrite,
            store_params: Some(self.place.params()),
            session: Some(self.place.session()),
            ..WriteParams::default()
        };
        let rows = RecordBatchIterator::new(batches.into_iter().map(Ok), schema);
        Dataset::write(rows, &self.place.table(&format!("{place}/rows")), Some(params)).await?;
        let json = serde_json::to_vec(&stored).map_err(|error| Error::Damaged(error.to_string()))?;
        // Whoever finds it finds the rows, too.
        self.place.put(&format!("{place}/catalogue.json"), &json).await
    }

    /// A version of a catalogue and its rows, if it is there.
    pub(crate) async fn catalogue(
        &self,
        id: &DocumentId,
        version: &ContentHash,
    ) -> Result<Option<(StoredCatalogue, Arc<Dataset>)>, Error> {
        let place = place(id, version);
        let Some(json) = self.place.get(&format!("{place}/catalogue.json")).await? else { return Ok(None) };
        let stored = serde_json::from_slice(&json)
            .map_err(|error| Error::Damaged(format!("{place} cannot be read: {error}")))?;
        let rows = DatasetBuilder::from_uri(self.place.table(&format!("{place}/rows")))
            .with_store_params(self.place.params())
            .with_session(self.place.session())
            .load()
            .await?;
        Ok(Some((stored, Arc::new(rows))))
    }

    /// The documents that a filter lets through, and the version of each that is searched.
    pub(crate) async fn versions(
        chunks: &Dataset,
        filter: &str,
    ) -> Result<Vec<(DocumentId, ContentHash)>, Error> {
        let mut scan = chunks.scan();
        scan.filter(filter)?.project(&["document", "version"])?;
        let batch = scan.try_into_batch().await?;
        let (documents, versions) = (rows::texts(&batch, "document")?, rows::texts(&batch, "version")?);
        let each = documents.iter().flatten().zip(versions.iter().flatten());
        let found: BTreeSet<(DocumentId, ContentHash)> =
            each.map(|(id, version)| (DocumentId(id.to_owned()), ContentHash::stored(version))).collect();
        Ok(found.into_iter().collect())
    }

    /// Removes the rows of a document that are not searched.
    pub(crate) async fn remove_old_rows(&self, id: &DocumentId) -> Result<(), Error> {
        let folder = format!("{FOLDER}/{id}");
        let objects = self.place.list(&folder).await?;
        if objects.is_empty() {
            return Ok(());
        }
        let searched = self.indexed_content(id).await?.map(|version| format!("{version}/"));
        for object in objects {
            if !searched.as_ref().is_some_and(|kept| object.starts_with(kept.as_str())) {
                self.place.remove(&format!("{folder}/{object}")).await?;
            }
        }
        Ok(())
    }

    /// Versions of catalogues whose rows lie here and are not searched, but for those of documents that are being loaded.
    pub(super) async fn unsearched_rows(
        &self,
        searched: &BTreeMap<String, BTreeSet<ContentHash>>,
        underway: &BTreeSet<DocumentId>,
    ) -> Result<BTreeSet<DocumentId>, Error> {
        let mut found = BTreeSet::new();
        for object in self.place.list(FOLDER).await? {
            let mut parts = object.split('/');
            let (Some(id), Some(version)) = (parts.next(), parts.next()) else { continue };
            let is_searched = searched.get(id).is_some_and(|versions| versions.contains(version));
            let id = DocumentId(id.to_owned());
            if !is_searched && !underway.contains(&id) {
                found.insert(id);
            }
        }
        Ok(found)
    }
}
