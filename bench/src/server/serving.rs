//! A server as a process of its own, and what it takes of the machine.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

/// So long a server may take to start.
const PATIENCE: Duration = Duration::from_secs(120);

/// A server, ended when this is dropped.
pub(super) struct Serving {
    child: Child,
    pub(super) address: SocketAddr,
    /// How long it took until it was ready.
    pub(super) started_s: f64,
}

impl Serving {
    /// Starts what `command` makes for an address, and waits until `ready` is answered.
    pub(super) fn start(ready: &str, command: impl FnOnce(SocketAddr) -> Command) -> anyhow::Result<Self> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let mut command = command(address);
        let began = Instant::now();
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.with_context(|| format!("{command:?}"))?;
        let mut serving = Self { child, address, started_s: 0.0 };
        while !is_ready(address, ready) {
            ensure!(serving.child.try_wait()?.is_none(), "{command:?} ended");
            ensure!(began.elapsed() < PATIENCE, "{command:?} is not ready after {PATIENCE:?}");
            std::thread::sleep(Duration::from_millis(2));
        }
        serving.started_s = began.elapsed().as_secs_f64();
        Ok(serving)
    }

    /// The CPU time that it and its threads have used.
    pub(super) fn cpu_s(&self) -> anyhow::Result<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // After the name, which may hold anything: the 12th and 13th are ticks in the program and in the kernel.
        let rest = stat.rsplit_once(')').context("no name")?.1;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let ticks = [fields.get(11), fields.get(12)].into_iter().flatten().map(|ticks| ticks.parse::<f64>());
        Ok(ticks.sum::<Result<f64, _>>()? / TICKS_PER_S)
    }

    /// The memory that it holds now (`VmRSS`) or held at most (`VmHWM`).
    pub(super) fn memory_bytes(&self, field: &str) -> anyhow::Result<f64> {
        Ok(crate::memory_bytes_of(&self.child.id().to_string(), field)? as f64)
    }
}

/// Linux counts CPU time for programs in hundredths of a second on every machine.
const TICKS_PER_S: f64 = 100.0;

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_ready(address: SocketAddr, path: &str) -> bool {
    let ask = || {
        let mut stream = TcpStream::connect(address)?;
        write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok::<_, std::io::Error>(answer.starts_with("HTTP/1.1 200"))
    };
    ask().unwrap_or(false)
}
