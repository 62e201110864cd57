//! A connection to a server of this machine that can be cut, and held up.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A port that leads to another one, for as long as it is kept.
pub struct WeakLink {
    port: u16,
    state: watch::Sender<State>,
    task: JoinHandle<()>,
}

#[derive(Clone, Copy, Default)]
struct State {
    cuts: u64,
    is_held: bool,
}

impl WeakLink {
    /// Begins to lead to a port.
    ///
    /// # Panics
    /// Fails the test when nothing can be listened on.
    pub async fn to(server: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("there is a free port");
        let port = listener.local_addr().expect("it has an address").port();
        let state = watch::Sender::new(State::default());
        let task = tokio::spawn({
            let state = state.clone();
            async move {
                while let Ok((client, _)) = listener.accept().await {
                    let state = state.subscribe();
                    tokio::spawn(async move {
                        // Whoever goes away in the middle has gone.
                        let _ = lead(client, server, state).await;
                    });
                }
            }
        });
        Self { port, state, task }
    }

    /// Where it begins.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Cuts all connections. What is under way in them is lost.
    pub fn cut(&self) {
        self.state.send_modify(|state| state.cuts += 1);
    }

    /// Lets nothing through for a while. What is sent meanwhile arrives late.
    pub fn hold(&self, is_held: bool) {
        self.state.send_modify(|state| state.is_held = is_held);
    }
}

impl Drop for WeakLink {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn lead(client: TcpStream, server: u16, mut state: watch::Receiver<State>) -> std::io::Result<()> {
    let server = TcpStream::connect(("127.0.0.1", server)).await?;
    for stream in [&client, &server] {
        stream.set_nodelay(true)?;
    }
    let cuts = state.borrow_and_update().cuts;
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    tokio::select! {
        done = pass(from_client, to_server, state.clone()) => done,
        done = pass(from_server, to_client, state.clone()) => done,
        _ = state.wait_for(|state| state.cuts != cuts) => Ok(()),
    }
}

async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut state: watch::Receiver<State>,
) -> std::io::Result<()> {
    let mut bytes = vec![0; 16 << 10];
    loop {
        let count = from.read(&mut bytes).await?;
        if count == 0 || state.wait_for(|state| !state.is_held).await.is_err() {
            return Ok(());
        }
        to.write_all(&bytes[..count]).await?;
    }
}
