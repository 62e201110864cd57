//! `ibid chat`: a conversation in the terminal.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;
use futures_util::StreamExt;
use ibid_core::{Message, Role, RunId, Scope, ThreadId};
use ibid_engine::{Engine, LocalEngine, MessageWindow, Turn};
use ibid_graph::Kind;
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use serde_json::Value;

use super::ask::{answering, assistant_of};
use super::talk::{Printer, Rest, cited};
use super::typed::Typed;
use super::{printable, runtime, scope};
use crate::arguments::Chat;
use crate::assistants::DEFAULT;
use crate::config::Config;

/// So many messages are exported, and looked at to tell sources.
const MOST: usize = 10_000;

const HELP: &str = "\
/sources          what the last answer rests on
/retry            ask the last question again, and forget its answer
/mode NAME        answer in another of the assistant's modes
/format NAME      answer in another of the assistant's formats
/export FILE      write the conversation down as Markdown
/history          what was said so far
/quit             end; `ibid chat --thread` goes on
/stop or Ctrl-C stops an answer and keeps what there is.";

/// Talks until whoever sits there has enough.
pub(super) fn run(config: &Config, chat: &Chat) -> anyhow::Result<ExitCode> {
    let last = assistant_of(config, chat.thread);
    let assistant = chat.assistant.clone().or(last).unwrap_or_else(|| DEFAULT.to_owned());
    let greeting = crate::assistants::find(config, &assistant).map(|known| known.definition.greeting);
    let runtime = runtime()?;
    let engine = runtime.block_on(async {
        let assistants = answering(config, &assistant).await?;
        let opened = LocalEngine::open(&config.engine_file(), assistants, config.engine_settings()).await;
        opened.context("the conversation cannot be kept, so nothing can be asked")
    })?;
    let thread = chat.thread.unwrap_or_else(ThreadId::new);
    let scope = scope().holding(chat.label.iter().cloned());
    if let Some(greeting) = greeting.ok().filter(|greeting| !greeting.is_empty()) {
        eprintln!("{}", printable(&greeting));
    }
    eprintln!("/help tells what else can be typed.");
    let mut talk = Talk {
        engine: &engine,
        scope,
        thread,
        assistant,
        mode: None,
        format: None,
        asked: None,
        typed: Typed::default(),
    };
    runtime.block_on(talk.take_up())?;
    let history = config.data.join("chat-history");
    let mut editor = DefaultEditor::new()?;
    // Missing is fine: it is made at the end.
    let _ = editor.load_history(&history);
    loop {
        let prompt = if talk.asked.is_some() { "? " } else { "> " };
        let line = if let Some(line) = talk.typed.take() {
            eprintln!("{prompt}{}", printable(&line));
            line
        } else {
            match editor.readline(prompt) {
                Ok(line) => line.trim().to_owned(),
                Err(ReadlineError::Interrupted) => continue,
                Err(ReadlineError::Eof) => break,
                Err(error) => return Err(error.into()),
            }
        };
        if line.is_empty() {
            continue;
        }
        editor.add_history_entry(&line)?;
        if line == "/quit" {
            break;
        }
        if let Err(error) = runtime.block_on(talk.take(&line)) {
            eprintln!("error: {}", crate::told(&error));
        }
    }
    let _ = editor.save_history(&history);
    eprintln!("go on with: ibid chat --thread {}", talk.thread);
    runtime.block_on(engine.close());
    Ok(ExitCode::SUCCESS)
}

struct Talk<'a> {
    engine: &'a LocalEngine,
    scope: Scope,
    thread: ThreadId,
    assistant: String,
    mode: Option<String>,
    format: Option<String>,
    /// A run that waits for an answer, and the last event that was heard of it.
    asked: Option<(RunId, u64)>,
    /// What was typed while an answer came.
    typed: Typed,
}

impl Talk<'_> {
    async fn take(&mut self, line: &str) -> anyhow::Result<()> {
        let (command, rest) = line.split_once(' ').unwrap_or((line, ""));
        match command {
            "/help" => eprintln!("{HELP}"),
            "/stop" => eprintln!("nothing is being answered"),
            "/sources" => self.sources().await?,
            "/history" => self.history(&mut std::io::stdout().lock()).await?,
            "/export" => self.export(rest).await?,
            "/retry" => return self.retry().await,
            "/mode" => self.mode = Some(rest.to_owned()).filter(|name| !name.is_empty()),
            "/format" => self.format = Some(rest.to_owned()).filter(|name| !name.is_empty()),
            unknown if unknown.starts_with('/') => eprintln!("there is no {unknown}\n{HELP}"),
            _ => return self.say(line).await,
        }
        Ok(())
    }

    /// Asks again what an earlier conversation was left with.
    async fn take_up(&mut self) -> anyhow::Result<()> {
        let runs = self.engine.runs(&self.scope, self.thread).await.unwrap_or_default();
        let Some((run, step)) = runs.iter().find_map(|run| Some((run.id, run.asked?))) else { return Ok(()) };
        let mut events = self.engine.events(&self.scope, run, 0).await?;
        while let Some(event) = events.next().await.transpose()? {
            if let Kind::Asked { question } = event.what.kind
                && event.what.step == step
            {
                self.ask(&question, run, event.seq)?;
                break;
            }
        }
        Ok(())
    }

    fn ask(&mut self, question: &Value, run: RunId, last: u64) -> anyhow::Result<()> {
        let question = question.as_str().map_or_else(|| question.to_string(), str::to_owned);
        writeln!(std::io::stdout(), "{}", printable(&question))?;
        self.asked = Some((run, last));
        Ok(())
    }

    async fn say(&mut self, text: &str) -> anyhow::Result<()> {
        let (run, after) = if let Some((run, after)) = self.asked.take() {
            self.engine.answer(&self.scope, run, Value::from(text)).await?;
            (run, after)
        } else {
            let mut turn = Turn::new(self.thread, &self.assistant, Message::user(text));
            for (name, value) in [("mode", &self.mode), ("format", &self.format)] {
                turn.options.extend(value.clone().map(|value| (name.to_owned(), value.into())));
            }
            (self.engine.submit(&self.scope, turn).await?.run, 0)
        };
        let fields = self.format.as_deref().is_some_and(|format| format != "text");
        let printer = Printer { engine: self.engine, scope: &self.scope, json: false, fields };
        if let (Rest::Asked(question), last) =
            printer.follow(self.thread, run, after, Some(&mut self.typed)).await?
        {
            self.ask(&question, run, last)?;
        }
        Ok(())
    }

    async fn said(&self) -> anyhow::Result<Vec<Message>> {
        let window = MessageWindow { before: None, limit: MOST };
        let said = self.engine.messages(&self.scope, self.thread, window).await?;
        Ok(said.into_iter().map(|said| said.message).collect())
    }

    /// What the last answer rests on, each source once.
    async fn sources(&self) -> anyhow::Result<()> {
        let said = self.said().await?;
        let last = said.iter().rev().find(|message| message.role == Role::Assistant);
        let last = last.context("nothing was answered yet")?;
        let list = |name: &str| last.extra.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
        if list("citations").is_empty() && list("sources").is_empty() {
            eprintln!("the last answer rests on no source");
        }
        for citation in list("citations") {
            writeln!(std::io::stdout(), "{}", cited(&citation))?;
        }
        for source in list("sources") {
            let (title, page) = (source["title"].as_str().unwrap_or_default(), &source["page"]);
            writeln!(std::io::stdout(), "[{}] {}, page {page}", source["number"], printable(title))?;
        }
        Ok(())
    }

    /// Takes the last turn back and asks again, in a conversation that has not had it.
    async fn retry(&mut self) -> anyhow::Result<()> {
        self.asked = None;
        let runs = self.engine.runs(&self.scope, self.thread).await?;
        let last =
            runs.iter().rev().find(|run| !run.assistant.is_empty()).context("nothing was asked yet")?;
        let said = self.said().await?;
        let place = usize::try_from(last.input.start)?;
        let question = said.get(place).context("nothing was asked yet")?.text.clone();
        self.thread = self.engine.copy_thread(&self.scope, self.thread, Some(last.input.start)).await?.id;
        self.say(&question).await
    }

    async fn history(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        for message in self.said().await? {
            let who = if message.role == Role::User { "You" } else { "Assistant" };
            writeln!(out, "**{who}:** {}\n", printable(&message.text))?;
            let citations = message.extra.get("citations").and_then(Value::as_array);
            for citation in citations.into_iter().flatten() {
                writeln!(out, "- {}", cited(citation))?;
            }
        }
        Ok(())
    }

    async fn export(&self, file: &str) -> anyhow::Result<()> {
        let file = if file.is_empty() { format!("{}.md", self.thread) } else { file.to_owned() };
        let mut text = Vec::new();
        self.history(&mut text).await?;
        std::fs::write(&file, text).with_context(|| format!("{file} cannot be written"))?;
        eprintln!("the conversation is in {file}");
        Ok(())
    }
}
