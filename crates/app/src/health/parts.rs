//! Whether one part works, and what helps if it does not.

use std::path::Path;

use ibid_core::Tenant;
use ibid_core::model::{Caller, Embedder, Grounding, Purpose, Reranker};
use ibid_engine::{EngineFile, FileReport};
use ibid_models::Provider;
use ibid_models::pull::{Library, ONNX_RUNTIME, PDFIUM};

use super::CheckResult;
use super::network::network_file_system;
use crate::Error;
use crate::models::find_onnx_runtime;
use crate::settings::Settings;
use crate::store::{NO_PDFIUM, find_pdfium, reader, recognition_languages};

const PULL: &str = "`ibid models pull` brings a model that runs here, and what it needs";
const NOT_RERANKED: &str = "nothing is reranked, which is fine";
const MEND_GROUNDING: &str =
    "mend `grounding` in ibid.toml, or take it out: the small model checks sentences, too";
const MEND_RERANKER: &str = "mend `rerank` in ibid.toml, or take it out: reranking is optional";

/// What is wrong with a data folder that other machines hold.
pub(crate) const ON_NETWORK: &str =
    "a database there may be damaged when two processes open it or when the connection breaks";
const OFF_NETWORK: &str =
    "set `data` to a folder on a disk of this machine; documents may be kept elsewhere with `store.location`";

/// Whether the data folder can be written.
pub fn data_folder_check(path: &Path) -> CheckResult {
    let shown = path.display();
    if !path.exists() {
        return CheckResult::fine(format!("{shown} is not there yet; it is made when it is needed"));
    }
    let probe = path.join(format!(".doctor-{}", std::process::id()));
    let written = std::fs::write(&probe, b"ibid").and_then(|()| std::fs::remove_file(&probe));
    match written {
        Ok(()) => match network_file_system(path) {
            Some(kind) => CheckResult::wrong(format!("{shown} lies on {kind}: {ON_NETWORK}"), OFF_NETWORK),
            None => CheckResult::fine(format!("{shown} can be written")),
        },
        Err(error) => CheckResult::wrong(
            format!("{shown} cannot be written: {error}"),
            "give this user the right to write there, or set `data` to another folder",
        ),
    }
}

/// With less room than this on a disk, nothing more is accepted: a turn, its journal and its answer must fit.
const LEAST_FREE: u64 = 64 << 20;

/// Whether there is room for conversations and documents.
pub fn disk_check(path: &Path) -> CheckResult {
    // What is not there yet is made on the disk of the folder above it.
    let Some(there) = path.ancestors().find(|folder| folder.exists()) else {
        return CheckResult::fine("its disk is not known yet");
    };
    match rustix::fs::statvfs(there) {
        // Some file systems do not know.
        Ok(disk) if disk.f_blocks == 0 => CheckResult::fine("how much room there is, its disk does not tell"),
        Ok(disk) => room(path, disk.f_bavail.saturating_mul(disk.f_frsize)),
        Err(error) => CheckResult::wrong(
            format!("the disk of {} does not answer: {error}", path.display()),
            "see whether it is mounted",
        ),
    }
}

fn room(path: &Path, free: u64) -> CheckResult {
    let shown = format!("{} MB are free on the disk of {}", free >> 20, path.display());
    if free >= LEAST_FREE {
        return CheckResult::fine(shown);
    }
    CheckResult::wrong(
        format!("only {shown}, so that conversations and documents may not be kept"),
        "make room there, or set `data` to a folder on another disk",
    )
}

/// What confines the processes that read documents.
pub async fn sandbox_check(settings: &Settings) -> CheckResult {
    let help = "see the section on the sandbox in docs/documents.md";
    let own = settings.clone();
    let made = tokio::task::spawn_blocking(move || reader(&own)).await;
    let reader = match made.map_err(Error::other).flatten() {
        Ok(reader) => reader,
        Err(error) => return CheckResult::wrong(error.chain(), help),
    };
    match reader.sandbox().await {
        Ok(status) => CheckResult::fine(format!("documents are read in a process where {status}")),
        Err(failure) => CheckResult::wrong(failure.to_string(), help),
    }
}

/// Whether the engine's file is sound, and what it holds.
pub fn engine_file_check(settings: &Settings) -> CheckResult {
    let path = settings.engine_file();
    let shown = path.display();
    if !path.exists() {
        return CheckResult::fine(format!(
            "{shown} is not there yet; it is made with the first conversation"
        ));
    }
    match EngineFile::at(&path).inspect() {
        Ok(report) if report.damage.is_empty() => CheckResult::fine(format!(
            "{shown} is sound: {} conversations, {} unfinished turns{}, {} KB, schema {}, {}",
            report.threads,
            report.unfinished,
            set_aside(&report),
            report.bytes / 1024,
            report.schema,
            if report.in_use { "in use by a running ibid" } else { "not in use" },
        )),
        Ok(report) => CheckResult::wrong(
            format!("{shown} is damaged: {}", report.damage.join("; ")),
            "stop ibid, keep a copy of the file, and restore it from a backup",
        ),
        Err(error) => CheckResult::wrong(
            Error::from(error).chain(),
            "set `data` to another folder, or put the right file there",
        ),
    }
}

/// What was set aside, in words.
fn set_aside(report: &FileReport) -> String {
    match report.set_aside.as_slice() {
        [] => String::new(),
        [(run, why), others @ ..] => format!(
            ", {} set aside because they ended their process (the last one, run {run}: {why})",
            others.len() + 1
        ),
    }
}

/// What became of loads that ended their process; none if there are none.
pub fn set_aside_loads_check(settings: &Settings) -> Option<CheckResult> {
    let path = settings.ingestion_file();
    let report = path.exists().then(|| EngineFile::at(&path).inspect().ok()).flatten()?;
    let (run, why) = report.set_aside.first()?;
    Some(CheckResult::wrong(
        format!("{} were set aside; the last one, run {run}: {why}", report.set_aside.len()),
        "`ibid documents list` names them; load each again by itself, or leave it out",
    ))
}

/// Whether PDFs can be read.
pub fn pdf_check(settings: &Settings) -> CheckResult {
    match find_pdfium(settings) {
        Some(path) if path.is_file() => {
            CheckResult::fine(format!("PDFium at {}{}", path.display(), outdated(&PDFIUM, &path, settings)))
        }
        Some(path) => CheckResult::wrong(
            format!("{} is not there", path.display()),
            "set `ingest.pdfium` to the file libpdfium.so",
        ),
        None => CheckResult::missing(NO_PDFIUM),
    }
}

/// What is to be said of a library that was fetched for an earlier version of ibid.
fn outdated(library: &Library, path: &Path, settings: &Settings) -> String {
    if !library.earlier(&settings.models_folder()).iter().any(|earlier| earlier == path) {
        return String::new();
    }
    let version = library.version_name();
    format!(", which an earlier ibid fetched; `ibid models pull` brings {version}, the one for this ibid")
}

/// What runs models here, if an earlier ibid fetched it.
pub fn outdated_runtime_check(settings: &Settings) -> Option<CheckResult> {
    let path = find_onnx_runtime(settings)?;
    let outdated = outdated(&ONNX_RUNTIME, &path, settings);
    (!outdated.is_empty()).then(|| CheckResult::fine(format!("ONNX Runtime at {}{outdated}", path.display())))
}

/// Whether scanned pages can be read.
pub fn recognition_check(settings: &Settings) -> CheckResult {
    match recognition_languages(settings) {
        Some(languages) => CheckResult::fine(format!("tesseract reads them in {languages}")),
        None => CheckResult::missing(
            "they are named in the ledger and not read; install tesseract-ocr and its languages to read them",
        ),
    }
}

/// Whether a provider answers.
pub async fn provider_check(provider: &Provider) -> CheckResult {
    match provider.models().await {
        Ok(models) => {
            let plural = if models.len() == 1 { "" } else { "s" };
            CheckResult::fine(format!("answers, and lists {} model{plural}", models.len()))
        }
        Err(error) => CheckResult::wrong(
            Error::other(error).chain(),
            "check its address and its key, and that it is running",
        ),
    }
}

/// Whether the embedding model works.
pub async fn embedding_check(embedder: &dyn Embedder) -> CheckResult {
    let texts = ["What is the duty rate?", "¿Cuál es el arancel?"];
    match embedder.embed(&Caller::chat(Tenant::local()), Purpose::Query, &texts).await {
        Ok(vectors) => {
            let (dimensions, name) = (vectors.dimensions(), embedder.name());
            CheckResult::fine(format!("{name} runs, and gives vectors of {dimensions} dimensions"))
        }
        Err(error) => CheckResult::wrong(Error::other(error).chain(), PULL),
    }
}

/// Whether the reranker works, if there is one.
pub async fn reranking_check(reranker: Option<&dyn Reranker>) -> CheckResult {
    let Some(reranker) = reranker else { return CheckResult::missing(NOT_RERANKED) };
    let texts = ["The rate is 2 %.", "Lamps give light."];
    match reranker.rerank(&Caller::chat(Tenant::local()), "What is the duty rate?", &texts).await {
        Ok(_) => CheckResult::fine(format!("{} runs", reranker.name())),
        Err(error) => CheckResult::wrong(Error::other(error).chain(), MEND_RERANKER),
    }
}

/// Whether the model works that checks sentences against sources.
pub async fn grounding_check(grounding: &dyn Grounding) -> CheckResult {
    let pairs = [("The rate is 2 %.", "It has a rate.")];
    match grounding.support(&Caller::chat(Tenant::local()), &pairs).await {
        Ok(_) => CheckResult::fine(format!("{} runs", grounding.name())),
        Err(error) => CheckResult::wrong(Error::other(error).chain(), MEND_GROUNDING),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_with_what_helps() {
        let of = |free| room(Path::new("/data"), free);
        assert!(matches!(of(LEAST_FREE), CheckResult::Fine { .. }));
        let CheckResult::Wrong { what, help } = of(LEAST_FREE - 1) else { panic!("it is full") };
        assert!(
            what.starts_with("only 63 MB are free on the disk of /data") && help.contains("`data`"),
            "{what}"
        );
        let there = tempfile::tempdir().unwrap();
        assert!(matches!(disk_check(&there.path().join("not/yet")), CheckResult::Fine { .. }));
    }
}
