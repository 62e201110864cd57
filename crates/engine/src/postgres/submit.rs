//! Taking turns and jobs. Each is one statement, guarded by what it rests on: where that has changed meanwhile, it is looked at
//! again. So nobody holds a lock while they think, and a process that is put to sleep keeps nobody waiting.

use std::ops::Range;

use ibid_core::trace::{self, TraceParent};
use ibid_core::{RunId, Scope};
use tokio::sync::OwnedSemaphorePermit;
use tokio_postgres::Row;
use uuid::Uuid;

use super::PostgresEngine;
use super::bound::{Bound, bind};
use super::database::Connection;
use super::rows::{RUN_COLUMNS, RUN_WIDTH, THREAD_COLUMNS, THREAD_WIDTH, read_run_at, read_thread};
use super::run_locks::RunLockGuard;
use super::threads::{new_thread, storable};
use super::visibility::Condition;
use crate::error::Error;
use crate::run::{
    Encoded, Input, NewRun, Requested, RunClaim, RunRow, RunStore, Started, Stopping, check_length,
    check_metadata, encode,
};
use crate::store::{StoreError, ThreadRow, ThreadUse, titled};
use crate::types::{Lifetime, NewJob, RunStatus, Submitted, Turn, WhenBusy};

/// How often a submission is looked at again when what it rests on has changed.
const MOST_LOOKS: usize = 50;

/// What became of a submission.
enum Submission {
    Refused(Error),
    Duplicate(RunId),
    Busy(RunId),
    /// It waits behind a run, which a worker may have to be told to stop.
    Queued {
        stop: Option<(RunId, Option<Uuid>, Stopping)>,
    },
    Started {
        key: i64,
        thread_key: i64,
        history: Range<i64>,
        scope: Scope,
        journal_day: i64,
    },
    /// An earlier try has succeeded and did not learn of it.
    Known(Box<RunRow>),
    /// What it rested on has changed.
    Changed,
}

/// What a submission rests on: the thread, what its caller may do with it, and the run that it works on.
struct Found {
    thread: ThreadRow,
    may_read: bool,
    may_change: bool,
    active: Option<Active>,
}

/// A run that a thread works on, or one that is the same.
struct Active {
    run: RunRow,
    is_own: bool,
    is_repeated: bool,
}

impl Found {
    /// Reads it from the columns of the thread, two conditions, the columns of the run, and two more conditions.
    fn read(row: &Row) -> Result<Self, StoreError> {
        const RUN: usize = THREAD_WIDTH + 2;
        let active = match row.try_get::<_, Option<i64>>(RUN)? {
            Some(_) => Some(Active {
                run: read_run_at(row, RUN)?,
                is_own: row.try_get(RUN + RUN_WIDTH)?,
                is_repeated: row.try_get(RUN + RUN_WIDTH + 1)?,
            }),
            None => None,
        };
        let (may_read, may_change) = (row.try_get(THREAD_WIDTH)?, row.try_get(THREAD_WIDTH + 1)?);
        Ok(Self { thread: read_thread(row)?, may_read, may_change, active })
    }
}

/// The columns of a run about to be stored, with the values that [`run_values`] gives. Others follow.
const INSERT: &str = "INSERT INTO runs (id, tenant, graph, version, options, metadata, scope, stream_modes, traceparent, \
     idempotency, request, history_window, created_ms, journal_day";

const VALUES: &str = "$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, now_ms(), day_of(now_ms())";

fn run_values(new: &NewRun<'_>, tenant: &ibid_core::Tenant, window: usize) -> Vec<Bound> {
    bind![
        new.id,
        tenant,
        new.graph,
        new.version,
        new.options,
        new.metadata,
        new.scope,
        new.stream_modes,
        new.trace.to_string(),
        new.idempotency,
        new.request,
        i64::try_from(window).unwrap_or(i64::MAX)
    ]
    .to_vec()
}

impl PostgresEngine {
    pub(super) async fn submit_turn(&self, scope: Scope, mut turn: Turn) -> Result<Submitted, Error> {
        if turn.messages.is_empty() {
            return Err(Error::NoMessage);
        }
        check_length(&turn.messages)?;
        turn.assistant = self.graphs().answering(&turn.assistant, turn.thread);
        self.submit_run(scope, Requested::Turn(turn)).await
    }

    pub(super) async fn submit_new_job(&self, scope: Scope, job: NewJob) -> Result<RunId, Error> {
        Ok(self.submit_run(scope, Requested::Job(job)).await?.run)
    }

    async fn submit_run(&self, scope: Scope, requested: Requested) -> Result<Submitted, Error> {
        self.graph(requested.graph())?;
        let trace = requested.trace().or_else(trace::current).unwrap_or_else(TraceParent::begin);
        let version = self.graphs().version(requested.graph());
        let version = version.map(|version| version.to_string()).unwrap_or_default();
        let encoded = Encoded::of(&requested, &scope, version)?;
        check_metadata(encoded.kept_bytes())?;
        let run = RunId::new();
        let submission = Submitting {
            engine: self.clone(),
            run,
            lock: self.run_locks().try_lock(run),
            scope,
            requested,
            encoded,
            trace,
            slot: self.free_slot(),
        };
        // What follows is done also if the caller goes away meanwhile.
        let submitted = self.spawn_with_result(submission.submit());
        submitted.await?
    }
}

/// A submission under way.
struct Submitting {
    engine: PostgresEngine,
    run: RunId,
    /// From before it is stored until this process works on it.
    lock: Option<RunLockGuard>,
    scope: Scope,
    requested: Requested,
    encoded: Encoded,
    trace: TraceParent,
    /// Room for this run in this process, if there is any.
    slot: Option<OwnedSemaphorePermit>,
}

impl Submitting {
    async fn submit(self) -> Result<Submitted, Error> {
        for _ in 0..MOST_LOOKS {
            let placed = self.engine.database().insist(|| async {
                let connection = self.engine.database().connection().await?;
                match self.place(&connection).await {
                    Err(error) if error.is_duplicate() => Ok(Submission::Changed),
                    placed => placed,
                }
            });
            match placed.await? {
                Submission::Changed => tokio::task::yield_now().await,
                placed => return self.follow_up(placed).await,
            }
        }
        Err(Error::Busy(self.run))
    }

    fn owner(&self) -> Option<Uuid> {
        self.slot.is_some().then(|| self.engine.worker_id())
    }

    async fn place(&self, connection: &Connection) -> Result<Submission, StoreError> {
        let thread = self.requested.thread();
        let Some(found) = self.look(connection).await? else { return self.begin(connection).await };
        if !found.may_read {
            return Ok(Submission::Refused(Error::UnknownThread(thread)));
        }
        if !found.may_change {
            return Ok(Submission::Refused(Error::ReadOnly(thread)));
        }
        let row = found.thread;
        let Some(Active { run: active, is_own, is_repeated }) = found.active else {
            return self.start(connection, &row).await;
        };
        if is_own {
            return Ok(Submission::Known(Box::new(active)));
        }
        if is_repeated {
            return Ok(Submission::Duplicate(active.id));
        }
        let how = match self.requested.when_busy() {
            WhenBusy::Reject => return Ok(Submission::Busy(active.id)),
            // Whoever says something new instead of answering a question has moved on: nothing waits behind a question.
            WhenBusy::Enqueue if active.status == RunStatus::Waiting => Some(Stopping::Stop),
            WhenBusy::Enqueue => None,
            WhenBusy::Interrupt => Some(Stopping::Stop),
            WhenBusy::Rollback => Some(Stopping::Rollback),
        };
        self.enqueue(connection, &row, &active, how).await
    }

    /// Looks at what it rests on; nothing, if there is no such thread.
    async fn look(&self, connection: &Connection) -> Result<Option<Found>, StoreError> {
        let values = bind![self.requested.thread(), self.run, self.encoded.idempotency.clone()].to_vec();
        let mut read = Condition::new("true", values);
        read.visible(&self.scope, ThreadUse::Read)?;
        let mut change = Condition::new("true", read.values);
        change.visible(&self.scope, ThreadUse::Change)?;
        let sql = format!(
            "SELECT {THREAD_COLUMNS}, 'idle', {}, {}, {RUN_COLUMNS}, runs.id = $2, idempotency IS NOT NULL AND idempotency = $3
             FROM threads LEFT JOIN LATERAL (
                 SELECT * FROM (
                     (SELECT 1 AS rank, * FROM runs WHERE id = $2 AND thread = threads.key)
                     UNION ALL
                     (SELECT 2, * FROM runs WHERE thread = threads.key AND idempotency = $3 AND idempotency IS NOT NULL)
                     UNION ALL
                     (SELECT 3, * FROM runs WHERE thread = threads.key AND status IN ('running', 'waiting'))
                     UNION ALL
                     (SELECT 4, * FROM runs WHERE thread = threads.key AND status = 'queued' ORDER BY queue_position LIMIT 1)
                 ) AS found ORDER BY rank LIMIT 1) AS runs ON true
             WHERE threads.id = $1",
            read.sql, change.sql
        );
        let rows = connection.query(&sql, &change.values).await?;
        rows.first().map(Found::read).transpose()
    }

    /// Begins a thread with the run in it.
    async fn begin(&self, connection: &Connection) -> Result<Submission, StoreError> {
        // A queue quotes nothing, and is nobody's.
        let queue = || Scope::of(self.scope.tenant().clone()).within([]);
        let (scope, title) = match &self.requested {
            Requested::Turn(_) => (self.scope.clone(), self.requested.title()),
            Requested::Job(_) => (queue(), ""),
        };
        let sql = format!(
            "WITH thread AS (
                 INSERT INTO threads (id, tenant, title, created_ms, updated_ms, metadata, owner, corpora, labels, temporary, is_queue, messages)
                 VALUES ($15, $16, $17, now_ms(), now_ms(), $18::jsonb, $19, $20::jsonb, $21::jsonb, $22, $11 IS NOT NULL,
                     cardinality($14::text[]))
                 RETURNING key),
             run AS (
                 {INSERT}, status, queue_position, owner, epoch, input_to, thread)
                 SELECT {VALUES}, 'running', 1, $13, 1, cardinality($14::text[]), key FROM thread
                 RETURNING key, thread, journal_day),
             said AS (
                 INSERT INTO messages (thread, position, run, body)
                 SELECT run.thread, said.number - 1, run.key, said.body
                 FROM run, unnest($14::text[]) WITH ORDINALITY AS said (body, number))
             SELECT key, thread, journal_day FROM run"
        );
        let new = self.encoded.run(self.run, self.requested.graph(), self.trace);
        let mut values =
            run_values(&new, self.scope.tenant(), self.engine.graphs().history(self.requested.graph()));
        values.extend(bind![self.owner(), self.encoded.messages.clone()].to_vec());
        values.extend(new_thread(&scope, self.requested.thread(), title, "{}", Lifetime::Kept)?);
        let rows = connection.query(&sql, &values).await?;
        let row = rows.first().ok_or(StoreError::Gone)?;
        let (key, thread_key, journal_day) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        Ok(Submission::Started { key, thread_key, history: 0..0, scope: self.scope.clone(), journal_day })
    }

    /// What the run may see of what its caller may see.
    fn limited(&self, row: &ThreadRow) -> Result<(Scope, String), StoreError> {
        let scope = match &self.requested {
            Requested::Turn(_) => row.limit(&self.scope)?,
            Requested::Job(_) => self.scope.clone(),
        };
        let encoded = encode(&scope)?;
        Ok((scope, encoded))
    }

    /// Starts the run in a thread that does nothing.
    async fn start(&self, connection: &Connection, row: &ThreadRow) -> Result<Submission, StoreError> {
        let sql = format!(
            "WITH thread AS (
                 UPDATE threads SET messages = messages + cardinality($14::text[]),
                     updated_ms = CASE WHEN $16 THEN greatest(updated_ms, now_ms()) ELSE updated_ms END,
                     title = CASE title WHEN '' THEN $17 ELSE title END
                 WHERE key = $15 RETURNING key, messages - cardinality($14::text[]) AS before),
             run AS (
                 {INSERT}, status, queue_position, owner, epoch, history_from, history_to, input_to, thread)
                 SELECT {VALUES}, 'running',
                     (SELECT coalesce(max(queue_position), 0) + 1 FROM runs WHERE thread = $15), $13, 1,
                     greatest(0, before - $12), before, before + cardinality($14::text[]), key FROM thread
                 RETURNING key, thread, journal_day, history_from, history_to),
             said AS (
                 INSERT INTO messages (thread, position, run, body)
                 SELECT run.thread, run.history_to + said.number - 1, run.key, said.body
                 FROM run, unnest($14::text[]) WITH ORDINALITY AS said (body, number))
             SELECT key, journal_day, history_from, history_to FROM run"
        );
        let (scope, seen) = self.limited(row)?;
        let mut new = self.encoded.run(self.run, self.requested.graph(), self.trace);
        new.scope = &seen;
        let mut values =
            run_values(&new, self.scope.tenant(), self.engine.graphs().history(self.requested.graph()));
        let is_turn = matches!(self.requested, Requested::Turn(_));
        let title = storable(&titled(self.requested.title()));
        values.extend(bind![self.owner(), self.encoded.messages.clone(), row.key, is_turn, title].to_vec());
        let rows = connection.query(&sql, &values).await?;
        // The thread was deleted meanwhile.
        let Some(found) = rows.first() else { return Ok(Submission::Changed) };
        let (key, journal_day) = (found.try_get(0)?, found.try_get(1)?);
        let history = found.try_get(2)?..found.try_get(3)?;
        Ok(Submission::Started { key, thread_key: row.key, history, scope, journal_day })
    }

    /// Lets the run wait behind the one that the thread works on, which may be told to stop.
    async fn enqueue(
        &self,
        connection: &Connection,
        row: &ThreadRow,
        active: &RunRow,
        how: Option<Stopping>,
    ) -> Result<Submission, StoreError> {
        // Whatever the run that works is told, it is told in its own row, so that whoever ends it sees it.
        let sql = format!(
            "WITH active AS (
                 UPDATE runs SET has_next = true,
                     stopping = CASE WHEN stopping = 'rollback' THEN stopping ELSE coalesce($14, stopping) END,
                     status = CASE WHEN $14 IS NOT NULL AND status = 'waiting' THEN 'running' ELSE status END
                 WHERE key = $13 AND ended_ms IS NULL RETURNING key, thread, queue_position, owner),
             moved AS (
                 UPDATE runs SET queue_position = runs.queue_position + 1 FROM active
                 WHERE $14 IS NOT NULL AND runs.thread = active.thread AND runs.queue_position > active.queue_position
                     AND runs.status = 'queued'),
             touched AS (
                 UPDATE threads SET updated_ms = greatest(updated_ms, now_ms()) FROM active
                 WHERE $16 AND threads.key = active.thread),
             run AS (
                 {INSERT}, status, queue_position, input, thread)
                 SELECT {VALUES}, 'queued',
                     CASE WHEN $14 IS NOT NULL THEN active.queue_position + 1
                     ELSE (SELECT max(queue_position) + 1 FROM runs WHERE runs.thread = active.thread) END,
                     $15::json, active.thread FROM active RETURNING key)
             SELECT active.owner FROM active, run"
        );
        let (_, seen) = self.limited(row)?;
        let mut new = self.encoded.run(self.run, self.requested.graph(), self.trace);
        new.scope = &seen;
        let mut values =
            run_values(&new, self.scope.tenant(), self.engine.graphs().history(self.requested.graph()));
        let input = format!("[{}]", self.encoded.messages.join(","));
        let is_turn = matches!(self.requested, Requested::Turn(_));
        values.extend(bind![active.key, how.map(Stopping::as_str), input, is_turn].to_vec());
        let rows = connection.query(&sql, &values).await?;
        // The run ended meanwhile.
        let Some(found) = rows.first() else { return Ok(Submission::Changed) };
        let owner: Option<Uuid> = found.try_get(0)?;
        Ok(Submission::Queued { stop: how.map(|how| (active.id, owner, how)) })
    }

    /// Does what follows from a submission, once that is safe.
    async fn follow_up(self, submission: Submission) -> Result<Submitted, Error> {
        let engine = self.engine.clone();
        match submission {
            Submission::Refused(error) => return Err(error),
            Submission::Busy(run) => return Err(Error::Busy(run)),
            Submission::Duplicate(run) => return Ok(Submitted { run, duplicate: true }),
            Submission::Known(row) => {
                drop(self.lock);
                engine.take_up_if_own(*row, self.slot).await;
            }
            Submission::Changed => {}
            Submission::Queued { stop } => {
                if let Some((run, owner, how)) = stop {
                    engine.stop_where_it_is(run, owner, how).await;
                }
            }
            Submission::Started { key, thread_key, history, scope, journal_day } => match self.slot {
                Some(slot) => {
                    let input = match &self.requested {
                        Requested::Turn(turn) => {
                            let (messages, options) = (turn.messages.clone(), turn.options.clone());
                            Input::Turn { scope, messages, options, history }
                        }
                        Requested::Job(job) => Input::Job { scope, request: job.request.clone() },
                    };
                    let (run, thread) = (self.run, self.requested.thread());
                    let (graph, trace) = (self.requested.graph().to_owned(), Some(self.trace));
                    let tenant = self.scope.tenant().clone();
                    let claim = RunClaim { epoch: 1, journal_day, ..RunClaim::default() };
                    let live = engine.watch(run, tenant, key, claim, 0);
                    let started = Started { key, run, thread_key, thread, graph, trace, input, left: false };
                    engine.take_up(started, live, slot);
                }
                None => engine.hint_work(),
            },
        }
        Ok(Submitted { run: self.run, duplicate: false })
    }
}
