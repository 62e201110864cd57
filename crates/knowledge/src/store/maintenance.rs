//! Indexes and their maintenance. It runs beside readers and writers: a commit that it loses to a writer is
//! tried again, and readers go on with the version that they have.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lance::dataset::Dataset;
use lance::dataset::optimize::{CompactionOptions, compact_files};
use lance::index::DatasetIndexExt;
use lance::index::vector::VectorIndexParams;
use lance_index::IndexType;
use lance_index::optimize::OptimizeOptions;
use lance_index::scalar::inverted::Language;
use lance_index::scalar::{BuiltinIndexType, InvertedIndexParams, ScalarIndexParams};
use lance_index::vector::bq::RQBuildParams;
use lance_index::vector::ivf::IvfBuildParams;
use lance_linalg::distance::DistanceType;

use super::Store;
use super::rows::TABLE;
use super::table::is_conflict;
use crate::Error;

/// A step of maintenance that loses to a writer is tried again so often.
const MOST_ATTEMPTS: u32 = 5;
/// Bits for each dimension of a vector in the index.
const BITS: u8 = 5;

/// A vector index is made anew when there are so many times the rows that it was made for: it divides them
/// into too few parts by then.
const OUTGROWN: usize = 4;
/// Rows are rewritten when one of so many is deleted.
const MOST_DELETED: usize = 10;
/// Where the table says for how many rows its vector index was made.
const TRAINED: &str = "ibid.vectors";

const TERMS: &str = "terms";
const VECTOR: &str = "vector";

/// An index of a column.
pub(super) type ColumnIndex = (&'static str, IndexType, BuiltinIndexType);

/// Which indexes are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MakeIndexes {
    /// Those that are not there.
    Missing,
    /// All of them, so that they know nothing of rows that are gone.
    All,
}

/// What maintenance did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MaintenanceReport {
    /// Rows that indexes did not know before.
    pub indexed: usize,
    /// Whether a vector index was made.
    pub made_vector_index: bool,
    /// Whether fragments were merged.
    pub compacted: bool,
}

impl Store {
    /// Makes the indexes of the table of chunks that are not there yet, but for that of vectors, or all of them anew.
    pub(super) async fn index(&self, dataset: &mut Dataset, which: MakeIndexes) -> Result<(), Error> {
        let there = dataset.load_indices_by_name(TERMS).await?.len();
        let terms = InvertedIndexParams::new("whitespace".to_owned(), Language::English)
            .stem(false)
            .remove_stop_words(false)
            .lower_case(false)
            .ascii_folding(false)
            .max_token_length(None);
        if there == 0 || which == MakeIndexes::All {
            dataset.create_index(&[TERMS], IndexType::Inverted, Some(TERMS.to_owned()), &terms, true).await?;
        }
        let scalar = [
            ("id", IndexType::BTree, BuiltinIndexType::BTree),
            ("document", IndexType::BTree, BuiltinIndexType::BTree),
            ("tenant", IndexType::Bitmap, BuiltinIndexType::Bitmap),
            ("corpus", IndexType::Bitmap, BuiltinIndexType::Bitmap),
            ("kind", IndexType::Bitmap, BuiltinIndexType::Bitmap),
            ("language", IndexType::Bitmap, BuiltinIndexType::Bitmap),
            ("labels", IndexType::LabelList, BuiltinIndexType::LabelList),
            (TABLE, IndexType::BTree, BuiltinIndexType::BTree),
        ];
        index_columns(dataset, scalar, which).await
    }

    /// Brings the indexes up to date, merges what is in too many pieces, and removes old versions.
    ///
    /// # Errors
    /// Fails when the store cannot be written, or writers are faster again and again.
    pub async fn maintain(&self) -> Result<MaintenanceReport, Error> {
        let mut kept = MaintenanceReport::default();
        if self.chunks.latest().await?.is_none() {
            return Ok(kept);
        }
        for attempt in 0..MOST_ATTEMPTS {
            match self.keep_up_once(&mut kept).await {
                Err(Error::Lance(error)) if is_conflict(&error) => {
                    tokio::time::sleep(Duration::from_millis(100 << attempt)).await;
                }
                other => return other.map(|()| kept),
            }
        }
        tracing::warn!("maintenance of the store gave way to writers; it is done the next time");
        Ok(kept)
    }

    async fn keep_up_once(&self, kept: &mut MaintenanceReport) -> Result<(), Error> {
        let Some(dataset) = self.chunks.latest().await? else { return Ok(()) };
        let mut dataset = dataset.as_ref().clone();
        dataset.checkout_latest().await?;
        self.index(&mut dataset, MakeIndexes::Missing).await?;
        let missing = unindexed(&dataset, TERMS).await?;
        if missing > 0 {
            let parts = dataset.load_indices_by_name(TERMS).await?.len();
            let options = if parts >= self.maintenance.most_parts {
                OptimizeOptions::merge(parts)
            } else {
                OptimizeOptions::append()
            };
            dataset.optimize_indices(&options).await?;
            kept.indexed += missing;
            self.chunks.saw(Arc::new(dataset.clone())).await;
        }
        let rows = dataset.count_rows(None).await?;
        if rows > self.maintenance.index_above.max(trained_on(&dataset) * OUTGROWN) {
            self.index_vectors(&mut dataset, rows).await?;
            kept.made_vector_index = true;
        }
        let deleted = dataset.count_deleted_rows().await?;
        if dataset.fragments().len() > self.maintenance.most_fragments || deleted * MOST_DELETED > rows {
            compact_files(&mut dataset, compaction(), None).await?;
            kept.compacted = true;
            self.chunks.saw(Arc::new(dataset.clone())).await;
        }
        self.tidy_ledger().await?;
        Box::pin(self.tidy_answers()).await?;
        self.forget_versions(&dataset).await
    }

    /// Makes the index of the vectors of so many rows.
    async fn index_vectors(&self, dataset: &mut Dataset, rows: usize) -> Result<(), Error> {
        let params = VectorIndexParams::with_ivf_rq_params(
            DistanceType::Cosine,
            IvfBuildParams::default(),
            RQBuildParams::new(BITS),
        );
        dataset.create_index(&[VECTOR], IndexType::IvfRq, Some(VECTOR.to_owned()), &params, true).await?;
        self.chunks.saw(Arc::new(dataset.clone())).await;
        self.chunks.configure(TRAINED, &rows.to_string()).await?;
        Ok(dataset.checkout_latest().await?)
    }

    /// Makes the index of the vectors anew, if there is one.
    pub(super) async fn reindex_vectors(&self, dataset: &mut Dataset) -> Result<(), Error> {
        if dataset.load_indices_by_name(VECTOR).await?.is_empty() {
            return Ok(());
        }
        let rows = dataset.count_rows(None).await?;
        self.index_vectors(dataset, rows).await
    }

    /// The ledger has one small commit for each change: it is merged and its old versions are removed.
    async fn tidy_ledger(&self) -> Result<(), Error> {
        let Some(ledger) = self.documents.latest().await? else { return Ok(()) };
        let mut ledger = ledger.as_ref().clone();
        ledger.checkout_latest().await?;
        if ledger.fragments().len() > self.maintenance.most_fragments {
            compact_files(&mut ledger, CompactionOptions::default(), None).await?;
            index_columns(&mut ledger, ledger_indexes(), MakeIndexes::Missing).await?;
            ledger.optimize_indices(&OptimizeOptions::default()).await?;
            self.documents.saw(Arc::new(ledger.clone())).await;
        }
        self.forget_versions(&ledger).await
    }

    /// Removes versions of a table that were replaced long ago. A version may be old and still be read, if it was the newest until a
    /// moment ago: what counts is when the next one came.
    pub(super) async fn forget_versions(&self, dataset: &Dataset) -> Result<(), Error> {
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let millis = |span: Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        let cutoff = millis(now().saturating_sub(self.maintenance.keep_versions));
        let times = dataset.versions().await?.into_iter().map(|version| version.timestamp.timestamp_millis());
        if let Some(before) = times.filter(|time| *time < cutoff).max() {
            let age = chrono::Duration::milliseconds(millis(now()) - before);
            let removed = dataset.cleanup_old_versions(age, None, Some(false)).await?;
            self.place.removed_index_files(removed.index_files_removed).await;
        }
        Ok(())
    }
}

/// How fragments are merged.
pub(super) fn compaction() -> CompactionOptions {
    CompactionOptions { target_rows_per_fragment: 256 * 1024, ..CompactionOptions::default() }
}

/// The indexes of the ledger.
pub(super) fn ledger_indexes() -> [ColumnIndex; 3] {
    ["document", "version", "pending"].map(|column| (column, IndexType::BTree, BuiltinIndexType::BTree))
}

/// Makes indexes of columns that are there, each under the name of its column.
pub(super) async fn index_columns(
    dataset: &mut Dataset,
    columns: impl IntoIterator<Item = ColumnIndex>,
    which: MakeIndexes,
) -> Result<(), Error> {
    let there: Vec<String> = dataset.load_indices().await?.iter().map(|index| index.name.clone()).collect();
    for (column, kind, builtin) in columns {
        let is_missing = !there.iter().any(|name| name == column);
        if dataset.schema().field(column).is_some() && (is_missing || which == MakeIndexes::All) {
            let params = ScalarIndexParams::for_builtin(builtin);
            dataset.create_index(&[column], kind, Some(column.to_owned()), &params, true).await?;
        }
    }
    Ok(())
}

/// For how many rows the vector index was made; none means that there is none.
fn trained_on(dataset: &Dataset) -> usize {
    dataset.config().get(TRAINED).and_then(|rows| rows.parse().ok()).unwrap_or_default()
}

/// How many rows an index does not know.
pub(super) async fn unindexed(dataset: &Dataset, index: &str) -> Result<usize, Error> {
    let indices = dataset.load_indices_by_name(index).await?;
    let known = |fragment: u64| {
        let fragment = u32::try_from(fragment).unwrap_or(u32::MAX);
        indices
            .iter()
            .filter_map(|index| index.fragment_bitmap.as_ref())
            .any(|bitmap| bitmap.contains(fragment))
    };
    Ok(dataset
        .fragments()
        .iter()
        .filter(|fragment| !known(fragment.id))
        .filter_map(|fragment| fragment.num_rows())
        .sum())
}
