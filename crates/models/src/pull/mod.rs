//! Fetches recommended models from the model hub, and libraries from their releases.
//!
//! Each file is named with a revision that cannot change, and held against its SHA-256. A model's card is written last, so
//! that a folder with a card is complete.

mod catalogue;
mod download;
mod library;

use std::path::{Path, PathBuf};

use ibid_egress::{Egress, EgressLimits, Host, Rules};
use url::Url;

pub use catalogue::{RECOMMENDED, Recommended};
pub use library::{Library, ONNX_RUNTIME, PDFIUM};

use crate::local::Card;
use download::download;

/// Where things are fetched from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sources {
    /// The model hub, or a mirror of it.
    pub hub: String,
    /// Where the releases of ONNX Runtime are, or a mirror of them.
    pub onnx_releases: String,
    /// Where the releases of PDFium are, or a mirror of them.
    pub pdfium_releases: String,
}

impl Default for Sources {
    fn default() -> Self {
        Self {
            hub: "https://huggingface.co".to_owned(),
            onnx_releases: "https://github.com/microsoft/onnxruntime/releases/download".to_owned(),
            pdfium_releases: "https://github.com/bblanchon/pdfium-binaries/releases/download".to_owned(),
        }
    }
}

/// How far a file has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    /// Which file.
    pub file: &'a str,
    /// How many bytes have come.
    pub bytes: u64,
    /// How many there will be, if the server said.
    pub total: Option<u64>,
}

/// Told of every step. It is called often and should be quick.
pub type Tell<'a> = &'a (dyn Fn(Progress<'_>) + Send + Sync);

/// Why something was not fetched.
#[derive(Debug, thiserror::Error)]
pub enum PullError {
    /// The way there failed.
    #[error(transparent)]
    Egress(#[from] ibid_egress::Error),
    /// The server does not have it.
    #[error(
        "`{host}` does not have {file}: status {status}; if it is a mirror, check what is set under `pull`"
    )]
    Missing {
        /// Where it was looked for.
        host: String,
        /// What was looked for.
        file: String,
        /// What the server said.
        status: u16,
    },
    /// What came is something else.
    #[error("{file} is not what it should be: its SHA-256 is {found}, not {expected}; nothing was kept")]
    Changed {
        /// Which file.
        file: String,
        /// What came.
        found: String,
        /// What should have come.
        expected: String,
    },
    /// It cannot be written.
    #[error("{}: {source}", path.display())]
    Write {
        /// Where to.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The release does not hold the library.
    #[error("{0}")]
    Archive(String),
    /// There is no release for this machine.
    #[error(
        "there is no release of {library} for {machine}; build it, and set `onnx.library` or `ingest.pdfium` to the file"
    )]
    Platform {
        /// Of what.
        library: &'static str,
        /// For what.
        machine: String,
    },
}

/// Fetches a recommended model into a folder of its own in `models`, unless it is there. Returns that folder.
///
/// # Errors
/// Fails when it cannot be fetched, is not what it should be, or cannot be written.
pub async fn pull(
    sources: &Sources,
    model: &Recommended,
    models: &Path,
    tell: Tell<'_>,
) -> Result<PathBuf, PullError> {
    let folder = models.join(model.name);
    if Card::read(&folder).is_ok() {
        return Ok(folder);
    }
    create(&folder)?;
    let egress = way_to(&sources.hub)?;
    for file in model.files {
        let hub = sources.hub.trim_end_matches('/');
        let url = format!("{hub}/{}/resolve/{}/{}", model.repository, model.revision, file.path);
        download(&egress, &url, &folder.join(file.name), file.sha256, tell).await?;
    }
    write(&folder.join(crate::local::CARD_FILE), model.card().as_bytes())?;
    Ok(folder)
}

/// Fetches a library into `models`, unless it is there in the version that this ibid wants. Returns its file. Those of earlier
/// versions are removed.
///
/// # Errors
/// Fails when there is none for this machine, it cannot be fetched, is not what it should be, or cannot be
/// written.
pub async fn pull_library(
    sources: &Sources,
    library: &Library,
    models: &Path,
    tell: Tell<'_>,
) -> Result<PathBuf, PullError> {
    if let Some(library) = library.among(models) {
        return Ok(library);
    }
    let release = library.for_this_machine()?;
    let folder = library.folder(models);
    create(&folder)?;
    let releases =
        if library.name == PDFIUM.name { &sources.pdfium_releases } else { &sources.onnx_releases };
    let egress = way_to(releases)?;
    let url = format!("{}/{}/{}", releases.trim_end_matches('/'), library.version, release.archive);
    let archive = folder.join(release.archive);
    download(&egress, &url, &archive, release.sha256, tell).await?;
    let file = library.unpack(&archive, &folder)?;
    let _ = std::fs::remove_file(&archive);
    for earlier in library.earlier(models) {
        // A process that uses it has it open.
        let _ = std::fs::remove_file(&earlier);
        if let Some(folder) = earlier.parent() {
            let _ = std::fs::remove_dir(folder);
        }
    }
    Ok(file)
}

/// Files come from wherever the source points to, as long as that is public; the source itself may be inside.
fn way_to(source: &str) -> Result<Egress, PullError> {
    let invalid = |reason: String| ibid_egress::Error::Refused { host: source.to_owned(), reason };
    let url = Url::parse(source).map_err(|error| invalid(error.to_string()))?;
    let host = Host::of_service(&url).map_err(|error| invalid(error.to_string()))?;
    let limits = EgressLimits { body_bytes: 4 << 30, ..EgressLimits::default() };
    Ok(Egress::new(Rules::public().and([host]), limits)?)
}

fn create(folder: &Path) -> Result<(), PullError> {
    std::fs::create_dir_all(folder).map_err(|source| PullError::Write { path: folder.to_owned(), source })
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), PullError> {
    std::fs::write(path, bytes).map_err(|source| PullError::Write { path: path.to_owned(), source })
}
