//! A plain proxy in front of several servers: each request goes to the next of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

/// The head of a request has no more bytes than that.
const MOST_HEAD: usize = 64 << 10;

/// A proxy, which serves for as long as it is kept.
pub struct RoundRobinProxy {
    url: String,
    task: tokio::task::JoinHandle<()>,
}

impl RoundRobinProxy {
    /// Begins to send requests to servers, whose addresses are `host:port`, in turn.
    ///
    /// # Panics
    /// Fails the test when nothing can be listened on.
    pub async fn start(servers: Vec<String>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("there is a free port");
        let url = format!("http://{}", listener.local_addr().expect("it has an address"));
        let (servers, next) = (Arc::new(servers), Arc::new(AtomicUsize::new(0)));
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = servers[next.fetch_add(1, Ordering::Relaxed) % servers.len()].clone();
                tokio::spawn(async move {
                    // Whoever goes away in the middle has gone.
                    let _ = forward(client, &server).await;
                });
            }
        });
        Self { url, task }
    }

    /// Its address.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for RoundRobinProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Sends one request on, and closes the connection after its answer, so that the next one goes elsewhere.
async fn forward(mut client: TcpStream, server: &str) -> std::io::Result<()> {
    let mut received = Vec::new();
    let end = loop {
        if let Some(end) = received.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            break end;
        }
        if received.len() > MOST_HEAD || client.read_buf(&mut received).await? == 0 {
            return Ok(());
        }
    };
    let head = String::from_utf8_lossy(&received[..end]).into_owned();
    let kept = head.split("\r\n").filter(|line| !line.to_ascii_lowercase().starts_with("connection:"));
    let head = format!("{}\r\nconnection: close\r\n\r\n", kept.collect::<Vec<_>>().join("\r\n"));
    let mut upstream = TcpStream::connect(server).await?;
    upstream.write_all(head.as_bytes()).await?;
    upstream.write_all(&received[end + 4..]).await?;
    copy_bidirectional(&mut client, &mut upstream).await.map(drop)
}
