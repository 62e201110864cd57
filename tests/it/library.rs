//! Real documents in a real store, loaded once for all tests of the process.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use ibid_core::Tenant;
use ibid_core::model::Embedder;
use ibid_knowledge::{CachedAnswers, ChunkSize, Ingestion, LoadRequest, LoadSettings, Search, Store};
use ibid_models::{LocalEmbedder, Runtime};
use ibid_reading::Reader;
use ibid_testkit::RealModels;

/// The embedding model, which reads English and Spanish.
const MODEL: &str = "use-multilingual";

/// What is loaded: corpus, file of `tests/corpus`, title, type.
const DOCUMENTS: [(&str, &str, Option<&str>, &str); 8] = [
    ("trade", "hts-chapter-85-pages-71-75.pdf", Some("Chapter 85"), "hts_schedule"),
    // Its name says nothing of what it is.
    ("trade", "USC-T19-S1304.md", Some("Scan 0007"), "uncategorised"),
    ("fintech", "real-decreto-ley-19-2018.md", None, "pagos"),
    ("fintech", "ley-10-2010.md", None, "blanqueo"),
    ("fintech", "ley-16-2011.md", None, "credito"),
    ("policies", "USC-T19-S1508.md", Some("Recordkeeping"), "general"),
    ("policies", "USC-T19-S1304.md", Some("Marking of imported articles"), "general"),
    ("policies", "USC-T47-S302a.md", Some("Devices which interfere with radio"), "general"),
];

static LIBRARY: OnceLock<tempfile::TempDir> = OnceLock::new();

/// The embedding model.
pub(crate) fn embedder() -> Arc<dyn Embedder> {
    let models = RealModels::find();
    let runtime = Runtime::load(&models.runtime()).unwrap();
    Arc::new(LocalEmbedder::load(&runtime, &models.path(MODEL), None).unwrap())
}

/// Finds what the documents say.
pub(crate) async fn search() -> Search {
    let folder = tokio::task::spawn_blocking(|| LIBRARY.get_or_init(loaded).path());
    let (folder, embedder) = (folder.await.unwrap(), embedder());
    Search::new(open(folder, embedder.as_ref()).await, embedder)
}

/// The answers that may be given again, beside those documents.
pub(crate) async fn cached_answers() -> CachedAnswers {
    let folder = tokio::task::spawn_blocking(|| LIBRARY.get_or_init(loaded).path());
    let (folder, embedder) = (folder.await.unwrap(), embedder());
    CachedAnswers::new(open(folder, embedder.as_ref()).await, embedder)
}

pub(crate) async fn open(folder: &Path, embedder: &dyn Embedder) -> Arc<Store> {
    let place = folder.to_string_lossy();
    let store = Store::open(&place, HashMap::new(), embedder.name(), embedder.dimensions()).await;
    Arc::new(store.expect("the store opens"))
}

/// Loads everything, on a runtime of its own.
fn loaded() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let embedder = embedder();
        let ingestion =
            Ingestion::new(open(folder.path(), embedder.as_ref()).await, embedder.clone(), reader());
        let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
        for (corpus, file, title, kind) in DOCUMENTS {
            let bytes = std::fs::read(corpora.join(file)).unwrap();
            load(&ingestion, corpus, file, title, kind, &bytes).await;
        }
    });
    folder
}

/// Loads one document.
pub(crate) async fn load(
    ingestion: &Ingestion,
    corpus: &str,
    name: &str,
    title: Option<&str>,
    kind: &str,
    bytes: &[u8],
) {
    let job = LoadRequest {
        tenant: Tenant::local(),
        corpus: corpus.parse().unwrap(),
        key: name.to_owned(),
        source: name.to_owned(),
        content: Some(ingestion.keep(bytes).await.unwrap()),
        settings: LoadSettings {
            kind: kind.to_owned(),
            title: title.map(str::to_owned),
            size: ChunkSize::default(),
            least_characters: 20,
            ..LoadSettings::default()
        },
    };
    let summary = ingestion.load(job).await.unwrap();
    assert!(summary.chunks > 0, "{name}: {summary:?}");
}

pub(crate) fn reader() -> Reader {
    let tests = std::env::current_exe().expect("the test knows itself");
    let program = tests.ancestors().nth(2).expect("the folder of what was built").join("examples/read");
    assert!(program.exists(), "{} is missing; `cargo build --examples` makes it", program.display());
    Reader::new(program, ["read-one-document"]).with_pdfium(RealModels::find().path("pdfium/libpdfium.so"))
}
