//! Searches over one version of the chunks.

use std::sync::Arc;

use arrow_array::Float32Array;
use ibid_core::evidence::Passage;
use lance::dataset::Dataset;
use lance_index::scalar::FullTextSearchQuery;
use lance_index::scalar::inverted::query::MatchQuery;
use lance_linalg::distance::DistanceType;

use super::rows::{self, Hit, passage_columns};
use super::{Store, filter};
use crate::Error;
use crate::tables::TableChunk;

/// How many partitions of the index a search looks into, so that its recall is that of comparing all vectors.
pub(super) const PROBES: usize = 48;
/// How many times the wanted number of rows is compared exactly at the end.
pub(super) const REFINE: u32 = 5;

/// Of a longer table, so many chunks are asked.
const MOST_TABLE_CHUNKS: usize = 50_000;

impl Store {
    /// The chunks that share the most telling terms with a question.
    pub(crate) async fn by_terms(
        dataset: &Arc<Dataset>,
        filter: &str,
        terms: &[String],
        top: usize,
    ) -> Result<Vec<Hit>, Error> {
        if terms.is_empty() || top == 0 {
            return Ok(Vec::new());
        }
        let limit = Some(i64::try_from(top).unwrap_or(i64::MAX));
        let query = MatchQuery::new(terms.join(" ")).with_column(Some("terms".to_owned()));
        let mut scan = dataset.scan();
        scan.full_text_search(FullTextSearchQuery::new_query(query.into()).limit(limit))?
            .prefilter(true)
            .filter(filter)?
            .project(&with(dataset, "_score"))?
            .limit(limit, None)?;
        rows::hits(&scan.try_into_batch().await?, Some("_score"))
    }

    /// The chunks whose vectors are nearest to that of a question; their scores are cosines.
    pub(crate) async fn by_meaning(
        dataset: &Arc<Dataset>,
        filter: &str,
        vector: &[f32],
        top: usize,
    ) -> Result<Vec<Hit>, Error> {
        if top == 0 {
            return Ok(Vec::new());
        }
        let vector = Float32Array::from(vector.to_vec());
        let mut scan = dataset.scan();
        scan.nearest("vector", &vector, top)?
            .distance_metric(DistanceType::Cosine)
            .nprobes(PROBES)
            .refine(REFINE)
            .prefilter(true)
            .filter(filter)?
            .project(&with(dataset, "_distance"))?;
        let mut hits = rows::hits(&scan.try_into_batch().await?, Some("_distance"))?;
        for hit in &mut hits {
            hit.passage.score = 1.0 - hit.passage.score;
            hit.cosine = Some(hit.passage.score);
        }
        Ok(hits)
    }

    /// Texts and vectors of so many chunks, from all over the table.
    pub(crate) async fn sample(
        dataset: &Arc<Dataset>,
        most: usize,
    ) -> Result<Vec<(String, Vec<f32>)>, Error> {
        let rows = dataset.count_rows(None).await? as u64;
        let step = rows.div_ceil(most as u64).max(1);
        let places: Vec<u64> = (0..rows).step_by(usize::try_from(step).unwrap_or(usize::MAX)).collect();
        let columns = dataset.schema().project(&["text", "vector"])?;
        rows::texts_and_vectors(&dataset.take(&places, columns).await?)
    }

    /// The chunks of a page, of those that the filter lets through.
    pub(crate) async fn of_page(
        dataset: &Arc<Dataset>,
        filter: &str,
        page: u32,
    ) -> Result<Vec<Passage>, Error> {
        let mut scan = dataset.scan();
        scan.filter(&format!("{filter} AND page = {page}"))?.project(&passage_columns(dataset))?;
        let hits = rows::hits(&scan.try_into_batch().await?, None)?;
        Ok(hits.into_iter().map(|hit| hit.passage).collect())
    }

    /// The parts of a table of a document in their order, of those that the filter lets through.
    pub(crate) async fn table_chunks(
        dataset: &Arc<Dataset>,
        filter: &str,
        document: &str,
        table: u32,
    ) -> Result<Vec<TableChunk>, Error> {
        let mut scan = dataset.scan();
        scan.filter(&in_table(filter, document, table))?.project(&rows::TABLE_CHUNK)?;
        let mut parts = rows::table_chunks(&scan.try_into_batch().await?)?;
        parts.sort_by_key(|part| part.chunk);
        parts.truncate(MOST_TABLE_CHUNKS);
        Ok(parts)
    }

    /// So many chunks of a table of a document at most, of those that the filter lets through.
    pub(crate) async fn of_table(
        dataset: &Arc<Dataset>,
        filter: &str,
        document: &str,
        table: u32,
        most: usize,
    ) -> Result<Vec<Passage>, Error> {
        let mut scan = dataset.scan();
        scan.filter(&in_table(filter, document, table))?
            .project(&passage_columns(dataset))?
            .limit(Some(i64::try_from(most).unwrap_or(i64::MAX)), None)?;
        let hits = rows::hits(&scan.try_into_batch().await?, None)?;
        Ok(hits.into_iter().map(|hit| hit.passage).collect())
    }

    /// Chunks by their names, of those that the filter lets through.
    pub(crate) async fn by_names(
        dataset: &Arc<Dataset>,
        filter: &str,
        names: &[String],
    ) -> Result<Vec<Hit>, Error> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let names: Vec<String> = names.iter().map(|name| filter::quoted(name)).collect();
        let mut scan = dataset.scan();
        scan.filter(&format!("id IN ({}) AND {filter}", names.join(", ")))?
            .project(&passage_columns(dataset))?;
        rows::hits(&scan.try_into_batch().await?, None)
    }
}

fn in_table(filter: &str, document: &str, table: u32) -> String {
    format!("{filter} AND document = {} AND {} = {table}", filter::quoted(document), rows::TABLE)
}

fn with(dataset: &Dataset, score: &'static str) -> Vec<&'static str> {
    passage_columns(dataset).into_iter().chain([score]).collect()
}
