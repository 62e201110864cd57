//! `ibid threads`: conversations, in the file of this machine or at a server.

mod source;

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, bail};
use ibid_core::{Role, ThreadId};
use jiff::Timestamp;
use serde_json::json;

use super::{confirmed, counted, printable, runtime};
use crate::arguments::{Threads, ThreadsCommand};
use crate::place::Place;
use ibid_app::{OfflineThreads, Settings};
use source::{Listed, Shown, ThreadSource};

/// Lists, shows or deletes conversations.
pub(super) fn run(config: &Settings, threads: &Threads) -> anyhow::Result<ExitCode> {
    runtime()?.block_on(run_at(config, threads))
}

async fn run_at(config: &Settings, threads: &Threads) -> anyhow::Result<ExitCode> {
    let (command, path) = (&threads.command, config.engine_file());
    let source = match Place::of(config, &threads.target, &[]).await? {
        Place::Server(client) => ThreadSource::Server(client),
        Place::Here(scope) => {
            let Some(threads) = OfflineThreads::open(config).await? else {
                if let ThreadsCommand::List { json: false, .. } = command {
                    writeln!(std::io::stdout(), "No conversations yet. Begin one with: ibid ask \"…\"")?;
                }
                return match command {
                    ThreadsCommand::List { .. } => Ok(ExitCode::SUCCESS),
                    ThreadsCommand::Show { thread, .. } | ThreadsCommand::Delete { thread, .. } => {
                        bail!("there is no thread {thread}: {} does not exist", path.display())
                    }
                };
            };
            ThreadSource::Folder(threads, scope)
        }
    };
    match command {
        ThreadsCommand::List { limit, after, json } => list(&source, *limit, *after, *json).await,
        ThreadsCommand::Show { thread, limit, json } => show(&source, *thread, *limit, *json).await,
        ThreadsCommand::Delete { thread, yes } => delete(&source, *thread, *yes).await,
    }
}

async fn list(
    source: &ThreadSource,
    limit: usize,
    after: Option<ThreadId>,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    let threads = source.list(limit, after).await?;
    if json {
        for thread in &threads {
            writeln!(out, "{}", described(thread))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "{:36}  {:16}  {:>8}  TITLE", "THREAD", "LAST USED", "MESSAGES")?;
    for Listed { id, title, messages, updated, .. } in &threads {
        writeln!(out, "{id}  {:16}  {messages:>8}  {}", minute(*updated), printable(title))?;
    }
    if let Some(last) = threads.last().filter(|_| threads.len() == limit) {
        writeln!(out, "\nThere may be more: ibid threads list --after {}", last.id)?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn show(source: &ThreadSource, thread: ThreadId, limit: usize, json: bool) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    let Shown { of, messages, turns } = source.show(thread, limit).await?;
    let earlier = of.messages.saturating_sub(messages.len() as u64);
    if json {
        for (position, message) in (earlier..).zip(&messages) {
            let mut object = serde_json::to_value(message)?;
            object["position"] = json!(position);
            writeln!(out, "{object}")?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(
        out,
        "{}\n{}, begun {}",
        printable(&of.title),
        counted(of.messages, "message"),
        minute(of.created)
    )?;
    if earlier > 0 {
        writeln!(out, "({earlier} earlier messages; see them with --limit {})", of.messages)?;
    }
    for message in messages {
        let who = match message.role {
            Role::User => "you",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
            Role::System => "system",
        };
        writeln!(out, "\n{who}:\n{}", printable(&message.text))?;
    }
    for turn in turns {
        writeln!(out, "\n{}", printable(&turn))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn delete(source: &ThreadSource, thread: ThreadId, yes: bool) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    let found = source.show(thread, 0).await?.of;
    let title = printable(&found.title);
    let question = format!("`{title}` with its {}", counted(found.messages, "message"));
    if !yes && !confirmed(&title, &question)? {
        return Ok(ExitCode::SUCCESS);
    }
    source.delete(thread).await.context("the conversation was not deleted")?;
    writeln!(out, "Deleted {thread}.")?;
    Ok(ExitCode::SUCCESS)
}

fn described(thread: &Listed) -> serde_json::Value {
    json!({
        "id": thread.id,
        "title": thread.title,
        "messages": thread.messages,
        "created": second(thread.created),
        "updated": second(thread.updated),
    })
}

fn second(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn minute(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M").to_string()
}
