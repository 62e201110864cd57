//! The client: one request for each turn, heard to its end, with the delay of every token. It does as little as it can, since
//! it runs beside what it measures.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::clock::{Clock, stamps};

/// How a streamed answer ends on the wire.
const END: &[u8] = b"\r\n0\r\n\r\n";

/// What was heard of one answer.
#[derive(Default)]
pub(super) struct Heard {
    /// Microseconds between saying and hearing, for each token.
    pub(super) delays: Vec<u32>,
    /// The last of what was sent, to say what went wrong.
    pub(super) rest: Vec<u8>,
    last: u64,
}

impl Heard {
    fn take(&mut self, stamp: u64, now: u64) {
        // Whole texts repeat what was told piece by piece.
        if stamp > self.last {
            self.last = stamp;
            self.delays.push(u32::try_from(now.saturating_sub(stamp)).unwrap_or(u32::MAX));
        }
    }
}

/// A server that is asked, with the connections to it that are free.
pub(super) struct Client {
    address: SocketAddr,
    clock: Clock,
    free: Mutex<VecDeque<TcpStream>>,
}

impl Client {
    pub(super) fn of(address: SocketAddr, clock: Clock) -> Self {
        Self { address, clock, free: Mutex::default() }
    }

    /// Asks, and listens to the end.
    pub(super) async fn ask(&self, path: &str, body: &str) -> anyhow::Result<Heard> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop_back();
        let mut stream = match free {
            Some(stream) => stream,
            None => TcpStream::connect(self.address).await.context("no connection")?,
        };
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(request.as_bytes()).await?;
        let heard = self.listen(&mut stream).await?;
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push_back(stream);
        Ok(heard)
    }

    async fn listen(&self, stream: &mut TcpStream) -> anyhow::Result<Heard> {
        let (mut heard, mut bytes, mut begun) = (Heard::default(), Vec::with_capacity(4096), false);
        loop {
            let read = stream.read_buf(&mut bytes).await?;
            ensure!(read > 0, "the connection broke off after {} tokens", heard.delays.len());
            let now = self.clock.now();
            if !begun && bytes.len() > 12 {
                begun = true;
                let told = String::from_utf8_lossy(&bytes);
                ensure!(told.starts_with("HTTP/1.1 200"), "it was answered: {told}");
            }
            let ended = bytes.ends_with(END);
            let seen = stamps(&bytes, |stamp| heard.take(stamp, now));
            if ended {
                heard.rest = bytes;
                return Ok(heard);
            }
            // What may be the beginning of something stays.
            bytes.drain(..seen.min(bytes.len().saturating_sub(END.len())));
        }
    }
}
