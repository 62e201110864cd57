//! Taking turns and jobs, new ones and those that an earlier process left. Taking one is one commit; what
//! follows from it is done by the engine, so that a caller who goes away leaves nothing half done.

use std::sync::Arc;

use ibid_core::trace::{self, TraceParent};
use ibid_core::{Message, RunId, Scope, Tenant, ThreadId};
use rusqlite::Connection;

use super::LocalEngine;
use super::live::LiveRun;
use super::reading::own_thread;
use super::work::{Input, Started};
use crate::error::Error;
use crate::store::{self, Batch, NewRun, RunLog, RunRow, Stopping, StoreError, encode, encode_all};
use crate::types::{
    MOST_ID_BYTES, MOST_MESSAGE_BYTES, MOST_METADATA_BYTES, NewJob, RunStatus, Submitted, Turn, WhenBusy,
};

/// What became of a submission.
enum Submission {
    Refused(Error),
    Duplicate(RunId),
    Busy(RunId),
    Queued { key: i64, stop: Option<(Box<RunRow>, Stopping)> },
    Started { key: i64, thread_key: i64, history: std::ops::Range<i64>, scope: Scope },
}

/// What is to be run: a turn, or a job.
#[derive(Clone)]
enum Requested {
    Turn(Turn),
    Job(NewJob),
}

impl Requested {
    /// The thread of a turn, or the one that stands for the queue of a job.
    fn thread(&self) -> ThreadId {
        match self {
            Self::Turn(turn) => turn.thread,
            Self::Job(job) => ThreadId::from_bytes(*job.queue.as_bytes()),
        }
    }

    fn graph(&self) -> &str {
        match self {
            Self::Turn(turn) => &turn.assistant,
            Self::Job(job) => &job.graph,
        }
    }

    fn when_busy(&self) -> WhenBusy {
        match self {
            Self::Turn(turn) => turn.when_busy,
            Self::Job(_) => WhenBusy::Enqueue,
        }
    }

    fn trace(&self) -> Option<TraceParent> {
        match self {
            Self::Turn(turn) => turn.trace,
            Self::Job(_) => None,
        }
    }

    fn title(&self) -> &str {
        match self {
            Self::Turn(turn) => turn.messages.first().map_or("", |message| message.text.as_str()),
            Self::Job(_) => "",
        }
    }
}

/// What of a submission is stored, as it is stored.
struct Encoded {
    version: String,
    options: String,
    metadata: String,
    stream_modes: String,
    scope: String,
    idempotency: Option<String>,
    request: Option<String>,
    messages: Vec<String>,
}

impl Encoded {
    fn of(requested: &Requested, scope: &Scope, version: String) -> Result<Self, StoreError> {
        let scope = encode(scope)?;
        match requested {
            Requested::Turn(turn) => Ok(Self {
                version,
                options: encode(&turn.options)?,
                metadata: encode(&turn.metadata)?,
                stream_modes: encode(&turn.stream_modes)?,
                scope,
                idempotency: turn.idempotency_key.clone(),
                request: None,
                messages: encode_all(&turn.messages)?,
            }),
            Requested::Job(job) => Ok(Self {
                version,
                options: "{}".to_owned(),
                metadata: "{}".to_owned(),
                stream_modes: "[]".to_owned(),
                scope,
                idempotency: None,
                request: Some(encode(&job.request)?),
                messages: Vec::new(),
            }),
        }
    }

    fn run<'a>(&'a self, id: RunId, graph: &'a str, trace: TraceParent) -> NewRun<'a> {
        NewRun {
            id,
            thread_key: 0,
            graph,
            version: &self.version,
            options: &self.options,
            metadata: &self.metadata,
            scope: &self.scope,
            idempotency: self.idempotency.as_deref(),
            stream_modes: &self.stream_modes,
            request: self.request.as_deref(),
            trace,
        }
    }
}

impl LocalEngine {
    pub(super) async fn submit_turn(&self, scope: Scope, mut turn: Turn) -> Result<Submitted, Error> {
        if turn.messages.is_empty() {
            return Err(Error::NoMessage);
        }
        check_length(&turn.messages)?;
        turn.assistant = self.0.graphs.answering(&turn.assistant, turn.thread);
        self.submit_run(scope, Requested::Turn(turn)).await
    }

    pub(super) async fn submit_new_job(&self, scope: Scope, job: NewJob) -> Result<RunId, Error> {
        Ok(self.submit_run(scope, Requested::Job(job)).await?.run)
    }

    async fn submit_run(&self, scope: Scope, requested: Requested) -> Result<Submitted, Error> {
        self.graph(requested.graph())?;
        let run = RunId::new();
        let trace = requested.trace().or_else(trace::current).unwrap_or_else(TraceParent::begin);
        let version = self.0.graphs.version(requested.graph());
        let version = version.map(|version| version.to_string()).unwrap_or_default();
        let window = self.0.graphs.history(requested.graph());
        let encoded = Encoded::of(&requested, &scope, version)?;
        check_metadata(encoded.options.len() + encoded.metadata.len() + encoded.stream_modes.len())?;
        let requested = Arc::new(requested);
        let (asked, whose) = (requested.clone(), scope.clone());
        let place = move |connection: &Connection| {
            let new = encoded.run(run, asked.graph(), trace);
            place(connection, &whose, &asked, new, &encoded.messages, window)
        };
        let engine = self.clone();
        let tenant = scope.tenant().clone();
        let then = move |submission| engine.follow_up(run, &requested, tenant, trace, submission);
        self.writer()?.write_then(Batch::default(), place, then).await?
    }

    /// Does what follows from a submission, once that is safe.
    fn follow_up(
        &self,
        run: RunId,
        requested: &Requested,
        tenant: Tenant,
        trace: TraceParent,
        submission: Submission,
    ) -> Result<Submitted, Error> {
        let thread = requested.thread();
        match submission {
            Submission::Refused(error) => return Err(error),
            Submission::Busy(run) => return Err(Error::Busy(run)),
            Submission::Duplicate(run) => return Ok(Submitted { run, duplicate: true }),
            Submission::Queued { key, stop } => {
                self.watch(run, tenant, key, 0);
                if let Some((other, how)) = stop
                    && let Some(live) = self.0.live.get(other.id)
                {
                    live.stop(how);
                    self.end_if_waiting(*other, live);
                }
            }
            Submission::Started { key, thread_key, history, scope } => {
                let live = self.watch(run, tenant, key, 0);
                let input = match requested {
                    Requested::Turn(turn) => {
                        let (messages, options) = (turn.messages.clone(), turn.options.clone());
                        Input::Turn { scope, messages, options, history }
                    }
                    Requested::Job(job) => Input::Job { scope, request: job.request.clone() },
                };
                let graph = requested.graph().to_owned();
                let trace = Some(trace);
                self.take_up(
                    Started { key, run, thread_key, thread, graph, trace, input, left: false },
                    live,
                );
            }
        }
        Ok(Submitted { run, duplicate: false })
    }

    /// Takes up every run that an earlier process did not end.
    pub(super) async fn take_up_unfinished(&self) -> Result<(), Error> {
        let read = |connection: &Connection| {
            let rows = store::unfinished(connection)?.into_iter();
            rows.map(|(tenant, row)| {
                let told = store::last_number(connection, row.key)?;
                Ok((tenant, (told, store::next_step(connection, row.key)?), row))
            })
            .collect()
        };
        let rows: Vec<_> = self.0.readers.read(read).await?;
        self.look_for_suspects(rows.iter().map(|(_, (told, step), row)| (row, *step, *told > 0)));
        for (tenant, (told, _), row) in rows {
            let live = self.watch(row.id, tenant, row.key, told);
            live.stop_clock();
            if let Some(how) = row.stopping {
                live.stop(how);
            }
            let version = self.0.graphs.version(&row.graph).map(|version| version.to_string());
            let take_up = match row.status {
                RunStatus::Running => true,
                // It may have to begin again, which its listeners should learn before anyone answers.
                RunStatus::Waiting => row.stopping.is_some() || version.as_ref() != Some(&row.version),
                _ => false,
            };
            if take_up {
                self.take_up(Started { left: true, ..row.into() }, live);
            }
        }
        Ok(())
    }

    pub(super) fn watch(&self, run: RunId, tenant: Tenant, key: i64, told: u64) -> LiveRun {
        let live = LiveRun::new(tenant, RunLog::new(run, key, told, self.0.flush_queue.clone()));
        self.0.live.add(run, live.clone());
        live
    }
}

/// Refuses messages that are too long.
pub(super) fn check_length(messages: &[Message]) -> Result<(), Error> {
    let length = |message: &Message| match message.id.as_ref().map_or(0, String::len) {
        name if name > MOST_ID_BYTES => MOST_MESSAGE_BYTES + name,
        _ => message.text.len(),
    };
    let longest = messages.iter().map(length).max().unwrap_or_default();
    if longest > MOST_MESSAGE_BYTES { Err(Error::MessageTooLong(longest)) } else { Ok(()) }
}

/// Refuses to keep more with a thread or turn than may be.
pub(super) fn check_metadata(bytes: usize) -> Result<(), Error> {
    if bytes > MOST_METADATA_BYTES { Err(Error::MetadataTooLarge(bytes)) } else { Ok(()) }
}

fn place(
    connection: &Connection,
    scope: &Scope,
    requested: &Requested,
    new: NewRun<'_>,
    messages: &[String],
    window: usize,
) -> Result<Submission, StoreError> {
    let thread = match own_thread(connection, scope, requested.thread())? {
        Ok(row) => Some(row),
        Err(Error::UnknownThread(id)) if !store::thread_exists(connection, id)? => None,
        Err(error) => return Ok(Submission::Refused(error)),
    };
    let active = match &thread {
        Some(row) => {
            if let Some(key) = new.idempotency
                && let Some(run) = store::run_of_key(connection, row.key, key)?
            {
                return Ok(Submission::Duplicate(run));
            }
            store::active_of_thread(connection, row.key)?
        }
        None => None,
    };
    let when_busy = match (&active, requested.when_busy()) {
        (Some(active), WhenBusy::Reject) => return Ok(Submission::Busy(active.id)),
        // Whoever says something new instead of answering a question has moved on: nothing waits behind a question.
        (Some(active), WhenBusy::Enqueue) if active.status == RunStatus::Waiting => WhenBusy::Interrupt,
        (_, wanted) => wanted,
    };
    let title = requested.title();
    let (limited, encoded);
    let (mut scope, mut new) = (scope, new);
    new.thread_key = match (thread, requested) {
        (Some(row), Requested::Turn(_)) => {
            store::touch_thread(connection, row.key, title)?;
            limited = row.limit(scope)?;
            if limited != *scope {
                encoded = encode(&limited)?;
                (scope, new.scope) = (&limited, &encoded);
            }
            row.key
        }
        (Some(row), Requested::Job(_)) => row.key,
        (None, Requested::Turn(turn)) => store::create_thread(connection, scope, turn.thread, title, "{}")?,
        // A queue quotes nothing, and is nobody's.
        (None, Requested::Job(_)) => {
            let queue = Scope::of(scope.tenant().clone()).within([]);
            store::create_thread(connection, &queue, requested.thread(), title, "{}")?
        }
    };
    let Some(active) = active else {
        let key = store::enqueue(connection, &new, None, false)?;
        let history = store::start_run(connection, key, new.thread_key, messages, window)?;
        let (thread_key, scope) = (new.thread_key, scope.clone());
        return Ok(Submission::Started { key, thread_key, history, scope });
    };
    let how = match when_busy {
        WhenBusy::Interrupt => Some(Stopping::Stop),
        WhenBusy::Rollback => Some(Stopping::Rollback),
        WhenBusy::Enqueue | WhenBusy::Reject => None,
    };
    let key = store::enqueue(connection, &new, Some(messages), how.is_some())?;
    if let Some(how) = how {
        store::set_stopping(connection, active.id, how)?;
    }
    Ok(Submission::Queued { key, stop: how.map(|how| (Box::new(active), how)) })
}
