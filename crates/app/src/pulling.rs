//! Fetches what runs here: ONNX Runtime, models, and PDFium, which reads PDFs.

use std::path::PathBuf;
use std::sync::Arc;

use ibid_models::pull::{self, Library, ONNX_RUNTIME, PDFIUM, RECOMMENDED, Recommended, Sources, Tell};
use ibid_models::{ModelKind, Runtime};

use crate::error::Error;
use crate::models::ModelCatalog;
use crate::nearest::hint;
use crate::settings::{PullSettings, Settings};
use crate::store::find_pdfium;

/// Something that is there now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulled {
    /// Its name.
    pub name: &'static str,
    /// Where it lies.
    pub path: PathBuf,
    /// What it does, if it is a model.
    pub kind: Option<ModelKind>,
}

/// Fetches ONNX Runtime and the named models; without names, the recommended ones and PDFium. What is there already is not
/// fetched again.
///
/// # Errors
/// Fails when a name is unknown, or when something cannot be fetched or does not run.
pub async fn pull_models(
    settings: &Settings,
    names: &[String],
    progress: Tell<'_>,
    pulled: &(dyn Fn(Pulled) + Send + Sync),
) -> Result<(), Error> {
    let models = wanted(names)?;
    let (sources, folder) = (sources(settings), settings.models_folder());
    let catalog = ModelCatalog::new(Arc::new(settings.clone()))?;
    let is_current = |is_set: bool, library: &Library| is_set || library.earlier(&folder).is_empty();
    let library = match catalog.runtime() {
        Ok(runtime) if is_current(settings.onnx.library.is_some(), &ONNX_RUNTIME) => {
            runtime.library().to_owned()
        }
        _ => {
            let library = pull::pull_library(&sources, &ONNX_RUNTIME, &folder, progress).await;
            let library = library.map_err(Error::other)?;
            Runtime::load(&library).map_err(Error::other)?;
            library
        }
    };
    pulled(Pulled { name: "ONNX Runtime", path: library, kind: None });
    for model in models {
        let path = pull::pull(&sources, model, &folder, progress).await.map_err(Error::other)?;
        pulled(Pulled { name: model.name, path, kind: Some(model.kind) });
    }
    if names.is_empty() {
        let library = match find_pdfium(settings) {
            Some(library) if is_current(settings.ingest.pdfium.is_some(), &PDFIUM) => library,
            _ => {
                let library = pull::pull_library(&sources, &PDFIUM, &folder, progress).await;
                library.map_err(Error::other)?
            }
        };
        pulled(Pulled { name: "PDFium", path: library, kind: None });
    }
    Ok(())
}

fn wanted(names: &[String]) -> Result<Vec<&'static Recommended>, Error> {
    if names.is_empty() {
        return Ok(RECOMMENDED.iter().filter(|model| model.by_default).collect());
    }
    let named = names.iter().map(|name| {
        let known = RECOMMENDED.iter().map(|model| model.name);
        let unknown = || Error::Unknown(format!("`{name}` is not recommended; {}", hint(name, known)));
        Recommended::named(name).ok_or_else(unknown)
    });
    named.collect()
}

fn sources(settings: &Settings) -> Sources {
    let PullSettings { hub, onnx_releases, pdfium_releases } = settings.pull.clone();
    Sources { hub, onnx_releases, pdfium_releases }
}
