//! `ibid ask`: one turn.

use std::process::ExitCode;

use anyhow::{Context, bail};
use ibid_core::{Message, ThreadId};
use ibid_engine::{Assistants, Engine, EngineFile, LocalEngine, MessageWindow, Turn};

use super::talk::{Printer, Rest};
use super::{caller, runtime, scope};
use crate::arguments::Ask;
use crate::assistants::{DEFAULT, Lineup, rehearsing};
use crate::config::Config;
use crate::library::Library;
use crate::rehearsal;

/// The documents do not hold the answer.
const UNANSWERED: u8 = 2;

/// Asks, and prints the answer.
pub(super) fn run(config: &Config, ask: &Ask) -> anyhow::Result<ExitCode> {
    let (assistant, message) = match ask.words.as_slice() {
        [message] => (assistant_of(config, ask.thread).unwrap_or_else(|| DEFAULT.to_owned()), message),
        [assistant, message] => (assistant.clone(), message),
        _ => bail!("say what to ask, perhaps after the name of an assistant"),
    };
    runtime()?.block_on(async {
        let assistants = answering(config, &assistant).await?;
        let engine = LocalEngine::open(&config.engine_file(), assistants, config.engine_settings())
            .await
            .context("the conversation cannot be kept, so nothing was asked")?;
        let thread = ask.thread.unwrap_or_else(ThreadId::new);
        let mut turn = Turn::new(thread, &assistant, Message::user(message));
        for (name, value) in [("mode", &ask.mode), ("format", &ask.format)] {
            if let Some(value) = value {
                turn.options.insert(name.to_owned(), value.as_str().into());
            }
        }
        let scope = scope().holding(ask.label.iter().cloned());
        let run = engine.submit(&scope, turn).await?.run;
        let fields = ask.format.as_deref().is_some_and(|format| format != "text");
        let printer = Printer { engine: &engine, scope: &scope, json: ask.json, fields };
        let heard = printer.follow(thread, run, 0, None).await;
        engine.close().await;
        if !ask.json {
            eprintln!("\ngo on with: ibid ask --thread {thread} \"…\"");
        }
        match heard?.0 {
            Rest::Asked(question) => {
                bail!("the assistant asks {question}; answer it in `ibid chat --thread {thread}`")
            }
            Rest::Ended(Some(message)) if message.extra.contains_key("unanswered") => {
                Ok(ExitCode::from(UNANSWERED))
            }
            Rest::Ended(_) => Ok(ExitCode::SUCCESS),
        }
    })
}

/// Whoever answered last in a conversation answers again.
pub(super) fn assistant_of(config: &Config, thread: Option<ThreadId>) -> Option<String> {
    let window = MessageWindow { before: None, limit: 1 };
    let conversation = EngineFile::at(&config.engine_file()).thread(&scope(), thread?, window).ok()?;
    let answered = conversation.runs.iter().rev().find(|run| !run.assistant.is_empty());
    answered.map(|run| run.assistant.clone())
}

/// Those who can answer. One that needs neither model nor documents is there without them.
pub(super) async fn answering(config: &Config, wanted: &str) -> anyhow::Result<Assistants> {
    if wanted == rehearsal::NAME {
        let only = Lineup { ready: vec![rehearsing()?], left_out: Vec::new() };
        return Ok(only.assistants());
    }
    crate::assistants::find(config, wanted)?;
    let library = Library::open(config, &caller()).await?;
    let lineup = Lineup::of(config, &library, |name| name == wanted).await?;
    let assistants = lineup.assistants();
    for (name, error) in lineup.left_out {
        if name == wanted {
            return Err(error);
        }
        tracing::debug!("the assistant {name} is left out: {error:#}");
    }
    Ok(assistants)
}
