//! `ibid threads`

use std::io::Write;
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::{Context, bail};
use ibid_core::{Role, ThreadId};
use ibid_engine::{Conversation, EngineFile, MessageWindow, RunStatus, Said, Thread, ThreadPage};
use serde_json::json;

use super::{confirmed, printable, scope};
use crate::arguments::Threads;
use crate::config::Config;

/// Lists, shows or deletes conversations.
pub(super) fn run(config: &Config, command: &Threads) -> anyhow::Result<ExitCode> {
    let path = config.engine_file();
    if !path.exists() {
        if let Threads::List { json: false, .. } = command {
            writeln!(std::io::stdout(), "No conversations yet. Begin one with: ibid ask \"…\"")?;
        }
        return match command {
            Threads::List { .. } => Ok(ExitCode::SUCCESS),
            Threads::Show { thread, .. } | Threads::Delete { thread, .. } => {
                bail!("there is no thread {thread}: {} does not exist", path.display())
            }
        };
    }
    let file = EngineFile::at(&path);
    match command {
        Threads::List { limit, after, json } => list(&file, *limit, *after, *json),
        Threads::Show { thread, limit, json } => show(&file, *thread, *limit, *json),
        Threads::Delete { thread, yes } => delete(&file, *thread, *yes),
    }
}

fn list(file: &EngineFile, limit: usize, after: Option<ThreadId>, json: bool) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    let none = MessageWindow { before: None, limit: 0 };
    let after = after.map(|id| anyhow::Ok(file.thread(&scope(), id, none)?.thread.place())).transpose()?;
    let threads = file.threads(&scope(), ThreadPage { after, ..ThreadPage::first(limit) })?;
    if json {
        for thread in &threads {
            writeln!(out, "{}", described(thread))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "{:36}  {:16}  {:>8}  TITLE", "THREAD", "LAST USED", "MESSAGES")?;
    for thread in &threads {
        writeln!(
            out,
            "{}  {:16}  {:>8}  {}",
            thread.id,
            minute(thread.updated),
            thread.messages,
            printable(&thread.title)
        )?;
    }
    if let Some(last) = threads.last().filter(|_| threads.len() == limit) {
        writeln!(out, "\nThere may be more: ibid threads list --after {}", last.id)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn show(file: &EngineFile, thread: ThreadId, limit: usize, json: bool) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    let window = MessageWindow { before: None, limit };
    let Conversation { thread: found, messages, runs } = file.thread(&scope(), thread, window)?;
    if json {
        for said in messages {
            let mut object = serde_json::to_value(&said.message)?;
            object["position"] = json!(said.position);
            writeln!(out, "{object}")?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(
        out,
        "{}\n{} messages, begun {}",
        printable(&found.title),
        found.messages,
        minute(found.created)
    )?;
    let earlier = found.messages.saturating_sub(messages.len() as u64);
    if earlier > 0 {
        writeln!(out, "({earlier} earlier messages; see them with --limit {})", found.messages)?;
    }
    for Said { message, .. } in messages {
        let who = match message.role {
            Role::User => "you",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
            Role::System => "system",
        };
        writeln!(out, "\n{who}:\n{}", printable(&message.text))?;
    }
    for run in runs.iter().filter(|run| run.status != RunStatus::Done) {
        let error = run.error.as_ref().map(|error| format!(": {}", printable(error))).unwrap_or_default();
        writeln!(out, "\nturn {} is {}{error}", run.id, run.status.as_str().replace('_', " "))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn delete(file: &EngineFile, thread: ThreadId, yes: bool) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    let window = MessageWindow { before: None, limit: 0 };
    let found = file.thread(&scope(), thread, window)?.thread;
    let title = printable(&found.title);
    let question = format!("`{title}` with its {} messages", found.messages);
    if !yes && !confirmed(&title, &question)? {
        return Ok(ExitCode::SUCCESS);
    }
    file.delete_thread(&scope(), thread).context("the conversation was not deleted")?;
    writeln!(out, "Deleted {thread}.")?;
    Ok(ExitCode::SUCCESS)
}

fn described(thread: &Thread) -> serde_json::Value {
    json!({
        "id": thread.id,
        "title": thread.title,
        "messages": thread.messages,
        "created": second(thread.created),
        "updated": second(thread.updated),
    })
}

fn second(time: SystemTime) -> String {
    timestamp(time, "%Y-%m-%dT%H:%M:%SZ")
}

fn minute(time: SystemTime) -> String {
    timestamp(time, "%Y-%m-%d %H:%M")
}

fn timestamp(time: SystemTime, form: &str) -> String {
    jiff::Timestamp::try_from(time).map_or_else(|_| "?".to_owned(), |stamp| stamp.strftime(form).to_string())
}
