//! What the tests load and find with.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use ibid_core::evidence::{Passage, Question};
use ibid_core::model::{Caller, Embedder, ModelError, Purpose, Vectors};
use ibid_core::{Corpus, Scope, Tenant};
use ibid_knowledge::{
    ChunkSize, Ingestion, LoadRequest, LoadSettings, LoadSummary, MaintenanceSettings, Search, Store,
};
use ibid_reading::Reader;
use ibid_testkit::{RealModels, RealStorage};

/// Words that texts share make their vectors alike. Always the same, and quick.
pub(crate) struct Words;

const DIMENSIONS: usize = 64;

#[async_trait]
impl Embedder for Words {
    fn name(&self) -> &str {
        "words"
    }

    fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    async fn embed(&self, _: &Caller, _: Purpose, texts: &[&str]) -> Result<Vectors, ModelError> {
        let mut vectors = Vectors::with_capacity(DIMENSIONS, texts.len());
        for text in texts {
            let mut vector = [0.01_f32; DIMENSIONS];
            for word in text.to_lowercase().split(|char: char| !char.is_alphanumeric()) {
                let hash =
                    word.bytes().fold(7_usize, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
                vector[hash % DIMENSIONS] += 1.0;
            }
            let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
            assert!(vectors.push(&vector.map(|value| value / length)));
        }
        Ok(vectors)
    }
}

/// Where a store is.
pub(crate) enum Where {
    Folder(tempfile::TempDir),
    Storage(String),
}

impl Where {
    pub(crate) fn folder() -> Self {
        Self::Folder(tempfile::tempdir().unwrap())
    }

    pub(crate) fn storage(name: &str) -> Self {
        Self::Storage(RealStorage::get().place(name))
    }

    pub(crate) async fn open(&self) -> Arc<Store> {
        self.open_keeping(MaintenanceSettings::default()).await
    }

    pub(crate) async fn open_keeping(&self, maintenance: MaintenanceSettings) -> Arc<Store> {
        let (place, options) = match self {
            Self::Folder(folder) => (folder.path().to_string_lossy().into_owned(), HashMap::new()),
            Self::Storage(place) => (place.clone(), RealStorage::get().options().into_iter().collect()),
        };
        let store = Store::open(&place, options, "words", DIMENSIONS).await.expect("the store opens");
        Arc::new(store.keeping(maintenance))
    }
}

pub(crate) fn reader() -> Reader {
    let tests = std::env::current_exe().expect("the test knows itself");
    let program = tests.ancestors().nth(2).expect("the folder of what was built").join("examples/read");
    assert!(program.exists(), "{} is missing; `cargo build --examples` makes it", program.display());
    Reader::new(program, ["read-one-document"]).with_pdfium(RealModels::find().path("pdfium/libpdfium.so"))
}

pub(crate) fn ingestion(store: &Arc<Store>) -> Ingestion {
    Ingestion::new(store.clone(), Arc::new(Words), reader())
}

pub(crate) fn search(store: &Arc<Store>) -> Search {
    Search::new(store.clone(), Arc::new(Words))
}

pub(crate) fn corpus(name: &str) -> Corpus {
    name.parse().unwrap()
}

pub(crate) fn everybody() -> Scope {
    Scope::of(Tenant::local())
}

pub(crate) fn job(corpus_name: &str, source: &str) -> LoadRequest {
    LoadRequest {
        tenant: Tenant::local(),
        corpus: corpus(corpus_name),
        key: source.to_owned(),
        source: source.to_owned(),
        content: None,
        settings: LoadSettings {
            kind: "general".to_owned(),
            size: ChunkSize::default(),
            least_characters: 10,
            ..LoadSettings::default()
        },
    }
}

/// Loads a text under a name.
pub(crate) async fn load(ingestion: &Ingestion, mut job: LoadRequest, bytes: &[u8]) -> LoadSummary {
    job.content = Some(ingestion.keep(bytes).await.unwrap());
    ingestion.load(job).await.expect("loading works")
}

pub(crate) async fn find(store: &Arc<Store>, scope: &Scope, question: &str) -> Vec<Passage> {
    search(store).hits(scope, &Question::new(question)).await.expect("searching works")
}

pub(crate) fn sample(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../reading/tests/samples").join(name)
}
