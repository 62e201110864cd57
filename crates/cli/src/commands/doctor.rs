//! `ibid doctor`: what is there, what is missing, and what helps.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use ibid_core::model::{Embedder, Purpose, Reranker};
use ibid_engine::EngineFile;
use ibid_models::Provider;
use ibid_server::Finding;

use super::{caller, runtime};
use crate::config::{Config, Loaded};
use crate::library::{NO_PDFIUM, pdfium, recognition};
use crate::parts::{NO_EMBEDDING, Parts};

const PULL: &str = "`ibid models pull` brings a model that runs here, and what it needs";
const NOT_RERANKED: &str = "nothing is reranked, which is fine";
const MEND_RERANKER: &str = "mend `rerank` in ibid.toml, or take it out: reranking is optional";

/// Checks everything, prints one line for each, and fails if something is wrong.
pub(super) fn run(loaded: anyhow::Result<Loaded>) -> anyhow::Result<ExitCode> {
    let version = Finding::fine(format!("ibid {}", env!("CARGO_PKG_VERSION")));
    let mut findings = vec![("version".to_owned(), version)];
    match loaded {
        Err(error) => {
            let help = "mend it there; `ibid config reference` lists all settings";
            findings.push(("configuration".to_owned(), wrong(&error, help)));
        }
        Ok(loaded) => {
            let from = loaded
                .file
                .as_ref()
                .map_or("defaults, no ibid.toml here".to_owned(), |path| format!("{}", path.display()));
            findings.push(("configuration".to_owned(), Finding::fine(from)));
            findings.push(("data folder".to_owned(), data_folder(&loaded.config.data)));
            findings.push(("engine file".to_owned(), engine_file(&loaded.config.engine_file())));
            runtime()?.block_on(models(&loaded.config, &mut findings));
            findings.push(("PDFs".to_owned(), pdfs(&loaded.config)));
            findings.push(("scanned pages".to_owned(), scanned(&loaded.config)));
        }
    }
    let mut wrong = false;
    let mut out = std::io::stdout().lock();
    for (name, finding) in &findings {
        match finding {
            Finding::Fine { what } => writeln!(out, "ok     {name}: {what}")?,
            Finding::Missing { what } => writeln!(out, "none   {name}: {what}")?,
            Finding::Wrong { what, help } => {
                wrong = true;
                writeln!(out, "WRONG  {name}: {what}\n       help: {help}")?;
            }
        }
    }
    Ok(if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

pub(super) fn data_folder(path: &Path) -> Finding {
    let shown = path.display();
    if !path.exists() {
        return Finding::fine(format!("{shown} is not there yet; it is made when it is needed"));
    }
    let probe = path.join(format!(".doctor-{}", std::process::id()));
    let written = std::fs::write(&probe, b"ibid").and_then(|()| std::fs::remove_file(&probe));
    match written {
        Ok(()) => Finding::fine(format!("{shown} can be written")),
        Err(error) => Finding::wrong(
            format!("{shown} cannot be written: {error}"),
            "give this user the right to write there, or set `data` to another folder",
        ),
    }
}

fn engine_file(path: &Path) -> Finding {
    let shown = path.display();
    if !path.exists() {
        return Finding::fine(format!("{shown} is not there yet; it is made with the first conversation"));
    }
    match EngineFile::at(path).inspect() {
        Ok(report) if report.damage.is_empty() => Finding::fine(format!(
            "{shown} is sound: {} conversations, {} unfinished turns, {} KB, schema {}, {}",
            report.threads,
            report.unfinished,
            report.bytes / 1024,
            report.schema,
            if report.in_use { "in use by a running ibid" } else { "not in use" },
        )),
        Ok(report) => Finding::wrong(
            format!("{shown} is damaged: {}", report.damage.join("; ")),
            "stop ibid, keep a copy of the file, and restore it from a backup",
        ),
        Err(error) => wrong(&error.into(), "set `data` to another folder, or put the right file there"),
    }
}

/// Asks every provider for its models, and runs the models that run here.
async fn models(config: &Config, findings: &mut Vec<(String, Finding)>) {
    let mut find = |name: &str, finding: Finding| findings.push((name.to_owned(), finding));
    let parts = match Parts::new(config) {
        Ok(parts) => parts,
        Err(error) => return find("providers", wrong(&error, "mend it in ibid.toml")),
    };
    for provider in parts.providers() {
        find(&format!("provider {}", provider.name()), answers(provider).await);
    }
    for name in config.models.keys() {
        let finding = match parts.chat(name) {
            Ok(_) => Finding::fine(format!("can be used; `ibid models try {name}` asks it")),
            Err(error) => wrong(&error, "mend it in ibid.toml"),
        };
        find(&format!("model {name}"), finding);
    }
    find("embedding", embedding(&parts).await);
    find("reranking", reranking(&parts).await);
}

pub(super) fn pdfs(config: &Config) -> Finding {
    match pdfium(config) {
        Some(path) if path.is_file() => Finding::fine(format!("PDFium at {}", path.display())),
        Some(path) => Finding::wrong(
            format!("{} is not there", path.display()),
            "set `ingest.pdfium` to the file libpdfium.so",
        ),
        None => Finding::missing(NO_PDFIUM),
    }
}

pub(super) fn scanned(config: &Config) -> Finding {
    match recognition(config) {
        Some(languages) => Finding::fine(format!("tesseract reads them in {languages}")),
        None => Finding::missing(
            "they are named in the ledger and not read; install tesseract-ocr and its languages to read them",
        ),
    }
}

async fn embedding(parts: &Parts<'_>) -> Finding {
    match parts.embedder(&caller()).await {
        Ok(Some(embedder)) => embeds(embedder.as_ref()).await,
        Ok(None) => Finding::missing(NO_EMBEDDING),
        Err(error) => wrong(&error, PULL),
    }
}

async fn reranking(parts: &Parts<'_>) -> Finding {
    match parts.reranker() {
        Ok(reranker) => reranks(reranker.as_deref()).await,
        Err(error) => wrong(&error, MEND_RERANKER),
    }
}

/// Whether a provider answers.
pub(super) async fn answers(provider: &Provider) -> Finding {
    match provider.models().await {
        Ok(models) => {
            let plural = if models.len() == 1 { "" } else { "s" };
            Finding::fine(format!("answers, and lists {} model{plural}", models.len()))
        }
        Err(error) => wrong(&error.into(), "check its address and its key, and that it is running"),
    }
}

/// Whether the embedding model works.
pub(super) async fn embeds(embedder: &dyn Embedder) -> Finding {
    let texts = ["What is the duty rate?", "¿Cuál es el arancel?"];
    match embedder.embed(&caller(), Purpose::Query, &texts).await {
        Ok(vectors) => {
            let (dimensions, name) = (vectors.dimensions(), embedder.name());
            Finding::fine(format!("{name} runs, and gives vectors of {dimensions} dimensions"))
        }
        Err(error) => wrong(&error.into(), PULL),
    }
}

/// Whether the reranker works, if there is one.
pub(super) async fn reranks(reranker: Option<&dyn Reranker>) -> Finding {
    let Some(reranker) = reranker else { return Finding::missing(NOT_RERANKED) };
    let texts = ["The rate is 2 %.", "Lamps give light."];
    match reranker.rerank(&caller(), "What is the duty rate?", &texts).await {
        Ok(_) => Finding::fine(format!("{} runs", reranker.name())),
        Err(error) => wrong(&error.into(), MEND_RERANKER),
    }
}

fn wrong(error: &anyhow::Error, help: &str) -> Finding {
    Finding::wrong(crate::told(error), help)
}
