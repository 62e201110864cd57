//! What bounds an upload: how many at once, how slow, and how much of it may be in memory.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::Request;
use axum::extract::multipart::MultipartError;
use axum::middleware::Next;
use axum::response::Response;
use futures_util::StreamExt as _;

use crate::http::Problem;
use crate::slots::{CallerSlot, CallerSlots};

/// So many requests bring files at once, and so many of one caller; others wait before they send.
const MOST_UPLOADS: usize = 8;
const MOST_OF_ONE_CALLER: usize = 4;
/// So much of a form may have come that is neither a head nor a piece of a part: the head of a part is this long at most.
const MOST_AHEAD: u64 = 1 << 20;
/// So long a request waits for others before it is sent away.
const LONGEST_WAIT: Duration = Duration::from_secs(300);
/// So long the next piece of a form may take to come.
const PATIENCE: Duration = Duration::from_secs(30);
/// So many bytes must come in a second, once some time has passed.
const SLOWEST: u64 = 16 << 10;
const HEAD_START: Duration = Duration::from_secs(60);

/// Requests that bring files.
static SLOTS: LazyLock<CallerSlots> = LazyLock::new(|| CallerSlots::new(MOST_UPLOADS, MOST_OF_ONE_CALLER));

/// Waits until a caller may send.
pub(super) async fn upload_slot(caller: &Arc<str>) -> Result<CallerSlot, Problem> {
    let busy = || Problem::unavailable("too much is being uploaded; send it again in some minutes");
    let slot = tokio::time::timeout(LONGEST_WAIT, SLOTS.wait(caller)).await.map_err(|_| busy())?;
    slot.map_err(|error| Problem::internal(&error))
}

/// How far a form has come, and since when it is read.
#[derive(Clone)]
pub(super) struct Incoming {
    /// So many bytes came since something was read of it.
    ahead: Arc<AtomicU64>,
    bytes: Arc<AtomicU64>,
    began: Option<Instant>,
}

/// Lets a form come no further ahead of its reader than the head of a part may be long.
pub(super) async fn bounded(mut request: Request, next: Next) -> Response {
    let incoming = Incoming { ahead: Arc::default(), bytes: Arc::default(), began: None };
    request.extensions_mut().insert(incoming.clone());
    let request = request.map(|body| {
        Body::from_stream(body.into_data_stream().map(move |piece| {
            let piece = piece.map_err(io::Error::other)?;
            incoming.bytes.fetch_add(piece.len() as u64, Ordering::Relaxed);
            let ahead = incoming.ahead.fetch_add(piece.len() as u64, Ordering::Relaxed);
            // One piece alone may be larger, as far as the connection hands it on at once.
            if ahead > MOST_AHEAD {
                return Err(io::Error::other("the head of a part is too long"));
            }
            Ok(piece)
        }))
    });
    next.run(request).await
}

impl Incoming {
    /// The next piece of a form, if it comes in time, and the form not too slowly.
    pub(super) async fn next<T>(
        &mut self,
        piece: impl Future<Output = Result<T, MultipartError>>,
    ) -> Result<T, Problem> {
        self.began.get_or_insert_with(Instant::now);
        let late = || Problem::unreadable(format!("nothing more came for {} s", PATIENCE.as_secs()));
        let piece = tokio::time::timeout(PATIENCE, piece).await.map_err(|_| late())?;
        let piece = piece.map_err(|error| Problem::unreadable(error.body_text()))?;
        self.ahead.store(0, Ordering::Relaxed);
        let enough = self.bytes.load(Ordering::Relaxed) / SLOWEST;
        if self.began.is_some_and(|began| began.elapsed() > HEAD_START + Duration::from_secs(enough)) {
            return Err(Problem::unreadable(format!("less than {SLOWEST} bytes a second came")));
        }
        Ok(piece)
    }
}
