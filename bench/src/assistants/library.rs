//! A store in a folder that goes away, with documents that are loaded from files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use ibid_core::evidence::{Index, Passage};
use ibid_core::model::Embedder;
use ibid_knowledge::{Ingestion, Search, Store};

use crate::knowledge::{Potion, reader, schedule, scope};

/// A store, and what loads into it and searches it.
pub(super) struct Library {
    pub(super) store: Arc<Store>,
    pub(super) search: Search,
    ingestion: Ingestion,
    _folder: tempfile::TempDir,
}

impl Library {
    /// An empty one.
    pub(super) async fn open() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let embedder = Potion::load()?;
        let place = folder.path().to_string_lossy().into_owned();
        let store =
            Arc::new(Store::open(&place, HashMap::new(), embedder.name(), embedder.dimensions()).await?);
        let ingestion = Ingestion::new(store.clone(), embedder.clone(), reader()?);
        let search = Search::new(store.clone(), embedder);
        Ok(Self { store, search, ingestion, _folder: folder })
    }

    /// Loads a file, and returns its passages, page by page.
    pub(super) async fn load(&self, file: &Path) -> anyhow::Result<Vec<Passage>> {
        let bytes = std::fs::read(file).with_context(|| file.display().to_string())?;
        let job = schedule(file.to_string_lossy().into_owned(), self.ingestion.keep(&bytes).await?)?;
        let document = job.document();
        let summary = self.ingestion.load(job).await?;
        let mut passages = Vec::new();
        for page in 1..=summary.pages {
            passages.extend(self.search.page(&scope(), &document, page).await?);
        }
        Ok(passages)
    }
}

/// Where a chapter of the tariff schedule is.
pub(super) fn chapter(data: &Path, number: u32) -> PathBuf {
    data.join(format!("trade_compliance/hts/pdf/chapter/Chapter_{number}.pdf"))
}

/// Where the tables of ICDAR 2013 are, of one of its two sets.
pub(super) fn icdar(data: &Path, set: &str) -> PathBuf {
    let all =
        data.join("pdf_robustness/tabula_icdar2013/src/test/resources/technology/tabula/icdar2013-dataset");
    all.join(format!("competition-dataset-{set}"))
}
