//! Who did what: a file to which lines are added, with whoever signed in, loaded, deleted, changed, shared or exported
//! something, and whoever was refused. It holds names and ids, and nothing of what was asked, answered or loaded.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{MatchedPath, Request};
use axum::http::{Response, StatusCode};
use axum::middleware::Next;
use ibid_core::trace::TraceParent;
use serde::Serialize;

use crate::http::Caller;

/// Its file in the data folder.
pub(crate) const AUDIT_FILE: &str = "audit.jsonl";
/// So many lines may wait to be written.
const MOST_WAITING: usize = 1000;
/// Somebody who was not here for this long signs in anew.
const SESSION: Duration = Duration::from_secs(3600);
/// Of so many people it is known when they were here.
const MOST_PEOPLE: usize = 10_000;
/// Of a path so many characters are written down.
const LONGEST_PATH: usize = 200;
/// So many refusals are written down in a minute. Of the others it is written how many they were.
const MOST_REFUSALS: u32 = 60;
const MINUTE: Duration = Duration::from_secs(60);

/// What a handler adds to the line of its request: ids, never content.
#[derive(Debug, Clone)]
pub(crate) struct AuditDetail(pub(crate) String);

/// A line.
#[derive(Debug, Serialize)]
struct AuditEntry<'a> {
    time: String,
    /// `sign_in`, `refused`, or what was asked for, as the OpenAPI document names it.
    action: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    caller: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'a str>,
    /// What it was asked of.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<String>,
}

/// The log. Cheap to clone; it writes nothing if it has no file.
#[derive(Clone, Default)]
pub(crate) struct AuditLog(Option<Arc<Inner>>);

struct Inner {
    lines: SyncSender<String>,
    /// When each of those who were here came last.
    people: Mutex<HashMap<String, Instant>>,
    refusals: Mutex<Refusals>,
}

/// The refusals of a minute.
struct Refusals {
    since: Instant,
    count: u32,
}

impl AuditLog {
    /// Adds to a file, which is made for the user who runs the server alone.
    pub(crate) fn open(path: &Path) -> std::io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path)?;
        let (lines, waiting) = sync_channel(MOST_WAITING);
        std::thread::Builder::new().name("audit".to_owned()).spawn(move || write(file, &waiting))?;
        let refusals = Mutex::new(Refusals { since: Instant::now(), count: 0 });
        Ok(Self(Some(Arc::new(Inner { lines, people: Mutex::default(), refusals }))))
    }

    /// Notes somebody who was let in, unless they were here a moment ago.
    pub(crate) fn signed_in(&self, caller: &Caller, trace: Option<TraceParent>) {
        let Some(inner) = &self.0 else { return };
        let (now, tenant) = (Instant::now(), caller.scope.tenant().as_str());
        let mut people = inner.people.lock().unwrap_or_else(PoisonError::into_inner);
        if people.len() >= MOST_PEOPLE {
            people.retain(|_, last| now.duration_since(*last) < SESSION);
        }
        if people.len() >= MOST_PEOPLE {
            people.clear();
        }
        let before = people.insert(format!("{tenant}\n{}", caller.name), now);
        drop(people);
        if before.is_none_or(|before| now.duration_since(before) >= SESSION) {
            inner.add(&AuditEntry {
                trace_id: trace.map(|trace| trace.trace_id()),
                ..entry("sign_in", Some(caller))
            });
        }
    }

    /// Notes somebody who was not let in, or has not the role.
    pub(crate) fn refused(
        &self,
        caller: Option<&Caller>,
        path: &str,
        status: StatusCode,
        trace: Option<TraceParent>,
    ) {
        let Some(inner) = &self.0 else { return };
        let mut refusals = inner.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        let over = if refusals.since.elapsed() >= MINUTE {
            let over = refusals.count.saturating_sub(MOST_REFUSALS);
            *refusals = Refusals { since: Instant::now(), count: 0 };
            over
        } else {
            0
        };
        refusals.count += 1;
        let written = refusals.count <= MOST_REFUSALS;
        drop(refusals);
        let detail = (over > 0).then(|| format!("{over} more were refused before and not written down"));
        if written {
            inner.add(&AuditEntry {
                path: Some(shortened(path)),
                detail: detail.as_deref(),
                status: Some(status.as_u16()),
                trace_id: trace.map(|trace| trace.trace_id()),
                ..entry("refused", caller)
            });
        }
    }
}

impl Inner {
    fn add(&self, entry: &AuditEntry<'_>) {
        let line = serde_json::to_string(entry).unwrap_or_default();
        // It never waits: whoever could fill the file could stop the server. What is lost is told in the log.
        if self.lines.try_send(line).is_err() {
            tracing::error!(
                action = entry.action,
                "a line of the audit log was lost: it cannot be written fast enough"
            );
        }
    }
}

fn entry<'a>(action: &'a str, caller: Option<&'a Caller>) -> AuditEntry<'a> {
    AuditEntry {
        time: format!("{:.3}", jiff::Timestamp::now()),
        action,
        tenant: caller.map(|caller| caller.scope.tenant().as_str()),
        caller: caller.map(|caller| &*caller.name),
        role: caller.map(|caller| caller.role.as_str()),
        path: None,
        detail: None,
        status: None,
        trace_id: None,
    }
}

/// Writes lines, each safely on disk before the next is taken.
fn write(mut file: File, lines: &Receiver<String>) {
    while let Ok(mut line) = lines.recv() {
        line.push('\n');
        while let Ok(next) = lines.try_recv() {
            line.push_str(&next);
            line.push('\n');
        }
        if let Err(error) = file.write_all(line.as_bytes()).and_then(|()| file.sync_data()) {
            tracing::error!(%error, "the audit log cannot be written");
        }
    }
}

/// Notes what came of a request that changes or exports something, also if whoever asked has gone meanwhile.
pub(crate) async fn audit(caller: Caller, request: Request, next: Next) -> Response<Body> {
    let mut line = Line::of(caller, &request);
    let mut response = next.run(request).await;
    line.detail = response.extensions_mut().remove::<AuditDetail>();
    line.status = Some(response.status().as_u16());
    response
}

/// The line of a request, written when it is over, or given up because nobody waits any more: what it did is done.
struct Line {
    log: AuditLog,
    caller: Caller,
    action: String,
    path: String,
    detail: Option<AuditDetail>,
    status: Option<u16>,
}

impl Line {
    fn of(caller: Caller, request: &Request) -> Self {
        let route = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
        Self {
            log: request.extensions().get::<AuditLog>().cloned().unwrap_or_default(),
            caller,
            action: format!("{} {route}", request.method()),
            path: shortened(request.uri().path()).to_owned(),
            detail: None,
            status: None,
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let Some(inner) = &self.log.0 else { return };
        let detail = self.detail.as_ref().map(|detail| detail.0.as_str());
        inner.add(&AuditEntry {
            path: Some(&self.path),
            detail: detail.or(self.status.is_none().then_some("whoever asked did not wait for the answer")),
            status: self.status,
            trace_id: self.caller.trace.map(|trace| trace.trace_id()),
            ..entry(&self.action, Some(&self.caller))
        });
    }
}

/// As much of a path as names something.
fn shortened(path: &str) -> &str {
    path.char_indices().nth(LONGEST_PATH).map_or(path, |(end, _)| &path[..end])
}
