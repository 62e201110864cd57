//! The port [`Engine`], as Postgres keeps it.

use std::time::Duration;

use async_trait::async_trait;
use ibid_core::{Message, QueueId, RunId, Scope, Tenant, ThreadId};
use ibid_graph::Record;
use serde_json::{Map, Value};

use super::PostgresEngine;
use super::bound::bind;
use super::journal::read_steps;
use super::rows::{JOINED, RUN_COLUMNS, read_run, read_thread, visible_thread};
use crate::engine::{Engine, EventStream};
use crate::error::Error;
use crate::facts::{FactsRange, TurnFacts};
use crate::run::RunRow;
use crate::store::{StoreError, ThreadRow, ThreadUse};
use crate::types::{
    ApiKey, Feedback, Job, Lifetime, MessageWindow, NewJob, Run, Stop, Submitted, Thread, ThreadFilter,
    ThreadMessage, ThreadPage, ThreadUpdate, Turn, UnfinishedJob,
};

impl PostgresEngine {
    async fn find_thread(&self, scope: &Scope, thread: ThreadId) -> Result<ThreadRow, Error> {
        let (sql, values) = visible_thread(scope, ThreadUse::Read, thread)?;
        let found = self.database().first(&sql, &values).await?;
        found.as_ref().map(read_thread).transpose()?.ok_or(Error::UnknownThread(thread))
    }

    async fn runs_of(&self, thread: i64) -> Result<Vec<RunRow>, StoreError> {
        let sql =
            format!("SELECT {RUN_COLUMNS} FROM {JOINED} WHERE thread = $1 ORDER BY queue_position, runs.key");
        self.database().query(&sql, bind![thread]).await?.iter().map(read_run).collect()
    }
}

#[async_trait]
impl Engine for PostgresEngine {
    async fn submit(&self, scope: &Scope, turn: Turn) -> Result<Submitted, Error> {
        self.submit_turn(scope.clone(), turn).await
    }

    async fn stop(&self, scope: &Scope, run: RunId, how: Stop) -> Result<(), Error> {
        self.stop_run(scope, run, how).await
    }

    async fn resume(&self, scope: &Scope, run: RunId, answer: Value) -> Result<(), Error> {
        self.resume_run(scope, run, answer).await
    }

    async fn submit_job(&self, scope: &Scope, job: NewJob) -> Result<RunId, Error> {
        self.submit_new_job(scope.clone(), job).await
    }

    async fn job(&self, scope: &Scope, run: RunId) -> Result<Job, Error> {
        self.find_run(scope, run).await?.into_job().ok_or(Error::UnknownRun(run))
    }

    async fn jobs(&self, scope: &Scope, queue: QueueId) -> Result<Vec<Job>, Error> {
        let rows = match self.find_thread(scope, ThreadId::from_bytes(*queue.as_bytes())).await {
            Ok(row) => self.runs_of(row.key).await?,
            Err(Error::UnknownThread(_)) => Vec::new(),
            Err(error) => return Err(error),
        };
        Ok(rows.into_iter().filter_map(RunRow::into_job).collect())
    }

    async fn delete_jobs(&self, scope: &Scope, queue: QueueId) -> Result<(), Error> {
        match self.delete(scope, ThreadId::from_bytes(*queue.as_bytes())).await {
            Err(Error::UnknownThread(_)) => Ok(()),
            deleted => deleted,
        }
    }

    async fn unfinished_jobs(&self) -> Result<Vec<UnfinishedJob>, Error> {
        let sql = format!(
            "SELECT {RUN_COLUMNS} FROM {JOINED} WHERE ended_ms IS NULL AND request IS NOT NULL
             ORDER BY runs.thread, queue_position"
        );
        let rows = self.database().query(&sql, bind![]).await?;
        let job = |row: &_| {
            let row = read_run(row)?;
            let scope = serde_json::from_str(&row.scope).map_err(StoreError::damaged)?;
            let job = row.into_job().ok_or(StoreError::Gone)?;
            Ok::<_, StoreError>(UnfinishedJob { scope, job })
        };
        Ok(rows.iter().map(job).collect::<Result<_, _>>()?)
    }

    async fn recover(&self) -> Result<(), Error> {
        self.take_runs().await
    }

    async fn shutdown(&self, timeout: Duration) {
        self.drain_gate().wait(timeout).await;
        self.end_tasks().await;
        if self.is_worker() {
            self.hand_over().await;
        }
        self.close().await;
    }

    async fn events(&self, scope: &Scope, run: RunId, after: u64) -> Result<EventStream, Error> {
        self.follow(scope, run, after).await
    }

    async fn run(&self, scope: &Scope, run: RunId) -> Result<Run, Error> {
        Ok(self.find_run(scope, run).await?.into_run())
    }

    async fn runs(&self, scope: &Scope, thread: ThreadId) -> Result<Vec<Run>, Error> {
        let key = self.find_thread(scope, thread).await?.key;
        Ok(self.runs_of(key).await?.into_iter().map(RunRow::into_run).collect())
    }

    async fn steps(&self, scope: &Scope, run: RunId) -> Result<Vec<Record>, Error> {
        let row = self.find_run(scope, run).await?;
        Ok(read_steps(self.database(), &row).await?)
    }

    async fn state(&self, scope: &Scope, run: RunId, step: u32) -> Result<Value, Error> {
        self.state_after(scope, run, step).await
    }

    async fn fork(&self, scope: &Scope, run: RunId, step: u32) -> Result<(ThreadId, RunId), Error> {
        self.fork_run(scope.clone(), run, step).await
    }

    async fn check(&self) -> Result<(), Error> {
        Ok(self.database().check().await?)
    }

    fn unfinished_runs(&self) -> usize {
        self.live().count()
    }

    async fn delete_run(&self, scope: &Scope, run: RunId) -> Result<(), Error> {
        self.delete_finished_run(scope, run).await
    }

    async fn add_feedback(&self, scope: &Scope, run: RunId, feedback: Feedback) -> Result<(), Error> {
        self.rate(scope, run, &feedback).await
    }

    async fn feedback(&self, scope: &Scope, run: RunId) -> Result<Vec<Feedback>, Error> {
        self.ratings(scope, run).await
    }

    async fn turn_facts(&self, scope: &Scope, range: FactsRange) -> Result<Vec<TurnFacts>, Error> {
        Ok(self.read_facts(scope, &range).await?)
    }

    async fn put_dataset_item(
        &self,
        scope: &Scope,
        dataset: &str,
        id: &str,
        content: Value,
    ) -> Result<(), Error> {
        Ok(self.put_item(scope, dataset, id, &content).await?)
    }

    async fn delete_dataset_items(
        &self,
        scope: &Scope,
        dataset: &str,
        id: Option<&str>,
    ) -> Result<usize, Error> {
        Ok(self.delete_items(scope, dataset, id).await?)
    }

    async fn dataset_items(&self, scope: &Scope, dataset: &str) -> Result<Vec<Value>, Error> {
        Ok(self.read_items(scope, dataset).await?)
    }

    async fn datasets(&self, scope: &Scope) -> Result<Vec<(String, u64)>, Error> {
        Ok(self.list_datasets(scope).await?)
    }

    async fn add_api_key(&self, hash: [u8; 32], key: ApiKey) -> Result<(), Error> {
        let added = self.insert_key(hash, &key).await?;
        added.then_some(()).ok_or(Error::KeyExists(key.name))
    }

    async fn api_key(&self, hash: [u8; 32]) -> Result<Option<ApiKey>, Error> {
        Ok(self.find_key(hash).await?)
    }

    async fn api_keys(&self, scope: &Scope) -> Result<Vec<ApiKey>, Error> {
        Ok(self.list_keys(scope).await?)
    }

    async fn api_key_tenants(&self) -> Result<Vec<Tenant>, Error> {
        Ok(self.key_tenants().await?)
    }

    async fn delete_api_key(&self, scope: &Scope, name: &str) -> Result<(), Error> {
        let deleted = self.delete_key(scope, name).await?;
        deleted.then_some(()).ok_or_else(|| Error::UnknownKey(name.to_owned()))
    }

    async fn create_thread(
        &self,
        scope: &Scope,
        thread: ThreadId,
        metadata: Map<String, Value>,
        lifetime: Lifetime,
    ) -> Result<(Thread, bool), Error> {
        self.begin(scope, thread, &metadata, lifetime).await
    }

    async fn update_thread(
        &self,
        scope: &Scope,
        thread: ThreadId,
        update: ThreadUpdate,
    ) -> Result<Thread, Error> {
        self.update(scope, thread, update).await
    }

    async fn add_messages(
        &self,
        scope: &Scope,
        thread: ThreadId,
        messages: Vec<Message>,
    ) -> Result<RunId, Error> {
        self.add(scope, thread, &messages).await
    }

    async fn copy_thread(
        &self,
        scope: &Scope,
        thread: ThreadId,
        before: Option<u64>,
    ) -> Result<Thread, Error> {
        self.copy(scope, thread, before).await
    }

    async fn threads(&self, scope: &Scope, page: ThreadPage) -> Result<Vec<Thread>, Error> {
        Ok(self.list_threads(scope, &page).await?)
    }

    async fn count_threads(&self, scope: &Scope, filter: ThreadFilter) -> Result<u64, Error> {
        Ok(self.count_fitting(scope, &filter).await?)
    }

    async fn thread(&self, scope: &Scope, thread: ThreadId) -> Result<Thread, Error> {
        Ok(self.find_thread(scope, thread).await?.thread)
    }

    async fn messages(
        &self,
        scope: &Scope,
        thread: ThreadId,
        window: MessageWindow,
    ) -> Result<Vec<ThreadMessage>, Error> {
        let key = self.find_thread(scope, thread).await?.key;
        Ok(self.read_window(key, window).await?)
    }

    async fn delete_thread(&self, scope: &Scope, thread: ThreadId) -> Result<(), Error> {
        self.delete(scope, thread).await
    }
}
