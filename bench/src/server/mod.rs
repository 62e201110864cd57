//! The server under load: the same client asks a model directly, through ibid, and through LangGraph's own server. The model
//! and the client live in this process, the servers in theirs.

mod client;
mod clock;
mod health;
mod load;
mod model;
mod serving;

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use ibid_testkit::RealModels;

use crate::figure::{Figure, Goal};
use crate::models::percentile;
use client::Client;
use clock::Clock;
use health::Prober;
use load::{Asked, Outcome};
use model::Manner;
use serving::Serving;

/// How long a model takes for a token.
const TOKEN: Duration = Duration::from_millis(20);
/// Answers at once, and how long each is.
const ANSWERS: usize = 1000;
const LONG: u32 = 1000;
/// So far apart they begin.
const RAMP: Duration = Duration::from_millis(2);
/// Turns of one second: how long their answers are, how far apart they begin (510 in a second), how many there are.
const SHORT: u32 = 10;
const SHORT_TOKEN: Duration = Duration::from_millis(100);
const APART: Duration = Duration::from_micros(1960);
const TURNS: usize = 30_600;
/// What LangGraph's server is given: answers at once, tokens in each, and turns in a second.
const FEWER_ANSWERS: usize = 50;
const FEWER_TOKENS: u32 = 250;
const RATES: [u32; 5] = [10, 20, 40, 80, 160];
const RATE_FOR: u32 = 15;
/// A turn of one second must not take longer than this, or the load is too much. LangGraph's server begins a turn up to a
/// second after it was asked.
const TOO_LONG_S: f64 = 3.0;
/// How often a start is measured; the median counts.
const STARTS: usize = 5;

/// What is measured, and with what.
struct Bench {
    clock: Clock,
    manner: Arc<Manner>,
    model: SocketAddr,
    runtime: tokio::runtime::Runtime,
}

/// Measures `ibid serve` beside the model itself and LangGraph's server, which `python` starts in `graph`.
pub(crate) fn measure(ibid: &Path, documents: &Path, python: &Path, graph: &Path) -> anyhow::Result<()> {
    let (clock, manner) = (Clock::start(), Arc::<Manner>::default());
    let model = model::start(clock, manner.clone())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let bench = Bench { clock, manner, model, runtime };
    let folder = tempfile::tempdir()?;
    bench.prepare(folder.path())?;
    bench.starts(ibid, folder.path(), documents)?;
    bench.answers_at_once(ibid, folder.path())?;
    bench.turns_per_second(ibid, folder.path())?;
    bench.beside_langgraph(ibid, folder.path(), python, graph)
}

impl Bench {
    /// A folder with a configuration: the model answers, and another finds.
    fn prepare(&self, folder: &Path) -> anyhow::Result<()> {
        let models = RealModels::find();
        let config = format!(
            "[embedding]\npath = {:?}\n[onnx]\nlibrary = {:?}\n[ingest]\npdfium = {:?}\nrecognition = \"\"\n\
             [providers.stand-in]\nbase_url = \"http://{}/v1\"\nconcurrent = 4000\n\
             [models.answer]\nprovider = \"stand-in\"\nmodel = \"stand-in\"\n",
            models.path("minilm"),
            models.runtime(),
            models.path("pdfium/libpdfium.so"),
            self.model,
        );
        Ok(std::fs::write(folder.join("ibid.toml"), config)?)
    }

    /// How long a start takes with documents in the store, and what an idle server holds.
    fn starts(&self, ibid: &Path, folder: &Path, documents: &Path) -> anyhow::Result<()> {
        let loaded = command(ibid, folder, &["ingest"]).arg(documents.canonicalize()?).output()?;
        ensure!(loaded.status.success(), "{}", String::from_utf8_lossy(&loaded.stderr));
        let (mut starts, mut idle) = (Vec::new(), 0.0);
        for _ in 0..STARTS {
            let server = serve(ibid, folder)?;
            starts.push(server.started_s);
            std::thread::sleep(Duration::from_secs(2));
            idle = server.memory_bytes("VmRSS")?;
        }
        let start = percentile(&mut starts, 0.5);
        print(
            "seconds from the start to ready, documents in the store, median of 5",
            start,
            1.0,
            Goal::AtMostTimes(1.0),
        )?;
        print("bytes that an idle server holds, against 200 MB", idle, 200e6, Goal::Reported)?;
        let size = std::fs::metadata(ibid)?.len() as f64;
        print("bytes of the measured binary, against 200 MB", size, 200e6, Goal::Reported)
    }

    /// A thousand answers at once, token by token.
    fn answers_at_once(&self, ibid: &Path, folder: &Path) -> anyhow::Result<()> {
        let mut bare = self.load(self.model, Asked::Model, ANSWERS, RAMP, (LONG, TOKEN))?;
        let server = serve(ibid, folder)?;
        self.load(server.address, Asked::Ibid, 50, RAMP, (SHORT, TOKEN))?;
        let (prober, cpu) = (Prober::start(server.address, "/healthz"), server.cpu_s()?);
        let mut ours = self.load(server.address, Asked::Ibid, ANSWERS, RAMP, (LONG, TOKEN))?;
        let (cpu, mut health) = (server.cpu_s()? - cpu, prober.stop()?);
        let all = ANSWERS as f64 * f64::from(LONG);
        print(
            "answers that stream at once",
            self.manner.most() as f64,
            ANSWERS as f64,
            Goal::AtLeastTimes(1.0),
        )?;
        print(
            "tokens of 1,000,000 that were not delivered",
            ours.missing as f64,
            all,
            Goal::AtMostTimes(0.0),
        )?;
        for (name, share, goal) in [
            ("milliseconds from model to client, median, against no server between", 0.5, Goal::Reported),
            (
                "milliseconds from model to client, 99th percentile, against no server between",
                0.99,
                Goal::AtMostMore(50.0),
            ),
        ] {
            print(
                name,
                percentile(&mut ours.delays_ms, share),
                percentile(&mut bare.delays_ms, share),
                goal,
            )?;
        }
        let median = percentile(&mut health, 0.5);
        print("milliseconds for /healthz meanwhile, median, against 2", median, 2.0, Goal::AtMostTimes(1.0))?;
        let slow = percentile(&mut health, 0.99);
        print(
            "milliseconds for /healthz meanwhile, 99th percentile, against 5",
            slow,
            5.0,
            Goal::AtMostTimes(1.0),
        )?;
        print("CPU microseconds per token, against 20", cpu / all * 1e6, 20.0, Goal::Reported)?;
        print(
            "most bytes held with 1,000 answers at once, against 1 GB",
            server.memory_bytes("VmHWM")?,
            1e9,
            Goal::Reported,
        )
    }

    /// Turns of one second each, more than 500 begun in each second, for a minute.
    fn turns_per_second(&self, ibid: &Path, folder: &Path) -> anyhow::Result<()> {
        let server = serve(ibid, folder)?;
        self.load(server.address, Asked::Ibid, 50, RAMP, (SHORT, TOKEN))?;
        let cpu = server.cpu_s()?;
        let mut ours = self.load(server.address, Asked::Ibid, TURNS, APART, (SHORT, SHORT_TOKEN))?;
        let cpu = server.cpu_s()? - cpu;
        let one = f64::from(SHORT) * SHORT_TOKEN.as_secs_f64();
        let rate = TURNS as f64 / (ours.took_s - one);
        print("durable turns of one second per second, for a minute", rate, 500.0, Goal::AtLeastTimes(1.0))?;
        let all = TURNS as f64 * f64::from(SHORT);
        print("tokens of 306,000 that were not delivered", ours.missing as f64, all, Goal::AtMostTimes(0.0))?;
        let slow = percentile(&mut ours.turns_s, 0.99);
        print("seconds for such a turn, 99th percentile, against 2", slow, 2.0, Goal::AtMostTimes(1.0))?;
        print("CPU milliseconds per such turn, against 4", cpu / TURNS as f64 * 1e3, 4.0, Goal::Reported)?;
        print(
            "most bytes held at that rate, against 1 GB",
            server.memory_bytes("VmHWM")?,
            1e9,
            Goal::Reported,
        )
    }

    /// The same client at LangGraph's server, with what that can bear.
    fn beside_langgraph(
        &self,
        ibid: &Path,
        folder: &Path,
        python: &Path,
        graph: &Path,
    ) -> anyhow::Result<()> {
        let model = format!("http://{}/v1", self.model);
        // It keeps what it did in the folder that it runs in.
        let own = tempfile::tempdir()?;
        for file in std::fs::read_dir(graph)? {
            let file = file?;
            std::fs::copy(file.path(), own.path().join(file.file_name()))?;
        }
        let theirs = Serving::start("/ok", |address| langgraph(python, own.path(), &model, address))?;
        let theirs = self.fewer(&theirs, Asked::LangGraph)?;
        let ours = self.fewer(&serve(ibid, folder)?, Asked::Ibid)?;
        for (name, ours, theirs, goal) in [
            (
                "milliseconds from model to client, 50 at once, 99th percentile, against LangGraph's server",
                ours.slow_ms,
                theirs.slow_ms,
                Goal::TimesLess(1.0),
            ),
            (
                "CPU microseconds per token, 50 at once, against LangGraph's server",
                ours.token_us,
                theirs.token_us,
                Goal::TimesLess(1.0),
            ),
            (
                "CPU milliseconds per turn of one second, ten in a second, against LangGraph's server",
                ours.turn_ms,
                theirs.turn_ms,
                Goal::TimesLess(1.0),
            ),
            (
                "turns of one second per second that it bears (up to 160), against LangGraph's server",
                ours.rate,
                theirs.rate,
                Goal::AtLeastTimes(1.0),
            ),
            ("bytes held after that, against LangGraph's server", ours.memory, theirs.memory, Goal::Reported),
        ] {
            print(name, ours, theirs, goal)?;
        }
        Ok(())
    }

    fn fewer(&self, server: &Serving, asked: Asked) -> anyhow::Result<Fewer> {
        self.load(server.address, asked, 20, Duration::from_millis(50), (SHORT, TOKEN))?;
        let cpu = server.cpu_s()?;
        let mut answers = self.load(server.address, asked, FEWER_ANSWERS, RAMP, (FEWER_TOKENS, TOKEN))?;
        let token_us = (server.cpu_s()? - cpu) * 1e6 / answers.delays_ms.len() as f64;
        let slow_ms = percentile(&mut answers.delays_ms, 0.99);
        let (mut rate, mut turn_ms) = (0.0, f64::NAN);
        for per_second in RATES {
            let (count, apart) = ((per_second * RATE_FOR) as usize, Duration::from_secs(1) / per_second);
            let cpu = server.cpu_s()?;
            let mut turns = self.load(server.address, asked, count, apart, (SHORT, SHORT_TOKEN))?;
            if rate == 0.0 {
                turn_ms = (server.cpu_s()? - cpu) * 1e3 / count as f64;
            }
            if turns.missing > 0 || percentile(&mut turns.turns_s, 0.99) > TOO_LONG_S {
                break;
            }
            rate = f64::from(per_second);
        }
        Ok(Fewer { slow_ms, token_us, turn_ms, rate, memory: server.memory_bytes("VmHWM")? })
    }

    /// Turns at even distances; says what went wrong, if something did.
    #[expect(clippy::print_stderr, reason = "whoever waits sees how far it is")]
    fn load(
        &self,
        address: SocketAddr,
        asked: Asked,
        count: usize,
        apart: Duration,
        (tokens, every): (u32, Duration),
    ) -> anyhow::Result<Outcome> {
        eprintln!("{count} turns of {tokens} tokens for {asked:?}, one every {apart:?}");
        self.manner.set(tokens, every);
        let client = Arc::new(Client::of(address, self.clock));
        let outcome = self.runtime.block_on(load::turns(&client, asked, count, apart, tokens))?;
        if let Some(wrong) = &outcome.wrong {
            eprintln!("  {} tokens are missing: {wrong}", outcome.missing);
        }
        Ok(outcome)
    }
}

/// What a server does with a smaller load.
struct Fewer {
    slow_ms: f64,
    token_us: f64,
    turn_ms: f64,
    rate: f64,
    memory: f64,
}

fn command(ibid: &Path, folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(ibid);
    command.current_dir(folder).args(arguments);
    command
}

fn serve(ibid: &Path, folder: &Path) -> anyhow::Result<Serving> {
    Serving::start("/readyz", |address| command(ibid, folder, &["serve", "--address", &address.to_string()]))
        .context("ibid does not serve")
}

/// LangGraph's in-memory server in `folder`, with as many turns at once as it is asked for, and without words about
/// itself.
fn langgraph(python: &Path, folder: &Path, model: &str, address: SocketAddr) -> Command {
    let mut command = Command::new(python.with_file_name("langgraph"));
    command.current_dir(folder).env("MODEL_URL", model).env("LOG_LEVEL", "WARNING");
    command.env("LANGSMITH_TRACING", "false").env("LANGGRAPH_CLI_NO_ANALYTICS", "1");
    command.env("LANGGRAPH_NO_VERSION_CHECK", "true");
    command.args(["dev", "--no-browser", "--no-reload", "--allow-blocking", "--n-jobs-per-worker", "512"]);
    command.args(["--host", "127.0.0.1", "--port", &address.port().to_string()]);
    command
}

fn print(name: &'static str, ours: f64, reference: f64, goal: Goal) -> anyhow::Result<()> {
    Figure::compare(name, ours, reference, goal).print()
}
