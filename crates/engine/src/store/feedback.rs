//! What people thought of answers.

use rusqlite::{Connection, params};

use super::error::StoreError;
use crate::run::{millis, time};
use crate::types::Feedback;

/// Keeps what somebody thought.
pub(crate) fn add_feedback(connection: &Connection, run: i64, given: &Feedback) -> Result<(), StoreError> {
    let sql = "INSERT INTO feedback (run, created_ms, score, comment, author) VALUES (?1, ?2, ?3, ?4, ?5)";
    let values = params![run, millis(given.created), given.score, given.comment, given.author];
    connection.prepare_cached(sql)?.execute(values)?;
    Ok(())
}

/// What was thought of a run's answer.
pub(crate) fn read_feedback(connection: &Connection, run: i64) -> Result<Vec<Feedback>, StoreError> {
    let sql = "SELECT score, comment, created_ms, author FROM feedback WHERE run = ?1 ORDER BY rowid";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([run], |row| {
        Ok(Feedback {
            score: row.get(0)?,
            comment: row.get(1)?,
            created: time(row.get(2)?),
            author: row.get(3)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
