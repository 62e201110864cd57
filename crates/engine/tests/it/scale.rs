//! What the engine on Postgres takes beside Postgres alone, through another process, and with very much in it: `just bench-scale`.
//! `IBID_MESSAGES` says how many messages the large database has, a hundred for each thread.

use std::fmt::Write as _;
use std::time::{Duration, Instant, SystemTime};

use futures_util::StreamExt;
use ibid_core::{Message, Scope, Tenant, ThreadId, TurnInput};
use ibid_engine::{
    Engine, GraphEntry, Graphs, MessageWindow, PostgresEngine, PostgresSettings, ThreadFilter, ThreadPage,
    Turn,
};
use ibid_graph::{Context, END, EventKind, Graph, START, State};
use ibid_testkit::RealPostgres;
use tokio_postgres::NoTls;

const NODES: [&str; 6] = ["one", "two", "three", "four", "five", "six"];
const ROUNDS: usize = 5;
const TURNS_ALONE: usize = 100;
const AT_ONCE: usize = 64;
const TURNS_EACH: usize = 20;
const WORDS: usize = 300;

#[derive(Clone, serde::Serialize)]
struct Nothing;

impl State for Nothing {
    type Update = ();
    fn apply(&mut self, (): ()) {}
}

/// Six nodes that do nothing, and one that says the time.
fn graphs() -> Graphs {
    let mut builder = Graph::<Nothing>::builder("six");
    let mut before = START;
    for name in NODES {
        builder = builder.node(name, async |_, _| Ok(())).edge(before, name);
        before = name;
    }
    let six = builder.edge(before, END).build().unwrap();
    let clock = Graph::<Nothing>::builder("clock")
        .node("tell", async |_, context: Context| {
            for _ in 0..WORDS {
                context.token(format!("{} ", now()));
                tokio::time::sleep(Duration::from_millis(15)).await;
            }
            Ok(())
        })
        .edge(START, "tell")
        .edge("tell", END)
        .build()
        .unwrap();
    let entry = |graph: Graph<Nothing>| {
        let program =
            graph.compile(|_: TurnInput| Ok(Nothing), |_: &Nothing| vec![Message::assistant("done")]);
        GraphEntry::turn(program).with_history(0)
    };
    [("six".to_owned(), entry(six)), ("clock".to_owned(), entry(clock))].into_iter().collect()
}

fn now() -> u128 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros()
}

fn scope() -> Scope {
    Scope::of(Tenant::local())
}

async fn open(url: &str, works: bool) -> PostgresEngine {
    PostgresEngine::open(graphs(), PostgresSettings { works, ..PostgresSettings::new(url.to_owned()) })
        .await
        .unwrap()
}

async fn turn(engine: &PostgresEngine, thread: ThreadId) {
    let run = engine.submit(&scope(), Turn::new(thread, "six", Message::user("go"))).await.unwrap().run;
    engine.events(&scope(), run, 0).await.unwrap().for_each(|_| std::future::ready(())).await;
}

/// The same commits by hand: the turn, five steps, and the last one with the answer.
struct Bare(tokio_postgres::Client);

impl Bare {
    async fn open(url: &str) -> Self {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        tokio::spawn(connection);
        Self(client)
    }

    async fn prepare(url: &str) {
        let sql = "CREATE TABLE b_runs (id bigserial PRIMARY KEY, status text NOT NULL, messages int NOT NULL DEFAULT 0);
                   CREATE TABLE b_messages (run bigint, position int, body text, PRIMARY KEY (run, position));
                   CREATE TABLE b_steps (run bigint, step int, record text, events text, PRIMARY KEY (run, step));";
        Self::open(url).await.0.batch_execute(sql).await.unwrap();
    }

    async fn turns(&self, count: usize) {
        let client = &self.0;
        let begin = client
            .prepare(
                "WITH run AS (INSERT INTO b_runs (status) VALUES ('running') RETURNING id)
                      INSERT INTO b_messages SELECT id, 0, $1 FROM run RETURNING run",
            )
            .await
            .unwrap();
        let step = client.prepare("INSERT INTO b_steps VALUES ($1, $2, $3, $4)").await.unwrap();
        let end = client
            .prepare(
                "WITH step AS (INSERT INTO b_steps VALUES ($1, $2, $3, $4)),
                      said AS (INSERT INTO b_messages VALUES ($1, 1, $5))
                      UPDATE b_runs SET status = 'done', messages = 2 WHERE id = $1",
            )
            .await
            .unwrap();
        let (record, events) =
            ("{\"node\":\"one\",\"update\":null}", "[{\"step\":1,\"attempt\":1,\"kind\":\"started\"}]");
        for _ in 0..count {
            let run: i64 =
                client.query_one(&begin, &[&"{\"role\":\"user\",\"text\":\"go\"}"]).await.unwrap().get(0);
            for number in 1..6_i32 {
                client.execute(&step, &[&run, &number, &record, &events]).await.unwrap();
            }
            let said = "{\"role\":\"assistant\",\"text\":\"done\"}";
            client.execute(&end, &[&run, &6_i32, &record, &events, &said]).await.unwrap();
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// What Postgres has done until now: transactions, flushes of its log, and bytes in it.
async fn done(database: &RealPostgres, url: &str) -> [f64; 3] {
    // Processes that do nothing tell it after ten seconds.
    tokio::time::sleep(Duration::from_secs(11)).await;
    let sql = "SELECT xact_commit, wal_sync, wal_bytes FROM pg_stat_database, pg_stat_wal
               WHERE datname = current_database()";
    let found = database.execute(url, sql);
    let figures: Vec<f64> = found.trim().split('|').map(|figure| figure.parse().unwrap()).collect();
    figures.try_into().unwrap()
}

/// What Postgres does for a turn.
fn each_turn(before: [f64; 3], after: [f64; 3]) -> String {
    let [transactions, flushes, bytes] =
        std::array::from_fn(|place| (after[place] - before[place]) / TURNS_ALONE as f64);
    format!("{transactions:.1} transactions, {flushes:.1} flushes, {:.1} kB of log", bytes / 1000.0)
}

/// Seconds that it takes to make so many turns at once, each in a thread of its own, at engines in turn.
async fn many(engines: &[PostgresEngine]) -> f64 {
    let began = Instant::now();
    let talks = (0..AT_ONCE).map(|number| {
        let engine = engines[number % engines.len()].clone();
        tokio::spawn(async move {
            let thread = ThreadId::new();
            for _ in 0..TURNS_EACH {
                turn(&engine, thread).await;
            }
        })
    });
    for talk in talks.collect::<Vec<_>>() {
        talk.await.unwrap();
    }
    began.elapsed().as_secs_f64()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures, in a release build: just bench-scale"]
async fn how_quick_it_is_beside_bare_postgres() {
    let database = RealPostgres::durable();
    let url = database.database();
    Bare::prepare(&url).await;
    let (engine, bare) = (open(&url, true).await, Bare::open(&url).await);
    let (mut latency, mut bare_latency, mut rate, mut bare_rate) = (vec![], vec![], vec![], vec![]);
    for round in 0..ROUNDS {
        let (thread, began) = (ThreadId::new(), Instant::now());
        for _ in 0..TURNS_ALONE {
            turn(&engine, thread).await;
        }
        latency.push(began.elapsed().as_secs_f64() * 1000.0 / TURNS_ALONE as f64);
        let began = Instant::now();
        bare.turns(TURNS_ALONE).await;
        bare_latency.push(began.elapsed().as_secs_f64() * 1000.0 / TURNS_ALONE as f64);
        rate.push((AT_ONCE * TURNS_EACH) as f64 / many(std::slice::from_ref(&engine)).await);
        let connections = futures_util::future::join_all((0..AT_ONCE).map(|_| Bare::open(&url))).await;
        let began = Instant::now();
        futures_util::future::join_all(connections.iter().map(|bare| bare.turns(TURNS_EACH))).await;
        bare_rate.push((AT_ONCE * TURNS_EACH) as f64 / began.elapsed().as_secs_f64());
        if round == 0 {
            // The first round warms up. Plans that were made for empty tables are made anew, as a server does after a minute.
            database.execute(&url, "ANALYZE");
            latency.clear();
            bare_latency.clear();
            rate.clear();
            bare_rate.clear();
        }
    }
    let before = done(&database, &url).await;
    let thread = ThreadId::new();
    for _ in 0..TURNS_ALONE {
        turn(&engine, thread).await;
    }
    let between = done(&database, &url).await;
    bare.turns(TURNS_ALONE).await;
    let after = done(&database, &url).await;
    println!("for each turn: {}; bare: {}", each_turn(before, between), each_turn(between, after));
    let (latency, bare_latency) = (median(latency), median(bare_latency));
    let (rate, bare_rate) = (median(rate), median(bare_rate));
    println!(
        "six-step turn alone: {latency:.2} ms, bare {bare_latency:.2} ms, ratio {:.2}",
        latency / bare_latency
    );
    println!("64 at once: {rate:.0} turns/s, bare {bare_rate:.0}, ratio {:.2}", rate / bare_rate);
    let mut engines = vec![engine];
    for workers in 1..=3 {
        if workers > 1 {
            engines.push(open(&url, true).await);
        }
        let rate = (AT_ONCE * TURNS_EACH) as f64 / many(&engines).await;
        println!("{workers} workers in one process: {rate:.0} turns/s");
    }
    println!("{}", words(&url, &engines[0]).await);
    for engine in engines {
        engine.shutdown(Duration::from_secs(1)).await;
    }
}

/// How old words are when somebody hears them through another process.
async fn words(url: &str, worker: &PostgresEngine) -> String {
    let other = open(url, false).await;
    let mut ages = Vec::new();
    for listens in [worker, &other] {
        let turn = Turn::new(ThreadId::new(), "clock", Message::user("go"));
        let run = worker.submit(&scope(), turn).await.unwrap().run;
        let mut stream = listens.events(&scope(), run, 0).await.unwrap();
        let mut heard = Vec::new();
        while let Some(event) = stream.next().await {
            if let EventKind::Token { text } = event.unwrap().what.kind {
                let at = now();
                heard.extend(text.split_whitespace().map(|told| at.saturating_sub(told.parse().unwrap())));
            }
        }
        heard.sort_unstable();
        ages.push((heard[heard.len() / 2] as f64 / 1000.0, heard[heard.len() * 99 / 100] as f64 / 1000.0));
    }
    other.shutdown(Duration::from_secs(1)).await;
    let [own, another] = [ages[0], ages[1]];
    format!(
        "words here: median {:.1} ms, 99 % {:.1} ms; through another replica: median {:.1} ms, 99 % {:.1} ms",
        own.0, own.1, another.0, another.1
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures, in a release build: just bench-scale"]
async fn how_it_bears_many_conversations() {
    let messages: u64 =
        std::env::var("IBID_MESSAGES").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let most = messages / 100;
    let mut report = String::new();
    for threads in [1_000, 10_000, 100_000, 1_000_000].into_iter().filter(|threads| *threads <= most) {
        let url = RealPostgres::get().database();
        let engine = open(&url, true).await;
        let began = Instant::now();
        fill(&url, threads).await;
        let filled = began.elapsed().as_secs();
        let figures = at_size(&engine, &url).await;
        writeln!(report, "{threads} threads, {} messages (filled in {filled} s): {figures}", threads * 100)
            .unwrap();
        engine.shutdown(Duration::from_secs(1)).await;
        println!("{report}");
    }
}

/// Fills the tables as many turns would have: a hundred messages and fifty ended runs in each thread.
async fn fill(url: &str, threads: u64) {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    let now = "(extract(epoch FROM now()) * 1000)::bigint";
    let sql = format!(
        "INSERT INTO threads (id, tenant, title, messages, created_ms, updated_ms, owner)
         SELECT gen_random_uuid(), 'local', 'What is the duty on article ' || n || '?', 100, {now} - n, {now} - n, 'key:' || n % 1000
         FROM generate_series(1, {threads}) AS n;
         INSERT INTO runs (id, thread, tenant, graph, version, status, queue_position, options, metadata, scope, stream_modes,
             created_ms, ended_ms, journal_day, kept, history_to, input_to, output_from, output_to)
         SELECT gen_random_uuid(), threads.key, 'local', 'six', '', 'done', n, '{{}}', '{{}}', '{{\"tenant\":\"local\"}}', '[]', {now}, {now},
             day_of({now}), 0, n * 2 - 2, n * 2 - 1, n * 2 - 1, n * 2
         FROM threads, generate_series(1, 50) AS n;
         INSERT INTO messages (thread, position, run, body)
         SELECT threads.key, n, 1, '{{\"role\":\"user\",\"text\":\"What is the duty on article ' || n || ' from there?\"}}'
         FROM threads, generate_series(0, 99) AS n;
         ANALYZE threads; ANALYZE runs; ANALYZE messages;"
    );
    client.batch_execute(&sql).await.unwrap();
}

async fn at_size(engine: &PostgresEngine, url: &str) -> String {
    let thread = RealPostgres::get().execute(url, "SELECT id FROM threads ORDER BY key DESC LIMIT 1");
    let thread: ThreadId = thread.parse().unwrap();
    let own = scope().for_caller("key:7");
    let window = MessageWindow { before: None, limit: 50 };
    let titled = ThreadFilter { title: Some("article 777?".to_owned()), ..ThreadFilter::default() };
    let opening = async || drop(engine.messages(&scope(), thread, window).await.unwrap());
    let listing = async || drop(engine.threads(&own, ThreadPage::first(50)).await.unwrap());
    let searching = async || {
        let page = ThreadPage { filter: titled.clone(), ..ThreadPage::first(50) };
        drop(engine.threads(&scope(), page).await.unwrap());
    };
    let asking = async || turn(engine, thread).await;
    format!(
        "open a thread {:.1} ms, list one person's {:.1} ms, search titles {:.1} ms, a turn of six steps {:.1} ms",
        timed(opening).await,
        timed(listing).await,
        timed(searching).await,
        timed(asking).await,
    )
}

/// The median of some tries, in milliseconds.
async fn timed(work: impl AsyncFn()) -> f64 {
    let mut took = Vec::new();
    for _ in 0..21 {
        let began = Instant::now();
        work().await;
        took.push(began.elapsed().as_secs_f64() * 1000.0);
    }
    median(took)
}
