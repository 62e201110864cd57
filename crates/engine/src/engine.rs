//! The port between whoever asks and whoever runs.

use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use ibid_core::model::Spending;
use ibid_core::{Message, QueueId, RunId, Scope, Tenant, ThreadId};
use ibid_graph::Record;
use serde_json::{Map, Value};

use crate::coordination::Coordination;
use crate::error::Error;
use crate::facts::{FactsRange, TurnFacts};
use crate::types::{
    ApiKey, Event, Feedback, Job, Lifetime, MessageWindow, NewJob, Run, Stop, Submitted, Thread,
    ThreadFilter, ThreadMessage, ThreadPage, ThreadUpdate, Turn, UnfinishedJob,
};

/// Events of a run, in order, as they become safe. It ends after [`Ended`](ibid_graph::EventKind::RunEnded).
pub type EventStream = BoxStream<'static, Result<Event, Error>>;

/// Runs turns durably. A thread works on one turn at a time; every finished step is written down
/// before the next begins; whatever was promised to a caller survives a crash.
#[async_trait]
pub trait Engine: Spending + Coordination {
    /// Takes a turn. When this returns, the turn is safe and will end, whatever happens to this process.
    ///
    /// # Errors
    /// Refuses an unknown assistant, a thread of another tenant, or a busy thread if the caller chose so.
    async fn submit(&self, scope: &Scope, turn: Turn) -> Result<Submitted, Error>;

    /// Stops a run. Returns when the node has been told, not when the run has ended. Stopping a run that has
    /// ended does nothing.
    ///
    /// # Errors
    /// Fails if there is no such run.
    async fn stop(&self, scope: &Scope, run: RunId, how: Stop) -> Result<(), Error>;

    /// Resumes a run that waits for a person, with the answer.
    ///
    /// # Errors
    /// Refuses an answer that has not the form of the question, or that nothing asked for.
    async fn resume(&self, scope: &Scope, run: RunId, answer: Value) -> Result<(), Error>;

    /// Takes a job, to be run after those that wait in its queue. When this returns, the job is safe and will end.
    ///
    /// # Errors
    /// Refuses an unknown graph, or a queue of another tenant.
    async fn submit_job(&self, scope: &Scope, job: NewJob) -> Result<RunId, Error>;

    /// One job as it stands. Its events are followed, and it is stopped, by its run.
    ///
    /// # Errors
    /// Fails if there is no such job.
    async fn job(&self, scope: &Scope, run: RunId) -> Result<Job, Error>;

    /// The jobs of a queue, oldest first.
    ///
    /// # Errors
    /// Fails if the backend does.
    async fn jobs(&self, scope: &Scope, queue: QueueId) -> Result<Vec<Job>, Error>;

    /// Deletes every job of a queue, and stops what it works on.
    ///
    /// # Errors
    /// Fails if the backend does.
    async fn delete_jobs(&self, scope: &Scope, queue: QueueId) -> Result<(), Error>;

    /// The jobs of all tenants that have not ended.
    ///
    /// # Errors
    /// Fails if the backend does.
    async fn unfinished_jobs(&self) -> Result<Vec<UnfinishedJob>, Error>;

    /// Takes up the runs that an earlier process left. Does nothing the second time.
    ///
    /// # Errors
    /// Fails if the backend does.
    async fn recover(&self) -> Result<(), Error>;

    /// Lets every run come to the end of the step that it is at, for at most so long, and closes the engine. What has
    /// not ended is taken up by the next one.
    async fn shutdown(&self, timeout: Duration);

    /// Events of a run after number `after` (0 for all), those that were and those to come.
    ///
    /// # Errors
    /// Fails if there is no such run, or if its events were dropped.
    async fn events(&self, scope: &Scope, run: RunId, after: u64) -> Result<EventStream, Error>;

    /// One run as it stands.
    ///
    /// # Errors
    /// Fails if there is no such run.
    async fn run(&self, scope: &Scope, run: RunId) -> Result<Run, Error>;

    /// The runs of a thread, oldest first.
    ///
    /// # Errors
    /// Fails if there is no such thread.
    async fn runs(&self, scope: &Scope, thread: ThreadId) -> Result<Vec<Run>, Error>;

    /// The finished steps of a run, in order.
    ///
    /// # Errors
    /// Fails if there is no such run.
    async fn steps(&self, scope: &Scope, run: RunId) -> Result<Vec<Record>, Error>;

    /// The state of a run after a step; 0 is the state it began with.
    ///
    /// # Errors
    /// Fails if the run has no such step, or if the graph has changed so that its steps no longer fit.
    async fn state(&self, scope: &Scope, run: RunId, step: u32) -> Result<Value, Error>;

    /// Begins a new thread that shares the conversation and the first `step` steps of a run with it, and
    /// goes on from there.
    ///
    /// # Errors
    /// Fails if the run has no such step.
    async fn fork(&self, scope: &Scope, run: RunId, step: u32) -> Result<(ThreadId, RunId), Error>;

    /// Whether it can keep what it is given now.
    ///
    /// # Errors
    /// Says why it cannot.
    async fn check(&self) -> Result<(), Error>;

    /// How many runs have not ended, of all tenants; for metrics.
    fn unfinished_runs(&self) -> usize;

    /// Deletes a run with its steps and events. What it said stays in the conversation.
    ///
    /// # Errors
    /// Fails if there is no such run, or if it has not ended.
    async fn delete_run(&self, scope: &Scope, run: RunId) -> Result<(), Error>;

    /// Keeps what somebody thought of a run's answer. Everything that was thought is kept.
    ///
    /// # Errors
    /// Fails if there is no such run.
    async fn add_feedback(&self, scope: &Scope, run: RunId, feedback: Feedback) -> Result<(), Error>;

    /// What was thought of a run's answer, in order.
    ///
    /// # Errors
    /// Fails if there is no such run.
    async fn feedback(&self, scope: &Scope, run: RunId) -> Result<Vec<Feedback>, Error>;

    /// What came of the turns of the scope's tenant in a time, the newest first.
    ///
    /// # Errors
    /// Fails if the backend does.
    async fn turn_facts(&self, scope: &Scope, range: FactsRange) -> Result<Vec<TurnFacts>, Error>;

    /// Keeps a question of a dataset of the scope's tenant; one that has its id is replaced.
    ///
    /// # Errors
    /// Fails if the backend does.
    async fn put_dataset_item(
        &self,
        scope: &Scope,
        dataset: &str,
        id: &str,
        content: Value,
    ) -> Result<(), Error>;

    /// Deletes a question of a dataset, or the whole dataset; says how many questions there were.
    ///
    /// # Errors
    /// Fails if the backend does.
    async fn delete_dataset_items(
        &self,
        scope: &Scope,
        dataset: &str,
        id: Option<&str>,
    ) -> Result<usize, Error>;

    /// The questions of a dataset, in the order in which they were picked; none if there is no such dataset.
    ///
    /// # Errors
    /// Fails if the backend does.
    async fn dataset_items(&self, scope: &Scope, dataset: &str) -> Result<Vec<Value>, Error>;

    /// The datasets of the scope's tenant by name, with how many questions each has.
    ///
    /// # Errors
    /// Fails if the backend does.
    async fn datasets(&self, scope: &Scope) -> Result<Vec<(String, u64)>, Error>;

    /// Keeps a key, by the SHA-256 of it.
    ///
    /// # Errors
    /// Fails if its tenant has a key of that name.
    async fn add_api_key(&self, hash: [u8; 32], key: ApiKey) -> Result<(), Error>;

    /// The key that has a hash, of any tenant: who asks is not known yet.
    ///
    /// # Errors
    /// Fails if the backend does.
    async fn api_key(&self, hash: [u8; 32]) -> Result<Option<ApiKey>, Error>;

    /// The keys of the scope's tenant, by name.
    ///
    /// # Errors
    /// Fails if the backend does.
    async fn api_keys(&self, scope: &Scope) -> Result<Vec<ApiKey>, Error>;

    /// The tenants that a key was ever made for, also if it was deleted since.
    ///
    /// # Errors
    /// Fails if the backend does.
    async fn api_key_tenants(&self) -> Result<Vec<Tenant>, Error>;

    /// Deletes a key of the scope's tenant. Nobody gets in with it any more.
    ///
    /// # Errors
    /// Fails if there is no such key.
    async fn delete_api_key(&self, scope: &Scope, name: &str) -> Result<(), Error>;

    /// Begins a thread without a turn. The second value is whether it is new; one that is there stays as it is.
    ///
    /// # Errors
    /// Fails if a thread of another tenant has that name.
    async fn create_thread(
        &self,
        scope: &Scope,
        thread: ThreadId,
        metadata: Map<String, Value>,
        lifetime: Lifetime,
    ) -> Result<(Thread, bool), Error>;

    /// Changes what is noted of a thread, and whether it is shared.
    ///
    /// # Errors
    /// Fails if there is no such thread, or if it is somebody else's.
    async fn update_thread(
        &self,
        scope: &Scope,
        thread: ThreadId,
        update: ThreadUpdate,
    ) -> Result<Thread, Error>;

    /// Adds messages to a thread without a turn, so that nobody answers them. They belong to the run that is
    /// given back, which has ended.
    ///
    /// # Errors
    /// Fails if there is no such thread, or if it works on a turn.
    async fn add_messages(
        &self,
        scope: &Scope,
        thread: ThreadId,
        messages: Vec<Message>,
    ) -> Result<RunId, Error>;

    /// Begins a new thread with the conversation of another, up to a position if one is given.
    ///
    /// # Errors
    /// Fails if there is no such thread.
    async fn copy_thread(
        &self,
        scope: &Scope,
        thread: ThreadId,
        before: Option<u64>,
    ) -> Result<Thread, Error>;

    /// A page of threads.
    ///
    /// # Errors
    /// Fails if the store does.
    async fn threads(&self, scope: &Scope, page: ThreadPage) -> Result<Vec<Thread>, Error>;

    /// How many threads there are.
    ///
    /// # Errors
    /// Fails if the store does.
    async fn count_threads(&self, scope: &Scope, filter: ThreadFilter) -> Result<u64, Error>;

    /// One thread, without its messages.
    ///
    /// # Errors
    /// Fails if there is no such thread.
    async fn thread(&self, scope: &Scope, thread: ThreadId) -> Result<Thread, Error>;

    /// A window of a thread's messages, oldest first. Only the window is read.
    ///
    /// # Errors
    /// Fails if there is no such thread.
    async fn messages(
        &self,
        scope: &Scope,
        thread: ThreadId,
        window: MessageWindow,
    ) -> Result<Vec<ThreadMessage>, Error>;

    /// Deletes a thread with everything in it, and stops what it works on.
    ///
    /// # Errors
    /// Fails if there is no such thread.
    async fn delete_thread(&self, scope: &Scope, thread: ThreadId) -> Result<(), Error>;
}
