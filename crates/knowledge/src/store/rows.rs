//! Between Lance's columns and the nouns of this crate.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::types::Float32Type;
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, Float32Array, ListArray, RecordBatch, StringArray, UInt32Array,
    UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use ibid_core::evidence::{BoundingBox, DocumentId, Passage};
use ibid_core::{Label, Scope};
use lance::dataset::Dataset;
use sha2::{Digest, Sha256};

use super::filter::EVERYBODY;
use crate::Error;
use crate::chunk::Chunk;
use crate::document::Document;
use crate::tables::TableChunk;
use crate::terms;

/// The most text of one document, in bytes: a column of one commit holds twice as much.
const MOST_TEXT: usize = 1 << 30;

/// The columns that a passage is made of.
const PASSAGE: [&str; 13] = [
    "document", "version", "corpus", "title", "source", "kind", "language", "page", "chunk", "path", "text",
    "places", "digest",
];

/// The table of a document that a chunk has rows of, and what is known of them. Stores of before 0.2 have no such columns
/// until something is loaded.
pub(super) const TABLE: &str = "table_number";
const TABLE_ROWS: &str = "table_rows";
/// What the page of a chunk is in the terms of its format. Earlier stores have no such column until something is loaded.
const LOCATION: &str = "location";

/// The columns of a version of the chunks that a passage is made of.
pub(crate) fn passage_columns(dataset: &Dataset) -> Vec<&'static str> {
    let later = [TABLE_ROWS, LOCATION].into_iter().filter(|name| dataset.schema().field(name).is_some());
    PASSAGE.into_iter().chain(later).collect()
}

/// A filter that lets rows of tables through only; none if a version of the chunks has none.
pub(crate) fn of_tables(dataset: &Dataset, filter: &str) -> Option<String> {
    dataset.schema().field(TABLE).map(|_| format!("{filter} AND {TABLE} IS NOT NULL"))
}

/// The columns that a version of the chunks does not have yet, if there are any.
pub(crate) fn missing_columns(dataset: &Dataset, dimensions: usize) -> Option<SchemaRef> {
    let all = chunk_schema(dimensions);
    let missing =
        [TABLE, TABLE_ROWS, LOCATION].into_iter().filter(|name| dataset.schema().field(name).is_none());
    let missing: Vec<Field> = missing.filter_map(|name| all.field_with_name(name).ok().cloned()).collect();
    (!missing.is_empty()).then(|| Arc::new(Schema::new(missing)))
}

/// The columns of `chunks` for vectors of a length.
pub(crate) fn chunk_schema(dimensions: usize) -> SchemaRef {
    let text = |name: &str| Field::new(name, DataType::Utf8, false);
    let number = |name: &str| Field::new(name, DataType::UInt32, false);
    Arc::new(Schema::new(vec![
        text("id"),
        text("document"),
        text("version"),
        text("tenant"),
        text("corpus"),
        texts_field("labels"),
        text("kind"),
        text("language"),
        text("title"),
        text("source"),
        number("page"),
        number("chunk"),
        text("path"),
        text("text"),
        text("places"),
        text("digest"),
        text("terms"),
        vector_field(dimensions),
        Field::new(TABLE, DataType::UInt32, true),
        Field::new(TABLE_ROWS, DataType::Utf8, true),
        Field::new(LOCATION, DataType::Utf8, true),
    ]))
}

/// The columns of `documents`, the ledger.
pub(crate) fn document_schema() -> SchemaRef {
    let text = |name: &str| Field::new(name, DataType::Utf8, false);
    Arc::new(Schema::new(vec![
        text("document"),
        text("tenant"),
        text("corpus"),
        texts_field("labels"),
        text("version"),
        text("pending"),
        Field::new("changed", DataType::UInt64, false),
        text("record"),
    ]))
}

/// A column of lists of texts.
pub(super) fn texts_field(name: &str) -> Field {
    Field::new(name, DataType::List(Arc::new(Field::new("item", DataType::Utf8, true))), false)
}

/// The column of vectors of a length.
pub(super) fn vector_field(dimensions: usize) -> Field {
    let (item, size) = vector_item(dimensions);
    Field::new("vector", DataType::FixedSizeList(item, size), true)
}

fn vector_item(dimensions: usize) -> (Arc<Field>, i32) {
    let item = Arc::new(Field::new("item", DataType::Float32, true));
    (item, i32::try_from(dimensions).unwrap_or(i32::MAX))
}

/// Vectors, one after the other, as that column.
pub(super) fn vector_column(vectors: Vec<f32>, dimensions: usize) -> Result<ArrayRef, Error> {
    let (item, size) = vector_item(dimensions);
    let vectors = FixedSizeListArray::try_new(item, size, Arc::new(Float32Array::from(vectors)), None)
        .map_err(|error| Error::Damaged(format!("the vectors do not fit: {error}")))?;
    Ok(Arc::new(vectors))
}

/// The labels of a document as they are stored: there is always one to look for.
pub(super) fn labels(document: &Document) -> impl Iterator<Item = &str> {
    let everybody = document.labels.is_empty().then_some(EVERYBODY);
    everybody.into_iter().chain(document.labels.iter().map(Label::as_str))
}

fn label_column(document: &Document, rows: usize) -> ArrayRef {
    let mut builder = ListBuilder::new(StringBuilder::new());
    for _ in 0..rows {
        labels(document).for_each(|label| builder.values().append_value(label));
        builder.append(true);
    }
    Arc::new(builder.finish())
}

/// The name of a chunk.
pub(crate) fn chunk_id(document: &str, chunk: u32) -> String {
    format!("{document}/{chunk}")
}

/// The chunks of a document and their vectors as rows.
pub(crate) fn chunk_rows(
    document: &Document,
    chunks: &[Chunk],
    vectors: Vec<f32>,
    dimensions: usize,
) -> Result<RecordBatch, Error> {
    let count = chunks.len();
    let all: usize =
        chunks.iter().map(|chunk| chunk.path.iter().map(String::len).sum::<usize>() + chunk.text.len()).sum();
    if all > MOST_TEXT {
        return Err(Error::Document(format!("it has more than {} MB of text; split it", MOST_TEXT >> 20)));
    }
    let same = |value: &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(std::iter::repeat_n(value, count)))
    };
    let texts = |of: &dyn Fn(&Chunk) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(chunks.iter().map(of)))
    };
    let id = document.id.to_string();
    let numbers = 0..u32::try_from(count).unwrap_or(u32::MAX);
    let ids = numbers.clone().map(|chunk| chunk_id(&id, chunk));
    let places = |chunk: &Chunk| {
        let places: Vec<_> = chunk.places.iter().map(|place| (place.sides, place.at)).collect();
        serde_json::to_string(&places).unwrap_or_default()
    };
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(ids)),
        same(&id),
        same(&document.content),
        same(document.tenant.as_str()),
        same(document.corpus.as_str()),
        label_column(document, count),
        same(&document.kind),
        same(&document.language),
        same(&document.title),
        same(&document.source),
        Arc::new(UInt32Array::from_iter_values(chunks.iter().map(|chunk| chunk.page))),
        Arc::new(UInt32Array::from_iter_values(numbers)),
        texts(&|chunk| serde_json::to_string(&chunk.path).unwrap_or_default()),
        texts(&|chunk| chunk.text.clone()),
        texts(&places),
        texts(&|chunk| digest(&chunk.whole())),
        texts(&|chunk| terms::of_passage(&chunk.whole(), &document.language, &chunk.codes)),
        vector_column(vectors, dimensions)?,
        Arc::new(UInt32Array::from_iter(chunks.iter().map(|chunk| Some(chunk.table.as_ref()?.table)))),
        Arc::new(StringArray::from_iter(
            chunks.iter().map(|chunk| serde_json::to_string(chunk.table.as_ref()?).ok()),
        )),
        Arc::new(StringArray::from_iter(
            chunks.iter().map(|chunk| serde_json::to_string(chunk.location.as_ref()?).ok()),
        )),
    ];
    RecordBatch::try_new(chunk_schema(dimensions), columns)
        .map_err(|error| Error::Damaged(format!("the chunks do not fit: {error}")))
}

/// What tells texts apart, however they are spaced.
fn digest(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let hash = Sha256::digest(words.join(" ").as_bytes());
    hash[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A row of the ledger.
pub(crate) fn document_row(document: &Document) -> Result<RecordBatch, Error> {
    let one = |value: &str| -> ArrayRef { Arc::new(StringArray::from(vec![value])) };
    let record = serde_json::to_string(document).map_err(|error| Error::Damaged(error.to_string()))?;
    let columns: Vec<ArrayRef> = vec![
        one(&document.id.to_string()),
        one(document.tenant.as_str()),
        one(document.corpus.as_str()),
        label_column(document, 1),
        one(&document.content),
        one(document.state.pending().map_or("", |content| content)),
        Arc::new(UInt64Array::from(vec![document.changed])),
        one(&record),
    ];
    RecordBatch::try_new(document_schema(), columns)
        .map_err(|error| Error::Damaged(format!("the ledger does not fit: {error}")))
}

/// A column of texts.
pub(crate) fn texts<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a StringArray, Error> {
    column(batch, name)
}

/// A column of a type.
pub(crate) fn column<'a, T: 'static>(batch: &'a RecordBatch, name: &str) -> Result<&'a T, Error> {
    let found = batch.column_by_name(name).and_then(|column| column.as_any().downcast_ref());
    found.ok_or_else(|| Error::Damaged(format!("there is no column {name}")))
}

/// Whether a scope may see each of some rows.
pub(super) fn seen_by(batch: &RecordBatch, scope: &Scope) -> Result<Vec<bool>, Error> {
    let (tenants, corpora) = (texts(batch, "tenant")?, texts(batch, "corpus")?);
    let labels: &ListArray = column(batch, "labels")?;
    let is_seen = |row: usize| {
        let held = labels.value(row);
        let held = held.as_any().downcast_ref::<StringArray>()?;
        let held = held.iter().flatten().filter(|label| *label != EVERYBODY);
        let held: BTreeSet<Label> = held.map(str::parse).collect::<Result<_, _>>().ok()?;
        Some(scope.sees(&tenants.value(row).parse().ok()?, &corpora.value(row).parse().ok()?, &held))
    };
    Ok((0..batch.num_rows()).map(|row| is_seen(row).unwrap_or(false)).collect())
}

/// A chunk as it comes out of the store.
#[derive(Clone, Debug)]
pub(crate) struct Hit {
    pub(crate) passage: Passage,
    pub(crate) digest: String,
    /// Of its vector with that of the question, if it was found by that.
    pub(crate) cosine: Option<f32>,
}

impl Hit {
    /// The name of its chunk.
    pub(crate) fn id(&self) -> String {
        chunk_id(&self.passage.document.0, self.passage.chunks.0)
    }
}

/// The texts of chunks and their vectors, where they have one.
pub(crate) fn texts_and_vectors(batch: &RecordBatch) -> Result<Vec<(String, Vec<f32>)>, Error> {
    let text = texts(batch, "text")?;
    let vectors = batch.column_by_name("vector").and_then(|column| column.as_any().downcast_ref());
    let vectors: &FixedSizeListArray =
        vectors.ok_or_else(|| Error::Damaged("there are no vectors".to_owned()))?;
    let rows = (0..batch.num_rows()).filter(|row| vectors.is_valid(*row)).filter_map(|row| {
        let vector = vectors.value(row);
        let vector = vector.as_any().downcast_ref::<Float32Array>()?;
        Some((text.value(row).to_owned(), vector.values().to_vec()))
    });
    Ok(rows.collect())
}

/// The rows of a search. `score` names the column that says how well they fit.
pub(crate) fn hits(batch: &RecordBatch, score: Option<&str>) -> Result<Vec<Hit>, Error> {
    let [document, version, corpus, title, source, kind, language, path, text, places, digest] = [
        "document", "version", "corpus", "title", "source", "kind", "language", "path", "text", "places",
        "digest",
    ]
    .map(|name| texts(batch, name));
    let (document, version, corpus, title) = (document?, version?, corpus?, title?);
    let (source, kind, language, path) = (source?, kind?, language?, path?);
    let (text, places, digest) = (text?, places?, digest?);
    let tables: Option<&StringArray> = column(batch, TABLE_ROWS).ok();
    let locations: Option<&StringArray> = column(batch, LOCATION).ok();
    let page: &UInt32Array = column(batch, "page")?;
    let chunk: &UInt32Array = column(batch, "chunk")?;
    let scores: Option<&Float32Array> = score.map(|score| column(batch, score)).transpose()?;
    let mut hits = Vec::with_capacity(batch.num_rows());
    for row in 0..batch.num_rows() {
        let damaged =
            |error: &dyn std::fmt::Display| Error::Damaged(format!("a row cannot be read: {error}"));
        let places: Vec<([f32; 4], u32)> =
            serde_json::from_str(places.value(row)).map_err(|error| damaged(&error))?;
        let location = locations.filter(|locations| locations.is_valid(row));
        let location = location.map(|locations| serde_json::from_str(locations.value(row)));
        let location = location.transpose().map_err(|error| damaged(&error))?;
        let table = tables.filter(|tables| tables.is_valid(row)).map(|tables| tables.value(row));
        let table = table.map(serde_json::from_str).transpose().map_err(|error| damaged(&error))?;
        hits.push(Hit {
            passage: Passage {
                document: DocumentId(document.value(row).to_owned()),
                version: version.value(row).to_owned(),
                corpus: corpus.value(row).parse().map_err(|error| damaged(&error))?,
                title: title.value(row).to_owned(),
                source: source.value(row).to_owned(),
                kind: kind.value(row).to_owned(),
                language: language.value(row).to_owned(),
                page: page.value(row),
                location,
                chunks: (chunk.value(row), chunk.value(row)),
                path: serde_json::from_str(path.value(row)).map_err(|error| damaged(&error))?,
                text: text.value(row).to_owned(),
                places: places.into_iter().map(|(sides, at)| BoundingBox { sides, at }).collect(),
                tables: table.into_iter().collect(),
                score: scores.map_or(0.0, |scores| scores.value(row)),
                relevance: None,
            },
            digest: digest.value(row).to_owned(),
            cosine: None,
        });
    }
    Ok(hits)
}

/// The columns of a part of a table.
pub(super) const TABLE_CHUNK: [&str; 4] = ["chunk", "page", "text", TABLE_ROWS];

/// The parts of a table.
pub(super) fn table_chunks(batch: &RecordBatch) -> Result<Vec<TableChunk>, Error> {
    let (chunk, page): (&UInt32Array, &UInt32Array) = (column(batch, "chunk")?, column(batch, "page")?);
    let (text, rows) = (texts(batch, "text")?, texts(batch, TABLE_ROWS)?);
    let parts = (0..batch.num_rows()).filter(|row| rows.is_valid(*row)).map(|row| {
        let rows = serde_json::from_str(rows.value(row))
            .map_err(|error| Error::Damaged(format!("a row cannot be read: {error}")))?;
        Ok(TableChunk {
            chunk: chunk.value(row),
            page: page.value(row),
            text: text.value(row).to_owned(),
            rows,
        })
    });
    parts.collect()
}

/// The vectors of some rows, one after the other.
pub(crate) fn vectors(batch: &RecordBatch) -> Result<Vec<f32>, Error> {
    let list: &FixedSizeListArray = column(batch, "vector")?;
    let values = list.values().as_any().downcast_ref::<arrow_array::PrimitiveArray<Float32Type>>();
    values
        .map(|values| values.values().to_vec())
        .ok_or_else(|| Error::Damaged("the vectors are of another type".to_owned()))
}
