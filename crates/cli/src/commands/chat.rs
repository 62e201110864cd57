//! `ibid chat`: a conversation in the terminal.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Context;
use ibid_app::Settings;
use ibid_core::{Message, Role, RunId, ThreadId, TurnOptions, place_in_words};
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use serde_json::Value;

use super::printer::{Printer, TurnEnd, cited};
use super::typed::Typed;
use super::{printable, runtime};
use crate::arguments::Chat;
use crate::conversations::{Conversations, Interrupt};
use crate::place::Place;

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
pub(super) fn run(config: &Settings, chat: &Chat) -> anyhow::Result<ExitCode> {
    let runtime = runtime()?;
    let conversations = runtime.block_on(async {
        let place = Place::to_run(config, &chat.target, &chat.label).await?;
        Conversations::open(config, place, chat.assistant.clone(), chat.thread).await
    })?;
    if !conversations.greeting.is_empty() {
        eprintln!("{}", printable(&conversations.greeting));
    }
    eprintln!("/help tells what else can be typed.");
    let mut talk = Talk {
        conversations: &conversations,
        thread: chat.thread.unwrap_or_else(ThreadId::new),
        narrowing: chat.narrowing.options(),
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
            eprintln!("error: {}", printable(&crate::error_chain(&error)));
        }
    }
    let _ = editor.save_history(&history);
    eprintln!("go on with: ibid chat --thread {}", talk.thread);
    runtime.block_on(conversations.close());
    Ok(ExitCode::SUCCESS)
}

struct Talk<'a> {
    conversations: &'a Conversations,
    thread: ThreadId,
    narrowing: TurnOptions,
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
        match self.conversations.interrupt(self.thread).await? {
            Some(Interrupt { run, seq, question }) => self.ask(&question, run, seq),
            None => Ok(()),
        }
    }

    fn ask(&mut self, question: &Value, run: RunId, last: u64) -> anyhow::Result<()> {
        let mut out = std::io::stdout();
        match question["question"].as_str().or(question.as_str()) {
            Some(text) => writeln!(out, "{}", printable(text))?,
            None => writeln!(out, "{}", printable(&question.to_string()))?,
        }
        for query in question["queries"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            writeln!(out, "  {}", printable(query))?;
        }
        self.asked = Some((run, last));
        Ok(())
    }

    async fn say(&mut self, text: &str) -> anyhow::Result<()> {
        let (run, after) = if let Some((run, after)) = self.asked.take() {
            self.conversations.resume(self.thread, run, text).await?;
            (run, after)
        } else {
            let options = self.narrowing.clone().with(self.mode.clone(), self.format.clone());
            (self.conversations.ask(self.thread, text, options).await?, 0)
        };
        let fields = self.format.as_deref().is_some_and(|format| format != "text");
        let printer = Printer { conversations: self.conversations, thread: self.thread, json: false, fields };
        if let (TurnEnd::Interrupted(question), last) =
            printer.follow(run, after, Some(&mut self.typed)).await?
        {
            self.ask(&question, run, last)?;
        }
        Ok(())
    }

    async fn said(&self) -> anyhow::Result<Vec<Message>> {
        let said = self.conversations.messages(self.thread).await?;
        Ok(said.into_iter().map(|(_, message)| message).collect())
    }

    /// What the last answer rests on, each source once.
    async fn sources(&self) -> anyhow::Result<()> {
        let said = self.said().await?;
        let last = said.iter().rev().find(|message| message.role == Role::Assistant);
        let last = last.context("nothing was answered yet")?;
        let Some(metadata) = &last.metadata else {
            eprintln!("the last answer has no sources");
            return Ok(());
        };
        if metadata.citations.is_empty() && metadata.sources.is_empty() {
            eprintln!("the last answer has no sources");
        }
        for citation in &metadata.citations {
            writeln!(std::io::stdout(), "{}", cited(citation))?;
        }
        for source in &metadata.sources {
            let title = printable(source.title.as_deref().unwrap_or_default());
            let place = source.page.map(|page| place_in_words(source.location.as_ref(), page));
            let place = place.map(|place| format!(", {}", printable(&place))).unwrap_or_default();
            writeln!(std::io::stdout(), "[{}] {title}{place}", source.number)?;
        }
        Ok(())
    }

    /// Takes the last turn back and asks again, in a conversation that has not had it.
    async fn retry(&mut self) -> anyhow::Result<()> {
        self.asked = None;
        let said = self.conversations.messages(self.thread).await?;
        let last = said.iter().rev().find(|(_, message)| message.role == Role::User);
        let (position, question) = last.context("nothing was asked yet")?;
        self.thread = self.conversations.copy_before(self.thread, *position).await?;
        self.say(&question.text).await
    }

    async fn history(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        for message in self.said().await? {
            let who = if message.role == Role::User { "You" } else { "Assistant" };
            writeln!(out, "**{who}:** {}\n", printable(&message.text))?;
            for citation in message.metadata.iter().flat_map(|metadata| &metadata.citations) {
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
