//! A model server that writes into every token when it said it.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::clock::Clock;

/// How much of a request is looked at for where its head ends.
const LARGEST_REQUEST: usize = 1 << 20;

/// How a model answers.
#[derive(Default)]
pub(super) struct Manner {
    tokens: AtomicU32,
    every_ms: AtomicU32,
    speaking: AtomicUsize,
    most: AtomicUsize,
}

impl Manner {
    /// From now on it answers with so many tokens, one at a time.
    pub(super) fn set(&self, tokens: u32, every: Duration) {
        self.tokens.store(tokens, Ordering::Relaxed);
        self.every_ms.store(u32::try_from(every.as_millis()).unwrap_or(u32::MAX), Ordering::Relaxed);
        self.most.store(0, Ordering::Relaxed);
    }

    /// The most answers that were under way at once since then.
    pub(super) fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }
}

/// Starts it in a thread of its own; returns its address.
pub(super) fn start(clock: Clock, manner: Arc<Manner>) -> anyhow::Result<std::net::SocketAddr> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let serve = async move {
        let listener = TcpListener::from_std(listener)?;
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let manner = manner.clone();
            tokio::spawn(async move {
                // A caller that goes away is none of its business.
                let _ = serve(stream, clock, &manner).await;
            });
        }
    };
    std::thread::Builder::new().name("model".to_owned()).spawn(move || {
        let served: anyhow::Result<()> = runtime.block_on(serve);
        served
    })?;
    Ok(address)
}

/// One connection, one request after the other.
async fn serve(mut stream: TcpStream, clock: Clock, manner: &Manner) -> anyhow::Result<()> {
    let mut request = Vec::new();
    while let Some(asked) = next_request(&mut stream, &mut request).await? {
        if asked.starts_with(b"GET") {
            let listed = r#"{"object":"list","data":[{"id":"stand-in","object":"model"}]}"#;
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{listed}",
                listed.len()
            );
            stream.write_all(head.as_bytes()).await?;
            continue;
        }
        let speaking = manner.speaking.fetch_add(1, Ordering::Relaxed) + 1;
        manner.most.fetch_max(speaking, Ordering::Relaxed);
        let answered = answer(&mut stream, clock, manner).await;
        manner.speaking.fetch_sub(1, Ordering::Relaxed);
        answered?;
    }
    Ok(())
}

/// Reads one request whole; none if the caller is done.
async fn next_request(stream: &mut TcpStream, read: &mut Vec<u8>) -> anyhow::Result<Option<Vec<u8>>> {
    loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&read[..end]).to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
            let whole = end + 4 + length.map_or(Ok(0), |length| length.trim().parse::<usize>())?;
            if read.len() >= whole {
                return Ok(Some(read.drain(..whole).collect()));
            }
        }
        anyhow::ensure!(read.len() < LARGEST_REQUEST, "a request without an end");
        if stream.read_buf(read).await? == 0 {
            return Ok(None);
        }
    }
}

async fn answer(stream: &mut TcpStream, clock: Clock, manner: &Manner) -> anyhow::Result<()> {
    let tokens = manner.tokens.load(Ordering::Relaxed);
    let every = Duration::from_millis(manner.every_ms.load(Ordering::Relaxed).into());
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await?;
    let mut ticks = interval_at(Instant::now() + every, every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut chunk = Vec::new();
    for _ in 0..tokens {
        ticks.tick().await;
        write_chunk(&mut chunk, &format!(r#"{{"content":"{} "}}"#, clock.stamp()), "null", "null")?;
        stream.write_all(&chunk).await?;
    }
    let usage =
        format!(r#"{{"prompt_tokens":100,"completion_tokens":{tokens},"total_tokens":{}}}"#, tokens + 100);
    write_chunk(&mut chunk, "{}", r#""stop""#, &usage)?;
    chunk.extend_from_slice(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n");
    stream.write_all(&chunk).await.context("the end of an answer")
}

/// One event of a streamed chat completion, framed as HTTP frames it.
fn write_chunk(chunk: &mut Vec<u8>, delta: &str, finish: &str, usage: &str) -> anyhow::Result<()> {
    let event = format!(
        "data: {{\"id\":\"stand-in\",\"object\":\"chat.completion.chunk\",\"created\":0,\"model\":\"stand-in\",\
         \"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}],\"usage\":{usage}}}\n\n"
    );
    chunk.clear();
    write!(chunk, "{:x}\r\n{event}\r\n", event.len())?;
    Ok(())
}
