//! `ibid doctor`: what is there, what is missing, and what helps.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use ibid_core::model::Purpose;
use ibid_engine::EngineFile;

use super::{caller, runtime};
use crate::config::{Config, Loaded};
use crate::library::{NO_PDFIUM, pdfium, recognition};
use crate::parts::{NO_EMBEDDING, Parts};

/// What came of one check.
enum Finding {
    Fine(String),
    /// Something is not there that can be done without.
    Missing(String),
    Wrong {
        what: String,
        help: String,
    },
}

impl Finding {
    fn wrong(error: &anyhow::Error, help: &str) -> Self {
        Self::Wrong { what: crate::told(error), help: help.to_owned() }
    }
}

/// Checks everything, prints one line for each, and fails if something is wrong.
pub(super) fn run(loaded: anyhow::Result<Loaded>) -> anyhow::Result<ExitCode> {
    let version = Finding::Fine(format!("ibid {}", env!("CARGO_PKG_VERSION")));
    let mut findings = vec![("version".to_owned(), version)];
    match loaded {
        Err(error) => {
            let help = "mend it there; `ibid config reference` lists all settings";
            findings.push(("configuration".to_owned(), Finding::wrong(&error, help)));
        }
        Ok(loaded) => {
            let from = loaded
                .file
                .as_ref()
                .map_or("defaults, no ibid.toml here".to_owned(), |path| format!("{}", path.display()));
            findings.push(("configuration".to_owned(), Finding::Fine(from)));
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
            Finding::Fine(what) => writeln!(out, "ok     {name}: {what}")?,
            Finding::Missing(what) => writeln!(out, "none   {name}: {what}")?,
            Finding::Wrong { what, help } => {
                wrong = true;
                writeln!(out, "WRONG  {name}: {what}\n       help: {help}")?;
            }
        }
    }
    Ok(if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn data_folder(path: &Path) -> Finding {
    let shown = path.display();
    if !path.exists() {
        return Finding::Fine(format!("{shown} is not there yet; it is made when it is needed"));
    }
    let probe = path.join(format!(".doctor-{}", std::process::id()));
    let written = std::fs::write(&probe, b"ibid").and_then(|()| std::fs::remove_file(&probe));
    match written {
        Ok(()) => Finding::Fine(format!("{shown} can be written")),
        Err(error) => Finding::Wrong {
            what: format!("{shown} cannot be written: {error}"),
            help: "give this user the right to write there, or set `data` to another folder".to_owned(),
        },
    }
}

fn engine_file(path: &Path) -> Finding {
    let shown = path.display();
    if !path.exists() {
        return Finding::Fine(format!("{shown} is not there yet; it is made with the first conversation"));
    }
    match EngineFile::at(path).inspect() {
        Ok(report) if report.damage.is_empty() => Finding::Fine(format!(
            "{shown} is sound: {} conversations, {} unfinished turns, {} KB, schema {}, {}",
            report.threads,
            report.unfinished,
            report.bytes / 1024,
            report.schema,
            if report.in_use { "in use by a running ibid" } else { "not in use" },
        )),
        Ok(report) => Finding::Wrong {
            what: format!("{shown} is damaged: {}", report.damage.join("; ")),
            help: "stop ibid, keep a copy of the file, and restore it from a backup".to_owned(),
        },
        Err(error) => {
            Finding::wrong(&error.into(), "set `data` to another folder, or put the right file there")
        }
    }
}

/// Asks every provider for its models, and runs the models that run here.
async fn models(config: &Config, findings: &mut Vec<(String, Finding)>) {
    let mut find = |name: &str, finding: Finding| findings.push((name.to_owned(), finding));
    let parts = match Parts::new(config) {
        Ok(parts) => parts,
        Err(error) => return find("providers", Finding::wrong(&error, "mend it in ibid.toml")),
    };
    for provider in parts.providers() {
        let finding = match provider.models().await {
            Ok(models) => {
                let plural = if models.len() == 1 { "" } else { "s" };
                Finding::Fine(format!("answers, and lists {} model{plural}", models.len()))
            }
            Err(error) => {
                Finding::wrong(&error.into(), "check its address and its key, and that it is running")
            }
        };
        find(&format!("provider {}", provider.name()), finding);
    }
    for name in config.models.keys() {
        let finding = match parts.chat(name) {
            Ok(_) => Finding::Fine(format!("can be used; `ibid models try {name}` asks it")),
            Err(error) => Finding::wrong(&error, "mend it in ibid.toml"),
        };
        find(&format!("model {name}"), finding);
    }
    find("embedding", embedding(&parts).await);
    find("reranking", reranking(&parts).await);
}

fn pdfs(config: &Config) -> Finding {
    match pdfium(config) {
        Some(path) if path.is_file() => Finding::Fine(format!("PDFium at {}", path.display())),
        Some(path) => Finding::Wrong {
            what: format!("{} is not there", path.display()),
            help: "set `ingest.pdfium` to the file libpdfium.so".to_owned(),
        },
        None => Finding::Missing(NO_PDFIUM.to_owned()),
    }
}

fn scanned(config: &Config) -> Finding {
    match recognition(config) {
        Some(languages) => Finding::Fine(format!("tesseract reads them in {languages}")),
        None => Finding::Missing(
            "they are named in the ledger and not read; install tesseract-ocr and its languages to read them"
                .to_owned(),
        ),
    }
}

async fn embedding(parts: &Parts<'_>) -> Finding {
    let checked = async {
        let Some(embedder) = parts.embedder(&caller()).await? else {
            return anyhow::Ok(Finding::Missing(NO_EMBEDDING.to_owned()));
        };
        let vectors = embedder
            .embed(&caller(), Purpose::Query, &["What is the duty rate?", "¿Cuál es el arancel?"])
            .await?;
        let (dimensions, name) = (vectors.dimensions(), embedder.name());
        Ok(Finding::Fine(format!("{name} runs, and gives vectors of {dimensions} dimensions")))
    };
    let help = "`ibid models pull` brings a model that runs here, and what it needs";
    checked.await.unwrap_or_else(|error| Finding::wrong(&error, help))
}

async fn reranking(parts: &Parts<'_>) -> Finding {
    let checked = async {
        let Some(reranker) = parts.reranker()? else {
            return anyhow::Ok(Finding::Missing("nothing is reranked, which is fine".to_owned()));
        };
        reranker
            .rerank(&caller(), "What is the duty rate?", &["The rate is 2 %.", "Lamps give light."])
            .await?;
        Ok(Finding::Fine(format!("{} runs", reranker.name())))
    };
    let help = "mend `rerank` in ibid.toml, or take it out: reranking is optional";
    checked.await.unwrap_or_else(|error| Finding::wrong(&error, help))
}
