//! Three processes on one database, which are killed, put to sleep and cut off from it while people talk to them, and a database
//! whose primary is lost twice. Afterwards every turn that was accepted has ended exactly once, no step ran again after it had
//! finished, no message is lost or there twice, and whoever followed a turn has all of it.
//!
//! `IBID_CHAOS_SECONDS` says for how long, a minute unless said otherwise.

mod client;
mod node;
mod report;
mod trouble;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ibid_testkit::{RealPostgres, RealPostgresPair};
use tokio::task::JoinSet;

use client::{Client, Talk};
use node::Nodes;
use report::Report;
use trouble::{Line, Troubles};

/// So many conversations begin a turn in each second, and so many are there.
const TURNS_PER_SECOND: u32 = 50;
const CONVERSATIONS: usize = 200;
/// How long a process may be silent before others take its runs over.
const LEASE: Duration = Duration::from_secs(3);

const PROCESSES: usize = 3;
const BETWEEN_UPGRADES: Duration = Duration::from_secs(4);
/// What the version to come does to the tables, beside processes of this one.
const NEXT_MIGRATION: &str = "
    ALTER TABLE runs ADD COLUMN later text NOT NULL DEFAULT 'usual';
    CREATE TABLE later (run bigint PRIMARY KEY);
    UPDATE ibid_schema SET version = version + 1";

fn seconds() -> u64 {
    std::env::var("IBID_CHAOS_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(60)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_done_twice_while_machines_die() {
    let time = Duration::from_secs(seconds());
    let database = RealPostgresPair::start();
    let folder = tempfile::tempdir().unwrap();
    let mut lines = Vec::new();
    for _ in 0..PROCESSES {
        lines.push(Line::to(&database).await);
    }
    // Whoever follows what is still under way needs them to the end.
    let lines = Arc::new(lines);
    let nodes = Arc::new(Nodes::start(folder.path(), lines.iter().map(|line| line.url(&database)).collect()));
    nodes.until_ready().await;
    let client = Arc::new(Client::of(nodes.urls()));
    let report = Arc::new(Report::default());

    let began = Instant::now();
    let trouble = tokio::task::spawn_blocking({
        let (nodes, lines) = (nodes.clone(), lines.clone());
        move || trouble::make(&nodes, &lines, database, time)
    });
    let talks = talk(&client, &report, began + time).await;
    let (troubles, database) = trouble.await.unwrap();
    nodes.until_ready().await;

    let turns = all_is_as_it_was_seen(&talks, &client).await;
    let performed = nodes.performed();
    let again = performed.again_after_finish(&troubles.woken);
    assert!(
        again.is_empty(),
        "steps ran again after they had finished: {again:?}, woken: {:?}",
        troubles.woken
    );
    println!("{}", report.summary(&troubles, turns, &performed, began.elapsed()));
    nodes.stop();
    drop((lines, database));
}

/// Every process is told to end and replaced by one of a later version, one after the other, while people talk.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_turn_fails_while_every_process_is_upgraded() {
    let url = RealPostgres::get().database();
    let folder = tempfile::tempdir().unwrap();
    let nodes = Arc::new(Nodes::start(folder.path(), vec![url.clone(); PROCESSES]));
    nodes.until_ready().await;
    let client = Arc::new(Client::of(nodes.urls()));
    let report = Arc::new(Report::default());

    let began = Instant::now();
    let upgrade = tokio::task::spawn_blocking({
        let nodes = nodes.clone();
        move || {
            std::thread::sleep(BETWEEN_UPGRADES);
            RealPostgres::get().execute(&url, NEXT_MIGRATION);
            for index in 0..nodes.count() {
                nodes.upgrade(index);
                std::thread::sleep(BETWEEN_UPGRADES);
            }
        }
    });
    let upgrades = u32::try_from(nodes.count()).unwrap() + 2;
    let talks = talk(&client, &report, began + BETWEEN_UPGRADES * upgrades).await;
    upgrade.await.unwrap();
    let turns = all_is_as_it_was_seen(&talks, &client).await;
    let checked = talks.iter().flat_map(|talk| talk.expected()).filter(|said| said.contains("check")).count();
    assert!(checked > 0, "the version to come has answered");
    let summary = report.summary(&Troubles::default(), turns, &nodes.performed(), began.elapsed());
    println!("{checked} answers of the version to come; {summary}");
    nodes.stop();
}

/// Every message is there once, and every turn was told once, as its person saw it; how many turns there were.
async fn all_is_as_it_was_seen(talks: &[Talk], client: &Client) -> usize {
    for talk in talks {
        let said = client.conversation(talk.thread).await;
        assert_eq!(said, talk.expected(), "messages of {}", talk.thread);
    }
    let turns: HashMap<_, _> =
        talks.iter().flat_map(|talk| talk.turns.iter().map(|turn| (turn.run, turn))).collect();
    let count = talks.iter().map(|talk| talk.turns.len()).sum::<usize>();
    assert_eq!(turns.len(), count, "every turn is a run of its own");
    turns.values().for_each(|turn| turn.is_told_once());
    count
}

/// Talks until the end, with a new turn every so often in a conversation that is free, and waits until all have ended.
async fn talk(client: &Arc<Client>, report: &Arc<Report>, until: Instant) -> Vec<Talk> {
    let mut free: Vec<Talk> = (0..CONVERSATIONS).map(Talk::begin).collect();
    let mut talking: JoinSet<Talk> = JoinSet::new();
    let mut tick = tokio::time::interval(Duration::from_secs(1) / TURNS_PER_SECOND);
    let mut number = 0;
    while Instant::now() < until {
        tick.tick().await;
        while let Some(done) = talking.try_join_next() {
            free.insert(0, done.unwrap());
        }
        // While all of them wait, nobody has anything to say.
        let Some(mut next) = free.pop() else { continue };
        number += 1;
        let (client, report) = (client.clone(), report.clone());
        talking.spawn(async move {
            next.say(number, &client, &report).await;
            next
        });
    }
    while let Some(done) = talking.join_next().await {
        free.push(done.unwrap());
    }
    free
}
