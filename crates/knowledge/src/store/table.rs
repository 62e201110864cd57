//! A Lance table that is opened once, read at one version at a time, and written with retries.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::{ArrowError, SchemaRef};
use lance::dataset::builder::DatasetBuilder;
use lance::dataset::transaction::{Operation, TransactionBuilder, UpdateMode};
use lance::dataset::write::merge_insert::inserted_rows::{FilterType, KeyExistenceFilter};
use lance::dataset::{
    CommitBuilder, Dataset, DeleteBuilder, InsertBuilder, NewColumnTransform, UpdateBuilder, WriteMode,
    WriteParams,
};
use sha2::{Digest, Sha256};
use tokio::sync::RwLock;

use super::objects::BlobStore;
use crate::Error;

/// A commit that loses against others is tried again so often.
const MOST_ATTEMPTS: u32 = 40;
/// A read whose version goes while it reads is done again so often.
const MOST_READS: u32 = 3;
/// A reader looks for a newer version after this time; what this process writes it sees at once.
const FRESH_FOR: Duration = Duration::from_millis(200);

/// A table of the store.
pub(crate) struct Table {
    place: BlobStore,
    uri: String,
    schema: SchemaRef,
    opened: RwLock<Option<(Arc<Dataset>, Instant)>>,
}

impl Table {
    pub(crate) fn new(place: &BlobStore, name: &str, schema: SchemaRef) -> Self {
        Self { place: place.clone(), uri: place.table(name), schema, opened: RwLock::default() }
    }

    /// How many rows it has.
    pub(crate) async fn rows(&self) -> Result<u64, Error> {
        match self.latest().await? {
            Some(dataset) => Ok(dataset.count_rows(None).await? as u64),
            None => Ok(0),
        }
    }

    /// The newest version, or none if the table was never written.
    pub(crate) async fn latest(&self) -> Result<Option<Arc<Dataset>>, Error> {
        if let Some((dataset, seen)) = self.opened.read().await.as_ref()
            && seen.elapsed() < FRESH_FOR
        {
            return Ok(Some(dataset.clone()));
        }
        let mut opened = self.opened.write().await;
        match opened.as_mut() {
            Some((dataset, seen)) => {
                if seen.elapsed() >= FRESH_FOR {
                    if dataset.is_stale().await? {
                        let mut newer = dataset.as_ref().clone();
                        newer.checkout_latest().await?;
                        *dataset = Arc::new(newer);
                    }
                    *seen = Instant::now();
                }
                Ok(Some(dataset.clone()))
            }
            None => {
                let builder = DatasetBuilder::from_uri(&self.uri)
                    .with_store_params(self.place.params())
                    .with_session(self.place.session());
                match builder.load().await {
                    Ok(dataset) => {
                        let dataset = Arc::new(dataset);
                        *opened = Some((dataset.clone(), Instant::now()));
                        Ok(Some(dataset))
                    }
                    Err(lance::Error::DatasetNotFound { .. } | lance::Error::NotFound { .. }) => Ok(None),
                    Err(error) => Err(error.into()),
                }
            }
        }
    }

    /// The newest version, looked for now, or none if the table was never written.
    pub(crate) async fn newest(&self) -> Result<Option<Arc<Dataset>>, Error> {
        if let Some((_, seen)) = self.opened.write().await.as_mut() {
            *seen = seen.checked_sub(FRESH_FOR).unwrap_or(*seen);
        }
        self.latest().await
    }

    /// What a read of the newest version gives, or none if the table was never written. Its files go some time after it was
    /// replaced, which a slow read may meet: then what came in its place is read, from the beginning.
    pub(crate) async fn read<T, F>(&self, read: impl Fn(Arc<Dataset>) -> F) -> Result<Option<T>, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let Some(mut dataset) = self.latest().await? else { return Ok(None) };
        for _ in 1..MOST_READS {
            match read(dataset.clone()).await {
                Err(error @ Error::Lance(_)) => match self.newest().await? {
                    Some(newer) if newer.version_id() > dataset.version_id() => dataset = newer,
                    _ => return Err(error),
                },
                done => return done.map(Some),
            }
        }
        read(dataset).await.map(Some)
    }

    /// The newest version; an empty table is made if there is none. Returns whether it was made here.
    pub(crate) async fn made(&self) -> Result<(Arc<Dataset>, bool), Error> {
        if let Some(dataset) = self.latest().await? {
            return Ok((dataset, false));
        }
        match self.create().await {
            Ok(dataset) => {
                let dataset = Arc::new(dataset);
                self.saw(dataset.clone()).await;
                Ok((dataset, true))
            }
            // Another writer was first, unless there is still none.
            Err(error) => match self.newest().await? {
                Some(dataset) => Ok((dataset, false)),
                None => Err(error.into()),
            },
        }
    }

    /// Makes an empty table, or fails if there is one. `Dataset::write` would overwrite a table that another writer makes at
    /// the same moment, with the rows in it: an overwrite without retries is never put on top of what it did not read.
    async fn create(&self) -> lance::Result<Dataset> {
        let (store_params, session) = (self.place.params(), self.place.session());
        let params = WriteParams {
            mode: WriteMode::Create,
            store_params: Some(store_params.clone()),
            session: Some(session.clone()),
            ..WriteParams::default()
        };
        let none: Vec<Result<RecordBatch, ArrowError>> = Vec::new();
        let rows = RecordBatchIterator::new(none, self.schema.clone());
        let staged = InsertBuilder::new(self.uri.as_str())
            .with_params(&params)
            .execute_uncommitted_stream(rows)
            .await?;
        CommitBuilder::new(self.uri.as_str())
            .with_store_params(store_params)
            .with_session(session)
            .enable_v2_manifest_paths(params.enable_v2_manifest_paths)
            .with_max_retries(0)
            .execute(staged)
            .await
    }

    /// Remembers a version that this process wrote.
    pub(crate) async fn saw(&self, dataset: Arc<Dataset>) {
        let mut opened = self.opened.write().await;
        if opened.as_ref().is_none_or(|(known, _)| known.version_id() < dataset.version_id()) {
            *opened = Some((dataset, Instant::now()));
        }
    }

    /// Writes down something about the table.
    pub(crate) async fn configure(&self, key: &str, value: &str) -> Result<(), Error> {
        let (dataset, _) = self.made().await?;
        let mut dataset = dataset.as_ref().clone();
        for attempt in 0.. {
            match dataset.update_config([(key, value)]).await {
                Err(error) if is_conflict(&error) && attempt < MOST_ATTEMPTS => {
                    wait(attempt).await;
                    dataset.checkout_latest().await?;
                }
                Err(error) => return Err(error.into()),
                Ok(_) => break,
            }
        }
        self.saw(Arc::new(dataset)).await;
        Ok(())
    }

    /// Adds the columns that a version of the table lacks, empty.
    pub(crate) async fn complete(
        &self,
        missing: impl Fn(&Dataset) -> Option<SchemaRef>,
    ) -> Result<(), Error> {
        let Some(dataset) = self.latest().await?.filter(|dataset| missing(dataset).is_some()) else {
            return Ok(());
        };
        let mut dataset = dataset.as_ref().clone();
        for attempt in 0.. {
            let Some(columns) = missing(&dataset) else { break };
            match dataset.add_columns(NewColumnTransform::AllNulls(columns), None, None).await {
                Err(error) if is_conflict(&error) && attempt < MOST_ATTEMPTS => {
                    wait(attempt).await;
                    dataset.checkout_latest().await?;
                }
                Err(error) => return Err(error.into()),
                Ok(()) => break,
            }
        }
        self.saw(Arc::new(dataset)).await;
        Ok(())
    }

    /// Gives columns of the rows that a filter lets through another value, as a literal, in one commit. Returns how many rows
    /// there were.
    pub(crate) async fn update(&self, predicate: &str, values: &[(&str, String)]) -> Result<u64, Error> {
        let Some(dataset) = self.newest().await? else { return Ok(0) };
        let mut update = UpdateBuilder::new(dataset).update_where(predicate)?.conflict_retries(MOST_ATTEMPTS);
        for (column, value) in values {
            update = update.set(column, value)?;
        }
        let updated = update.build()?.execute().await?;
        self.saw(updated.new_dataset).await;
        Ok(updated.rows_updated)
    }

    /// Deletes the rows that a filter lets through, in one commit. Returns how many there were.
    pub(crate) async fn delete(&self, predicate: &str) -> Result<u64, Error> {
        let Some(mut dataset) = self.latest().await? else { return Ok(0) };
        for attempt in 0.. {
            if dataset.count_rows(Some(predicate.to_owned())).await? == 0 {
                break;
            }
            match DeleteBuilder::new(dataset.clone(), predicate).execute().await {
                Ok(deleted) => {
                    self.saw(deleted.new_dataset).await;
                    return Ok(deleted.num_deleted_rows);
                }
                Err(error) if is_conflict(&error) && attempt < MOST_ATTEMPTS => {
                    wait(attempt).await;
                    let mut latest = dataset.as_ref().clone();
                    latest.checkout_latest().await?;
                    dataset = Arc::new(latest);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(0)
    }

    /// Puts rows in the place of all rows that have `value` in `column`, in one commit: whoever reads sees
    /// either all of the old or all of the new ones. No rows means that the old ones are deleted.
    pub(crate) async fn replace(
        &self,
        column: &str,
        value: &str,
        rows: Option<RecordBatch>,
    ) -> Result<(), Error> {
        let (mut dataset, _) = self.made().await?;
        let field = dataset
            .schema()
            .field(column)
            .map(|field| field.id)
            .ok_or_else(|| Error::Damaged(format!("{} has no column {column}", self.uri)))?;
        // Two writers that bring the same value for the first time touch no row in common; this tells them apart.
        let mut key = [0; 8];
        key.copy_from_slice(&Sha256::digest(value.as_bytes())[..8]);
        let filter = FilterType::ExactSet(HashSet::from([u64::from_be_bytes(key)]));
        let key = KeyExistenceFilter { field_ids: vec![field], filter };
        let new_fragments = match rows.filter(|rows| rows.num_rows() > 0) {
            None => Vec::new(),
            Some(rows) => {
                let params = WriteParams { mode: WriteMode::Append, ..WriteParams::default() };
                let staged = InsertBuilder::new(dataset.clone())
                    .with_params(&params)
                    .execute_uncommitted(vec![rows])
                    .await?;
                match staged.operation {
                    Operation::Append { fragments } => fragments,
                    other => return Err(Error::Damaged(format!("writing gave {other} instead of new rows"))),
                }
            }
        };
        let mut attempt = 0;
        loop {
            let predicate = format!("{column} = {}", super::filter::quoted(value));
            let staged = DeleteBuilder::new(dataset.clone(), predicate).execute_uncommitted().await?;
            let Operation::Delete { updated_fragments, deleted_fragment_ids, .. } =
                staged.transaction.operation
            else {
                return Err(Error::Damaged("deleting gave something else".to_owned()));
            };
            if updated_fragments.is_empty() && deleted_fragment_ids.is_empty() && new_fragments.is_empty() {
                return Ok(());
            }
            let operation = Operation::Update {
                removed_fragment_ids: deleted_fragment_ids,
                updated_fragments,
                new_fragments: new_fragments.clone(),
                fields_modified: Vec::new(),
                compacted_sstables: Vec::new(),
                fields_for_preserving_frag_bitmap: dataset
                    .schema()
                    .fields_pre_order()
                    .map(|field| field.id as u32)
                    .collect(),
                update_mode: Some(UpdateMode::RewriteRows),
                inserted_rows_filter: Some(key.clone()),
                updated_fragment_offsets: None,
            };
            let transaction = TransactionBuilder::new(dataset.version_id(), operation).build();
            let mut commit = CommitBuilder::new(dataset.clone());
            if let Some(rows) = staged.affected_rows {
                commit = commit.with_affected_rows(rows);
            }
            match commit.execute(transaction).await {
                Ok(newer) => {
                    self.saw(Arc::new(newer)).await;
                    return Ok(());
                }
                Err(error) if is_conflict(&error) && attempt < MOST_ATTEMPTS => {
                    attempt += 1;
                    wait(attempt).await;
                    let mut latest = dataset.as_ref().clone();
                    latest.checkout_latest().await?;
                    dataset = Arc::new(latest);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Whether another writer was quicker.
pub(super) fn is_conflict(error: &lance::Error) -> bool {
    matches!(error, lance::Error::RetryableCommitConflict { .. } | lance::Error::CommitConflict { .. })
}

/// Lets the other writers go on, each time for longer.
async fn wait(attempt: u32) {
    tokio::time::sleep(Duration::from_millis(10 * u64::from(attempt.min(50)))).await;
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use arrow_array::StringArray;
    use arrow_schema::{DataType, Field, Schema};
    use futures_util::future::join_all;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn writers_that_make_a_table_at_the_same_moment_lose_nothing() {
        let schema = Arc::new(Schema::new(vec![Field::new("document", DataType::Utf8, false)]));
        for round in 0..20 {
            let folder = tempfile::tempdir().unwrap();
            let writers = (0..4).map(|writer| {
                let (path, schema) = (folder.path().to_string_lossy().into_owned(), schema.clone());
                tokio::spawn(async move {
                    // Each as if in a process of its own.
                    let table =
                        Table::new(&BlobStore::at(&path, HashMap::new()).await?, "rows", schema.clone());
                    let name = format!("document {writer}");
                    let row = StringArray::from(vec![name.clone()]);
                    let rows =
                        RecordBatch::try_new(schema, vec![Arc::new(row)]).map_err(lance::Error::from)?;
                    table.replace("document", &name, Some(rows)).await
                })
            });
            for written in join_all(writers).await {
                written.unwrap().unwrap();
            }
            let place = BlobStore::at(&folder.path().to_string_lossy(), HashMap::new()).await.unwrap();
            let table = Table::new(&place, "rows", schema.clone()).latest().await.unwrap().unwrap();
            assert_eq!(table.count_rows(None).await.unwrap(), 4, "round {round}");
        }
    }
}
