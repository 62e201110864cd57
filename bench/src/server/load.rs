//! Many turns, all at once or so many in a second.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use ibid_core::ThreadId;
use tokio::task::JoinSet;

use super::client::Client;

/// Who is asked, and so in which words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// The model itself, without a server between.
    Model,
    /// ibid, in LangGraph's words.
    Ibid,
    /// LangGraph's own server.
    LangGraph,
}

impl Asked {
    /// Where to ask, and what: each turn in a thread of its own.
    fn turn(self) -> (String, &'static str) {
        let path = match self {
            Self::Model => "/v1/chat/completions".to_owned(),
            Self::Ibid | Self::LangGraph => format!("/threads/{}/runs/stream", ThreadId::new()),
        };
        let body = match self {
            Self::Model => {
                r#"{"model":"stand-in","stream":true,"messages":[{"role":"user","content":"Tell me the time."}]}"#
            }
            Self::Ibid => {
                r#"{"assistant_id":"default","input":{"messages":[{"role":"user","content":"Tell me the time."}]},"stream_mode":["messages-tuple"],"if_not_exists":"create","config":{"configurable":{"mode":"chat"}}}"#
            }
            Self::LangGraph => {
                r#"{"assistant_id":"agent","input":{"messages":[{"role":"user","content":"Tell me the time."}]},"stream_mode":["messages-tuple"],"if_not_exists":"create"}"#
            }
        };
        (path, body)
    }
}

/// What came of it.
#[derive(Default)]
pub(super) struct Outcome {
    /// Milliseconds from saying to hearing, for every token.
    pub(super) delays_ms: Vec<f64>,
    /// Seconds that each turn took.
    pub(super) turns_s: Vec<f64>,
    /// Tokens that did not come, and what was said instead.
    pub(super) missing: u64,
    pub(super) wrong: Option<String>,
    /// Seconds from the first question to the end of the last answer.
    pub(super) took_s: f64,
}

/// So many turns, one after the other at even distances, whatever became of those before; `tokens` in each answer.
pub(super) async fn turns(
    client: &Arc<Client>,
    asked: Asked,
    count: usize,
    apart: Duration,
    tokens: u32,
) -> anyhow::Result<Outcome> {
    ensure!(count > 0, "no turns");
    let began = Instant::now();
    let mut open = JoinSet::new();
    let mut outcome = Outcome::default();
    for number in 0..count {
        let due = began + apart * u32::try_from(number)?;
        tokio::time::sleep_until(due.into()).await;
        let client = client.clone();
        open.spawn(async move {
            let (path, body) = asked.turn();
            let began = Instant::now();
            let heard = client.ask(&path, body).await;
            (began.elapsed().as_secs_f64(), heard)
        });
        while let Some(ended) = open.try_join_next() {
            outcome.take(ended?, tokens);
        }
    }
    while let Some(ended) = open.join_next().await {
        outcome.take(ended?, tokens);
    }
    outcome.took_s = began.elapsed().as_secs_f64();
    Ok(outcome)
}

impl Outcome {
    fn take(&mut self, (took_s, heard): (f64, anyhow::Result<super::client::Heard>), tokens: u32) {
        self.turns_s.push(took_s);
        match heard {
            Ok(heard) => {
                let missing = u64::from(tokens).saturating_sub(heard.delays.len() as u64);
                if missing > 0 {
                    self.wrong.get_or_insert_with(|| String::from_utf8_lossy(&heard.rest).into_owned());
                }
                self.missing += missing;
                self.delays_ms.extend(heard.delays.iter().map(|micros| f64::from(*micros) / 1e3));
            }
            Err(error) => {
                self.missing += u64::from(tokens);
                self.wrong.get_or_insert_with(|| format!("{error:#}"));
            }
        }
    }
}
