//! `/v1/responses`: the server keeps the conversation. A response is a run, and the one before it is the run before it in
//! the thread.

use std::time::SystemTime;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Response};
use axum::response::IntoResponse as _;
use futures_util::stream::unfold;
use ibid_core::{AccessRole, Message, Role, RunId};
use ibid_engine::{Lifetime, Run, RunStatus, Stop, ThreadMessage};
use serde_json::{Map, Value, json};

use super::ask::{Answer, AnswerPiece, Asked, Ended};
use super::wire::{citation_spans, citations, seconds, tokens, warnings};
use crate::api::{Api, operation};
use crate::http::{Caller, Closing, Frame, Json, Problem, Query, events, run_id};
use crate::state::ServerState;
use crate::stream::CancelOnDisconnect;

pub(super) fn routes(api: Api) -> Api {
    let on = |summary| operation("OpenAI", summary, AccessRole::Reader);
    api.post(
        "/v1/responses",
        create,
        on("Answer in a conversation that is kept here").takes::<Map<String, Value>>(),
    )
    .get(
        "/v1/responses/{response}",
        one,
        on("An answer as it stands")
            .query("stream", "true to follow it")
            .query("starting_after", "only events after this number"),
    )
    .delete("/v1/responses/{response}", delete, on("Delete an answer"))
    .post("/v1/responses/{response}/cancel", cancel, on("Stop an answer"))
    .get("/v1/responses/{response}/input_items", input_items, on("What was said before an answer"))
}

async fn create(
    State(app): State<ServerState>,
    caller: Caller,
    Json(body): Json<Map<String, Value>>,
) -> Result<Response<Body>, Problem> {
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    let flag = |name: &str| body.get(name).and_then(Value::as_bool);
    let model = Asked::model(&body)?;
    let input = body.get("input").ok_or_else(|| Problem::invalid("`input` is missing"))?;
    Asked::refuse(&body, body.get("text").map(|text| &text["format"]))?;
    if body.get("conversation").is_some_and(|conversation| !conversation.is_null()) {
        return Err(Problem::invalid("go on with `previous_response_id`; `conversation` is not supported"));
    }
    let mut asked = Asked::of(model, read(input)?, &body)?;
    let (kept, background) = (flag("store").unwrap_or(true), flag("background").unwrap_or(false));
    let lifetime = if kept { Lifetime::Kept } else { Lifetime::Temporary };
    let previous = text("previous_response_id").map(str::to_owned);
    let thread = match &previous {
        Some(previous) if kept => Some(go_on(&app, &caller, previous).await?),
        // What is not to be kept must not stand in a thread that is.
        Some(previous) => {
            asked.history.splice(..0, said_up_to(&app, &caller, previous).await?);
            None
        }
        None => None,
    };
    let answer = asked.begin(&app, &caller, thread, lifetime).await?;
    let run = app.engine().run(&caller.scope, answer.run).await?;
    let head = Head { run, previous, background, kept };
    let mut guard = CancelOnDisconnect::new(app.engine(), &caller.scope, answer.run, !background);
    if flag("stream") == Some(true) {
        let stream = ResponseStream::new(app, caller, answer, guard, head);
        return Ok(events(HeaderMap::new(), unfold(stream, ResponseStream::next)));
    }
    if background {
        return Ok(axum::Json(head.to_wire(None)).into_response());
    }
    let thread = answer.thread;
    let ended = answer.ended().await?;
    guard.is_over();
    if !kept {
        Answer::forget(&app, &caller, thread).await;
    }
    Ok(axum::Json(head.to_wire(Some(&ended))).into_response())
}

/// The messages of an input: a text, or items of which messages are taken.
fn read(input: &Value) -> Result<Vec<Message>, Problem> {
    let Value::Array(items) = input else { return crate::messages::read_all(input) };
    let is_message = |item: &&Value| item["type"].as_str().is_none_or(|kind| kind == "message");
    let messages = items.iter().filter(is_message).map(|item| {
        // An item's own type is `message`, which is no role.
        crate::messages::read_all(&json!([{ "role": item["role"], "content": item["content"] }]))
    });
    Ok(messages.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

/// The thread to go on in: that of the response, or a copy of it up to there if it has gone on since.
async fn go_on(app: &ServerState, caller: &Caller, previous: &str) -> Result<ibid_core::ThreadId, Problem> {
    let run = find(app, caller, previous).await?;
    match after(app, caller, &run).await? {
        None => Ok(run.thread),
        Some(next) => {
            let before = if next.input.is_empty() { None } else { Some(next.input.start) };
            Ok(app.engine().copy_thread(&caller.scope, run.thread, before).await?.id)
        }
    }
}

/// The turn that came after another in its thread.
async fn after(app: &ServerState, caller: &Caller, run: &Run) -> Result<Option<Run>, Problem> {
    let runs = app.engine().runs(&caller.scope, run.thread).await?;
    let begun = runs.into_iter().filter(|run| !matches!(run.status, RunStatus::RolledBack));
    Ok(begun.skip_while(|other| other.id != run.id).nth(1))
}

/// What was said up to a response, with it.
async fn said_up_to(app: &ServerState, caller: &Caller, previous: &str) -> Result<Vec<Message>, Problem> {
    let run = find(app, caller, previous).await?;
    let end =
        after(app, caller, &run).await?.filter(|next| !next.input.is_empty()).map(|next| next.input.start);
    let said = match end {
        Some(end) => crate::messages::before(app.engine(), &caller.scope, run.thread, end).await?,
        None => crate::messages::of_thread(app.engine(), &caller.scope, run.thread).await?,
    };
    Ok(said.into_iter().map(|said| said.message).collect())
}

/// The run of a response.
async fn find(app: &ServerState, caller: &Caller, response: &str) -> Result<Run, Problem> {
    let unknown = || Problem::not_found(format!("there is no response `{response}`"));
    let id: RunId = response.strip_prefix("resp_").and_then(|id| run_id(id).ok()).ok_or_else(unknown)?;
    let run = app.engine().run(&caller.scope, id).await.map_err(|_| unknown())?;
    if run.assistant.is_empty() || run.status == RunStatus::RolledBack {
        return Err(unknown());
    }
    Ok(run)
}

/// A response as it stands.
async fn standing(app: &ServerState, caller: &Caller, run: Run) -> Result<Value, Problem> {
    let head = Head { run, previous: None, background: false, kept: true };
    if !head.run.status.is_final() && head.run.status != RunStatus::Waiting {
        return Ok(head.to_wire(None));
    }
    let ended = Answer::settled(app, caller, &head.run).await?;
    Ok(head.to_wire(Some(&ended)))
}

async fn one(
    State(app): State<ServerState>,
    caller: Caller,
    Path(response): Path<String>,
    query: Query,
) -> Result<Response<Body>, Problem> {
    let run = find(&app, &caller, &response).await?;
    if query.flag("stream") {
        let after = query.number("starting_after")?;
        let answer = Answer::new(&app, &caller, run.thread, run.id);
        let guard = CancelOnDisconnect::new(app.engine(), &caller.scope, run.id, false);
        let head = Head { run, previous: None, background: true, kept: true };
        let stream = ResponseStream { after, ..ResponseStream::new(app, caller, answer, guard, head) };
        return Ok(events(HeaderMap::new(), unfold(stream, ResponseStream::next)));
    }
    Ok(axum::Json(standing(&app, &caller, run).await?).into_response())
}

async fn cancel(
    State(app): State<ServerState>,
    caller: Caller,
    Path(response): Path<String>,
) -> Result<axum::Json<Value>, Problem> {
    let run = find(&app, &caller, &response).await?;
    if !run.status.is_final() {
        app.engine().stop(&caller.scope, run.id, Stop::Keep).await?;
        Answer::new(&app, &caller, run.thread, run.id).ended().await?;
    }
    let run = app.engine().run(&caller.scope, run.id).await?;
    Ok(axum::Json(standing(&app, &caller, run).await?))
}

async fn delete(
    State(app): State<ServerState>,
    caller: Caller,
    Path(response): Path<String>,
) -> Result<axum::Json<Value>, Problem> {
    let run = find(&app, &caller, &response).await?;
    if !run.status.is_final() {
        return Err(Problem::conflict("the answer is not complete; cancel it first"));
    }
    // With the last answer of a conversation, the conversation goes; before that, what was said is part of what follows.
    if app.engine().runs(&caller.scope, run.thread).await?.len() == 1 {
        app.engine().delete_thread(&caller.scope, run.thread).await?;
    } else {
        app.engine().delete_run(&caller.scope, run.id).await?;
    }
    Ok(axum::Json(json!({ "id": response, "object": "response.deleted", "deleted": true })))
}

async fn input_items(
    State(app): State<ServerState>,
    caller: Caller,
    Path(response): Path<String>,
) -> Result<axum::Json<Value>, Problem> {
    let run = find(&app, &caller, &response).await?;
    let said = crate::messages::of_thread(app.engine(), &caller.scope, run.thread).await?;
    let mut items: Vec<Value> = said
        .iter()
        .filter(|said| said.position < run.input.end)
        .map(|said| item(said, "completed"))
        .collect();
    items.reverse();
    let id = |item: Option<&Value>| item.map(|item| item["id"].clone()).unwrap_or_default();
    let (first, last) = (id(items.first()), id(items.last()));
    Ok(axum::Json(json!({
        "object": "list", "data": items, "first_id": first, "last_id": last, "has_more": false,
    })))
}

/// A message as an item.
fn item(said: &ThreadMessage, status: &str) -> Value {
    let text = &said.message.text;
    let run = said.run.map(|run| run.to_string()).unwrap_or_default();
    match said.message.role {
        Role::Assistant => json!({
            "id": format!("msg_{run}"), "type": "message", "status": status, "role": "assistant",
            "content": [part(text, &annotations(Some(said)))],
        }),
        _ => json!({
            "id": format!("msg_{run}_{}", said.position), "type": "message", "status": status, "role": "user",
            "content": [{ "type": "input_text", "text": text }],
        }),
    }
}

fn part(text: &str, annotations: &[Value]) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": annotations, "logprobs": [] })
}

fn annotations(said: Option<&ThreadMessage>) -> Vec<Value> {
    let annotations = citation_spans(said).into_iter().map(|mark| {
        json!({ "type": "file_citation", "file_id": mark.document, "filename": mark.title, "index": mark.start, "url": mark.url })
    });
    annotations.collect()
}

/// What is told of a response besides what it says.
struct Head {
    run: Run,
    previous: Option<String>,
    background: bool,
    kept: bool,
}

impl Head {
    fn id(&self) -> String {
        format!("resp_{}", self.run.id)
    }

    fn to_wire(&self, ended: Option<&Ended>) -> Value {
        let said = ended.and_then(|ended| ended.said.as_ref());
        let (status, error) = match ended {
            None if self.run.status == RunStatus::Queued => ("queued", Value::Null),
            None => ("in_progress", Value::Null),
            Some(Ended { status: RunStatus::Done, .. }) => ("completed", Value::Null),
            Some(Ended { status: RunStatus::Stopped, .. }) => ("cancelled", Value::Null),
            Some(ended) => {
                let message = ended.error.as_deref().unwrap_or("the assistant did not answer");
                ("failed", json!({ "code": "server_error", "message": message }))
            }
        };
        let state = if status == "completed" { "completed" } else { "incomplete" };
        json!({
            "id": self.id(), "object": "response", "created_at": seconds(self.run.created),
            "completed_at": ended.map(|_| seconds(self.run.ended.unwrap_or_else(SystemTime::now))),
            "status": status, "background": self.background, "error": error, "incomplete_details": null,
            "instructions": null, "max_output_tokens": null, "max_tool_calls": null, "model": self.run.assistant,
            "output": said.map(|said| item(said, state)).into_iter().collect::<Vec<_>>(),
            "parallel_tool_calls": true, "previous_response_id": self.previous, "conversation": null,
            "reasoning": { "effort": null, "summary": null }, "store": self.kept, "temperature": null,
            "text": { "format": { "type": "text" } }, "tool_choice": "auto", "tools": [], "top_p": null,
            "truncation": "disabled", "usage": ended.map(|_| usage(said)), "user": null,
            "metadata": self.run.metadata,
            "citations": citations(said), "warnings": warnings(said),
        })
    }
}

fn usage(said: Option<&ThreadMessage>) -> Value {
    let (read, cached, written) = tokens(said);
    json!({
        "input_tokens": read, "input_tokens_details": { "cached_tokens": cached, "cache_write_tokens": 0 },
        "output_tokens": written, "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": read + written,
    })
}

/// A response told piece by piece, under numbers without gaps.
struct ResponseStream {
    app: ServerState,
    caller: Caller,
    answer: Answer,
    guard: CancelOnDisconnect,
    head: Head,
    /// Only what has a higher number.
    after: Option<usize>,
    number: usize,
    ready: std::collections::VecDeque<Frame>,
    text: String,
    item: String,
    over: bool,
}

impl ResponseStream {
    fn new(app: ServerState, caller: Caller, answer: Answer, guard: CancelOnDisconnect, head: Head) -> Self {
        let item = format!("msg_{}", head.run.id);
        let (ready, text) = (std::collections::VecDeque::new(), String::new());
        let mut stream =
            Self { app, caller, answer, guard, head, after: None, number: 0, ready, text, item, over: false };
        let response = stream.head.to_wire(None);
        stream.push("response.created", json!({ "response": response }));
        stream.push("response.in_progress", json!({ "response": response }));
        let begun = json!({
            "id": stream.item, "type": "message", "status": "in_progress", "role": "assistant", "content": [],
        });
        stream.push("response.output_item.added", json!({ "output_index": 0, "item": begun }));
        stream.push_part("response.content_part.added", json!({ "part": part("", &[]) }));
        stream
    }

    fn push(&mut self, kind: &str, mut data: Value) {
        data["type"] = kind.into();
        data["sequence_number"] = self.number.into();
        self.number += 1;
        self.ready.push_back(Frame::new(Some(kind), &data));
    }

    fn push_part(&mut self, kind: &str, mut data: Value) {
        data["item_id"] = self.item.as_str().into();
        (data["output_index"], data["content_index"]) = (0.into(), 0.into());
        self.push(kind, data);
    }

    async fn next(mut self) -> Option<(Result<Frame, Closing>, Self)> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                let place = self.number - self.ready.len() - 1;
                if self.after.is_none_or(|after| place > after) {
                    return Some((Ok(frame), self));
                }
                continue;
            }
            if self.over {
                return None;
            }
            match self.answer.next().await {
                Ok(Some(AnswerPiece::Text(text))) => {
                    self.text.push_str(&text);
                    self.push_part("response.output_text.delta", json!({ "delta": text, "logprobs": [] }));
                }
                Ok(Some(AnswerPiece::End(ended))) => self.end(&ended).await,
                Ok(None) => return None,
                Err(problem) if problem.is_closing() => {
                    self.over = true;
                    return Some((Err(Closing), self));
                }
                Err(problem) => {
                    let ended = Ended {
                        status: RunStatus::Failed,
                        error: Some(problem.detail().to_owned()),
                        said: None,
                    };
                    self.end(&ended).await;
                }
            }
        }
    }

    async fn end(&mut self, ended: &Ended) {
        self.over = true;
        self.guard.is_over();
        let mut response = self.head.to_wire(Some(ended));
        if ended.status != RunStatus::Done {
            self.push("response.failed", json!({ "response": response }));
        } else {
            let all = annotations(ended.said.as_ref());
            for (index, annotation) in all.iter().enumerate() {
                let told = json!({ "annotation_index": index, "annotation": annotation });
                self.push_part("response.output_text.annotation.added", told);
            }
            let text = self.text.clone();
            self.push_part("response.output_text.done", json!({ "text": text, "logprobs": [] }));
            self.push_part("response.content_part.done", json!({ "part": part(&text, &all) }));
            let item = json!({
                "id": self.item, "type": "message", "status": "completed", "role": "assistant",
                "content": [part(&text, &all)],
            });
            self.push("response.output_item.done", json!({ "output_index": 0, "item": item }));
            response["output"] = json!([item]);
            self.push("response.completed", json!({ "response": response }));
        }
        if !self.head.kept {
            Answer::forget(&self.app, &self.caller, self.answer.thread).await;
        }
    }
}
