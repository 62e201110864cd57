//! What came of turns, and what people thought of answers.

use ibid_core::{RunId, Scope};
use tokio_postgres::Row;

use super::PostgresEngine;
use super::bound::bind;
use super::rows::{run_id, thread_id};
use super::threads::storable;
use super::visibility::Condition;
use crate::error::Error;
use crate::facts::{FactsRange, TurnFacts, TurnFilter, TurnMeasures};
use crate::run::{millis, time};
use crate::store::{StoreError, ThreadUse};
use crate::types::{Feedback, RunStatus};

impl PostgresEngine {
    /// Keeps what somebody thought of a run's answer.
    pub(super) async fn rate(&self, scope: &Scope, run: RunId, given: &Feedback) -> Result<(), Error> {
        let key = self.find_run(scope, run).await?.key;
        let sql =
            "INSERT INTO feedback (run, created_ms, score, comment, author) VALUES ($1, $2, $3, $4, $5)";
        let (comment, author) = (storable(&given.comment), storable(&given.author));
        let values = bind![key, millis(given.created), i64::from(given.score), comment, author];
        self.database().once(sql, values).await?;
        Ok(())
    }

    /// What was thought of a run's answer, in order.
    pub(super) async fn ratings(&self, scope: &Scope, run: RunId) -> Result<Vec<Feedback>, Error> {
        let key = self.find_run(scope, run).await?.key;
        let sql = "SELECT score, comment, created_ms, author FROM feedback WHERE run = $1 ORDER BY key";
        let read = |row: &Row| {
            let score: i64 = row.try_get(0)?;
            Ok::<_, StoreError>(Feedback {
                score: i8::try_from(score).unwrap_or_default(),
                comment: row.try_get(1)?,
                created: time(row.try_get(2)?),
                author: row.try_get(3)?,
            })
        };
        let rows = self.database().query(sql, bind![key]).await?;
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }

    /// What came of the turns of a tenant, the newest first.
    pub(super) async fn read_facts(
        &self,
        scope: &Scope,
        range: &FactsRange,
    ) -> Result<Vec<TurnFacts>, StoreError> {
        let rated = |how: &str| {
            format!("EXISTS (SELECT 1 FROM feedback WHERE feedback.run = turn_facts.run AND score {how} 0)")
        };
        let wanted = match range.filter {
            TurnFilter::All => "true".to_owned(),
            TurnFilter::Failed => "turn_facts.status = 'failed'".to_owned(),
            TurnFilter::Unanswered => "outcome = 'unanswered'".to_owned(),
            TurnFilter::Warned => "(outcome = 'withheld' OR warnings <> '[]')".to_owned(),
            TurnFilter::Good => rated(">"),
            TurnFilter::Bad => rated("<"),
        };
        let FactsRange { from, to, assistant, at_most, .. } = range;
        let at_most = i64::try_from(*at_most).unwrap_or(i64::MAX);
        let values = bind![scope.tenant(), millis(*from), millis(*to), assistant.clone(), at_most];
        // What came of a turn is no secret, but its thread may be.
        let mut readable = Condition::new("threads.key = runs.thread", values.to_vec());
        readable.visible(scope, ThreadUse::Read)?;
        let existing = if range.existing { "threads.key IS NOT NULL" } else { "true" };
        let sql = format!(
            "SELECT runs.id, threads.id, title, assistant, turn_facts.ended_ms, turn_facts.status, outcome, took_ms,
                 first_word_ms, warnings, rounds, usage,
                 (SELECT count(*) FROM feedback WHERE feedback.run = turn_facts.run AND score > 0),
                 (SELECT count(*) FROM feedback WHERE feedback.run = turn_facts.run AND score < 0), quotes
             FROM turn_facts LEFT JOIN runs ON runs.key = turn_facts.run
             LEFT JOIN threads ON {}
             WHERE turn_facts.tenant = $1 AND turn_facts.ended_ms >= $2 AND turn_facts.ended_ms < $3
                 AND ($4 IS NULL OR assistant = $4) AND {wanted} AND {existing}
             ORDER BY turn_facts.ended_ms DESC, turn_facts.run DESC LIMIT $5",
            readable.sql
        );
        self.database().query(&sql, &readable.values).await?.iter().map(read).collect()
    }
}

fn read(row: &Row) -> Result<TurnFacts, StoreError> {
    let number = |column: usize| {
        let value: Option<i64> = row.try_get(column)?;
        Ok::<_, StoreError>(value.map(i64::unsigned_abs))
    };
    let count = |column: usize| {
        Ok::<_, StoreError>(u32::try_from(number(column)?.unwrap_or_default()).unwrap_or(u32::MAX))
    };
    let (status, outcome): (&str, Option<&str>) = (row.try_get(5)?, row.try_get(6)?);
    Ok(TurnFacts {
        run: row.try_get::<_, Option<_>>(0)?.map(run_id),
        thread: row.try_get::<_, Option<_>>(1)?.map(thread_id),
        title: row.try_get::<_, Option<_>>(2)?.unwrap_or_default(),
        assistant: row.try_get(3)?,
        ended: time(row.try_get(4)?),
        status: RunStatus::parse(status).unwrap_or(RunStatus::Failed),
        measures: TurnMeasures {
            outcome: outcome.and_then(|text| serde_json::from_value(text.into()).ok()),
            took_ms: number(7)?,
            first_word_ms: number(8)?,
            quotes: serde_json::from_str(row.try_get(14)?).map_err(StoreError::damaged)?,
            warnings: serde_json::from_str(row.try_get(9)?).map_err(StoreError::damaged)?,
            rounds: count(10)?,
            usage: serde_json::from_str(row.try_get(11)?).map_err(StoreError::damaged)?,
        },
        good: count(12)?,
        bad: count(13)?,
    })
}
