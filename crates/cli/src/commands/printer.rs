//! Prints a turn in the terminal.

use std::io::{IsTerminal, Write};
use std::pin::pin;

use anyhow::bail;
use futures_util::StreamExt;
use ibid_core::answer::{Citation, PlanStep, QuoteMatch};
use ibid_core::event::{DraftAnswer, DraftChange};
use ibid_core::research::{Relevance, ResearchRound};
use ibid_core::{Message, RunId, ThreadId, TurnEvent};
use serde_json::Value;

use super::markdown::Styled;
use super::printable;
use super::typed::Typed;
use crate::conversations::Conversations;

/// How a program ends that was interrupted.
pub(super) const INTERRUPTED: i32 = 130;

/// Prints a turn: the answer on standard output as it is written, what goes on meanwhile on standard error.
pub(super) struct Printer<'a> {
    pub(super) conversations: &'a Conversations,
    pub(super) thread: ThreadId,
    /// Whether everything is printed as JSON, one event on each line.
    pub(super) json: bool,
    /// Whether the answer has fields, which are printed when they are complete.
    pub(super) fields: bool,
}

/// How a turn ended or paused.
pub(super) enum TurnEnd {
    /// It ended, with this answer, if there is one.
    Ended(Option<Message>),
    /// It waits for the answer to a question.
    Interrupted(Value),
}

impl Printer<'_> {
    /// Follows a turn after an event until it ends or asks something.
    pub(super) async fn follow(
        &self,
        run: RunId,
        after: u64,
        typed: Option<&mut Typed>,
    ) -> anyhow::Result<(TurnEnd, u64)> {
        let mut events = self.conversations.events(self.thread, run, after).await?;
        let mut last = after;
        let mut printed = PrintedAnswer::default();
        let mut stopped = false;
        let mut stop_wanted = pin!(stop_wanted(typed));
        let mut interrupted_twice = pin!(interrupted_twice());
        loop {
            let event = tokio::select! {
                event = events.next() => event,
                // Who wants it twice does not wait for the end: what runs goes on with the next command, or at its server.
                () = &mut interrupted_twice => std::process::exit(INTERRUPTED),
                () = &mut stop_wanted, if !stopped => {
                    stopped = true;
                    eprintln!("\nstopping; what there is will be kept");
                    self.conversations.stop(self.thread, run).await?;
                    continue;
                }
            };
            let Some(event) = event else { return Ok((TurnEnd::Ended(None), last)) };
            let event = event?;
            last = event.seq;
            if self.json {
                writeln!(std::io::stdout(), "{}", serde_json::to_string(&event)?)?;
            }
            match event.event {
                TurnEvent::Interrupted { value } => return Ok((TurnEnd::Interrupted(value), last)),
                TurnEvent::Ended { error: Some(error), .. } => {
                    bail!("the turn failed: {}", printable(&error))
                }
                TurnEvent::Ended { message, .. } => {
                    let message = message.map(|message| *message);
                    self.finish(message.as_ref(), &mut printed)?;
                    return Ok((TurnEnd::Ended(message), last));
                }
                other if !self.json => self.print(&mut printed, event.step, event.attempt, &other)?,
                _ => {}
            }
        }
    }

    fn print(
        &self,
        printed: &mut PrintedAnswer,
        step: u32,
        attempt: u32,
        event: &TurnEvent,
    ) -> anyhow::Result<()> {
        // Fields are printed whole, when they are complete; and so is everything that nobody watches.
        if !self.fields && std::io::stdout().is_terminal() {
            printed.draft(step, attempt, event)?;
        }
        match event {
            TurnEvent::Status { text } => {
                printed.end_line()?;
                eprintln!("· {}", printable(text));
            }
            TurnEvent::ModelReading(reading) if std::io::stderr().is_terminal() => {
                let left = reading.seconds_left.map(|left| format!(", about {left} s left"));
                // On the line before, over what was told of it last.
                eprint!("\r\x1b[2K  the model reads {} tokens{}\r", reading.tokens, left.unwrap_or_default());
            }
            TurnEvent::Plan { steps } if printed.plan != *steps => {
                printed.plan.clone_from(steps);
                for PlanStep { number, description, done, .. } in steps {
                    let mark = if *done { "x" } else { " " };
                    eprintln!("  [{mark}] {number}. {}", printable(description));
                }
            }
            TurnEvent::ToolCallStarted(call) => {
                eprintln!("  > {} {}", printable(&call.name), printable(&call.arguments.to_string()));
            }
            TurnEvent::ToolCallFinished(result) => {
                if let Some(error) = &result.error {
                    eprintln!("  ! {}", printable(error));
                }
            }
            TurnEvent::StepRetrying { error, after_ms } => {
                eprintln!("· {}; again in {after_ms} ms", printable(error));
            }
            TurnEvent::DraftWithdrawn { reason } if !reason.is_empty() => {
                printed.end_line()?;
                eprintln!("· withdrawn: {}", printable(reason));
            }
            TurnEvent::Research(ResearchRound { round, grades, verdict: None, .. }) => {
                let kept = grades.iter().filter(|grade| grade.relevance != Relevance::Irrelevant).count();
                eprintln!("· round {round}: {kept} of {} passages are relevant", grades.len());
            }
            TurnEvent::Cached(from) if from.similar => {
                let (question, at) = (printable(&from.question), &from.answered_at);
                eprintln!("· no model can be reached; this was answered at {at} to: {question}");
            }
            TurnEvent::Cached(from) => {
                eprintln!("· answered before, at {}; `--no-cache` asks again", from.answered_at);
            }
            TurnEvent::Restarted { reason } => eprintln!("· beginning again: {}", printable(reason)),
            _ => {}
        }
        Ok(())
    }

    /// The rest of the answer, what it cites, and what is wrong with it.
    fn finish(&self, message: Option<&Message>, printed: &mut PrintedAnswer) -> anyhow::Result<()> {
        let Some(message) = message else {
            eprintln!("nothing was said");
            return Ok(());
        };
        let mut out = std::io::stdout().lock();
        if self.json {
            return Ok(());
        }
        let text = printable(&message.text);
        let metadata = message.metadata.as_deref();
        if let Some(structured) = metadata.and_then(|metadata| metadata.structured.as_ref()) {
            writeln!(out, "{}", printable(&serde_json::to_string_pretty(structured)?))?;
        } else if printed.draft.text.is_empty() {
            writeln!(out, "{text}")?;
        } else if let Some(rest) = text.strip_prefix(printable(&printed.draft.text).trim_end()) {
            writeln!(out, "{}{}", printed.styled.push(rest), printed.styled.end())?;
        } else {
            // The answer is not what was printed on the way: a mark was taken out.
            let (before, mut styled) = (printed.styled.end(), Styled::default());
            writeln!(out, "{before}\n\n{}{}", styled.push(&text), styled.end())?;
        }
        for citation in metadata.iter().flat_map(|metadata| &metadata.citations) {
            writeln!(out, "{}", cited(citation))?;
        }
        for warning in metadata.iter().flat_map(|metadata| &metadata.warnings) {
            writeln!(out, "! {}", printable(&warning.text))?;
        }
        Ok(())
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

/// Waits until somebody has pressed Ctrl-C twice.
async fn interrupted_twice() {
    for _ in 0..2 {
        // Without signals, nobody presses anything.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// A citation on one line.
pub(super) fn cited(citation: &Citation) -> String {
    let page = citation.place().map(|place| format!(", {}", printable(&place))).unwrap_or_default();
    let found = match citation.found {
        _ if citation.attributed => "found by ibid, not named by the model",
        QuoteMatch::Exact => "quoted exactly",
        QuoteMatch::Fuzzy => "quoted with small differences",
        QuoteMatch::NotFound => "NOT FOUND on the page",
        QuoteMatch::Unquoted => "not quoted; the nearest words",
    };
    let (title, snippet) = (printable(&citation.title), printable(&citation.snippet));
    format!("[{}] {title}{page}, {found}: {snippet}", citation.source)
}

/// What was printed of the answer.
#[derive(Default)]
struct PrintedAnswer {
    draft: DraftAnswer,
    styled: Styled,
    plan: Vec<PlanStep>,
}

impl PrintedAnswer {
    /// Prints what an event adds to the answer.
    fn draft(&mut self, step: u32, attempt: u32, event: &TurnEvent) -> std::io::Result<()> {
        let had = !self.draft.text.is_empty();
        let text = match self.draft.apply(step, attempt, event) {
            DraftChange::Unchanged => return Ok(()),
            DraftChange::Withdrawn => return self.line_end(had),
            DraftChange::Began(text) => {
                self.line_end(had)?;
                text
            }
            DraftChange::Continued(text) => text,
        };
        write!(std::io::stdout(), "{}", self.styled.push(&printable(text)))?;
        std::io::stdout().flush()
    }

    fn end_line(&mut self) -> std::io::Result<()> {
        self.line_end(!self.draft.text.is_empty())
    }

    fn line_end(&mut self, had: bool) -> std::io::Result<()> {
        if had {
            writeln!(std::io::stdout(), "{}", self.styled.end())?;
        }
        Ok(())
    }
}
