//! People who talk to whichever process answers, and come back when it does not.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{Method, Request, StatusCode};
use ibid_core::{RunEvent, RunId, RunStatus, ThreadId, TurnEvent};
use ibid_egress::{Egress, EgressLimits, Host, Response, Rules, SseDecoder};
use serde_json::{Value, json};
use url::Url;

use super::report::Report;

/// How long somebody waits before they ask another process.
const PAUSE: Duration = Duration::from_millis(50);
/// How long a turn may take in all, whatever happens.
const LONGEST: Duration = Duration::from_secs(120);

/// Whom people talk to: one process after the other.
pub(super) struct Client {
    urls: Vec<String>,
    next: AtomicUsize,
    egress: Egress,
}

/// Why an answer did not come.
pub(super) enum Refused {
    /// It may come from another process.
    Passing(String),
    /// It was refused for good.
    Final(StatusCode, String),
}

impl Client {
    pub(super) fn of(urls: Vec<String>) -> Self {
        let hosts = urls.iter().map(|url| Host::of_service(&Url::parse(url).unwrap()).unwrap());
        let limits = EgressLimits {
            connect: Duration::from_secs(1),
            silence: Duration::from_secs(20),
            ..EgressLimits::default()
        };
        let egress = Egress::new(Rules::only(hosts), limits).unwrap();
        Self { urls, next: AtomicUsize::new(0), egress }
    }

    async fn send(
        &self,
        request: http::request::Builder,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Response, Refused> {
        let index = self.next.fetch_add(1, Ordering::Relaxed) % self.urls.len();
        let url = format!("{}{path}", self.urls[index]);
        let body = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
        let request = request.uri(url).header("content-type", "application/json").body(body).unwrap();
        let response =
            self.egress.send(request).await.map_err(|error| Refused::Passing(error.to_string()))?;
        match response.status() {
            status if status.is_success() => Ok(response),
            status if status.is_server_error() => Err(Refused::Passing(response.beginning(500).await)),
            status => Err(Refused::Final(status, response.beginning(500).await)),
        }
    }

    /// Asks until somebody answers.
    async fn insist(
        &self,
        report: &Report,
        request: impl Fn() -> http::request::Builder,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Response, (StatusCode, String)> {
        let began = Instant::now();
        loop {
            match self.send(request(), path, body).await {
                Ok(response) => {
                    report.answered(began.elapsed());
                    return Ok(response);
                }
                Err(Refused::Final(status, why)) => return Err((status, why)),
                Err(Refused::Passing(why)) => {
                    assert!(began.elapsed() < LONGEST, "nobody answers {path}: {why}");
                    report.failed();
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// What was said in a conversation.
    pub(super) async fn conversation(&self, thread: ThreadId) -> Vec<String> {
        let path = format!("/threads/{thread}/messages");
        let report = Report::default();
        let asked = self.insist(&report, || Request::builder().method(Method::GET), &path, None);
        let bytes = asked.await.unwrap().bytes().await.unwrap();
        let said: Vec<Value> = serde_json::from_slice(&bytes).unwrap();
        said.iter().map(|message| message["content"].as_str().unwrap().to_owned()).collect()
    }
}

/// A conversation, and what its person saw of it.
pub(super) struct Talk {
    pub(super) thread: ThreadId,
    pub(super) turns: Vec<Turn>,
}

/// What somebody saw of a turn.
pub(super) struct Turn {
    pub(super) run: RunId,
    heard: String,
    events: Vec<RunEvent<TurnEvent>>,
}

impl Talk {
    pub(super) fn begin(_: usize) -> Self {
        Self { thread: ThreadId::new(), turns: Vec::new() }
    }

    /// What the conversation must consist of, by what its person saw.
    pub(super) fn expected(&self) -> Vec<String> {
        self.turns.iter().flat_map(|turn| [turn.heard.clone(), turn.answer()]).collect()
    }

    /// Says something and listens until the turn has ended.
    pub(super) async fn say(&mut self, number: usize, client: &Client, report: &Report) {
        let kind = match number % 10 {
            3 => "ask",
            7 => "stop",
            _ => "say",
        };
        let heard = format!("{kind} {number}");
        let path = format!("/threads/{}/runs", self.thread);
        let body = json!({
            "assistant_id": "chaos",
            "input": { "messages": [{ "role": "user", "content": heard }] },
            "if_not_exists": "create",
        });
        let request =
            || Request::builder().method(Method::POST).header("idempotency-key", format!("turn-{number}"));
        let accepted = client.insist(report, request, &path, Some(&body)).await;
        let accepted =
            accepted.unwrap_or_else(|(status, why)| panic!("{heard} was refused with {status}: {why}"));
        let accepted: Value = serde_json::from_slice(&accepted.bytes().await.unwrap()).unwrap();
        let run: RunId = accepted["run_id"].as_str().unwrap().parse().unwrap();
        let mut turn = Turn { run, heard, events: Vec::new() };
        turn.listen(self.thread, client, report).await;
        self.turns.push(turn);
    }
}

impl Turn {
    async fn listen(&mut self, thread: ThreadId, client: &Client, report: &Report) {
        let path = format!("/threads/{thread}/runs/{}/stream?format=ibid", self.run);
        let (began, mut last, mut acted) = (Instant::now(), Instant::now(), None);
        let in_time = |turn: &Self| {
            let newest = turn.events.last();
            assert!(began.elapsed() < LONGEST, "{} of {thread} does not end: {newest:?}", turn.heard);
        };
        while !self.has_ended() {
            in_time(self);
            let after = self.events.last().map_or(0, |event| event.seq);
            let request = || {
                let request = Request::builder().method(Method::GET);
                if after > 0 { request.header("last-event-id", after) } else { request }
            };
            let stream = match client.insist(report, request, &path, None).await {
                Ok(response) => response,
                Err((status, why)) => panic!("{} cannot be followed: {status} {why}", self.heard),
            };
            let (mut pieces, mut decoder) = (stream.into_stream(), SseDecoder::default());
            'stream: while let Some(Ok(piece)) = pieces.next().await {
                decoder.push(&piece).unwrap();
                while let Some(data) = decoder.pop() {
                    if data.starts_with("{\"error\":\"StreamFailed\"") {
                        break 'stream;
                    }
                    let event: RunEvent<TurnEvent> =
                        serde_json::from_str(&data).unwrap_or_else(|error| panic!("{error}: {data}"));
                    report.waited(last.elapsed());
                    last = Instant::now();
                    self.events.push(event);
                }
                in_time(self);
                // Somebody who is asked again, because the graph has changed, answers again.
                let seen = self.events.last().map(|event| event.seq);
                if self.wants_to_act() && (acted.is_none() || (self.asks() && acted != seen)) {
                    acted = seen;
                    self.act(thread, client, report).await;
                    last = Instant::now();
                }
            }
            if !self.has_ended() && !self.asks() {
                report.cut();
            }
        }
    }

    fn has_ended(&self) -> bool {
        matches!(self.events.last(), Some(RunEvent { event: TurnEvent::Ended { .. }, .. }))
    }

    fn asks(&self) -> bool {
        matches!(self.events.last(), Some(RunEvent { event: TurnEvent::Interrupted { .. }, .. }))
    }

    /// Whether it is time to answer, or to stop it.
    fn wants_to_act(&self) -> bool {
        match self.events.last().map(|event| &event.event) {
            Some(TurnEvent::Interrupted { .. }) => true,
            Some(TurnEvent::Token { text }) => self.heard.starts_with("stop") && text.contains("write"),
            _ => false,
        }
    }

    async fn act(&self, thread: ThreadId, client: &Client, report: &Report) {
        let request = || Request::builder().method(Method::POST);
        let done = if self.heard.starts_with("ask") {
            let body = json!({ "assistant_id": "chaos", "command": { "resume": true } });
            client.insist(report, request, &format!("/threads/{thread}/runs"), Some(&body)).await
        } else {
            let path = format!("/threads/{thread}/runs/{}/cancel?action=interrupt", self.run);
            client.insist(report, request, &path, None).await
        };
        // It may have been done the first time, without the answer having come through.
        if let Err((status, why)) = done {
            assert!(status.is_client_error(), "{status}: {why}");
        }
    }

    fn answer(&self) -> String {
        match self.events.last().map(|event| &event.event) {
            Some(TurnEvent::Ended { message: Some(message), .. }) => message.text.clone(),
            other => panic!("{} ended without an answer: {other:?}", self.heard),
        }
    }

    /// Its events have no gap, each step finished once, and it ended once, in the way that it should.
    pub(super) fn is_told_once(&self) {
        let mut finished: BTreeMap<u32, usize> = BTreeMap::new();
        for (event, expected) in self.events.iter().zip(1..) {
            assert_eq!(event.seq, expected, "{} has a gap", self.heard);
            match event.event {
                TurnEvent::StepFinished { .. } => *finished.entry(event.step).or_default() += 1,
                // With a graph whose steps no longer fit, it begins again.
                TurnEvent::Restarted { .. } => finished.clear(),
                _ => {}
            }
        }
        assert!(finished.values().all(|count| *count == 1), "{}: {finished:?}", self.heard);
        let ends = self.events.iter().filter(|event| matches!(event.event, TurnEvent::Ended { .. })).count();
        assert_eq!(ends, 1, "{} ended {ends} times", self.heard);
        let Some(TurnEvent::Ended { status, .. }) = self.events.last().map(|event| &event.event) else {
            panic!("{} did not end", self.heard)
        };
        let stopped = self.heard.starts_with("stop");
        let fits = *status == RunStatus::Done || (stopped && *status == RunStatus::Stopped);
        assert!(fits, "{} ended as {status:?}", self.heard);
    }
}
