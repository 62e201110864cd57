//! The scripted server itself: takes requests on a port of its own, plays the script, and records.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response, Uri};
use axum::serve::ListenerExt;
use futures_util::stream;
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::reply::{Content, Fate, Reply};
use crate::script::Script;
use crate::seen::{Ending, Seen};

/// A server that plays a script, until it is dropped.
pub struct ScriptedServer {
    address: std::net::SocketAddr,
    stage: Arc<Stage>,
    task: JoinHandle<()>,
}

struct Stage {
    script: Script,
    seen: Mutex<Vec<Seen>>,
    changed: watch::Sender<()>,
    connections: AtomicUsize,
}

impl ScriptedServer {
    /// Starts to play.
    pub async fn start(script: Script) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound port");
        let stage = Arc::new(Stage {
            script,
            seen: Mutex::default(),
            changed: watch::Sender::new(()),
            connections: AtomicUsize::new(0),
        });
        let router = Router::new().fallback(answer).with_state(stage.clone());
        // As real servers do: a piece is sent when it is there.
        let own = stage.clone();
        let listener = listener.tap_io(move |connection| {
            own.connections.fetch_add(1, Ordering::Relaxed);
            drop(connection.set_nodelay(true));
        });
        let task = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("the scripted server serves");
        });
        Self { address, stage, task }
    }

    /// Where its API begins, as a provider's `base_url`.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// How many connections were made.
    pub fn connections(&self) -> usize {
        self.stage.connections.load(Ordering::Relaxed)
    }

    /// Every request so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.stage.seen.lock().expect("no test panics while it holds this").clone()
    }

    /// Waits until something holds of the requests, and fails the test if it does not within twenty seconds, which a machine that is busy may take.
    pub async fn until(&self, what: &str, holds: impl Fn(&[Seen]) -> bool) -> Vec<Seen> {
        let mut changed = self.stage.changed.subscribe();
        let waiting = async {
            loop {
                let seen = self.seen();
                if holds(&seen) {
                    return seen;
                }
                changed.changed().await.expect("the server lives as long as the test");
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(20), waiting).await;
        waited.unwrap_or_else(|_| panic!("{what}: not within 20 s; seen: {:#?}", self.seen()))
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(
    State(stage): State<Arc<Stage>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (path, query) = (uri.path().to_owned(), uri.query().unwrap_or_default().to_owned());
    let seen = Seen { at: Instant::now(), path, query, headers, body, status: 0, ending: None };
    if stage.script.is_aside(&seen) {
        let answer = Response::builder().status(404).body(Body::from("{}"));
        return answer.expect("a plain answer");
    }
    let streamed = seen.body["stream"] == true;
    let wants_usage = seen.body["stream_options"]["include_usage"] == true;
    let reply = stage.script.play(&seen);
    let mut watched = Watched::begin(stage, seen);
    tokio::time::sleep(reply.before).await;
    if matches!(reply.content, Content::Nothing) {
        std::future::pending::<()>().await;
    }
    watched.status(reply.status);
    let mut response =
        Response::builder().status(reply.status).header("content-type", reply.media_type(streamed));
    for (name, value) in &reply.headers {
        response = response.header(name, value);
    }
    let body = body_of(&reply, reply.pieces(streamed, wants_usage), watched);
    response.body(body).expect("the script has valid headers")
}

fn body_of(reply: &Reply, pieces: Vec<String>, watched: Watched) -> Body {
    let (pace, fate) = (reply.pace, reply.fate);
    let start = (pieces.into_iter().enumerate(), watched);
    Body::from_stream(stream::unfold(start, move |(mut pieces, mut watched)| async move {
        let next = pieces.next();
        let sent = next.as_ref().map_or(usize::MAX, |(index, _)| *index);
        match fate {
            Fate::Stall(after) if sent >= after => std::future::pending().await,
            Fate::Cut(after) if sent >= after => {
                watched.answered();
                return Some((Err(io::Error::other("cut by the script")), (pieces, watched)));
            }
            _ => {}
        }
        let Some((_, piece)) = next else {
            watched.answered();
            return None;
        };
        if !pace.is_zero() {
            tokio::time::sleep(pace).await;
        }
        Some((Ok(Bytes::from(piece)), (pieces, watched)))
    }))
}

/// Notices how a request ends: when it is dropped without having been answered, the client went away.
struct Watched {
    stage: Arc<Stage>,
    index: usize,
    ended: bool,
}

impl Watched {
    fn begin(stage: Arc<Stage>, request: Seen) -> Self {
        let index = {
            let mut seen = stage.seen.lock().expect("no test panics while it holds this");
            seen.push(request);
            seen.len() - 1
        };
        stage.changed.send_replace(());
        Self { stage, index, ended: false }
    }

    fn status(&mut self, status: u16) {
        self.change(|seen| seen.status = status);
    }

    fn answered(&mut self) {
        self.end(Ending::Answered);
    }

    fn end(&mut self, ending: Ending) {
        if !std::mem::replace(&mut self.ended, true) {
            self.change(|seen| seen.ending = Some(ending));
        }
    }

    fn change(&self, change: impl FnOnce(&mut Seen)) {
        let mut seen = self.stage.seen.lock().expect("no test panics while it holds this");
        change(&mut seen[self.index]);
        drop(seen);
        self.stage.changed.send_replace(());
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.end(Ending::Closed(Instant::now()));
    }
}
