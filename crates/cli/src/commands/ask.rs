//! `ibid ask`: one turn.

use std::process::ExitCode;

use anyhow::bail;
use ibid_app::Settings;
use ibid_core::ThreadId;

use super::printer::{Printer, TurnEnd};
use super::runtime;
use crate::arguments::Ask;
use crate::conversations::Conversations;
use crate::place::Place;

/// The documents do not hold the answer.
const UNANSWERED: u8 = 2;

/// Asks, and prints the answer.
pub(super) fn run(config: &Settings, ask: &Ask) -> anyhow::Result<ExitCode> {
    let (assistant, question) = match ask.words.as_slice() {
        [question] => (None, question),
        [assistant, question] => (Some(assistant.clone()), question),
        _ => bail!("say what to ask, perhaps after the name of an assistant"),
    };
    runtime()?.block_on(async {
        let place = Place::to_run(config, &ask.target, &ask.label).await?;
        let conversations = Conversations::open(config, place, assistant, ask.thread).await?;
        let thread = ask.thread.unwrap_or_else(ThreadId::new);
        let options = ask.narrowing.options().with(ask.mode.clone(), ask.format.clone());
        let run = conversations.ask(thread, question, options).await?;
        let fields = ask.format.as_deref().is_some_and(|format| format != "text");
        let printer = Printer { conversations: &conversations, thread, json: ask.json, fields };
        let ended = printer.follow(run, 0, None).await;
        conversations.close().await;
        if !ask.json {
            eprintln!("\ngo on with: ibid ask --thread {thread} \"…\"");
        }
        match ended?.0 {
            TurnEnd::Interrupted(question) => {
                bail!("the assistant asks {question}; answer it in `ibid chat --thread {thread}`")
            }
            TurnEnd::Ended(Some(message))
                if message.metadata.as_ref().is_some_and(|metadata| metadata.unanswered) =>
            {
                Ok(ExitCode::from(UNANSWERED))
            }
            TurnEnd::Ended(_) => Ok(ExitCode::SUCCESS),
        }
    })
}
