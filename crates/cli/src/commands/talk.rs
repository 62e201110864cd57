//! Telling a run in the terminal.

use std::io::{IsTerminal, Write};
use std::pin::pin;

use anyhow::bail;
use futures_util::StreamExt;
use ibid_core::{Message, Role, RunId, Scope, ThreadId};
use ibid_engine::{Engine, LocalEngine, MessageWindow, Stop};
use ibid_graph::Kind;
use serde_json::Value;

use super::markdown::Styled;
use super::printable;
use super::typed::Typed;

/// Tells what goes on in a run: the answer on standard output as it is written, what goes on meanwhile on standard error.
pub(super) struct Printer<'a> {
    pub(super) engine: &'a LocalEngine,
    pub(super) scope: &'a Scope,
    /// Whether everything is told as JSON, one event on each line.
    pub(super) json: bool,
    /// Whether the answer has fields, which are told when they are complete.
    pub(super) fields: bool,
}

/// How a run came to rest.
pub(super) enum Rest {
    /// It ended, and this was said, if anything was.
    Ended(Option<Message>),
    /// It waits for the answer to a question.
    Asked(Value),
}

impl Printer<'_> {
    /// Follows a run after an event until it rests.
    pub(super) async fn follow(
        &self,
        thread: ThreadId,
        run: RunId,
        after: u64,
        typed: Option<&mut Typed>,
    ) -> anyhow::Result<(Rest, u64)> {
        let mut events = self.engine.events(self.scope, run, after).await?;
        let mut last = after;
        let mut told = Told::default();
        let mut stopped = false;
        let mut stop_wanted = pin!(stop_wanted(typed));
        loop {
            let event = tokio::select! {
                event = events.next() => event,
                () = &mut stop_wanted, if !stopped => {
                    stopped = true;
                    eprintln!("\nstopping; what there is will be kept");
                    self.engine.stop(self.scope, run, Stop::Keep).await?;
                    continue;
                }
            };
            let Some(event) = event else { return Ok((Rest::Ended(None), last)) };
            let event = event?;
            last = event.seq;
            if self.json {
                writeln!(std::io::stdout(), "{}", serde_json::to_string(&event)?)?;
            }
            match event.what.kind {
                Kind::Asked { question } => return Ok((Rest::Asked(question), last)),
                Kind::Ended { error: Some(error), .. } => bail!("the turn failed: {error}"),
                Kind::Ended { .. } => return Ok((Rest::Ended(self.finish(thread, &mut told).await?), last)),
                kind if !self.json => self.tell(&mut told, event.what.step, kind)?,
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
            Kind::Token { .. } if self.fields || !std::io::stdout().is_terminal() => {}
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

    /// What the answer rests on, and what is wrong with it.
    async fn finish(&self, thread: ThreadId, told: &mut Told) -> anyhow::Result<Option<Message>> {
        let window = MessageWindow { before: None, limit: 1 };
        let last = self.engine.messages(self.scope, thread, window).await?.pop();
        let Some(message) = last.map(|said| said.message).filter(|said| said.role == Role::Assistant) else {
            eprintln!("nothing was said");
            return Ok(None);
        };
        let mut out = std::io::stdout().lock();
        if self.json {
            writeln!(out, "{}", serde_json::json!({ "message": message }))?;
            return Ok(Some(message));
        }
        let text = printable(&message.text);
        if let Some(structured) = message.extra.get("structured") {
            writeln!(out, "{}", printable(&serde_json::to_string_pretty(structured)?))?;
        } else if told.text.is_empty() {
            writeln!(out, "{text}")?;
        } else if let Some(rest) = text.strip_prefix(told.text.trim_end()) {
            writeln!(out, "{}{}", told.styled.push(rest), told.styled.end())?;
        } else {
            // What was said in the end is not what was heard on the way: a mark was taken out.
            let (before, mut styled) = (told.styled.end(), Styled::default());
            writeln!(out, "{before}\n\n{}{}", styled.push(&text), styled.end())?;
        }
        for citation in message.extra.get("citations").and_then(Value::as_array).into_iter().flatten() {
            writeln!(out, "{}", cited(citation))?;
        }
        for warning in message.extra.get("warnings").and_then(Value::as_array).into_iter().flatten() {
            writeln!(out, "! {}", printable(warning["text"].as_str().unwrap_or_default()))?;
        }
        Ok(Some(message))
    }
}

/// Waits until somebody wants the answer to stop.
async fn stop_wanted(typed: Option<&mut Typed>) {
    let typed = async {
        match typed {
            Some(typed) => typed.stop().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = typed => {}
    }
}

/// A citation on one line.
pub(super) fn cited(citation: &Value) -> String {
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
    styled: Styled,
    plan: Value,
}

impl Told {
    fn token(&mut self, step: u32, text: &str) -> std::io::Result<()> {
        if step != self.step && !self.text.is_empty() {
            self.again()?;
        }
        self.step = step;
        self.text.push_str(text);
        write!(std::io::stdout(), "{}", self.styled.push(text))?;
        std::io::stdout().flush()
    }

    /// What was said so far is said anew.
    fn again(&mut self) -> std::io::Result<()> {
        self.end_line()?;
        self.text.clear();
        Ok(())
    }

    fn end_line(&mut self) -> std::io::Result<()> {
        if !self.text.is_empty() {
            writeln!(std::io::stdout(), "{}", self.styled.end())?;
        }
        Ok(())
    }
}
