//! The table of answers that may be given again. Each row names the documents that its answer rests on; whether they are still
//! what they were is read from the chunks, so that the commit that replaces a document ends the answers that rest on it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, Float32Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use futures_util::TryStreamExt;
use ibid_core::Scope;
use ibid_core::cache::{CachedAnswer, EvidencePiece};
use ibid_core::evidence::DocumentId;
use lance::dataset::Dataset;
use lance::dataset::optimize::{CompactionOptions, compact_files};
use lance::index::DatasetIndexExt;
use lance_index::IndexType;
use lance_index::optimize::OptimizeOptions;
use lance_index::scalar::BuiltinIndexType;
use lance_linalg::distance::DistanceType;

use super::maintenance::{ColumnIndex, MakeIndexes};
use super::{Store, filter, maintenance, rows};
use crate::{ContentHash, Error};

/// What an answer is kept under.
pub(crate) struct AnswerRow<'a> {
    /// That of its question, with everything that has to be the same.
    pub(crate) id: &'a str,
    /// Everything that has to be the same, without the question.
    pub(crate) place: &'a str,
    pub(crate) tenant: &'a str,
    pub(crate) answer: &'a CachedAnswer,
    pub(crate) vector: Vec<f32>,
}

/// An answer that was found, with the vector of its question.
pub(crate) type FoundAnswer = (CachedAnswer, Vec<f32>);

pub(super) const INDEXES: [ColumnIndex; 4] = [
    ("id", IndexType::BTree, BuiltinIndexType::BTree),
    ("place", IndexType::BTree, BuiltinIndexType::BTree),
    ("run", IndexType::BTree, BuiltinIndexType::BTree),
    ("documents", IndexType::LabelList, BuiltinIndexType::LabelList),
];

/// The columns of `cache`.
pub(super) fn schema(dimensions: usize) -> SchemaRef {
    let text = |name: &str| Field::new(name, DataType::Utf8, false);
    let number = |name: &str| Field::new(name, DataType::UInt64, false);
    Arc::new(Schema::new(vec![
        text("id"),
        text("place"),
        text("tenant"),
        text("run"),
        rows::texts_field("documents"),
        number("created"),
        number("expires"),
        text("record"),
        rows::vector_field(dimensions),
    ]))
}

/// Milliseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn to_batch(row: AnswerRow<'_>, dimensions: usize) -> Result<RecordBatch, Error> {
    let AnswerRow { id, place, tenant, answer, vector } = row;
    let one = |value: &str| -> ArrayRef { Arc::new(StringArray::from(vec![value])) };
    let number = |value: u64| -> ArrayRef { Arc::new(UInt64Array::from(vec![value])) };
    let damaged = |error: &dyn std::fmt::Display| Error::Damaged(format!("the answer does not fit: {error}"));
    let mut documents = ListBuilder::new(StringBuilder::new());
    let names: BTreeSet<&DocumentId> = answer.evidence.iter().map(|piece| &piece.document).collect();
    names.into_iter().for_each(|name| documents.values().append_value(&name.0));
    documents.append(true);
    let record = serde_json::to_string(answer).map_err(|error| damaged(&error))?;
    let columns: Vec<ArrayRef> = vec![
        one(id),
        one(place),
        one(tenant),
        one(&answer.run.to_string()),
        Arc::new(documents.finish()),
        number(answer.created),
        number(answer.expires),
        one(&record),
        rows::vector_column(vector, dimensions)?,
    ];
    RecordBatch::try_new(schema(dimensions), columns).map_err(|error| damaged(&error))
}

fn read(batch: &RecordBatch) -> Result<Vec<FoundAnswer>, Error> {
    let records = rows::texts(batch, "record")?;
    let vectors = rows::vectors(batch)?;
    let dimensions = vectors.len() / batch.num_rows().max(1);
    let each = records.iter().flatten().zip(vectors.chunks(dimensions.max(1)));
    let answers = each.map(|(record, vector)| {
        let answer = serde_json::from_str(record)
            .map_err(|error| Error::Damaged(format!("an answer cannot be read: {error}")))?;
        Ok((answer, vector.to_vec()))
    });
    answers.collect()
}

impl Store {
    /// Keeps an answer in the place of the one that is kept under the same id.
    pub(crate) async fn keep_answer(&self, row: AnswerRow<'_>) -> Result<(), Error> {
        let id = row.id.to_owned();
        let batch = to_batch(row, self.dimensions)?;
        let (dataset, made) = self.answers.made().await?;
        if made {
            let mut dataset = dataset.as_ref().clone();
            maintenance::index_columns(&mut dataset, INDEXES, MakeIndexes::Missing).await?;
            self.answers.saw(Arc::new(dataset)).await;
        }
        self.answers.replace("id", &id, Some(batch)).await
    }

    /// Whether the table of answers is in too many pieces.
    pub(crate) async fn has_loose_answers(&self) -> Result<bool, Error> {
        let latest = self.answers.latest().await?;
        Ok(latest.is_some_and(|dataset| dataset.fragments().len() > self.maintenance.most_fragments))
    }

    /// The answer under an id.
    pub(crate) async fn answer(&self, id: &str) -> Result<Option<FoundAnswer>, Error> {
        let with_id = |dataset: Arc<Dataset>| async move {
            let mut scan = dataset.scan();
            scan.filter(&format!("id = {}", filter::quoted(id)))?.project(&["record", "vector"])?;
            read(&scan.try_into_batch().await?)
        };
        let found = self.answers.read(with_id).await?.unwrap_or_default().into_iter().next();
        Ok(found.filter(|(answer, _)| answer.expires > now()))
    }

    /// Answers in a place whose questions are nearest to a vector.
    pub(crate) async fn similar_answers(
        &self,
        place: &str,
        vector: &[f32],
        most: usize,
    ) -> Result<Vec<FoundAnswer>, Error> {
        let vector = &Float32Array::from(vector.to_vec());
        let nearest = |dataset: Arc<Dataset>| async move {
            let mut scan = dataset.scan();
            scan.nearest("vector", vector, most)?
                .distance_metric(DistanceType::Cosine)
                .prefilter(true)
                .filter(&format!("place = {} AND expires > {}", filter::quoted(place), now()))?
                .project(&["record", "vector", "_distance"])?;
            read(&scan.try_into_batch().await?)
        };
        Ok(self.answers.read(nearest).await?.unwrap_or_default())
    }

    /// Whether a scope may see these pieces, and they are searched as they were.
    pub(crate) async fn holds(
        dataset: &Arc<Dataset>,
        scope: &Scope,
        pieces: &[EvidencePiece],
    ) -> Result<bool, Error> {
        if pieces.is_empty() {
            return Ok(true);
        }
        let name = |piece: &EvidencePiece| rows::chunk_id(&piece.document.0, piece.chunk);
        let names: Vec<String> = pieces.iter().map(|piece| filter::quoted(&name(piece))).collect();
        let mut scan = dataset.scan();
        // By their names alone, which an index has: who may see them is told of the few that are found.
        scan.filter(&format!("id IN ({})", names.join(", ")))?
            .project(&["id", "version", "tenant", "corpus", "labels"])?;
        let batch = scan.try_into_batch().await?;
        let (ids, versions) = (rows::texts(&batch, "id")?, rows::texts(&batch, "version")?);
        let seen = rows::seen_by(&batch, scope)?;
        let there: BTreeMap<&str, &str> = (0..batch.num_rows())
            .filter(|row| seen[*row])
            .map(|row| (ids.value(row), versions.value(row)))
            .collect();
        Ok(pieces.iter().all(|piece| there.get(name(piece).as_str()) == Some(&piece.version.as_str())))
    }

    /// Forgets the answer of a turn. Returns how many rows that were.
    pub(crate) async fn forget_answer(&self, tenant: &str, run: &str) -> Result<u64, Error> {
        let [tenant, run] = [tenant, run].map(filter::quoted);
        self.answers.delete(&format!("run = {run} AND tenant = {tenant}")).await
    }

    /// Forgets the answers that rest on a document. They are not given any more as soon as its chunks have changed.
    pub(super) async fn forget_answers_from(&self, document: &DocumentId) -> Result<(), Error> {
        self.answers.delete(&format!("array_has(documents, {})", filter::quoted(&document.0))).await?;
        Ok(())
    }

    /// Forgets what is too old and what is too much, merges the rest, and brings its indexes up to date.
    pub(crate) async fn tidy_answers(&self) -> Result<(), Error> {
        if self.answers.latest().await?.is_none() {
            return Ok(());
        }
        self.answers.delete(&format!("expires <= {}", now())).await?;
        let Some(dataset) = self.answers.latest().await? else { return Ok(()) };
        let rows = dataset.count_rows(None).await?;
        if rows > self.maintenance.most_answers {
            let mut scan = dataset.scan();
            scan.project(&["created"])?;
            let batch = scan.try_into_batch().await?;
            let created: &UInt64Array = rows::column(&batch, "created")?;
            let mut created: Vec<u64> = created.values().to_vec();
            created.sort_unstable();
            let oldest_kept = created[rows - self.maintenance.most_answers];
            self.answers.delete(&format!("created < {oldest_kept}")).await?;
        }
        let Some(dataset) = self.answers.newest().await? else { return Ok(()) };
        let mut dataset = dataset.as_ref().clone();
        maintenance::index_columns(&mut dataset, INDEXES, MakeIndexes::Missing).await?;
        if dataset.fragments().len() > self.maintenance.most_fragments {
            compact_files(&mut dataset, CompactionOptions::default(), None).await?;
        }
        if maintenance::unindexed(&dataset, "id").await? > 0 {
            dataset.optimize_indices(&OptimizeOptions::default()).await?;
        }
        self.answers.saw(Arc::new(dataset.clone())).await;
        self.forget_versions(&dataset).await
    }

    /// The answers that rest on another content of a document than is searched, as ids, and how many answers there are.
    pub(super) async fn answers_without_evidence(
        &self,
        searched: &BTreeMap<String, BTreeSet<ContentHash>>,
    ) -> Result<(Vec<String>, usize), Error> {
        let (mut orphans, mut count) = (Vec::new(), 0);
        let Some(dataset) = self.answers.newest().await? else { return Ok((orphans, count)) };
        let is_searched = |piece: &EvidencePiece| {
            let contents = searched.get(&piece.document.0);
            contents.is_some_and(|contents| contents.contains(&ContentHash::stored(&piece.version)))
        };
        let mut scan = dataset.scan();
        scan.project(&["id", "record"])?;
        let mut batches = scan.try_into_stream().await?;
        while let Some(batch) = batches.try_next().await? {
            let (ids, records) = (rows::texts(&batch, "id")?, rows::texts(&batch, "record")?);
            count += batch.num_rows();
            for (id, record) in ids.iter().flatten().zip(records.iter().flatten()) {
                let answer = serde_json::from_str::<CachedAnswer>(record).ok();
                if !answer.is_some_and(|answer| answer.evidence.iter().all(is_searched)) {
                    orphans.push(id.to_owned());
                }
            }
        }
        Ok((orphans, count))
    }
}
