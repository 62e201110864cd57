//! Connections: accepted, served one request after the other, and let go of when the server ends.

use std::pin::pin;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// So long the head of a request may take to come, and so long a connection may be idle.
const PATIENCE: Duration = Duration::from_secs(60);
/// So many connections are open at once; others wait until one is closed.
const MOST_CONNECTIONS: usize = 10_000;
/// So many bytes the head of a request may have.
const LARGEST_HEAD: usize = 64 << 10;
/// So long nobody is let in when the system has no room for another connection.
const BREATH: Duration = Duration::from_millis(100);

/// Serves until told to stop, and then until every answer that is open has ended. Streams end when the engine does.
pub async fn serve(listener: TcpListener, router: Router, stop: impl Future<Output = ()>) {
    let (ending, ended) = watch::channel(());
    let (mut stop, mut open) = (pin!(stop), JoinSet::new());
    loop {
        tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept(), if open.len() < MOST_CONNECTIONS => match accepted {
                Ok((stream, _)) => drop(open.spawn(one(stream, router.clone(), ended.clone()))),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(BREATH).await;
                }
            },
            Some(_) = open.join_next() => {}
        }
    }
    drop((listener, ending));
    while open.join_next().await.is_some() {}
}

async fn one(stream: TcpStream, router: Router, mut ended: watch::Receiver<()>) {
    let _open = ibid_core::metric::connection_opened();
    // A token is a small packet, and must not wait for the next one.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection holds small packets back");
    }
    let mut connections = http1::Builder::new();
    connections.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(LARGEST_HEAD);
    let service = TowerToHyperService::new(router);
    let mut connection = pin!(connections.serve_connection(TokioIo::new(stream), service));
    let served = tokio::select! {
        served = connection.as_mut() => served,
        _ = ended.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "a connection broke off");
    }
}
