//! What was deleted or replaced leaves the disk. A table keeps deleted rows in its files, words of them in its indexes, and earlier
//! versions of itself: files with deleted rows are rewritten, indexes that know deleted rows are made anew, and versions go when nobody
//! reads them any more.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ibid_core::Tenant;
use ibid_core::evidence::DocumentId;
use lance::dataset::Dataset;
use lance::dataset::optimize::{CompactionOptions, compact_files};
use lance::index::DatasetIndexExt;

use super::fsck::ActiveLoads;
use super::maintenance::{MakeIndexes, compaction, index_columns, ledger_indexes};
use super::table::{Table, is_conflict};
use super::{Store, answers, filter};
use crate::Error;
use crate::document::Document;

/// A step that loses to a writer is tried again so often.
const MOST_ATTEMPTS: u32 = 5;

impl Store {
    /// Rewrites what holds deleted rows, and removes versions that were replaced some time ago: after two rounds with that time
    /// between, no byte is left of what was deleted before the first. Says whether there was something to rewrite.
    ///
    /// # Errors
    /// Fails when the store cannot be written, or writers are faster again and again.
    pub async fn erase_deleted(&self) -> Result<bool, Error> {
        let mut rewritten = false;
        for (name, table) in self.tables() {
            rewritten |= self.erase_in(name, table).await?;
        }
        self.place.let_go_of_removed_indexes().await;
        Ok(rewritten)
    }

    /// Deletes everything of a tenant, with contents that it was about to load. Returns how many documents it had.
    ///
    /// # Errors
    /// Fails when the store cannot be written. Doing it again goes on where it failed.
    pub async fn delete_tenant(&self, tenant: &Tenant, loading: &ActiveLoads) -> Result<usize, Error> {
        let of_tenant = format!("tenant = {}", filter::quoted(tenant.as_str()));
        let documents: Vec<Document> = self.ledger(Some(of_tenant.clone())).await?;
        // The ledger comes last: while it names documents, the rest of them can be found.
        self.chunks.delete(&of_tenant).await?;
        self.answers.delete(&of_tenant).await?;
        for document in &documents {
            self.remove_old_rows(&document.id).await?;
            self.unstage_all(&document.id).await?;
        }
        self.documents.delete(&of_tenant).await?;
        self.forget_sources(tenant).await?;
        for document in &documents {
            for content in [Some(&document.content), document.state.pending()].into_iter().flatten() {
                self.delete_unused_blob(&document.id, content).await?;
            }
        }
        for content in &loading.contents {
            self.delete_unused_blob(&DocumentId(String::new()), content).await?;
        }
        Ok(documents.len())
    }

    async fn erase_in(&self, name: &str, table: &Table) -> Result<bool, Error> {
        let mut rewritten = false;
        for attempt in 0..MOST_ATTEMPTS {
            let Some(dataset) = table.newest().await? else { return Ok(false) };
            let mut dataset = dataset.as_ref().clone();
            match self.rewrite(name, table, &mut dataset).await {
                Ok(done) => {
                    rewritten |= done;
                    self.forget_versions(&dataset).await?;
                    return Ok(rewritten);
                }
                Err(Error::Lance(error)) if is_conflict(&error) => {
                    rewritten = true;
                    tokio::time::sleep(Duration::from_millis(100 << attempt)).await;
                }
                Err(error) => return Err(error),
            }
        }
        tracing::warn!("erasing gave way to writers; it is done the next time");
        Ok(rewritten)
    }

    async fn rewrite(&self, name: &str, table: &Table, dataset: &mut Dataset) -> Result<bool, Error> {
        let has_deleted = dataset.count_deleted_rows().await? > 0;
        if has_deleted {
            let options = CompactionOptions { materialize_deletions_threshold: 0.0, ..compaction() };
            compact_files(dataset, options, None).await?;
            table.saw(Arc::new(dataset.clone())).await;
        }
        let stale = has_deleted || knows_what_is_gone(dataset).await?;
        if stale {
            self.reindex(name, dataset).await?;
            table.saw(Arc::new(dataset.clone())).await;
        }
        Ok(stale)
    }
}

impl Store {
    /// Makes the indexes of a table anew that it has.
    pub(super) async fn reindex(&self, name: &str, dataset: &mut Dataset) -> Result<(), Error> {
        match name {
            super::CHUNKS => {
                self.index(dataset, MakeIndexes::All).await?;
                self.reindex_vectors(dataset).await
            }
            super::LEDGER => index_columns(dataset, ledger_indexes(), MakeIndexes::All).await,
            _ => index_columns(dataset, answers::INDEXES, MakeIndexes::All).await,
        }
    }
}

/// Whether an index knows rows of fragments that are not there any more.
async fn knows_what_is_gone(dataset: &Dataset) -> Result<bool, Error> {
    let there: BTreeSet<u64> = dataset.fragments().iter().map(|fragment| fragment.id).collect();
    let indices = dataset.load_indices().await?;
    let mut known = indices.iter().filter_map(|index| index.fragment_bitmap.as_ref()).flatten();
    Ok(known.any(|fragment| !there.contains(&fragment.into())))
}
