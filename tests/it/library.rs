//! Real documents in a real store, loaded once for all tests of the process.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use ibid_core::Tenant;
use ibid_core::model::Embedder;
use ibid_knowledge::{ChunkSize, Ingestion, Job, Search, Settings, Store};
use ibid_models::{LocalEmbedder, Runtime};
use ibid_reading::Reader;
use ibid_testkit::{RealModels, shared_data};

/// The embedding model, which reads English and Spanish.
const MODEL: &str = "use-multilingual";

/// What is loaded: corpus, folder or file, title, type.
const DOCUMENTS: [(&str, &str, Option<&str>, &str); 7] = [
    ("trade", "trade_compliance/hts/pdf/chapter/Chapter_85.pdf", Some("Chapter 85"), "hts_schedule"),
    ("fintech", "spanish_regulation/es_boe/BOE-A-2018-16036.md", None, "pagos"),
    ("fintech", "spanish_regulation/es_boe/BOE-A-2010-6737.md", None, "blanqueo"),
    ("fintech", "spanish_regulation/es_boe/BOE-A-2011-10970.md", None, "credito"),
    ("policies", "trade_compliance/us_code/USC-T19-S1508.md", Some("Recordkeeping"), "general"),
    (
        "policies",
        "trade_compliance/us_code/USC-T19-S1304.md",
        Some("Marking of imported articles"),
        "general",
    ),
    (
        "policies",
        "trade_compliance/us_code/USC-T47-S302a.md",
        Some("Devices which interfere with radio"),
        "general",
    ),
];

static LIBRARY: OnceLock<Option<tempfile::TempDir>> = OnceLock::new();

/// The embedding model.
pub(crate) fn embedder() -> Arc<dyn Embedder> {
    let models = RealModels::find();
    let runtime = Runtime::load(&models.runtime()).unwrap();
    Arc::new(LocalEmbedder::load(&runtime, &models.path(MODEL), None).unwrap())
}

/// Finds what the documents say; none where there is no test data.
pub(crate) async fn search() -> Option<Search> {
    let folder =
        tokio::task::spawn_blocking(|| LIBRARY.get_or_init(loaded).as_ref().map(|folder| folder.path()));
    let folder = folder.await.unwrap()?;
    let embedder = embedder();
    Some(Search::new(open(folder, embedder.as_ref()).await, embedder))
}

pub(crate) async fn open(folder: &Path, embedder: &dyn Embedder) -> Arc<Store> {
    let place = folder.to_string_lossy();
    let store = Store::open(&place, HashMap::new(), embedder.name(), embedder.dimensions()).await;
    Arc::new(store.expect("the store opens"))
}

/// Loads everything, on a runtime of its own.
fn loaded() -> Option<tempfile::TempDir> {
    shared_data("trade_compliance")?;
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let embedder = embedder();
        let ingestion =
            Ingestion::new(open(folder.path(), embedder.as_ref()).await, embedder.clone(), reader());
        for (corpus, path, title, kind) in DOCUMENTS {
            let file = shared_data(path).unwrap();
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            let bytes = std::fs::read(&file).unwrap();
            load(&ingestion, corpus, &name, title, kind, &bytes).await;
        }
    });
    Some(folder)
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
    let job = Job {
        tenant: Tenant::local(),
        corpus: corpus.parse().unwrap(),
        key: name.to_owned(),
        source: name.to_owned(),
        version: Some(ingestion.keep(bytes).await.unwrap()),
        settings: Settings {
            kind: kind.to_owned(),
            title: title.map(str::to_owned),
            size: ChunkSize::default(),
            least_characters: 20,
            ..Settings::default()
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
