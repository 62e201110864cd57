//! `ibid ask`: one turn. The answer comes on standard output as it is written, what goes on meanwhile on standard error.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use anyhow::{Context, bail};
use futures_util::StreamExt;
use ibid_core::{Message, Role, RunId, Scope, ThreadId};
use ibid_engine::{Assistants, Engine, EngineFile, LocalEngine, MessageWindow, Stop, Turn};
use ibid_graph::Kind;
use serde_json::Value;

use super::{caller, printable, runtime, scope};
use crate::arguments::Ask;
use crate::assistants::{DEFAULT, Lineup, rehearsing};
use crate::config::Config;
use crate::library::Library;
use crate::rehearsal;

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
        let printer = Printer { engine: &engine, scope: &scope, ask };
        let code = printer.follow(thread, run).await;
        engine.close().await;
        if !ask.json {
            eprintln!("\ngo on with: ibid ask --thread {thread} \"…\"");
        }
        code
    })
}

/// Whoever answered last in a conversation answers again.
fn assistant_of(config: &Config, thread: Option<ThreadId>) -> Option<String> {
    let window = MessageWindow { before: None, limit: 1 };
    let conversation = EngineFile::at(&config.engine_file()).thread(&scope(), thread?, window).ok()?;
    let answered = conversation.runs.iter().rev().find(|run| !run.assistant.is_empty());
    answered.map(|run| run.assistant.clone())
}

/// Those who can answer. One that needs neither model nor documents is there without them.
async fn answering(config: &Config, wanted: &str) -> anyhow::Result<Assistants> {
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

struct Printer<'a> {
    engine: &'a LocalEngine,
    scope: &'a Scope,
    ask: &'a Ask,
}

impl Printer<'_> {
    async fn follow(&self, thread: ThreadId, run: RunId) -> anyhow::Result<ExitCode> {
        let mut events = self.engine.events(self.scope, run, 0).await?;
        let mut told = Told::default();
        loop {
            let event = tokio::select! {
                event = events.next() => event,
                _ = tokio::signal::ctrl_c() => {
                    eprintln!("\nstopping; what there is will be kept");
                    self.engine.stop(self.scope, run, Stop::Keep).await?;
                    continue;
                }
            };
            let Some(event) = event else { return Ok(ExitCode::SUCCESS) };
            let event = event?;
            if self.ask.json {
                writeln!(std::io::stdout(), "{}", serde_json::to_string(&event)?)?;
            }
            match event.what.kind {
                Kind::Asked { question } => {
                    bail!("the assistant asks {question}, which this command cannot answer");
                }
                Kind::Ended { error: Some(error), .. } => bail!("the turn failed: {error}"),
                Kind::Ended { .. } => return self.finish(thread, &told).await,
                kind if !self.ask.json => self.tell(&mut told, event.what.step, kind)?,
                _ => {}
            }
        }
    }

    fn tell(&self, told: &mut Told, step: u32, kind: Kind) -> anyhow::Result<()> {
        match kind {
            Kind::Status { text } => {
                told.end_line()?;
                eprintln!("· {}", printable(&text));
            }
            // Fields are printed whole, when they are complete; and so is everything that nobody watches.
            Kind::Token { .. } if self.has_fields() || !std::io::stdout().is_terminal() => {}
            Kind::Token { text } => told.token(step, &printable(&text))?,
            Kind::Data { name, .. } if name == "again" => told.again()?,
            Kind::Data { name, value } if name == "plan" && told.plan != value => {
                told.plan = value.clone();
                for step in value.as_array().into_iter().flatten() {
                    let mark = if step["done"] == true { "x" } else { " " };
                    let (number, text) = (&step["number"], step["description"].as_str().unwrap_or_default());
                    eprintln!("  [{mark}] {number}. {}", printable(text));
                }
            }
            Kind::Data { name, value } if name == "tool_call" => {
                let name = printable(value["name"].as_str().unwrap_or_default());
                eprintln!("  > {name} {}", printable(&value["arguments"].to_string()));
            }
            Kind::Data { name, value } if name == "tool_result" && value["error"].is_string() => {
                eprintln!("  ! {}", printable(value["error"].as_str().unwrap_or_default()));
            }
            Kind::Retrying { error, after_ms } => {
                told.again()?;
                eprintln!("· {error}; again in {after_ms} ms");
            }
            Kind::Restarted { reason } => eprintln!("· beginning again: {reason}"),
            _ => {}
        }
        Ok(())
    }

    fn has_fields(&self) -> bool {
        self.ask.format.as_deref().is_some_and(|format| format != "text")
    }

    /// What the answer rests on, and what is wrong with it.
    async fn finish(&self, thread: ThreadId, told: &Told) -> anyhow::Result<ExitCode> {
        let window = MessageWindow { before: None, limit: 1 };
        let last = self.engine.messages(self.scope, thread, window).await?.pop();
        let Some(message) = last.map(|said| said.message).filter(|said| said.role == Role::Assistant) else {
            eprintln!("nothing was said");
            return Ok(ExitCode::SUCCESS);
        };
        let mut out = std::io::stdout().lock();
        if self.ask.json {
            writeln!(out, "{}", serde_json::json!({ "message": message }))?;
            return Ok(ExitCode::SUCCESS);
        }
        let text = printable(&message.text);
        if let Some(structured) = message.extra.get("structured") {
            writeln!(out, "{}", printable(&serde_json::to_string_pretty(structured)?))?;
        } else if let Some(rest) = text.strip_prefix(told.text.trim_end()) {
            writeln!(out, "{rest}")?;
        } else {
            // What was said in the end is not what was heard on the way: a mark was taken out.
            writeln!(out, "\n\n{text}")?;
        }
        for citation in message.extra.get("citations").and_then(Value::as_array).into_iter().flatten() {
            writeln!(out, "{}", cited(citation))?;
        }
        for warning in message.extra.get("warnings").and_then(Value::as_array).into_iter().flatten() {
            writeln!(out, "! {}", printable(warning["text"].as_str().unwrap_or_default()))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A citation on one line.
fn cited(citation: &Value) -> String {
    let text = |name: &str| printable(citation[name].as_str().unwrap_or_default());
    let page = citation["page"].as_u64().map(|page| format!(", page {page}")).unwrap_or_default();
    let found = match citation["found"].as_str() {
        Some("exact") => "quoted exactly",
        Some("fuzzy") => "quoted with small differences",
        Some("not_found") => "NOT FOUND on the page",
        _ => "not quoted; the nearest words",
    };
    format!("[{}] {}{page}, {found}: {}", citation["source"], text("title"), text("snippet"))
}

/// What was printed of the answer.
#[derive(Default)]
struct Told {
    step: u32,
    text: String,
    plan: Value,
}

impl Told {
    fn token(&mut self, step: u32, text: &str) -> std::io::Result<()> {
        if step != self.step && !self.text.is_empty() {
            self.again()?;
        }
        self.step = step;
        self.text.push_str(text);
        write!(std::io::stdout(), "{text}")?;
        std::io::stdout().flush()
    }

    /// What was said so far is said anew.
    fn again(&mut self) -> std::io::Result<()> {
        self.end_line()?;
        self.text.clear();
        Ok(())
    }

    fn end_line(&self) -> std::io::Result<()> {
        if !self.text.is_empty() {
            writeln!(std::io::stdout())?;
        }
        Ok(())
    }
}
