//! Hints between processes: that a run has told more, was told something, or waits for a worker. They go over `NOTIFY`, with a
//! channel for each process, and nothing rests on them: whoever waits for one looks by itself after a while.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::poll_fn;
use ibid_core::RunId;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_postgres::AsyncMessage;
use uuid::Uuid;

use super::PostgresEngine;
use super::bound::bind;
use super::database::{Backoff, tls};
use super::fault::PostgresError;
use crate::store::StoreError;

/// How long somebody who follows a run of another process is told of it, unless they ask again.
const FOLLOWED_FOR: Duration = Duration::from_secs(30);
/// How long hints are collected before they are sent.
const COLLECT: Duration = Duration::from_millis(2);
/// How long the first hint may take to come back.
const ARRIVES: Duration = Duration::from_secs(2);
/// The most runs that one hint names, and the most workers that learn of new work.
const MOST_NAMED: usize = 100;
const MOST_WOKEN: i64 = 3;

/// What one process hints to another.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Hint {
    /// These runs have told more.
    Events(Vec<RunId>),
    /// The process wants to learn when this run tells more.
    Follow(RunId, Uuid),
    /// A run was told something.
    Control,
    /// There are runs that nobody has.
    Work,
    /// For the process itself: whether hints arrive.
    Hello,
}

impl Hint {
    fn encode(&self) -> String {
        let all = |runs: &[RunId]| runs.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        match self {
            Self::Events(runs) => format!("events:{}", all(runs)),
            Self::Follow(run, process) => format!("follow:{run}:{process}"),
            Self::Control => "control".to_owned(),
            Self::Work => "work".to_owned(),
            Self::Hello => "hello".to_owned(),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let (what, rest) = text.split_once(':').unwrap_or((text, ""));
        match what {
            "events" => Some(Self::Events(rest.split(',').filter_map(|run| run.parse().ok()).collect())),
            "follow" => {
                let (run, process) = rest.split_once(':')?;
                Some(Self::Follow(run.parse().ok()?, process.parse().ok()?))
            }
            "control" => Some(Self::Control),
            "work" => Some(Self::Work),
            "hello" => Some(Self::Hello),
            _ => None,
        }
    }
}

/// A hint and the process that it is for; some workers, if none is named.
#[derive(PartialEq, Eq)]
pub(super) struct SentHint(Option<Uuid>, Hint);

/// The hints of one process.
pub(super) struct Hints {
    outgoing: mpsc::UnboundedSender<SentHint>,
    /// Whether they arrive here.
    arrive: AtomicBool,
    /// Who waits here for runs of other processes.
    waiting: Mutex<HashMap<RunId, watch::Sender<()>>>,
    /// Which processes follow runs that this one works on, and until when.
    followers: Mutex<HashMap<RunId, Vec<(Uuid, Instant)>>>,
}

impl Hints {
    pub(super) fn new() -> (Self, OutgoingHints) {
        let (outgoing, sent) = mpsc::unbounded_channel();
        let hints = Self {
            outgoing,
            arrive: AtomicBool::new(false),
            waiting: Mutex::default(),
            followers: Mutex::default(),
        };
        (hints, OutgoingHints(sent))
    }

    fn send(&self, to: Option<Uuid>, hint: Hint) {
        // Nobody sends any more if the engine is closed.
        let _ = self.outgoing.send(SentHint(to, hint));
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<RunId, watch::Sender<()>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn followers(&self) -> MutexGuard<'_, HashMap<RunId, Vec<(Uuid, Instant)>>> {
        self.followers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hints that are to be sent: to a process, or to some workers.
pub(super) struct OutgoingHints(mpsc::UnboundedReceiver<SentHint>);

fn channel(process: Uuid) -> String {
    format!("ibid_{}", process.simple())
}

impl PostgresEngine {
    /// Whether hints arrive at this process.
    pub(super) fn gets_hints(&self) -> bool {
        self.hints().arrive.load(Ordering::Relaxed)
    }

    /// Hints at workers that there are runs which nobody has.
    pub(super) fn hint_work(&self) {
        self.look_for_work();
        self.hints().send(None, Hint::Work);
    }

    /// Hints at whoever has a run that it was told something.
    pub(super) fn hint_owner(&self, owner: Option<Uuid>, run: RunId) {
        match owner {
            Some(owner) if owner == self.worker_id() => self.control_notify().notify_one(),
            Some(owner) => self.hints().send(Some(owner), Hint::Control),
            None => {}
        }
        self.hint_events(&[run]);
    }

    /// Hints at those who follow runs of this process from others.
    pub(super) fn hint_events(&self, runs: &[RunId]) {
        let now = Instant::now();
        let mut told: HashMap<Uuid, Vec<RunId>> = HashMap::new();
        {
            let mut followers = self.hints().followers();
            if followers.is_empty() {
                return;
            }
            for run in runs {
                let Some(processes) = followers.get_mut(run) else { continue };
                processes.retain(|(_, until)| *until > now);
                for (process, _) in &*processes {
                    told.entry(*process).or_default().push(*run);
                }
            }
            followers.retain(|_, processes| !processes.is_empty());
        }
        for (process, runs) in told {
            for runs in runs.chunks(MOST_NAMED) {
                self.hints().send(Some(process), Hint::Events(runs.to_vec()));
            }
        }
    }

    /// Whoever waits here learns when a run of another process may have told more.
    pub(super) fn listen_to(&self, run: RunId) -> watch::Receiver<()> {
        self.hints().waiting().entry(run).or_insert_with(|| watch::Sender::new(())).subscribe()
    }

    /// Asks the process that has a run to hint at what it tells.
    pub(super) fn ask_for_hints(&self, owner: Option<Uuid>, run: RunId) {
        if let Some(owner) = owner {
            self.hints().send(Some(owner), Hint::Follow(run, self.worker_id()));
        }
    }

    /// Nobody waits any more for runs that nobody listens to.
    pub(super) fn forget_unheard(&self) {
        self.hints().waiting().retain(|_, waiting| waiting.receiver_count() > 0);
    }

    fn heard(&self, hint: Hint) {
        match hint {
            Hint::Events(runs) => {
                let waiting = self.hints().waiting();
                for run in runs {
                    if let Some(waiting) = waiting.get(&run) {
                        waiting.send_replace(());
                    }
                }
            }
            Hint::Follow(run, process) => {
                let until = Instant::now() + FOLLOWED_FOR;
                let mut followers = self.hints().followers();
                let known = followers.entry(run).or_default();
                known.retain(|(other, _)| *other != process);
                known.push((process, until));
            }
            Hint::Control => self.control_notify().notify_one(),
            Hint::Work => self.look_for_work(),
            Hint::Hello => {
                self.hints().arrive.store(true, Ordering::Relaxed);
                if self.settings().listen_url.is_none() {
                    // No pooler stands between that gives each transaction another session.
                    self.database().has_sessions();
                }
            }
        }
    }

    /// Sends hints, apart from what they hint at, until the engine is closed.
    pub(super) async fn send_hints(self, mut outgoing: OutgoingHints) {
        while let Some(first) = outgoing.0.recv().await {
            tokio::time::sleep(COLLECT).await;
            let mut hints = vec![first];
            while let Ok(hint) = outgoing.0.try_recv() {
                if !hints.contains(&hint) {
                    hints.push(hint);
                }
            }
            if let Err(error) = self.send_now(hints).await {
                tracing::debug!(error = &error as &dyn std::error::Error, "hints were not sent");
            }
        }
    }

    /// For workers, that there are runs which nobody has.
    pub(super) fn work_hint(&self) -> SentHint {
        SentHint(None, Hint::Work)
    }

    /// Sends hints.
    pub(super) async fn send_now(&self, hints: Vec<SentHint>) -> Result<(), StoreError> {
        let (to_some, to_one): (Vec<_>, Vec<_>) = hints.into_iter().partition(|SentHint(to, _)| to.is_none());
        let to_some: Vec<String> = to_some.iter().map(|SentHint(_, hint)| hint.encode()).collect();
        let (channels, payloads): (Vec<String>, Vec<String>) =
            to_one.iter().filter_map(|SentHint(to, hint)| Some((channel((*to)?), hint.encode()))).unzip();
        // Nothing waits for a hint to be flushed, nor for a standby to have it.
        let sql = "SELECT set_config('synchronous_commit', 'off', true), pg_notify(channel, payload) FROM (
                       SELECT * FROM unnest($1::text[], $2::text[]) AS named (channel, payload)
                       UNION ALL
                       SELECT 'ibid_' || replace(woken.id::text, '-', ''), hint FROM unnest($3::text[]) AS hint,
                           (SELECT id FROM workers WHERE id <> $4 AND graphs && $6::text[] ORDER BY random() LIMIT $5) AS woken
                   ) AS hints";
        let values = bind![channels, payloads, to_some, self.worker_id(), MOST_WOKEN, self.graph_names()];
        self.database().once(sql, values).await.map(drop)
    }

    /// Listens to hints, until the engine is closed.
    pub(super) async fn hear_hints(self) {
        let mut backoff = Backoff::default();
        loop {
            if let Err(error) = self.hear_until_broken(&mut backoff).await {
                tracing::debug!(error = &error as &dyn std::error::Error, "hints are not heard");
            }
            self.hints().arrive.store(false, Ordering::Relaxed);
            backoff.wait().await;
        }
    }

    async fn hear_until_broken(&self, backoff: &mut Backoff) -> Result<(), PostgresError> {
        let (client, mut connection) =
            self.settings().config(self.settings().listen_url())?.connect(tls()?).await?;
        let engine = self.clone();
        let hearing = async move {
            while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
                if let AsyncMessage::Notification(heard) = message?
                    && let Some(hint) = Hint::parse(heard.payload())
                {
                    engine.heard(hint);
                }
            }
            Ok::<(), PostgresError>(())
        };
        let asking = async {
            client.batch_execute(&format!("LISTEN {}", channel(self.worker_id()))).await?;
            self.hints().send(Some(self.worker_id()), Hint::Hello);
            tokio::time::sleep(ARRIVES).await;
            if self.gets_hints() {
                *backoff = Backoff::default();
            } else {
                tracing::warn!(
                    "notifications of the database do not arrive, perhaps because of a pooler in transaction mode: what \
                     other processes do is noticed a tenth of a second later. Set `engine.listen_url` to an address of \
                     the database itself"
                );
            }
            // The client keeps the connection open.
            std::future::pending::<Result<(), PostgresError>>().await
        };
        tokio::select! {
            heard = hearing => heard,
            asked = asking => asked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_read_as_it_was_sent() {
        let (run, process) = (RunId::new(), Uuid::now_v7());
        for hint in [
            Hint::Events(vec![run, RunId::new()]),
            Hint::Follow(run, process),
            Hint::Control,
            Hint::Work,
            Hint::Hello,
        ] {
            assert_eq!(Hint::parse(&hint.encode()), Some(hint));
        }
        assert_eq!(Hint::parse("of another program"), None);
        let longest = Hint::Events(vec![run; MOST_NAMED]).encode();
        assert!(longest.len() < 8000, "Postgres takes no longer one");
    }
}
