//! What came of each turn.

use ibid_core::{RunId, Scope, Tenant, ThreadId};
use rusqlite::types::Value as Bound;
use rusqlite::{Connection, params, params_from_iter};

use super::error::StoreError;
use super::visibility::{ThreadUse, visible};
use crate::facts::{FactsRange, TurnFacts, TurnFilter, TurnMeasures};
use crate::run::{encode, millis, now_ms, time};
use crate::types::RunStatus;

/// Keeps what came of a turn.
pub(crate) fn add_facts(
    connection: &Connection,
    run: i64,
    tenant: &Tenant,
    assistant: &str,
    status: RunStatus,
    measures: &TurnMeasures,
) -> Result<(), StoreError> {
    let sql = "INSERT OR REPLACE INTO turn_facts
               (run, tenant, assistant, ended_ms, status, outcome, took_ms, first_word_ms, warnings, rounds, usage, quotes)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
    let values = params![
        run,
        tenant.as_str(),
        assistant,
        now_ms(),
        status.as_str(),
        measures.outcome.map(|outcome| outcome.as_str()),
        measures.took_ms,
        measures.first_word_ms,
        encode(&measures.warnings)?,
        measures.rounds,
        encode(&measures.usage)?,
        encode(&measures.quotes)?
    ];
    connection.prepare_cached(sql)?.execute(values)?;
    Ok(())
}

/// What came of the turns of a tenant, the newest first.
pub(crate) fn read_facts(
    connection: &Connection,
    scope: &Scope,
    range: &FactsRange,
) -> Result<Vec<TurnFacts>, StoreError> {
    let rated = |how: &str| {
        format!("EXISTS (SELECT 1 FROM feedback WHERE feedback.run = turn_facts.run AND score {how} 0)")
    };
    let wanted = match range.filter {
        TurnFilter::All => "TRUE".to_owned(),
        TurnFilter::Failed => "turn_facts.status = 'failed'".to_owned(),
        TurnFilter::Unanswered => "outcome = 'unanswered'".to_owned(),
        TurnFilter::Warned => "(outcome = 'withheld' OR warnings <> '[]')".to_owned(),
        TurnFilter::Good => rated(">"),
        TurnFilter::Bad => rated("<"),
    };
    // What came of a turn is no secret, but its thread may be.
    let (readable, bound) = visible(scope, ThreadUse::Read, 6)?;
    let existing = if range.existing { "threads.key IS NOT NULL" } else { "TRUE" };
    let sql = format!(
        "SELECT runs.id, threads.id, title, assistant, turn_facts.ended_ms, turn_facts.status, outcome, took_ms,
                   first_word_ms, warnings, rounds, usage,
                   (SELECT count(*) FROM feedback WHERE feedback.run = turn_facts.run AND score > 0),
                   (SELECT count(*) FROM feedback WHERE feedback.run = turn_facts.run AND score < 0),
                   quotes
               FROM turn_facts LEFT JOIN runs ON runs.key = turn_facts.run
               LEFT JOIN threads ON threads.key = runs.thread AND {readable}
               WHERE turn_facts.tenant = ?1 AND turn_facts.ended_ms >= ?2 AND turn_facts.ended_ms < ?3
                   AND (?4 IS NULL OR assistant = ?4) AND {wanted} AND {existing}
               ORDER BY turn_facts.ended_ms DESC, turn_facts.run DESC LIMIT ?5"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let FactsRange { from, to, assistant, at_most, .. } = range;
    let tenant = scope.tenant().as_str().to_owned();
    let at_most = i64::try_from(*at_most).unwrap_or(i64::MAX);
    let values: [Bound; 5] =
        [tenant.into(), millis(*from).into(), millis(*to).into(), assistant.clone().into(), at_most.into()];
    let mut rows = statement.query(params_from_iter(values.into_iter().chain(bound)))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let status: String = row.get(5)?;
        let outcome: Option<String> = row.get(6)?;
        let (warnings, usage, quotes): (String, String, String) = (row.get(9)?, row.get(11)?, row.get(14)?);
        found.push(TurnFacts {
            run: row.get::<_, Option<_>>(0)?.map(RunId::from_bytes),
            thread: row.get::<_, Option<_>>(1)?.map(ThreadId::from_bytes),
            title: row.get::<_, Option<_>>(2)?.unwrap_or_default(),
            assistant: row.get(3)?,
            ended: time(row.get(4)?),
            status: RunStatus::parse(&status).unwrap_or(RunStatus::Failed),
            measures: TurnMeasures {
                outcome: outcome.and_then(|text| serde_json::from_value(text.into()).ok()),
                took_ms: row.get(7)?,
                first_word_ms: row.get(8)?,
                quotes: serde_json::from_str(&quotes).map_err(StoreError::damaged)?,
                warnings: serde_json::from_str(&warnings).map_err(StoreError::damaged)?,
                rounds: row.get(10)?,
                usage: serde_json::from_str(&usage).map_err(StoreError::damaged)?,
            },
            good: row.get(12)?,
            bad: row.get(13)?,
        });
    }
    Ok(found)
}
