//! Measures the knowledge crate: how well it finds, how fast it loads, and what it costs as data grows.

mod e5;
mod evaluate;
mod gold;
mod growth;
mod phrasings;
mod potion;
pub(crate) use potion::Potion;
mod scale;
mod sets;

pub(crate) use evaluate::measure as evaluate;
pub(crate) use scale::measure as scale;

use std::collections::BTreeSet;
use std::sync::Arc;

use ibid_core::evidence::DocumentId;
use ibid_core::model::{Caller, Embedder, Purpose};
use ibid_core::{Scope, Tenant};
use ibid_knowledge::{
    ChunkSize, ContentHash, Document, DocumentState, LoadRequest, LoadResult, LoadSettings,
};
use ibid_models::{LocalEmbedder, Runtime};
use ibid_reading::Reader;
use ibid_testkit::RealModels;

pub(crate) fn scope() -> Scope {
    Scope::of(Tenant::local())
}

/// A model that runs here.
pub(crate) fn local(name: &str) -> anyhow::Result<Arc<dyn Embedder>> {
    let models = RealModels::find();
    let runtime = Runtime::load(&models.runtime())?;
    Ok(Arc::new(LocalEmbedder::load(&runtime, &models.path(name), None)?))
}

/// Reads documents in processes of this program.
pub(crate) fn reader() -> anyhow::Result<Reader> {
    let library = RealModels::find().path("pdfium/libpdfium.so");
    Ok(Reader::new(std::env::current_exe()?, [READ]).with_pdfium(library))
}

/// How this program calls itself to read.
pub(crate) const READ: &str = "read-one-document";

/// A document that holds passages of a set.
fn document(name: &str, language: &str) -> anyhow::Result<Document> {
    Ok(Document {
        id: DocumentId(name.to_owned()),
        tenant: Tenant::local(),
        corpus: "measured".parse()?,
        key: name.to_owned(),
        source: name.to_owned(),
        origin: None,
        title: name.to_owned(),
        kind: "general".to_owned(),
        language: language.to_owned(),
        labels: BTreeSet::new(),
        size: ChunkSize::default(),
        content: ContentHash::of(name.as_bytes()),
        bytes: 0,
        state: DocumentState::Settled { result: LoadResult::Ready, problem: None, pending: None },
        chunks: 0,
        tables: 0,
        milliseconds: 0,
        changed: 0,
        pages: Vec::new(),
    })
}

/// The load of a chapter of the tariff schedule whose content was kept.
pub(crate) fn schedule(source: String, content: ContentHash) -> anyhow::Result<LoadRequest> {
    Ok(LoadRequest {
        tenant: Tenant::local(),
        corpus: "measured".parse()?,
        key: source.clone(),
        source,
        content: Some(content),
        settings: LoadSettings {
            kind: "hts_schedule".to_owned(),
            size: ChunkSize::default(),
            least_characters: 100,
            ..LoadSettings::default()
        },
    })
}

/// Vectors of texts, in batches.
async fn vectors(embedder: &dyn Embedder, purpose: Purpose, texts: &[String]) -> anyhow::Result<Vec<f32>> {
    let caller = Caller::ingestion(Tenant::local());
    let mut vectors = Vec::new();
    for batch in texts.chunks(256) {
        let batch: Vec<&str> = batch.iter().map(String::as_str).collect();
        vectors.extend(embedder.embed(&caller, purpose, &batch).await?.into_values());
    }
    Ok(vectors)
}
