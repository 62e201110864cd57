//! Questions put in several ways by the small model of the tests, with the prompt that assistants use.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use futures_util::StreamExt;
use ibid_assistants::{Language, Prompts};
use ibid_core::Tenant;
use ibid_core::model::{Caller, ChatModel, ChatPart, ChatRequest, Prompt};
use ibid_models::{Chat, ChatSettings, Provider, ProviderSettings, RemoteChat};
use ibid_testkit::RealServer;
use serde_json::json;

/// Each question with two other ways to put it, kept for the next time.
pub(super) async fn of(
    set: &str,
    language: &str,
    questions: &[&str],
) -> anyhow::Result<BTreeMap<String, Vec<String>>> {
    let file = folder()?.join(format!("{set}-phrasings.json"));
    let mut known = read(&file);
    if questions.iter().all(|question| known.contains_key(*question)) {
        return Ok(known);
    }
    let server = tokio::task::spawn_blocking(RealServer::large).await?;
    let provider = Provider::new(ProviderSettings::new("small", &server.url()), None)?;
    let model = Chat::new(RemoteChat::new(provider, ChatSettings::new("small", "small")), Vec::new());
    let prompts = Prompts::new(&BTreeMap::new()).map_err(|problems| anyhow::anyhow!("{problems:?}"))?;
    let language = Language::all().find(|known| known.code() == language).unwrap_or_else(Language::english);
    for (at, question) in questions.iter().enumerate().filter(|(_, question)| !question.is_empty()) {
        if known.contains_key(*question) {
            continue;
        }
        let variables = json!({ "conversation": "", "question": question, "others": 2 });
        let prompt = prompts.render("condense", language, variables)?;
        let mut request = ChatRequest::new(Caller::chat(Tenant::local()), vec![Prompt::User(prompt)]);
        (request.temperature, request.max_output_tokens) = (Some(0.0), Some(160));
        let mut parts = model.chat(request).await?;
        let mut text = String::new();
        while let Some(part) = parts.next().await {
            if let ChatPart::Text(piece) = part? {
                text.push_str(&piece);
            }
        }
        let plain = |line: &str| {
            line.trim_start_matches(|letter: char| letter.is_ascii_digit() || ". )-".contains(letter))
                .to_owned()
        };
        let lines = text.lines().map(plain).filter(|line| line.len() > 8 && line != question);
        known.insert((*question).to_owned(), lines.take(2).collect());
        std::fs::write(&file, serde_json::to_vec(&known)?)?;
        eprintln!("{set}: question {} of {} put in other ways", at + 1, questions.len());
    }
    Ok(known)
}

fn read(file: &Path) -> BTreeMap<String, Vec<String>> {
    std::fs::read(file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

/// Where what takes long is kept.
pub(super) fn folder() -> anyhow::Result<PathBuf> {
    let folder = PathBuf::from(std::env::var("HOME").context("HOME is not set")?).join(".cache/ibid/eval");
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}
