//! `ibid ask`: one turn, its answer on standard output as it comes, everything else on standard error.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, bail};
use futures_util::StreamExt;
use ibid_core::{Message, RunId, ThreadId};
use ibid_engine::{Engine, LocalEngine, Turn};
use ibid_graph::Kind;

use super::{printable, runtime, scope};
use crate::arguments::Ask;
use crate::config::Config;
use crate::nearest::hint;
use crate::rehearsal;

/// Asks, and prints the answer.
pub(super) fn run(config: &Config, ask: &Ask) -> anyhow::Result<ExitCode> {
    let assistants = rehearsal::assistants()?;
    if assistants.get(&ask.assistant).is_none() {
        bail!("there is no assistant `{}`; {}", ask.assistant, hint(&ask.assistant, assistants.names()));
    }
    runtime()?.block_on(async {
        let path = config.engine_file();
        let engine = LocalEngine::open(&path, assistants, config.engine_settings())
            .await
            .context("the conversation cannot be kept, so nothing was asked")?;
        let thread = ask.thread.unwrap_or_else(ThreadId::new);
        let turn = Turn::new(thread, &ask.assistant, Message::user(&ask.message));
        let run = engine.submit(&scope(), turn).await?.run;
        let code = print_answer(&engine, run).await;
        engine.close().await;
        eprintln!("\ngo on with: ibid ask --thread {thread} \"…\"");
        code
    })
}

async fn print_answer(engine: &LocalEngine, run: RunId) -> anyhow::Result<ExitCode> {
    let mut events = engine.events(&scope(), run, 0).await?;
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            _ = tokio::signal::ctrl_c() => {
                eprintln!("\nstopping; what there is will be kept");
                engine.stop(&scope(), run).await?;
                continue;
            }
        };
        let Some(event) = event else { return Ok(ExitCode::SUCCESS) };
        match event?.what.kind {
            Kind::Status { text } => eprintln!("· {}", printable(&text)),
            Kind::Token { text } => {
                write!(std::io::stdout(), "{}", printable(&text))?;
                std::io::stdout().flush()?;
            }
            Kind::Retrying { error, after_ms } => eprintln!("· {error}; again in {after_ms} ms"),
            Kind::Restarted { reason } => eprintln!("· beginning again: {reason}"),
            Kind::Asked { question } => {
                bail!("the assistant asks {question}, which this command cannot answer");
            }
            Kind::Ended { error, .. } => {
                writeln!(std::io::stdout())?;
                return match error {
                    Some(error) => bail!("the turn failed: {error}"),
                    None => Ok(ExitCode::SUCCESS),
                };
            }
            _ => {}
        }
    }
}
