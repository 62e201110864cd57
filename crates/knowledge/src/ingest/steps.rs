//! The steps of loading a document.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use ibid_core::catalogue::CATALOGUE;
use ibid_core::load::LoadOutcome;
use ibid_core::model::{Caller, Purpose};
use ibid_core::{LoadEvent, RunId, metric};
use ibid_graph::{Context, NodeError, Terminal};
use ibid_reading::page::{Block, Page, shortened};
use ibid_reading::{FILE_FORMATS, Reading, format_of, format_of_rows, whole};

use super::job::{Batch, ChunkStats, Fetched, LoadRequest, LoadUpdate, Loading};
use super::{Ingestion, catalogue};
use crate::chunk::{Chunk, chunks};
use crate::document::{Document, PageRecord, count};
use crate::{ContentHash, DocumentState, LoadResult};
use crate::{Error, language};

/// Emits an event of a load.
fn emit(context: &Context, event: &LoadEvent) {
    if let Some((name, value)) = event.to_custom() {
        context.custom(name, value);
    }
}

/// What a step comes to.
pub(crate) type Step = Pin<Box<dyn Future<Output = Result<LoadUpdate, NodeError>> + Send>>;

/// So many chunks are embedded in one step.
const CHUNKS: usize = 256;
/// The most that may be read from one document, in bytes of its pages as JSON: they are cut together.
const MOST_SAID: u64 = 1 << 30;
/// After so many ends of the reading process, the rest of a document is left out.
const MOST_CRASHES: usize = 10;
/// A longer title is cut.
const LONGEST_TITLE: usize = 300;

/// Brings the content of the document, unless it is there already.
pub(crate) fn fetch(ingestion: Ingestion, loading: Arc<Loading>, context: Context) -> Step {
    Box::pin(async move {
        let began = now();
        let job = &loading.job;
        let Some(content) = brought(&ingestion, job, &context).await? else {
            return Ok(ended(LoadOutcome::Stopped, began));
        };
        let file = ingestion.store.original(&content).await?;
        let bytes = tokio::fs::metadata(file.path())
            .await
            .map_err(Error::file("the original cannot be found"))?
            .len();
        let beginning = beginning(file.path()).await?;
        let format = if is_catalogue(&loading) {
            format_of_rows(&beginning)
        } else {
            format_of(&job.source, &beginning)
        };
        let Some(kind) = format else {
            let read = FILE_FORMATS.iter().filter(|entry| entry.format.is_read());
            let labels: Vec<&str> = read.map(|entry| entry.label).collect();
            let why = format!("it has no format that can be read: {}", labels.join(", "));
            return fail(&ingestion, &loading, &content, bytes, began, why).await;
        };
        let known = ingestion.store.row(&job.document()).await?;
        if known.as_ref().is_some_and(|known| job.settings.made(known, &content)) {
            return Ok(ended(LoadOutcome::Unchanged, began));
        }
        let before = known.as_ref().and_then(settled).filter(|before| *before != content);
        let fetched = Fetched { content, bytes, kind, before, began };
        let draft = draft(&loading, &fetched, DocumentState::Loading);
        if let Some(other) = ingestion.store.with_content(&draft).await? {
            let problem = format!("{} has the same content and is searched in its place", other.source);
            let id = draft.id.clone();
            ingestion.store.unsearch(&id).await?;
            let state = DocumentState::flawed(LoadResult::Duplicate, problem);
            ingestion.store.record(&Document { state, ..draft }).await?;
            if let Some(known) = known.filter(|known| known.content != fetched.content) {
                ingestion.store.orphan_duplicates(&known).await?;
            }
            if let Some(before) = &fetched.before {
                ingestion.store.delete_unused_blob(&id, before).await?;
            }
            return Ok(ended(LoadOutcome::Duplicate { of: other.source }, began));
        }
        // From here on the ledger says that this content is needed. What can be searched stays as it is.
        let row = match known {
            Some(known) if known.state != DocumentState::Loading => {
                Document { state: known.state.with_pending(fetched.content.clone()), ..known }
            }
            _ => draft,
        };
        ingestion.store.record(&row).await?;
        Ok(LoadUpdate::Fetched(fetched))
    })
}

/// The content, which is fetched if it is not there; none if that was stopped.
async fn brought(
    ingestion: &Ingestion,
    job: &LoadRequest,
    context: &Context,
) -> Result<Option<ContentHash>, Error> {
    if job.content.is_some() {
        return Ok(job.content.clone());
    }
    context.status(format!("fetching {}", job.source));
    let none = || format!("{} cannot be fetched: no host is allowed in `ingest.hosts`", job.source);
    let download = ingestion.download.as_ref().ok_or_else(|| Error::Document(none()))?;
    match context.cancel().run_until_cancelled(download.fetch(&job.source)).await {
        Some(bytes) => ingestion.keep(&bytes?).await.map(Some),
        None => Ok(None),
    }
}

async fn beginning(path: &std::path::Path) -> Result<Vec<u8>, Error> {
    use tokio::io::AsyncReadExt;
    let file = tokio::fs::File::open(path).await.map_err(Error::file("the original cannot be opened"))?;
    let mut bytes = Vec::new();
    file.take(4096).read_to_end(&mut bytes).await.map_err(Error::file("the original cannot be read"))?;
    Ok(bytes)
}

/// Reads the next pages.
pub(crate) fn read(ingestion: Ingestion, loading: Arc<Loading>, context: Context) -> Step {
    Box::pin(async move {
        let fetched = fetched(&loading)?;
        let first = loading.read.last().map_or(0, |batch| batch.end);
        let file = ingestion.store.original(&fetched.content).await?;
        let show = |page: &Page, count: u32| {
            metric::page_read(page.kind.name());
            emit(
                &context,
                &LoadEvent::PageRead { page: page.number, pages: count, kind: page.kind.name().to_owned() },
            );
        };
        let range = first..first + ingestion.pages_at_once;
        if let Some(last) = loading.read.last().filter(|_| loading.crashes() > MOST_CRASHES) {
            let why = "too many pages before it ended the process that read them";
            let pages: Vec<Page> =
                (first..range.end.min(last.count)).map(|page| Page::not_read(page + 1, why)).collect();
            ingestion.store.stage(&loading.work(), &pages_part(first), &json_of(&pages)?).await?;
            return Ok(LoadUpdate::Read(Batch {
                first,
                end: range.end.min(last.count),
                crashes: 0,
                ..last.clone()
            }));
        }
        let reader = ingestion.reader.clone().forgiving(MOST_CRASHES - loading.crashes());
        let reading = reader.read(file.path(), fetched.kind, range, show);
        let reading = match context.cancel().run_until_cancelled(reading).await {
            None => return stop(&ingestion, &loading).await,
            Some(Err(failure)) if failure.is_of_the_machine() => {
                let error = Error::Reader(failure);
                if !error.may_pass() {
                    ingestion.rollback(&loading.job, loading.run).await?;
                }
                return Err(error.into());
            }
            Some(Err(failure)) => {
                let why = failure.to_string();
                return fail(&ingestion, &loading, &fetched.content, fetched.bytes, fetched.began, why).await;
            }
            Some(Ok(reading)) => reading,
        };
        let mut reading = reading;
        if let Some(page) = reading.pages.first_mut().filter(|page| page.number == 1)
            && cfg!(target_os = "linux")
            && !reading.sandbox.landlock
        {
            page.remarks.push(format!("This document was read with less protection: {}.", reading.sandbox));
        }
        if loading.read.iter().map(|batch| batch.said).sum::<u64>() + reading.said > MOST_SAID {
            let why =
                format!("it holds more text than is read from one file ({} MB); split it", MOST_SAID >> 20);
            return fail(&ingestion, &loading, &fetched.content, fetched.bytes, fetched.began, why).await;
        }
        ingestion.store.stage(&loading.work(), &pages_part(first), &json_of(&reading.pages)?).await?;
        let end = (first + ingestion.pages_at_once).min(reading.count);
        let Reading { count, title, said, crashes, .. } = reading;
        Ok(LoadUpdate::Read(Batch { first, end, count, title, said, crashes }))
    })
}

/// Looks at all pages together and cuts them into chunks.
pub(crate) fn chunk(ingestion: Ingestion, loading: Arc<Loading>, context: Context) -> Step {
    Box::pin(async move {
        context.status("chunking");
        let fetched = fetched(&loading)?.clone();
        if is_catalogue(&loading) {
            return catalogue::tabulate(&ingestion, &loading, &fetched).await;
        }
        let mut pages: Vec<Page> = Vec::new();
        for batch in &loading.read {
            pages.extend(staged::<Vec<Page>>(&ingestion, &loading.work(), &pages_part(batch.first)).await?);
        }
        let settings = loading.job.settings.clone();
        let (pages, chunks) = tokio::task::spawn_blocking(move || {
            whole::complete(&mut pages, settings.least_characters);
            let chunks = chunks(&pages, settings.size);
            (pages, chunks)
        })
        .await
        .map_err(|error| Terminal::new(format!("cutting failed: {error}")))?;
        let mut document = draft(&loading, &fetched, DocumentState::Loading);
        describe(&mut document, &pages, &chunks);
        let work = loading.work();
        let cut = ChunkStats {
            parts: count(chunks.len().div_ceil(CHUNKS)),
            chunks: count(chunks.len()),
            skipped: document.skipped(),
            tables: document.tables,
        };
        for (part, chunks) in chunks.chunks(CHUNKS).enumerate() {
            ingestion.store.stage(&work, &chunks_part(count(part)), &json_of(&chunks)?).await?;
        }
        ingestion.store.stage(&work, LEDGER, &json_of(&document)?).await?;
        Ok(LoadUpdate::Chunked(cut))
    })
}

/// What the pages and chunks say of a document.
fn describe(document: &mut Document, pages: &[Page], chunks: &[Chunk]) {
    let mut on_page: std::collections::HashMap<u32, usize> = std::collections::HashMap::new();
    for chunk in chunks {
        *on_page.entry(chunk.page).or_default() += 1;
    }
    document.pages = pages
        .iter()
        .map(|page| PageRecord::of(page, on_page.get(&page.number).copied().unwrap_or_default()))
        .collect();
    let tables = pages
        .iter()
        .flat_map(|page| &page.blocks)
        .filter(|block| matches!(block, Block::Table(table) if !table.continues));
    document.tables = count(tables.count());
    document.chunks = count(chunks.len());
    if document.language.is_empty() {
        let text = chunks.iter().take(40).map(|chunk| chunk.text.as_str()).collect::<Vec<_>>().join("\n");
        document.language = language::of(&text).unwrap_or_default().to_owned();
    }
}

/// Gives the next chunks their vectors.
pub(crate) fn embed(ingestion: Ingestion, loading: Arc<Loading>, context: Context) -> Step {
    Box::pin(async move {
        let part = loading.embedded;
        let total = loading.chunked.as_ref().map_or(0, |cut| cut.chunks);
        let work = loading.work();
        let chunks: Vec<Chunk> = staged(&ingestion, &work, &chunks_part(part)).await?;
        let texts: Vec<String> = chunks.iter().map(Chunk::whole).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let caller = Caller::ingestion(loading.job.tenant.clone());
        let embedded = ingestion.embedder.embed(&caller, Purpose::Passage, &texts);
        let Some(vectors) = context.cancel().run_until_cancelled(embedded).await else {
            return stop(&ingestion, &loading).await;
        };
        let vectors = vectors.map_err(Error::from)?.into_values();
        let bytes: Vec<u8> = vectors.iter().flat_map(|value| value.to_le_bytes()).collect();
        ingestion.store.stage(&work, &vectors_part(part), &bytes).await?;
        let done = (part as usize * CHUNKS + chunks.len()).min(total as usize);
        emit(&context, &LoadEvent::ChunksEmbedded { chunks: count(done), of: total });
        metric::chunks_embedded(chunks.len() as u64);
        Ok(LoadUpdate::Embedded(part + 1))
    })
}

/// Puts the document in the place of the one that had its key, in one commit.
pub(crate) fn commit(ingestion: Ingestion, loading: Arc<Loading>, context: Context) -> Step {
    Box::pin(async move {
        context.status("committing");
        let fetched = fetched(&loading)?;
        let work = loading.work();
        let mut document: Document = staged(&ingestion, &work, LEDGER).await?;
        let mut all: Vec<Chunk> = Vec::new();
        let mut vectors: Vec<f32> = Vec::new();
        for part in 0..loading.chunked.as_ref().map_or(0, |cut| cut.parts) {
            all.extend(staged::<Vec<Chunk>>(&ingestion, &work, &chunks_part(part)).await?);
            let bytes = ingestion.store.staged(&work, &vectors_part(part)).await?;
            let values = bytes.chunks_exact(4);
            vectors.extend(values.map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])));
        }
        let outcome = if all.is_empty() { LoadOutcome::Empty } else { LoadOutcome::Loaded };
        ingestion.store.replace(&document, all, vectors).await?;
        document.milliseconds = now().saturating_sub(fetched.began);
        let replaced = tell(&ingestion, document).await?;
        // A stop may come before it is tidied up.
        if let Some(replaced) = &replaced {
            ingestion.store.delete_unused_blob(&loading.job.document(), replaced).await?;
        }
        Ok(LoadUpdate::Committed { outcome, replaced })
    })
}

/// Tells the ledger that a document is searched now, and says which version it replaced.
pub(super) async fn tell(
    ingestion: &Ingestion,
    mut document: Document,
) -> Result<Option<ContentHash>, Error> {
    let result = if document.chunks == 0 { LoadResult::Empty } else { LoadResult::Ready };
    document.state = DocumentState::settled(result);
    document.changed = now();
    // Whoever committed last writes the ledger; the version that is searched is the truth.
    let other = ingestion.store.row(&document.id).await?;
    let held = ingestion.store.indexed_content(&document.id).await?;
    if held.is_none_or(|held| held == document.content) {
        ingestion.store.record(&document).await?;
    }
    let replaced = other.filter(|other| settled(other).is_some_and(|content| content != document.content));
    if let Some(replaced) = &replaced {
        ingestion.store.orphan_duplicates(replaced).await?;
    }
    Ok(replaced.map(|replaced| replaced.content))
}

/// Removes what is needed no more. Doing it again does no harm.
pub(crate) fn cleanup(ingestion: Ingestion, loading: Arc<Loading>, _: Context) -> Step {
    Box::pin(async move {
        let fetched = fetched(&loading)?;
        for original in fetched.before.iter().chain(&loading.replaced).chain([&fetched.content]) {
            ingestion.store.delete_unused_blob(&loading.job.document(), original).await?;
        }
        // A text may have been a catalogue before.
        ingestion.store.remove_old_rows(&loading.job.document()).await?;
        ingestion.store.unstage(&loading.work()).await?;
        Ok(ended(loading.committed.clone().unwrap_or(LoadOutcome::Loaded), fetched.began))
    })
}

/// Whether rows of data are loaded, and not a text.
fn is_catalogue(loading: &Loading) -> bool {
    loading.job.settings.kind == CATALOGUE
}

pub(super) const LEDGER: &str = "ledger.json";

pub(super) fn pages_part(first: u32) -> String {
    format!("pages-{first:08}.json")
}

pub(super) fn chunks_part(part: u32) -> String {
    format!("chunks-{part:08}.json")
}

fn vectors_part(part: u32) -> String {
    format!("vectors-{part:08}.f32")
}

pub(super) fn json_of(value: &impl serde::Serialize) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(value).map_err(|error| Error::Damaged(error.to_string()))
}

pub(super) async fn staged<T: serde::de::DeserializeOwned>(
    ingestion: &Ingestion,
    work: &str,
    part: &str,
) -> Result<T, Error> {
    let bytes = ingestion.store.staged(work, part).await?;
    serde_json::from_slice(&bytes).map_err(|error| Error::Damaged(error.to_string()))
}

fn fetched(loading: &Loading) -> Result<&Fetched, NodeError> {
    loading.fetched.as_ref().ok_or_else(|| Terminal::new("the document was not fetched").into())
}

/// The content that a document has, unless it is only being loaded: then it is needed.
fn settled(known: &Document) -> Option<ContentHash> {
    (known.state != DocumentState::Loading).then(|| known.content.clone())
}

/// A record of a document that nothing has been done for yet.
pub(super) fn announced(job: &LoadRequest, content: ContentHash, bytes: u64) -> Document {
    let fetched =
        Fetched { content, bytes, kind: ibid_reading::FileFormat::Text, before: None, began: now() };
    draft(&Loading::new(job.clone(), RunId::new()), &fetched, DocumentState::Loading)
}

/// A first record of a document.
pub(super) fn draft(loading: &Loading, fetched: &Fetched, state: DocumentState) -> Document {
    let job = &loading.job;
    let named = loading.read.last().and_then(|batch| batch.title.clone());
    let file = job.source.rsplit(['/', '\\']).next().unwrap_or(&job.source).to_owned();
    let title = shortened(&job.settings.title.clone().or(named).unwrap_or(file), LONGEST_TITLE);
    Document {
        id: job.document(),
        tenant: job.tenant.clone(),
        corpus: job.corpus.clone(),
        key: job.key.clone(),
        source: job.source.clone(),
        origin: job.settings.origin.clone(),
        title,
        kind: job.settings.kind.clone(),
        language: job.settings.language.clone().unwrap_or_default(),
        labels: job.settings.labels.clone(),
        size: job.settings.size,
        content: fetched.content.clone(),
        bytes: fetched.bytes,
        state,
        chunks: 0,
        tables: 0,
        milliseconds: 0,
        changed: now(),
        pages: Vec::new(),
    }
}

/// A document of which nothing is known but why it is not there.
pub(super) fn unread(loading: &Loading, why: &str) -> Document {
    let content = loading.job.content.clone().unwrap_or_default();
    let kind = ibid_reading::FileFormat::Text;
    let fetched = Fetched { content, bytes: 0, kind, before: None, began: now() };
    draft(loading, &fetched, DocumentState::flawed(LoadResult::Failed, why))
}

/// Writes down that the document could not be read. One that was there before stays searchable.
pub(super) async fn fail(
    ingestion: &Ingestion,
    loading: &Loading,
    content: &ContentHash,
    bytes: u64,
    began: u64,
    why: String,
) -> Result<LoadUpdate, NodeError> {
    let known = ingestion.store.row(&loading.job.document()).await?;
    let before = known.as_ref().and_then(settled);
    let document = match known.filter(|known| known.state.is_ready()) {
        Some(known) => {
            let problem = format!("a newer version could not be read: {why}");
            let origin = loading.job.settings.origin.clone().or(known.origin);
            Document { state: DocumentState::flawed(LoadResult::Ready, problem), origin, ..known }
        }
        None => {
            let kind = ibid_reading::FileFormat::Text;
            let fetched = Fetched { content: content.clone(), bytes, kind, before: None, began };
            draft(loading, &fetched, DocumentState::flawed(LoadResult::Failed, &why))
        }
    };
    ingestion.store.record(&document).await?;
    for original in before.iter().chain([content]) {
        ingestion.store.delete_unused_blob(&document.id, original).await?;
    }
    ingestion.store.unstage(&loading.work()).await?;
    Ok(ended(LoadOutcome::Failed { why }, began))
}

/// Leaves everything as it was before the load.
async fn stop(ingestion: &Ingestion, loading: &Loading) -> Result<LoadUpdate, NodeError> {
    // Nothing was committed yet: what is searched is what was searched before.
    let known = ingestion.store.row(&loading.job.document()).await?;
    if let Some(known) =
        known.filter(|known| known.state.is_ready() && known.state.pending() == Some(&known.content))
    {
        let state = known.state.clone().without_pending();
        ingestion.store.record(&Document { state, ..known }).await?;
    }
    let is_in = ingestion.rollback(&loading.job, loading.run).await?;
    let outcome = if is_in { LoadOutcome::Loaded } else { LoadOutcome::Stopped };
    Ok(ended(outcome, fetched(loading)?.began))
}

fn ended(outcome: LoadOutcome, began: u64) -> LoadUpdate {
    LoadUpdate::Ended { outcome, milliseconds: now().saturating_sub(began) }
}

/// Milliseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
