//! The file itself: opening, settings, migrations, and the lock that keeps a second engine out.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::error::StoreError;
use super::pending_events::fold_all_into_journal;

/// Migrations in their order; the schema version is how many have been applied. Never edit one that
/// was released: add another.
const MIGRATIONS: [&str; 13] = [
    include_str!("../../migrations/0001_threads_and_runs.sql"),
    include_str!("../../migrations/0002_spending.sql"),
    include_str!("../../migrations/0003_scope.sql"),
    include_str!("../../migrations/0004_metadata.sql"),
    include_str!("../../migrations/0005_feedback.sql"),
    include_str!("../../migrations/0006_temporary.sql"),
    include_str!("../../migrations/0007_told.sql"),
    include_str!("../../migrations/0008_words_and_outputs.sql"),
    include_str!("../../migrations/0009_traceparent.sql"),
    include_str!("../../migrations/0010_traces.sql"),
    include_str!("../../migrations/0011_turn_facts.sql"),
    include_str!("../../migrations/0012_comparing.sql"),
    include_str!("../../migrations/0013_owners.sql"),
];

/// How long to wait for another process that holds the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a lock may be held by a process that is only just being started.
const LOCK_PATIENCE: Duration = Duration::from_millis(100);

/// "ibid" in ASCII, so that other tools can tell what the file is.
const APPLICATION_ID: i32 = 0x6962_6964;

/// The schema version of the file.
pub(crate) fn schema_of(connection: &Connection) -> rusqlite::Result<u32> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// The newest schema version that this version knows.
const fn schema_version() -> u32 {
    MIGRATIONS.len() as u32
}

/// Keeps a second engine from running the same turns. Released when dropped, also by a kill.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "holding the file holds the lock")] File);

impl Lock {
    /// Takes the lock of the database at `path`.
    pub(crate) fn take(path: &Path) -> Result<Self, StoreError> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|source| StoreError::Open { path: folder.to_owned(), source })?;
        }
        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        let name = PathBuf::from(name);
        let opened = OpenOptions::new().create(true).truncate(false).write(true).open(&name);
        let file = opened.map_err(|source| StoreError::Open { path: name.clone(), source })?;
        // A process that this one is just starting holds all of its files for a moment, until it becomes itself.
        let began = std::time::Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self(file)),
                Err(TryLockError::WouldBlock) if began.elapsed() < LOCK_PATIENCE => {
                    std::thread::sleep(LOCK_PATIENCE / 10);
                }
                Err(TryLockError::WouldBlock) => return Err(StoreError::Locked { path: path.to_owned() }),
                Err(TryLockError::Error(source)) => return Err(StoreError::Open { path: name, source }),
            }
        }
    }
}

/// Opens the file for the writer and brings its schema up to date. Only who holds the lock may do so.
pub(crate) fn open_for_writing(path: &Path) -> Result<Connection, StoreError> {
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    let found = schema_of(&connection)?;
    check_owner(&connection, path, found)?;
    // Must be set before the first table: dropped steps give their pages back to the disk.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "journal_size_limit", 16 * 1024 * 1024)?;
    connection.pragma_update(None, "cache_size", -16 * 1024)?;
    migrate(&mut connection, found)?;
    keep_statements(&connection)?;
    let transaction = connection.transaction()?;
    fold_all_into_journal(&transaction)?;
    transaction.commit()?;
    Ok(connection)
}

/// Opens the file for reading beside the writer, also of another process.
pub(super) fn open_for_reading(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    let found = schema_of(&connection)?;
    check_owner(&connection, path, found)?;
    if found < schema_version() {
        // Whoever only looks may be the first to come after an upgrade.
        let _lock = Lock::take(path)?;
        drop(open_for_writing(path)?);
    }
    connection.pragma_update(None, "cache_size", -2 * 1024)?;
    keep_statements(&connection)?;
    Ok(connection)
}

/// Prepares each statement once. Without the stability guarantee SQLite would plan a statement anew for
/// every new value that is bound to it.
fn keep_statements(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(64);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

fn check_owner(connection: &Connection, path: &Path, found: u32) -> Result<(), StoreError> {
    let owner: i32 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let tables: u32 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if owner != APPLICATION_ID && tables > 0 {
        return Err(StoreError::Foreign { path: path.to_owned() });
    }
    if found > schema_version() {
        return Err(StoreError::TooNew { path: path.to_owned(), found, known: schema_version() });
    }
    Ok(())
}

fn migrate(connection: &mut Connection, found: u32) -> Result<(), StoreError> {
    for (applied, migration) in (1u32..).zip(MIGRATIONS).skip(found as usize) {
        let transaction = connection.transaction()?;
        transaction.execute_batch(migration)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", applied)?;
        transaction.commit()?;
    }
    Ok(())
}

/// What SQLite finds wrong with the file, or nothing.
pub(crate) fn quick_check(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare("PRAGMA quick_check(5)")?;
    let findings = statement.query_map([], |row| row.get::<_, String>(0))?;
    findings.filter(|finding| !matches!(finding, Ok(text) if text == "ok")).collect()
}

/// Gives some free pages back to the disk, and the log's room when no more pages are free, as far as
/// nobody reads them now. Returns whether there is more to give back. Turns wait meanwhile, so it is done
/// in bites.
pub(super) fn reclaim_space(connection: &Connection) -> Result<bool, StoreError> {
    run_pragma(connection, "PRAGMA incremental_vacuum(1024)")?;
    let free: u64 = connection.query_row("PRAGMA freelist_count", [], |row| row.get(0))?;
    if free > 0 {
        return Ok(true);
    }
    connection.busy_timeout(Duration::ZERO)?;
    let truncated = run_pragma(connection, "PRAGMA wal_checkpoint(TRUNCATE)");
    connection.busy_timeout(BUSY_TIMEOUT)?;
    truncated.map(|()| false)
}

fn run_pragma(connection: &Connection, sql: &str) -> Result<(), StoreError> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    Ok(())
}

/// How much disk the file and its log take.
pub(crate) fn size_bytes(path: &Path) -> u64 {
    let part = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        std::fs::metadata(name).map_or(0, |metadata| metadata.len())
    };
    part("") + part("-wal")
}
