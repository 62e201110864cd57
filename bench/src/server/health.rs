//! Asks a server for its health all the while, from a thread of its own.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// So often it is asked.
const EVERY: Duration = Duration::from_millis(10);

/// Somebody who asks.
pub(super) struct Prober {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<std::io::Result<Vec<f64>>>,
}

impl Prober {
    pub(super) fn start(address: SocketAddr, path: &'static str) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let mut stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n");
            let (mut took, mut buffer) = (Vec::new(), [0; 4096]);
            while !stopped.load(Ordering::Relaxed) {
                let began = Instant::now();
                stream.write_all(request.as_bytes())?;
                if stream.read(&mut buffer)? == 0 {
                    return Err(std::io::ErrorKind::UnexpectedEof.into());
                }
                took.push(began.elapsed().as_secs_f64() * 1e3);
                std::thread::sleep(EVERY);
            }
            Ok(took)
        });
        Self { stop, thread }
    }

    /// How many milliseconds each answer took.
    pub(super) fn stop(self) -> anyhow::Result<Vec<f64>> {
        self.stop.store(true, Ordering::Relaxed);
        let took =
            self.thread.join().map_err(|_| anyhow::anyhow!("whoever asked for the health panicked"))?;
        Ok(took?)
    }
}
