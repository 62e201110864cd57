//! What is asked of an engine, and as it is stored.

use ibid_core::trace::TraceParent;
use ibid_core::{Message, RunId, Scope, ThreadId};

use super::rows::{NewRun, encode, encode_all};
use crate::error::Error;
use crate::store::StoreError;
use crate::types::{MOST_ID_BYTES, MOST_MESSAGE_BYTES, MOST_METADATA_BYTES, NewJob, Turn, WhenBusy};

/// What is to be run: a turn, or a job.
#[derive(Clone)]
pub(crate) enum Requested {
    Turn(Turn),
    Job(NewJob),
}

impl Requested {
    /// The thread of a turn, or the one that stands for the queue of a job.
    pub(crate) fn thread(&self) -> ThreadId {
        match self {
            Self::Turn(turn) => turn.thread,
            Self::Job(job) => ThreadId::from_bytes(*job.queue.as_bytes()),
        }
    }

    pub(crate) fn graph(&self) -> &str {
        match self {
            Self::Turn(turn) => &turn.assistant,
            Self::Job(job) => &job.graph,
        }
    }

    pub(crate) fn when_busy(&self) -> WhenBusy {
        match self {
            Self::Turn(turn) => turn.when_busy,
            Self::Job(_) => WhenBusy::Enqueue,
        }
    }

    pub(crate) fn trace(&self) -> Option<TraceParent> {
        match self {
            Self::Turn(turn) => turn.trace,
            Self::Job(_) => None,
        }
    }

    pub(crate) fn title(&self) -> &str {
        match self {
            Self::Turn(turn) => turn.messages.first().map_or("", |message| message.text.as_str()),
            Self::Job(_) => "",
        }
    }
}

/// What of a submission is stored, as it is stored.
pub(crate) struct Encoded {
    version: String,
    options: String,
    metadata: String,
    stream_modes: String,
    scope: String,
    pub(crate) idempotency: Option<String>,
    request: Option<String>,
    pub(crate) messages: Vec<String>,
}

impl Encoded {
    pub(crate) fn of(requested: &Requested, scope: &Scope, version: String) -> Result<Self, StoreError> {
        let scope = encode(scope)?;
        match requested {
            Requested::Turn(turn) => Ok(Self {
                version,
                options: encode(&turn.options)?,
                metadata: encode(&turn.metadata)?,
                stream_modes: encode(&turn.stream_modes)?,
                scope,
                idempotency: turn.idempotency_key.clone(),
                request: None,
                messages: encode_all(&turn.messages)?,
            }),
            Requested::Job(job) => Ok(Self {
                version,
                options: "{}".to_owned(),
                metadata: "{}".to_owned(),
                stream_modes: "[]".to_owned(),
                scope,
                idempotency: None,
                request: Some(encode(&job.request)?),
                messages: Vec::new(),
            }),
        }
    }

    /// How much of what the caller keeps there is.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.options.len() + self.metadata.len() + self.stream_modes.len()
    }

    /// The run that is stored.
    pub(crate) fn run<'a>(&'a self, id: RunId, graph: &'a str, trace: TraceParent) -> NewRun<'a> {
        NewRun {
            id,
            thread_key: 0,
            graph,
            version: &self.version,
            options: &self.options,
            metadata: &self.metadata,
            scope: &self.scope,
            idempotency: self.idempotency.as_deref(),
            stream_modes: &self.stream_modes,
            request: self.request.as_deref(),
            trace,
        }
    }
}

/// Refuses messages that are too long.
pub(crate) fn check_length(messages: &[Message]) -> Result<(), Error> {
    let length = |message: &Message| match message.id.as_ref().map_or(0, String::len) {
        name if name > MOST_ID_BYTES => MOST_MESSAGE_BYTES + name,
        _ => message.text.len(),
    };
    let longest = messages.iter().map(length).max().unwrap_or_default();
    if longest > MOST_MESSAGE_BYTES { Err(Error::MessageTooLong(longest)) } else { Ok(()) }
}

/// Refuses to keep more with a thread or turn than may be.
pub(crate) fn check_metadata(bytes: usize) -> Result<(), Error> {
    if bytes > MOST_METADATA_BYTES { Err(Error::MetadataTooLarge(bytes)) } else { Ok(()) }
}
