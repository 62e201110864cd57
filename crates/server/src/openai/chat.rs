//! `/v1/chat/completions`: the client keeps the conversation, so nothing of it stays here.

use std::time::SystemTime;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response};
use axum::response::IntoResponse as _;
use futures_util::stream::unfold;
use ibid_core::AccessRole;
use ibid_engine::{Lifetime, RunStatus, ThreadMessage};
use serde_json::{Map, Value, json};

use super::ask::{Answer, AnswerPiece, Asked, Ended};
use super::wire::{citation_spans, citations, seconds, tokens, warnings};
use crate::api::{Api, operation};
use crate::http::{Caller, Closing, Frame, Json, Problem, events};
use crate::state::ServerState;
use crate::stream::CancelOnDisconnect;

pub(super) fn routes(api: Api) -> Api {
    let summary = "Answer in a conversation that the client keeps";
    api.post(
        "/v1/chat/completions",
        complete,
        operation("OpenAI", summary, AccessRole::Reader).takes::<Map<String, Value>>(),
    )
}

async fn complete(
    State(app): State<ServerState>,
    caller: Caller,
    Json(body): Json<Map<String, Value>>,
) -> Result<Response<Body>, Problem> {
    let model = Asked::model(&body)?;
    let messages = body.get("messages").ok_or_else(|| Problem::invalid("`messages` is missing"))?;
    if body.get("n").and_then(Value::as_u64).is_some_and(|n| n > 1) {
        return Err(Problem::invalid("an assistant answers once: `n` must be 1"));
    }
    Asked::refuse(&body, body.get("response_format"))?;
    let asked = Asked::of(model, crate::messages::read_all(messages)?, &body)?;
    let answer = asked.begin(&app, &caller, None, Lifetime::Temporary).await?;
    let head = Head {
        id: format!("chatcmpl-{}", answer.run),
        created: seconds(SystemTime::now()),
        model: model.to_owned(),
    };
    // A client that has gone needs no answer.
    let mut guard = CancelOnDisconnect::new(app.engine(), &caller.scope, answer.run, true);
    if body.get("stream") == Some(&Value::Bool(true)) {
        let usage = body.get("stream_options").is_some_and(|options| options["include_usage"] == true);
        let state = CompletionStream { app, caller, answer, guard, head, usage, stage: Stage::Begin };
        return Ok(events(HeaderMap::new(), unfold(state, CompletionStream::next)));
    }
    let thread = answer.thread;
    let ended = answer.ended().await;
    guard.is_over();
    Answer::forget(&app, &caller, thread).await;
    let ended = failed(ended?)?;
    Ok(axum::Json(head.whole(&ended)).into_response())
}

/// An answer that failed is none.
fn failed(ended: Ended) -> Result<Ended, Problem> {
    match (&ended.error, ended.status) {
        (Some(error), RunStatus::Waiting) => Err(Problem::conflict(format!("the assistant asks: {error}"))),
        (Some(error), _) => Err(Problem::failed(format!("the assistant failed: {error}"))),
        (None, _) => Ok(ended),
    }
}

/// What all pieces of an answer share.
#[derive(Clone)]
struct Head {
    id: String,
    created: u64,
    model: String,
}

impl Head {
    fn whole(&self, ended: &Ended) -> Value {
        let said = ended.said.as_ref();
        json!({
            "id": self.id, "object": "chat.completion", "created": self.created, "model": self.model,
            "choices": [{
                "index": 0, "finish_reason": "stop", "logprobs": null,
                "message": {
                    "role": "assistant",
                    "content": said.map(|said| said.message.text.clone()).unwrap_or_default(),
                    "refusal": null,
                    "annotations": annotations(said),
                },
            }],
            "usage": usage(said),
            "citations": citations(said),
            "warnings": warnings(said),
            "structured": said.and_then(|said| said.message.metadata.as_ref()?.structured.clone()),
        })
    }

    fn piece(&self, delta: &Value, finish: Option<&str>, asks_usage: bool) -> Value {
        let mut piece = json!({
            "id": self.id, "object": "chat.completion.chunk", "created": self.created, "model": self.model,
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish, "logprobs": null }],
        });
        if asks_usage {
            piece["usage"] = Value::Null;
        }
        piece
    }
}

fn annotations(said: Option<&ThreadMessage>) -> Vec<Value> {
    let annotations = citation_spans(said).into_iter().map(|mark| {
        json!({
            "type": "url_citation",
            "url_citation": { "url": mark.url, "title": mark.title, "start_index": mark.start, "end_index": mark.end },
        })
    });
    annotations.collect()
}

fn usage(said: Option<&ThreadMessage>) -> Value {
    let (read, cached, written) = tokens(said);
    json!({
        "prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written,
        "prompt_tokens_details": { "cached_tokens": cached },
        "completion_tokens_details": { "reasoning_tokens": 0 },
    })
}

enum Stage {
    Begin,
    Speaking,
    Ended(Box<Ended>),
    Usage(Box<Ended>),
    Done,
    Over,
}

struct CompletionStream {
    app: ServerState,
    caller: Caller,
    answer: Answer,
    guard: CancelOnDisconnect,
    head: Head,
    usage: bool,
    stage: Stage,
}

impl CompletionStream {
    async fn next(mut self) -> Option<(Result<Frame, Closing>, Self)> {
        let usage = self.usage;
        let data = match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Begin => {
                self.stage = Stage::Speaking;
                self.head.piece(&json!({ "role": "assistant", "content": "", "refusal": null }), None, usage)
            }
            Stage::Speaking => match self.answer.next().await {
                Ok(Some(AnswerPiece::Text(text))) => {
                    self.stage = Stage::Speaking;
                    self.head.piece(&json!({ "content": text }), None, usage)
                }
                Ok(Some(AnswerPiece::End(ended))) => {
                    self.guard.is_over();
                    Answer::forget(&self.app, &self.caller, self.answer.thread).await;
                    match failed(*ended) {
                        Ok(ended) => {
                            self.stage = Stage::Ended(Box::new(ended));
                            return Box::pin(self.next()).await;
                        }
                        Err(problem) => error(&problem),
                    }
                }
                Ok(None) => return None,
                Err(problem) if problem.is_closing() => return Some((Err(Closing), self)),
                Err(problem) => error(&problem),
            },
            Stage::Ended(ended) => {
                let said = ended.said.as_ref();
                let mut piece =
                    self.head.piece(&json!({ "annotations": annotations(said) }), Some("stop"), usage);
                piece["citations"] = citations(said);
                piece["warnings"] = warnings(said);
                self.stage = if usage { Stage::Usage(ended) } else { Stage::Done };
                piece
            }
            Stage::Usage(ended) => {
                self.stage = Stage::Done;
                let mut piece = self.head.piece(&json!({}), None, false);
                piece["choices"] = json!([]);
                piece["usage"] = self::usage(ended.said.as_ref());
                piece
            }
            Stage::Done => {
                let frame = Frame { id: None, event: None, data: "[DONE]".to_owned() };
                return Some((Ok(frame), self));
            }
            Stage::Over => return None,
        };
        Some((Ok(Frame::new(None, &data)), self))
    }
}

fn error(problem: &Problem) -> Value {
    json!({ "error": { "message": problem.detail(), "type": "server_error", "param": null, "code": null } })
}
