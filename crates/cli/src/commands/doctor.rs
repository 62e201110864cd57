//! `ibid doctor`: what is there, what is missing, and what helps.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use ibid_app::{
    CheckResult, KnownAssistant, ModelCatalog, NO_EMBEDDING, Settings, data_folder_check, disk_check,
    embedding_check, engine_database_check, engine_file_check, grounding_check, known_assistants,
    outdated_runtime_check, pdf_check, provider_check, recognition_check, reranking_check, sandbox_check,
    set_aside_loads_check,
};

use super::{caller, runtime};
use crate::config::Loaded;

const PULL: &str = "`ibid models pull` brings a model that runs here, and what it needs";
const NO_CHAT_FOUND: &str = "no chat model is configured, and no Ollama (port 11434), llama.cpp (8080), vLLM (8000) or LM Studio \
    (1234) answers on this machine; start one, or add a model to ibid.toml";
const MEND_RERANKER: &str = "mend `rerank` in ibid.toml, or take it out: reranking is optional";

/// Checks everything, prints one line for each, and fails if something is wrong.
pub(super) fn run(loaded: anyhow::Result<Loaded>) -> anyhow::Result<ExitCode> {
    let version = CheckResult::fine(format!("ibid {}", env!("CARGO_PKG_VERSION")));
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
            findings.push(("configuration".to_owned(), CheckResult::fine(from)));
            findings.push(("data folder".to_owned(), data_folder_check(&loaded.config.data)));
            findings.push(("disk".to_owned(), disk_check(&loaded.config.data)));
            let runtime = runtime()?;
            for cell in loaded.config.cells.keys() {
                let config = loaded.config.of_cell(cell)?;
                let finding = runtime.block_on(engine_database_check(&config));
                findings.extend(finding.map(|finding| (format!("engine database of {cell}"), finding)));
            }
            let is_one = loaded.config.cells.is_empty();
            match is_one.then(|| runtime.block_on(engine_database_check(&loaded.config))).flatten() {
                Some(finding) => findings.push(("engine database".to_owned(), finding)),
                None if !is_one => {}
                None => {
                    findings.push(("engine file".to_owned(), engine_file_check(&loaded.config)));
                    let set_aside = set_aside_loads_check(&loaded.config);
                    findings.extend(set_aside.map(|finding| ("loads".to_owned(), finding)));
                }
            }
            runtime.block_on(models(&loaded.config, &mut findings));
            assistants(&loaded.config, &mut findings);
            findings.push(("sandbox".to_owned(), runtime.block_on(sandbox_check(&loaded.config))));
            findings.push(("PDFs".to_owned(), pdf_check(&loaded.config)));
            let outdated = outdated_runtime_check(&loaded.config);
            findings.extend(outdated.map(|finding| ("ONNX Runtime".to_owned(), finding)));
            findings.push(("scanned pages".to_owned(), recognition_check(&loaded.config)));
        }
    }
    let mut wrong = false;
    let mut out = std::io::stdout().lock();
    for (name, finding) in &findings {
        match finding {
            CheckResult::Fine { what } => writeln!(out, "ok     {name}: {what}")?,
            CheckResult::Missing { what } => writeln!(out, "none   {name}: {what}")?,
            CheckResult::Wrong { what, help } => {
                wrong = true;
                writeln!(out, "WRONG  {name}: {what}\n       help: {help}")?;
            }
        }
    }
    Ok(if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Asks every provider for its models, and runs the models that run here.
async fn models(config: &Settings, findings: &mut Vec<(String, CheckResult)>) {
    let mut find = |name: &str, finding: CheckResult| findings.push((name.to_owned(), finding));
    let models = match ModelCatalog::new(Arc::new(config.clone())) {
        Ok(models) => models,
        Err(error) => return find("providers", wrong(&error.into(), "mend it in ibid.toml")),
    };
    for provider in models.providers() {
        find(&format!("provider {}", provider.name()), provider_check(provider).await);
    }
    for name in config.models.keys() {
        let finding = match models.chat_of(name, Some(name)).await {
            Ok(chat) => CheckResult::fine(format!(
                "can be used, {} tokens at once{}; `ibid models try {name}` asks it",
                chat.first().context_tokens(),
                if chat.first().told_window().is_some() { " as its server says" } else { "" },
            )),
            Err(error) => wrong(&error.into(), "mend it in ibid.toml"),
        };
        find(&format!("model {name}"), finding);
    }
    if config.models.is_empty() {
        let found = models.chat_of("answer", None).await;
        let finding = match (found, models.chat_in_use()) {
            (Ok(chat), Some((provider, model))) => {
                let window = chat.first().context_tokens();
                CheckResult::fine(format!("{model} of {provider} was found, {window} tokens at once"))
            }
            _ => CheckResult::missing(NO_CHAT_FOUND),
        };
        find("model answer", finding);
    }
    find("embedding", embedding(&models).await);
    find("reranking", reranking(&models).await);
    match models.grounding() {
        Ok(None) => {}
        Ok(Some(grounding)) => find("grounding", grounding_check(grounding.as_ref()).await),
        Err(error) => {
            find("grounding", wrong(&error.into(), "mend `grounding` in ibid.toml, or take it out"));
        }
    }
}

/// Says which assistants are not in order.
fn assistants(config: &Settings, findings: &mut Vec<(String, CheckResult)>) {
    let known = match known_assistants(config, &[]) {
        Ok(known) => known,
        Err(error) => {
            return findings.push(("assistants".to_owned(), wrong(&error.into(), "mend the folder")));
        }
    };
    for KnownAssistant { name, assistant, .. } in known {
        if let Err(error) = assistant {
            let help = format!("`ibid assistants check {name}` says what is wrong");
            findings.push((format!("assistant {name}"), wrong(&error.into(), &help)));
        }
    }
}

async fn embedding(models: &ModelCatalog) -> CheckResult {
    match models.embedder(&caller()).await {
        Ok(Some(embedder)) => embedding_check(embedder.as_ref()).await,
        Ok(None) => CheckResult::missing(NO_EMBEDDING),
        Err(error) => wrong(&error.into(), PULL),
    }
}

async fn reranking(models: &ModelCatalog) -> CheckResult {
    match models.reranker() {
        Ok(reranker) => reranking_check(reranker.as_deref()).await,
        Err(error) => wrong(&error.into(), MEND_RERANKER),
    }
}

fn wrong(error: &anyhow::Error, help: &str) -> CheckResult {
    CheckResult::wrong(crate::error_chain(error), help)
}
