//! From the files of one machine to a database that several share, and back: everything that is kept, a few threads at a time, and
//! compared afterwards by counts and hashes.

mod database;
mod file;
mod tables;
mod value;

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::Error;
use crate::postgres::PostgresEngine;
use crate::store::StoreError;
use file::FileSide;
use tables::{OF_THREADS, Table, WHOLE};
use value::{Row, Tally};

/// How many threads are copied at once.
const AT_ONCE: usize = 50;

/// What an engine's file holds: conversations, or loads in their queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Conversations.
    Turns,
    /// Loads.
    Loads,
}

/// How many rows of each table were copied, and are the same on both sides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CopyReport(BTreeMap<&'static str, u64>);

impl CopyReport {
    /// How many rows of each kind.
    pub fn rows(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(name, count)| (*name, *count))
    }

    /// Adds what another copy came to.
    pub fn add(&mut self, other: &Self) {
        for (name, count) in &other.0 {
            *self.0.entry(name).or_default() += count;
        }
    }
}

/// One side of a copy.
trait Side {
    /// Threads after one, in the order of their keys.
    async fn threads_after(&mut self, after: i64) -> Result<Vec<i64>, StoreError>;
    /// The rows of a table that belong to threads; all that belong to none, if it is such a table.
    async fn read(&mut self, table: &Table, threads: &[i64]) -> Result<Vec<Row>, StoreError>;
    /// Writes rows.
    async fn write(&mut self, table: &Table, rows: Vec<Row>) -> Result<(), StoreError>;
    /// Begins and ends what is written at once.
    async fn begin(&mut self) -> Result<(), StoreError>;
    async fn commit(&mut self) -> Result<(), StoreError>;
    /// Whether nothing of this kind is there.
    async fn is_empty(&mut self) -> Result<bool, StoreError>;
}

/// Copies what a file holds into a database. The file is locked meanwhile, and stays as it is.
///
/// # Errors
/// Fails if an engine uses the file, if the database holds something of that kind already, or if the copy is not the same.
pub async fn copy_to_postgres(
    file: &Path,
    kind: FileKind,
    engine: &PostgresEngine,
) -> Result<CopyReport, Error> {
    let (mut from, mut to) = (FileSide::open(file, kind)?, database::DatabaseSide::of(engine, kind).await?);
    copy(&mut from, &mut to).await
}

/// Copies what a database holds of a kind into a file, which must not be there yet.
///
/// # Errors
/// Fails if the file is there, or if the copy is not the same. No process may be changing the database meanwhile.
pub async fn copy_from_postgres(
    engine: &PostgresEngine,
    file: &Path,
    kind: FileKind,
) -> Result<CopyReport, Error> {
    let (mut from, mut to) = (database::DatabaseSide::of(engine, kind).await?, FileSide::open(file, kind)?);
    copy(&mut from, &mut to).await
}

async fn copy(from: &mut impl Side, to: &mut impl Side) -> Result<CopyReport, Error> {
    if !to.is_empty().await? {
        return Err(
            StoreError::Damaged("there is something already where it is to be copied".to_owned()).into()
        );
    }
    let mut copied: BTreeMap<&'static str, Tally> = BTreeMap::new();
    let mut after = 0;
    loop {
        let threads = from.threads_after(after).await?;
        let Some(last) = threads.last() else { break };
        after = *last;
        to.begin().await?;
        for table in &OF_THREADS {
            move_rows(from, to, table, &threads, &mut copied).await?;
        }
        to.commit().await?;
    }
    to.begin().await?;
    for table in &WHOLE {
        move_rows(from, to, table, &[], &mut copied).await?;
    }
    to.commit().await?;
    let found = tally(to).await?;
    for (name, expected) in &copied {
        if found.get(name) != Some(expected) {
            return Err(StoreError::Damaged(format!("the copied {name} are not those that were read")).into());
        }
    }
    Ok(CopyReport(copied.into_iter().map(|(name, tally)| (name, tally.count())).collect()))
}

async fn move_rows(
    from: &mut impl Side,
    to: &mut impl Side,
    table: &Table,
    threads: &[i64],
    copied: &mut BTreeMap<&'static str, Tally>,
) -> Result<(), StoreError> {
    let rows = from.read(table, threads).await?;
    let tally = copied.entry(table.name).or_default();
    rows.iter().for_each(|row| tally.add(row, table.columns));
    to.write(table, rows).await
}

/// Counts and hashes everything of a side.
async fn tally(side: &mut impl Side) -> Result<BTreeMap<&'static str, Tally>, StoreError> {
    let mut found: BTreeMap<&'static str, Tally> = BTreeMap::new();
    let mut after = 0;
    loop {
        let threads = side.threads_after(after).await?;
        let Some(last) = threads.last() else { break };
        after = *last;
        for table in &OF_THREADS {
            let rows = side.read(table, &threads).await?;
            let tally = found.entry(table.name).or_default();
            rows.iter().for_each(|row| tally.add(row, table.columns));
        }
    }
    for table in &WHOLE {
        let rows = side.read(table, &[]).await?;
        let tally = found.entry(table.name).or_default();
        rows.iter().for_each(|row| tally.add(row, table.columns));
    }
    Ok(found)
}
