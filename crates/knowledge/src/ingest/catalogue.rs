//! Loading a catalogue: its rows are kept as data, and one chunk says what it is.

use ibid_graph::{NodeError, Terminal};
use ibid_reading::page::Page;

use super::Ingestion;
use super::job::{ChunkStats, Fetched, LoadUpdate, Loading};
use super::steps::{LEDGER, chunks_part, draft, fail, json_of, pages_part, staged};
use crate::catalogue::CatalogueReader;
use crate::chunk::Chunk;
use crate::{DocumentState, Error};

/// Makes a catalogue of the rows that were read.
pub(super) async fn tabulate(
    ingestion: &Ingestion,
    loading: &Loading,
    fetched: &Fetched,
) -> Result<LoadUpdate, NodeError> {
    let (store, work) = (&ingestion.store, loading.work());
    let mut document = draft(loading, fetched, DocumentState::Loading);
    let mut reader = CatalogueReader::default();
    for batch in &loading.read {
        let pages: Vec<Page> = staged(ingestion, &work, &pages_part(batch.first)).await?;
        reader = tokio::task::spawn_blocking(move || {
            pages.iter().for_each(|page| reader.take(page));
            reader
        })
        .await
        .map_err(|error| Terminal::new(format!("the rows cannot be taken: {error}")))?;
    }
    let of = document.clone();
    let made = tokio::task::spawn_blocking(move || reader.finish(&of))
        .await
        .map_err(|error| Terminal::new(format!("the rows cannot be taken: {error}")))?;
    let made = match made {
        Ok(made) => made,
        Err(Error::Document(why)) => {
            return fail(ingestion, loading, &fetched.content, fetched.bytes, fetched.began, why).await;
        }
        Err(error) => return Err(error.into()),
    };
    let described = Chunk { page: 1, text: made.description.clone(), ..Chunk::default() };
    document.pages.clone_from(&made.pages);
    (document.tables, document.chunks) = (1, 1);
    store.put_catalogue(made).await?;
    store.stage(&work, &chunks_part(0), &json_of(&vec![described])?).await?;
    store.stage(&work, LEDGER, &json_of(&document)?).await?;
    Ok(LoadUpdate::Chunked(ChunkStats { parts: 1, chunks: 1, skipped: 0, tables: 1 }))
}
