//! A catalogue of 20,000 cars and the common questions of `car-sales` in a real store, loaded once for all tests of the process.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use ibid_assistants::{Assistant, FAQ, SHIPPED};
use ibid_core::catalogue::CATALOGUE;
use ibid_core::{Scope, Tenant};
use ibid_knowledge::{Ingestion, Search, StoredCatalogues};
use ibid_testkit::cars::cars;

use crate::library::{embedder, load, open, reader};

/// How many cars, and the seed of the file.
pub(crate) const CARS: (usize, u64) = (20_000, 7);

static SHOWROOM: OnceLock<tempfile::TempDir> = OnceLock::new();

/// The assistant.
pub(crate) fn car_sales() -> Assistant {
    SHIPPED.iter().find(|shipped| shipped.name == "car-sales").unwrap().read().unwrap()
}

/// Whoever asks.
pub(crate) fn scope() -> Scope {
    Scope::of(Tenant::local()).within(["car-sales".parse().unwrap()])
}

async fn folder() -> &'static Path {
    tokio::task::spawn_blocking(|| SHOWROOM.get_or_init(furnished).path()).await.unwrap()
}

/// The catalogues.
pub(crate) async fn catalogues() -> Arc<StoredCatalogues> {
    Arc::new(StoredCatalogues::new(open(folder().await, embedder().as_ref()).await))
}

/// Finds what the common questions say.
pub(crate) async fn search() -> Arc<Search> {
    let embedder = embedder();
    Arc::new(Search::new(open(folder().await, embedder.as_ref()).await, embedder))
}

fn furnished() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let embedder = embedder();
        let ingestion =
            Ingestion::new(open(folder.path(), embedder.as_ref()).await, embedder.clone(), reader());
        for (name, text) in &car_sales().faq {
            load(&ingestion, "car-sales", &format!("faq/{name}"), None, FAQ, text.as_bytes()).await;
        }
        let file = cars(CARS.0, CARS.1);
        load(&ingestion, "car-sales", "cars.csv", Some("Cars"), CATALOGUE, file.as_bytes()).await;
    });
    folder
}
