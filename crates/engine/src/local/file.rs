//! Looking at an engine's file from outside, without running its turns.

use std::path::Path;

use crate::error::Error;
use crate::store::{Readers, StoreError, quick_check, schema_version, size_bytes};

/// What an engine's file holds and whether it is sound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileReport {
    /// Its schema version.
    pub schema: u32,
    /// How many threads it holds.
    pub threads: u64,
    /// How many turns have not ended.
    pub unfinished: u64,
    /// How much disk it takes.
    pub bytes: u64,
    /// What SQLite finds wrong with it; empty if it is sound.
    pub damage: Vec<String>,
}

/// Looks at the file at `path`, also while an engine uses it. The check reads the whole file.
///
/// # Errors
/// Fails if there is no such file, or if it is not an engine's.
pub fn inspect(path: &Path) -> Result<FileReport, Error> {
    let report = Readers::new(path).read_here(|connection| {
        let count = |sql: &str| {
            let counted: Result<i64, _> = connection.query_row(sql, [], |row| row.get(0));
            Ok::<_, StoreError>(counted?.cast_unsigned())
        };
        Ok(FileReport {
            schema: schema_version(),
            threads: count("SELECT count(*) FROM threads")?,
            unfinished: count("SELECT count(*) FROM runs WHERE ended_ms IS NULL")?,
            bytes: size_bytes(path),
            damage: quick_check(connection)?,
        })
    })?;
    Ok(report)
}
