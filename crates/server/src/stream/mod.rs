//! A run's events as they are streamed: in LangGraph's modes or as ibid's own events. What is sent is a function of what the
//! engine has stored, so that whoever comes back after any event gets exactly the rest.

mod cursor;
mod langgraph;
mod modes;
mod native;

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, Response};
use futures_util::StreamExt as _;
use futures_util::stream::{Stream, unfold};
use ibid_app::DocumentService;
use ibid_core::{RunId, Scope, ThreadId, TurnEvent};
use ibid_engine::{Engine, Error, LoadEvents, Stop, TurnEvents, turn_events};
use serde_json::json;

pub(crate) use cursor::StreamCursor;
pub(crate) use modes::{Mode, Modes};

use crate::http::{Closing, Frame, Problem, Query, events};
use langgraph::LangGraphStream;

/// As which events a run is streamed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Format {
    /// LangGraph's.
    #[default]
    LangGraph,
    /// ibid's own.
    Ibid,
}

impl Format {
    /// As the address says.
    pub(crate) fn read(query: &Query) -> Result<Self, Problem> {
        match query.one("format") {
            None | Some("langgraph") => Ok(Self::LangGraph),
            Some("ibid") => Ok(Self::Ibid),
            Some(other) => Err(Problem::invalid(format!("`{other}` is no format: use langgraph or ibid"))),
        }
    }
}

/// A run that is followed.
pub(crate) struct Following {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) scope: Scope,
    pub(crate) thread: ThreadId,
    pub(crate) run: RunId,
    /// Events up to this number were before what is followed: the run was taken up again after a question.
    pub(crate) from: u64,
    /// What the client has had already.
    pub(crate) after: Option<StreamCursor>,
    pub(crate) modes: Modes,
    pub(crate) format: Format,
    /// Whether the run ends with the connection.
    pub(crate) cancel_on_disconnect: bool,
}

/// The answer to whoever follows.
pub(crate) fn answered(following: Following, headers: HeaderMap) -> Response<Body> {
    events(headers, frames(following))
}

/// Makes frames of events.
enum Framing {
    LangGraph(Box<LangGraphStream>),
    Native,
}

struct State {
    following: Following,
    guard: CancelOnDisconnect,
    events: Option<TurnEvents>,
    framing: Framing,
    ready: std::collections::VecDeque<Frame>,
    over: bool,
}

fn frames(following: Following) -> impl Stream<Item = Result<Frame, Closing>> + Send + 'static {
    let Following { engine, scope, thread, run, modes, .. } = &following;
    let guard = CancelOnDisconnect::new(engine, scope, *run, following.cancel_on_disconnect);
    let mut ready = std::collections::VecDeque::new();
    let framing = match following.format {
        Format::Ibid => Framing::Native,
        Format::LangGraph => {
            let data = json!({ "run_id": run.to_string(), "thread_id": thread.to_string(), "attempt": 1 });
            let first = StreamCursor { seq: following.from, slot: 0 };
            if following.after < Some(first) {
                ready.push_back(first.frame("metadata", data));
            }
            Framing::LangGraph(Box::new(LangGraphStream::new(engine, scope, *thread, *run, modes.clone())))
        }
    };
    // In a box, since it is handed from frame to frame.
    let state = Box::new(State { following, guard, events: None, framing, ready, over: false });
    unfold(state, State::next)
}

impl State {
    async fn next(mut self: Box<Self>) -> Option<(Result<Frame, Closing>, Box<Self>)> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some((Ok(frame), self));
            }
            if self.over {
                return None;
            }
            match self.step().await {
                Ok(()) => {}
                Err(problem) if problem.is_closing() => {
                    self.over = true;
                    // The run goes on with the next start, and so may whoever follows it.
                    self.guard.is_over();
                    return Some((Err(Closing), self));
                }
                Err(problem) => {
                    self.over = true;
                    let data = json!({ "error": "StreamFailed", "message": problem.detail() });
                    return Some((Ok(Frame::new(Some("error"), &data)), self));
                }
            }
        }
    }

    /// Makes the frames of one more event.
    async fn step(&mut self) -> Result<(), Problem> {
        let Following { engine, scope, run, from, after, .. } = &self.following;
        let events = match &mut self.events {
            Some(events) => events,
            // Our own events need nothing of what was before.
            None => {
                let start = if self.following.format == Format::Ibid {
                    after.map_or(0, |after| after.seq).max(*from)
                } else {
                    0
                };
                self.events.insert(turn_events(engine, scope, *run, start).await?)
            }
        };
        let Some(event) = events.next().await else {
            self.over = true;
            self.guard.is_over();
            return Ok(());
        };
        let event = event?;
        let rests = match event.event {
            TurnEvent::Ended { .. } => true,
            TurnEvent::Interrupted { .. } => {
                event.seq > *from && is_open(engine, scope, *run, event.step).await?
            }
            _ => false,
        };
        let (seq, from, after) = (event.seq, *from, *after);
        let frames = match &mut self.framing {
            Framing::Native => vec![(StreamCursor { seq, slot: 0 }, native::frame(&event))],
            Framing::LangGraph(stream) => stream.frames(event).await?,
        };
        let new = frames.into_iter().filter(|(cursor, _)| seq > from && Some(*cursor) > after);
        self.ready.extend(new.map(|(_, frame)| frame));
        if rests {
            self.over = true;
            self.guard.is_over();
        }
        Ok(())
    }
}

/// The events of a load after a number.
pub(crate) fn load_stream(
    documents: DocumentService,
    scope: Scope,
    run: RunId,
    after: u64,
) -> Response<Body> {
    struct Loading {
        documents: DocumentService,
        scope: Scope,
        run: RunId,
        after: u64,
        events: Option<LoadEvents>,
        over: bool,
    }

    async fn next(mut loading: Box<Loading>) -> Option<(Result<Frame, Closing>, Box<Loading>)> {
        if loading.over {
            return None;
        }
        let framed = async {
            let events = match &mut loading.events {
                Some(events) => events,
                None => {
                    let followed =
                        loading.documents.follow(&loading.scope, loading.run, loading.after).await?;
                    loading.events.insert(followed)
                }
            };
            let event = events.next().await.transpose()?;
            Ok::<_, Problem>(event.map(|event| native::frame(&event)))
        };
        match framed.await {
            Ok(frame) => frame.map(|frame| (Ok(frame), loading)),
            Err(problem) => {
                loading.over = true;
                if problem.is_closing() {
                    return Some((Err(Closing), loading));
                }
                let data = json!({ "error": "StreamFailed", "message": problem.detail() });
                Some((Ok(Frame::new(Some("error"), &data)), loading))
            }
        }
    }

    let loading = Box::new(Loading { documents, scope, run, after, events: None, over: false });
    events(HeaderMap::new(), unfold(loading, next))
}

/// Whether the question that a step asks still waits for its answer.
pub(crate) async fn is_open(
    engine: &Arc<dyn Engine>,
    scope: &Scope,
    run: RunId,
    step: u32,
) -> Result<bool, Error> {
    Ok(engine.run(scope, run).await?.interrupted_step == Some(step))
}

/// Stops a run if whoever wanted its answer has gone before it was there.
pub(crate) struct CancelOnDisconnect(Option<(Arc<dyn Engine>, Scope, RunId)>);

impl CancelOnDisconnect {
    /// Watches, if that is wanted.
    pub(crate) fn new(engine: &Arc<dyn Engine>, scope: &Scope, run: RunId, wanted: bool) -> Self {
        Self(wanted.then(|| (engine.clone(), scope.clone(), run)))
    }

    /// The run has come to rest by itself.
    pub(crate) fn is_over(&mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDisconnect {
    fn drop(&mut self) {
        let Some((engine, scope, run)) = self.0.take() else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Err(error) = engine.stop(&scope, run, Stop::Keep).await {
                    tracing::warn!(%error, "a run whose listener has gone could not be stopped");
                }
            });
        }
    }
}
