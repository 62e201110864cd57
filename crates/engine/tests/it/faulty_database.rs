//! What a database refuses has a name, readiness knows it, and everything goes on by itself when it is over.

use std::time::{Duration, Instant};

use ibid_core::{Message, ThreadId};
use ibid_engine::{BackendError, Engine, Error, PostgresEngine, PostgresSettings, RunStatus, Turn};
use ibid_testkit::RealPostgres;

use crate::postgres::settings;
use crate::shared::{Stage, open, say, scope, until_ended};

/// An address for somebody who is not the owner of the server, so that limits hold.
fn ordinary(url: &str, role: &str) -> String {
    let server = RealPostgres::get();
    let database = url.rsplit('/').next().unwrap();
    server.execute(url, &format!("CREATE ROLE {role} LOGIN; GRANT ALL ON DATABASE {database} TO {role};"));
    server.execute(
        url,
        &format!("ALTER DATABASE {database} OWNER TO {role}; CREATE EXTENSION IF NOT EXISTS pg_trgm"),
    );
    server.execute(url, &format!("GRANT ALL ON SCHEMA public TO {role}"));
    url.replace("postgres@", &format!("{role}@"))
}

fn name(error: &Error) -> String {
    let (Error::Backend(backend) | Error::Unavailable(backend)) = error else { return error.to_string() };
    BackendError::to_string(backend)
}

/// Waits until the engine says of itself what it should.
async fn until_it_says(engine: &PostgresEngine, expected: Option<&str>) {
    let began = Instant::now();
    loop {
        let said = engine.check().await.err().map(|error| name(&error));
        if said.is_some() == expected.is_some()
            && said.iter().all(|said| expected.is_some_and(|name| said.contains(name)))
        {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "it says {said:?} and not {expected:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// What was under way goes on, and new turns are taken.
async fn goes_on(engine: &PostgresEngine, under_way: ibid_core::RunId) {
    until_it_says(engine, None).await;
    assert_eq!(until_ended(engine, under_way).await, RunStatus::Done);
    let next = say(engine, ThreadId::new(), "and now").await;
    assert_eq!(until_ended(engine, next).await, RunStatus::Done);
    engine.shutdown(Duration::from_secs(1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_read_only_is_told_and_waited_for() {
    let (stage, url) = (Stage::new(), RealPostgres::get().database());
    let database = url.rsplit('/').next().unwrap();
    let engine = open(&stage, settings(url.clone())).await;
    let run = say(&engine, ThreadId::new(), "wait").await;
    let set = |value: &str| {
        // Of other sessions, those that are there keep what they have, so they are ended.
        let sql = format!("ALTER DATABASE {database} SET default_transaction_read_only = {value}");
        RealPostgres::get().execute(&url.replace(database, "postgres"), &sql);
        let sql = format!(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '{database}'"
        );
        RealPostgres::get().execute(&url.replace(database, "postgres"), &sql);
    };
    set("on");
    until_it_says(&engine, Some("the database allows no writes")).await;
    let refused = engine.submit(&scope(), Turn::new(ThreadId::new(), "play", Message::user("hello"))).await;
    assert!(name(&refused.unwrap_err()).contains("the database allows no writes"));
    set("off");
    stage.gate.add_permits(1);
    goes_on(&engine, run).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_takes_no_more_connections_is_told_and_waited_for() {
    let (stage, url) = (Stage::new(), RealPostgres::get().database());
    let limited = ordinary(&url, "limited");
    let engine = open(&stage, PostgresSettings { connections: 3, ..settings(limited) }).await;
    let run = say(&engine, ThreadId::new(), "wait").await;
    let limit = |most: i32| {
        RealPostgres::get().execute(&url, &format!("ALTER ROLE limited CONNECTION LIMIT {most}"));
        let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'limited'";
        RealPostgres::get().execute(&url, end);
    };
    limit(0);
    until_it_says(&engine, Some("the database takes no more connections")).await;
    limit(-1);
    stage.gate.add_permits(1);
    goes_on(&engine, run).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_cancels_statements_is_told_and_waited_for() {
    let (stage, url) = (Stage::new(), RealPostgres::get().database());
    let hurried = ordinary(&url, "hurried");
    let engine = open(&stage, settings(hurried)).await;
    let run = say(&engine, ThreadId::new(), "wait").await;
    // Somebody holds what a heartbeat and a check write, and statements may not wait for it.
    let timeout = |time: &str| {
        RealPostgres::get().execute(&url, &format!("ALTER ROLE hurried SET statement_timeout = '{time}'"));
        let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'hurried'";
        RealPostgres::get().execute(&url, end);
    };
    timeout("50ms");
    let (holding, held) = (url.clone(), tokio::sync::oneshot::channel());
    let holder = tokio::task::spawn_blocking(move || {
        held.0.send(()).unwrap();
        RealPostgres::get().execute(&holding, "BEGIN; LOCK TABLE ibid_schema; SELECT pg_sleep(2); COMMIT")
    });
    held.1.await.unwrap();
    until_it_says(&engine, Some("the database cancelled a statement")).await;
    holder.await.unwrap();
    timeout("0");
    stage.gate.add_permits(1);
    goes_on(&engine, run).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_of_the_database_is_told_and_waited_for() {
    let Some((url, disk)) = RealPostgres::database_on_a_small_disk(48) else {
        eprintln!("not tried: only root can make a small disk");
        return;
    };
    let stage = Stage::new();
    let engine = open(&stage, settings(url)).await;
    let run = say(&engine, ThreadId::new(), "wait").await;
    disk.fill();
    // Many letters that no compression makes fewer.
    let mut number = 7_u64;
    let mut words = String::new();
    while words.len() < 200_000 {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        words.push_str(&format!("{number:x} "));
    }
    let refused = engine.submit(&scope(), Turn::new(ThreadId::new(), "play", Message::user(&words))).await;
    assert!(name(&refused.unwrap_err()).contains("the disk of the database is full"));
    until_it_says(&engine, Some("the disk of the database is full")).await;
    disk.empty();
    stage.gate.add_permits(1);
    goes_on(&engine, run).await;
}
