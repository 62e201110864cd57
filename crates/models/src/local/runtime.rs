//! ONNX Runtime, loaded once from a file.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ibid_core::model::ModelError;
use ort::environment::Environment;
use ort::session::Session;
use ort::session::builder::GraphOptimizationLevel;

/// There can be one in a process, whoever asks for it.
static LOADED: Mutex<Option<Runtime>> = Mutex::new(None);

/// ONNX Runtime.
#[derive(Clone)]
pub struct Runtime {
    library: PathBuf,
    environment: Environment,
}

impl Runtime {
    /// Loads the library. The first one that was loaded serves the whole process.
    ///
    /// # Errors
    /// Fails when the file is missing, or is no ONNX Runtime of a version that is understood.
    pub fn load(library: &Path) -> Result<Self, ModelError> {
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(runtime) = &*loaded {
            return Ok(runtime.clone());
        }
        let failed = |reason: String| ModelError::Local {
            model: "ONNX Runtime".to_owned(),
            reason: format!("{}: {reason}", library.display()),
            help: "`ibid models pull` brings it; or set `onnx.library` to the file libonnxruntime.so"
                .to_owned(),
        };
        if !library.is_file() {
            return Err(failed("there is no such file".to_owned()));
        }
        let builder = ort::init_from(library).map_err(|error| failed(error.to_string()))?;
        let environment = builder
            .with_name("ibid")
            .with_telemetry(false)
            .build()
            .map_err(|error| failed(error.to_string()))?;
        let runtime = Self { library: library.to_owned(), environment };
        *loaded = Some(runtime.clone());
        Ok(runtime)
    }

    /// The file that was loaded.
    pub fn library(&self) -> &Path {
        &self.library
    }

    pub(crate) fn session(&self, network: &Path, threads: usize) -> Result<Session, String> {
        let told = |error: &dyn std::fmt::Display| error.to_string();
        Session::builder(&self.environment)
            .map_err(|error| told(&error))?
            .with_optimization_level(GraphOptimizationLevel::All)
            .map_err(|error| told(&error))?
            .with_intra_threads(threads)
            .map_err(|error| told(&error))?
            .commit_from_file(network)
            .map_err(|error| told(&error))
    }
}
