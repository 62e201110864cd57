//! The store of documents and what reads them, made from the settings.

use std::path::PathBuf;
use std::sync::Arc;

use ibid_core::Tenant;
use ibid_core::model::{Caller, Embedder, Reranker};
use ibid_egress::{Egress, EgressLimits, Host, Rules};
use ibid_knowledge::{
    CachedAnswers, Download, Ingestion, MaintenanceSettings, Search, Store, StoredCatalogues,
};
use ibid_models::pull::PDFIUM;
use ibid_reading::{Reader, ReaderLimits};
use url::Url;

use crate::backup::refuse_half_restored;
use crate::error::{DoingExt, Error};
use crate::models::{ModelCatalog, NO_EMBEDDING};
use crate::settings::Settings;

/// What helps where PDFs cannot be read.
pub const NO_PDFIUM: &str = "PDFs cannot be read without the library PDFium: `ibid models pull` brings it; or set \
     `ingest.pdfium` to the file libpdfium.so";

/// The argument with which a program starts itself to read one untrusted document in a process of its own.
pub const READ_COMMAND: &str = "read-one-document";

/// Reads one untrusted document if this process was started for that, and says whether it worked. A program that loads
/// documents calls this first in `main` and ends with the result, since that process gives up what it does not need.
pub fn read_document_if_asked() -> Option<bool> {
    match std::env::args().collect::<Vec<_>>().as_slice() {
        [_, command, request] if command == READ_COMMAND => Some(ibid_reading::read_in_this_process(request)),
        _ => None,
    }
}

/// The documents, the model that embeds them and what finds them.
pub(crate) struct Knowledge {
    pub(crate) store: Arc<Store>,
    pub(crate) embedder: Arc<dyn Embedder>,
    pub(crate) reranker: Option<Arc<dyn Reranker>>,
    pub(crate) search: Arc<Search>,
    pub(crate) answers: Arc<CachedAnswers>,
    pub(crate) catalogues: Arc<StoredCatalogues>,
}

impl Knowledge {
    /// Opens the store with the embedding model.
    pub(crate) async fn open(
        settings: &Settings,
        models: &ModelCatalog,
        caller: &Caller,
    ) -> Result<Self, Error> {
        settings.refuse_several_cells()?;
        let embedder =
            models.embedder(caller).await?.ok_or_else(|| Error::Missing(NO_EMBEDDING.to_owned()))?;
        let location = settings.store_location();
        let options = settings.store.options()?;
        let store = Store::open(&location, options, embedder.name(), embedder.dimensions());
        let store = Arc::new(store.await.doing(|| unopened(&location))?.keeping(maintenance(settings)));
        let reranker = models.reranker()?;
        let search = Search::new(store.clone(), embedder.clone()).with_reranker(reranker.clone());
        let answers = Arc::new(CachedAnswers::new(store.clone(), embedder.clone()));
        let catalogues = Arc::new(StoredCatalogues::new(store.clone()));
        Ok(Self { store, embedder, reranker, search: Arc::new(search), answers, catalogues })
    }

    /// Loads documents, also from addresses that an assistant names: to name one is to allow it.
    pub(crate) fn ingestion<'u>(
        &self,
        settings: &Settings,
        named: impl Iterator<Item = &'u str>,
    ) -> Result<Ingestion, Error> {
        let ingestion = Ingestion::new(self.store.clone(), self.embedder.clone(), reader(settings)?)
            .reading_at_once(settings.ingest.pages_at_once);
        let hosts = settings.ingest.hosts.iter().map(|host| host.parse());
        let mut hosts: Vec<Host> =
            hosts.collect::<Result<_, _>>().doing(|| "in `ingest.hosts`".to_owned())?;
        for address in named {
            let url = Url::parse(address).doing(|| format!("{address} is no address"))?;
            hosts.push(Host::of(&url).map_err(Error::other)?);
        }
        if hosts.is_empty() {
            return Ok(ingestion);
        }
        let limits = EgressLimits { body_bytes: settings.ingest.largest_mb << 20, ..EgressLimits::default() };
        let egress = Egress::new(Rules::only(hosts), limits).map_err(Error::other)?;
        Ok(ingestion.downloading(Download::new(egress)))
    }
}

/// What finds documents, for a program that only searches.
///
/// # Errors
/// Fails when there is no embedding model, or when the store cannot be reached.
pub async fn open_search(settings: &Settings) -> Result<Arc<Search>, Error> {
    let models = ModelCatalog::new(Arc::new(settings.clone()))?;
    Ok(Knowledge::open(settings, &models, &Caller::chat(Tenant::local())).await?.search)
}

/// The store alone, to look after what is in it; no model is needed for that.
///
/// # Errors
/// Fails when it cannot be reached.
pub async fn open_store(settings: &Settings) -> Result<Store, Error> {
    settings.refuse_several_cells()?;
    refuse_half_restored(settings)?;
    let location = settings.store_location();
    let store = Store::look(&location, settings.store.options()?).await;
    Ok(store.doing(|| unopened(&location))?.keeping(maintenance(settings)))
}

fn maintenance(settings: &Settings) -> MaintenanceSettings {
    MaintenanceSettings { keep_versions: settings.store.erase_after.0, ..MaintenanceSettings::default() }
}

fn unopened(location: &str) -> String {
    format!("the store at {location} cannot be opened")
}

/// Reads documents, each in a process of this program.
pub(crate) fn reader(settings: &Settings) -> Result<Reader, Error> {
    let program = std::env::current_exe().doing(|| "this program cannot find itself".to_owned())?;
    let limits = ReaderLimits {
        memory: settings.ingest.memory_mb << 20,
        require_landlock: settings.ingest.require_landlock,
        ..ReaderLimits::default()
    };
    let mut reader = Reader::new(program, [READ_COMMAND]).within(limits);
    // The allocator sets room aside, which would count as memory that is used.
    reader = reader.with_variable("MIMALLOC_ARENA_RESERVE", "32M");
    if let Some(library) = find_pdfium(settings) {
        reader = reader.with_pdfium(library);
    }
    if let Some(languages) = recognition_languages(settings) {
        reader = reader.with_recognition(languages);
    }
    Ok(reader)
}

/// PDFium, from where the settings say or where it is usually found.
pub fn find_pdfium(settings: &Settings) -> Option<PathBuf> {
    settings.ingest.pdfium.clone().or_else(|| PDFIUM.find(&settings.models_folder()))
}

/// The languages in which scanned pages are read: those that are configured and installed.
pub fn recognition_languages(settings: &Settings) -> Option<String> {
    if settings.ingest.recognition.is_empty() {
        return None;
    }
    let output = std::process::Command::new("tesseract").arg("--list-langs").output().ok()?;
    let listed = String::from_utf8_lossy(&output.stdout).into_owned();
    let installed = |language: &&str| listed.lines().any(|line| line.trim() == *language);
    let languages: Vec<&str> = settings.ingest.recognition.split('+').filter(installed).collect();
    (!languages.is_empty()).then(|| languages.join("+"))
}
