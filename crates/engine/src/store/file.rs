//! The file itself: opening, settings, migrations, and the lock that keeps a second engine out.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::backup::Backup;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::error::StoreError;
use super::pending_events::fold_all_into_journal;

/// Migrations in their order; the schema version is how many have been applied. Never edit one that
/// was released: add another.
const MIGRATIONS: [&str; 14] = [
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
    include_str!("../../migrations/0014_set_aside.sql"),
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

/// What somebody said is for the user who runs ibid, and nobody else on the machine.
const PRIVATE_FOLDER: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;

/// Keeps a second engine from running the same turns. Released when dropped, also by a kill.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "holding the file holds the lock")] File);

impl Lock {
    /// Takes the lock of the database at `path`.
    pub(crate) fn take(path: &Path) -> Result<Self, StoreError> {
        if let Some(folder) = path.parent() {
            let made = DirBuilder::new().recursive(true).mode(PRIVATE_FOLDER).create(folder);
            made.map_err(|source| StoreError::Open { path: folder.to_owned(), source })?;
        }
        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        let name = PathBuf::from(name);
        let opened =
            OpenOptions::new().create(true).truncate(false).write(true).mode(PRIVATE_FILE).open(&name);
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
    // What SQLite puts beside it is as private.
    make_private(path)?;
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    let found = schema_of(&connection)?;
    check_owner(&connection, path, found)?;
    // Must be set before the first table: dropped steps give their pages back to the disk.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    // What is deleted is overwritten, where a page is written anyway; pages that become free are given back to the disk.
    connection.pragma_update(None, "secure_delete", "FAST")?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "journal_size_limit", 16 * 1024 * 1024)?;
    connection.pragma_update(None, "cache_size", -16 * 1024)?;
    if (1..schema_version()).contains(&found) {
        copy_before_migration(&connection, path, found)?;
    }
    migrate(&mut connection, found)?;
    keep_statements(&connection)?;
    let transaction = connection.transaction()?;
    fold_all_into_journal(&transaction)?;
    transaction.commit()?;
    Ok(connection)
}

/// Makes a file, if there is none, that nobody else can read from its first byte on.
pub(crate) fn make_private(path: &Path) -> Result<(), StoreError> {
    let made = OpenOptions::new().create(true).truncate(false).write(true).mode(PRIVATE_FILE).open(path);
    made.map(drop).map_err(|source| StoreError::Open { path: path.to_owned(), source })
}

/// Copies the file as it is, for whoever wants to go back to the version before: `engine.db.schema-12`.
fn copy_before_migration(connection: &Connection, path: &Path, found: u32) -> Result<(), StoreError> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".schema-{found}"));
    let copy = PathBuf::from(name);
    // One that is there is of a migration that was tried before.
    if let Err(source) = std::fs::remove_file(&copy)
        && source.kind() != std::io::ErrorKind::NotFound
    {
        return Err(StoreError::Open { path: copy, source });
    }
    make_private(&copy)?;
    tracing::info!(copy = %copy.display(), "the file of an earlier version is copied before it is migrated");
    connection.execute("VACUUM INTO ?1", [copy.to_string_lossy()])?;
    let synced = File::open(&copy).and_then(|file| file.sync_all());
    synced.map_err(|source| StoreError::Open { path: copy, source })
}

/// Removes copies that were made before migrations some time ago: nobody goes back any more, and what was deleted since is in
/// them.
pub(crate) fn remove_copies_older_than(path: &Path, age: Duration) -> Result<(), StoreError> {
    let failed = |path: &Path, source| StoreError::Open { path: path.to_owned(), source };
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
    let prefix = format!("{}.schema-", name.to_string_lossy());
    for file in folder.read_dir().map_err(|source| failed(folder, source))?.flatten() {
        let is_old = || Some(file.metadata().ok()?.modified().ok()?.elapsed().ok()? >= age);
        if file.file_name().to_string_lossy().starts_with(&prefix) && is_old() == Some(true) {
            std::fs::remove_file(file.path()).map_err(|source| failed(&file.path(), source))?;
        }
    }
    Ok(())
}

/// Opens the file for reading beside the writer, also of another process. One of an earlier version stays as it is: a copy of
/// it is migrated, and gone with the connection.
pub(super) fn open_for_reading(path: &Path) -> Result<Connection, StoreError> {
    let mut connection = open_to_look(path)?;
    if schema_of(&connection)? < schema_version() {
        connection = migrated_copy(&connection)?;
    }
    connection.pragma_update(None, "cache_size", -2 * 1024)?;
    keep_statements(&connection)?;
    Ok(connection)
}

/// Opens the file as it is, whatever its version, to read it beside the writer.
pub(crate) fn open_to_look(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    check_owner(&connection, path, schema_of(&connection)?)?;
    Ok(connection)
}

/// Copies a moment of one file to another, beside those who write.
pub(crate) fn copy_pages(from: &Connection, to: &mut Connection) -> rusqlite::Result<()> {
    const PAGES_AT_ONCE: i32 = 4096;
    // Without a transaction, the copy would begin again whenever somebody writes.
    let moment = from.is_autocommit().then(|| from.unchecked_transaction()).transpose()?;
    schema_of(from)?;
    Backup::new(from, to)?.run_to_completion(PAGES_AT_ONCE, Duration::ZERO, None)?;
    moment.map_or(Ok(()), rusqlite::Transaction::commit)
}

/// A copy with the newest schema, in a file that is gone with the connection.
pub(crate) fn migrated_copy(connection: &Connection) -> Result<Connection, StoreError> {
    let mut copy = Connection::open("")?;
    copy_pages(connection, &mut copy)?;
    migrate_copy(&mut copy)?;
    Ok(copy)
}

/// Brings the schema of a copy up to date.
pub(crate) fn migrate_copy(copy: &mut Connection) -> Result<(), StoreError> {
    let found = schema_of(copy)?;
    migrate(copy, found)
}

/// Whether the file has the newest schema.
pub(crate) fn is_current(connection: &Connection) -> rusqlite::Result<bool> {
    Ok(schema_of(connection)? == schema_version())
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
pub(crate) fn reclaim_space(connection: &Connection) -> Result<bool, StoreError> {
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
    bytes_of(path, "") + log_bytes(path)
}

/// How much disk the log of the file takes.
pub(crate) fn log_bytes(path: &Path) -> u64 {
    bytes_of(path, "-wal")
}

fn bytes_of(path: &Path, suffix: &str) -> u64 {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    std::fs::metadata(name).map_or(0, |metadata| metadata.len())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// A thread with turns of two scopes, a copy of it, and one in which nothing was asked.
    const OF_TWO_SCOPES: &str = r#"
        INSERT INTO threads (key, id, tenant, title, created_ms, updated_ms)
            VALUES (1, x'01', 'local', '', 0, 0), (2, x'02', 'local', '', 0, 0), (3, x'03', 'local', '', 0, 0);
        INSERT INTO runs (key, id, thread, graph, version, status, queue_position, options, created_ms, scope) VALUES
            (1, x'01', 1, '', '', 'done', 1, '{}', 0, '{"tenant":"local","corpora":["rules"],"labels":["legal"]}'),
            (2, x'02', 1, '', '', 'done', 2, '{}', 0, '{"tenant":"local","corpora":["prices"],"labels":[]}');
        INSERT INTO messages (thread, position, run, body) VALUES (2, 0, 1, '{}'), (2, 1, 2, '{}');
    "#;

    #[test]
    fn a_file_is_private_and_copied_before_it_is_migrated() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data/engine.db");
        let _lock = Lock::take(&path).unwrap();
        let before = schema_version() - 1;
        {
            make_private(&path).unwrap();
            let connection = Connection::open(&path).unwrap();
            for migration in &MIGRATIONS[..before as usize] {
                connection.execute_batch(migration).unwrap();
            }
            connection.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
            connection.pragma_update(None, "user_version", before).unwrap();
            if before == 12 {
                connection.execute_batch(OF_TWO_SCOPES).unwrap();
            }
        }
        drop(open_for_writing(&path).unwrap());
        let connection = Connection::open(&path).unwrap();
        assert_eq!(schema_of(&connection).unwrap(), schema_version());
        if before == 12 {
            let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
            let sql = "SELECT corpora, labels FROM threads ORDER BY key";
            let found: Vec<(Option<String>, String)> =
                connection.prepare(sql).unwrap().query_map([], read).unwrap().map(Result::unwrap).collect();
            let both = (Some(r#"["rules","prices"]"#.to_owned()), r#"["legal"]"#.to_owned());
            let none = (None, "[]".to_owned());
            assert_eq!(found, [both.clone(), both, none], "a thread may quote what any of its turns could");
        }
        drop(connection);
        let copy = folder.path().join(format!("data/engine.db.schema-{before}"));
        assert_eq!(schema_of(&Connection::open(&copy).unwrap()).unwrap(), before, "it is as it was");
        for entry in std::fs::read_dir(folder.path().join("data")).unwrap() {
            let entry = entry.unwrap();
            let mode = entry.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{:?} can be read by others", entry.file_name());
        }
        let mode = std::fs::metadata(folder.path().join("data")).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0);
        let migrated = std::fs::metadata(&copy).unwrap().modified().unwrap();
        drop(open_for_writing(&path).unwrap());
        assert_eq!(std::fs::metadata(&copy).unwrap().modified().unwrap(), migrated, "once");
    }
}
