//! What a scripted server answers with.

use std::time::Duration;

use serde_json::{Value, json};

/// One answer, whole or in pieces, at a pace, with an end or without.
#[derive(Clone, Debug)]
pub struct Reply {
    pub(crate) before: Duration,
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) content: Content,
    pub(crate) pace: Duration,
    pub(crate) fate: Fate,
}

#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// A whole body.
    Json(Value),
    /// The pieces of a chat answer, each a `delta`, with why it ends and what it took.
    Chat { deltas: Vec<Value>, finish: String, usage: Option<(u64, u64)> },
    /// A body as it is.
    Raw(String),
    /// A body as it is, in pieces.
    Pieces(Vec<String>),
    /// No answer, ever.
    Nothing,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Fate {
    Whole,
    /// Silence after so many pieces.
    Stall(usize),
    /// A broken connection after so many pieces.
    Cut(usize),
}

impl Reply {
    fn new(status: u16, content: Content) -> Self {
        let (before, pace) = (Duration::ZERO, Duration::ZERO);
        Self { before, status, headers: Vec::new(), content, pace, fate: Fate::Whole }
    }

    /// Says this, word by word.
    pub fn text(text: &str) -> Self {
        let deltas = text.split_inclusive(' ').map(|word| json!({ "content": word })).collect::<Vec<_>>();
        let usage = Some((7, deltas.len() as u64));
        Self::new(200, Content::Chat { deltas, finish: "stop".to_owned(), usage })
    }

    /// Sends these pieces of a message as they are.
    pub fn deltas(deltas: impl IntoIterator<Item = Value>, finish: &str) -> Self {
        let deltas = deltas.into_iter().collect();
        Self::new(200, Content::Chat { deltas, finish: finish.to_owned(), usage: Some((7, 5)) })
    }

    /// Calls tools, each given by name and arguments, their arguments in pieces of a few letters and mixed.
    pub fn calls(calls: &[(&str, Value)]) -> Self {
        let mut deltas = Vec::new();
        for (index, (name, _)) in calls.iter().enumerate() {
            let function = json!({ "name": name, "arguments": "" });
            let id = format!("call_{index}");
            let call = json!({ "index": index, "id": id, "type": "function", "function": function });
            deltas.push(json!({ "tool_calls": [call] }));
        }
        let arguments: Vec<Vec<char>> =
            calls.iter().map(|(_, value)| value.to_string().chars().collect()).collect();
        let longest = arguments.iter().map(Vec::len).max().unwrap_or(0);
        for from in (0..longest).step_by(3) {
            for (index, letters) in arguments.iter().enumerate() {
                let piece: String = letters.iter().skip(from).take(3).collect();
                if !piece.is_empty() {
                    let function = json!({ "arguments": piece });
                    deltas.push(json!({ "tool_calls": [{ "index": index, "function": function }] }));
                }
            }
        }
        Self::deltas(deltas, "tool_calls")
    }

    /// A whole body of JSON.
    pub fn json(value: Value) -> Self {
        Self::new(200, Content::Json(value))
    }

    /// A body as it is.
    pub fn raw(body: &str) -> Self {
        Self::new(200, Content::Raw(body.to_owned()))
    }

    /// A body as it is, in pieces.
    pub fn pieces_of(pieces: &[&str]) -> Self {
        Self::new(200, Content::Pieces(pieces.iter().map(|piece| (*piece).to_owned()).collect()))
    }

    /// A failure, in the form that OpenAI gives it.
    pub fn status(status: u16, message: &str) -> Self {
        Self::new(status, Content::Json(json!({ "error": { "message": message } })))
    }

    /// No answer, ever.
    pub fn stalled() -> Self {
        Self::new(200, Content::Nothing)
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Waits before it answers.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.before = delay;
        self
    }

    /// Waits before each piece.
    #[must_use]
    pub fn every(mut self, pace: Duration) -> Self {
        self.pace = pace;
        self
    }

    /// Falls silent after so many pieces.
    #[must_use]
    pub fn stall_after(mut self, pieces: usize) -> Self {
        self.fate = Fate::Stall(pieces);
        self
    }

    /// Breaks the connection after so many pieces.
    #[must_use]
    pub fn cut_after(mut self, pieces: usize) -> Self {
        self.fate = Fate::Cut(pieces);
        self
    }

    /// Does not say what it took.
    #[must_use]
    pub fn without_usage(mut self) -> Self {
        if let Content::Chat { usage, .. } = &mut self.content {
            *usage = None;
        }
        self
    }

    /// The pieces of the body: one, unless it is streamed.
    pub(crate) fn pieces(&self, streamed: bool, wants_usage: bool) -> Vec<String> {
        match &self.content {
            Content::Nothing => Vec::new(),
            Content::Json(value) => vec![value.to_string()],
            Content::Raw(body) => vec![body.clone()],
            Content::Pieces(pieces) => pieces.clone(),
            Content::Chat { deltas, finish, usage } if streamed => {
                let event = |value: Value| format!("data: {value}\n\n");
                let chunk = |delta: &Value, finish: Value| {
                    let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
                    event(json!({ "object": "chat.completion.chunk", "choices": [choice] }))
                };
                let mut pieces: Vec<String> = deltas.iter().map(|delta| chunk(delta, Value::Null)).collect();
                pieces.push(chunk(&json!({}), json!(finish)));
                if let Some(usage) = usage.filter(|_| wants_usage) {
                    pieces.push(event(json!({ "choices": [], "usage": told(usage) })));
                }
                pieces.push("data: [DONE]\n\n".to_owned());
                pieces
            }
            Content::Chat { deltas, finish, usage } => {
                let content: String = deltas.iter().filter_map(|delta| delta["content"].as_str()).collect();
                let choice = json!({ "message": { "role": "assistant", "content": content }, "finish_reason": finish });
                vec![json!({ "choices": [choice], "usage": usage.map(told) }).to_string()]
            }
        }
    }

    pub(crate) fn media_type(&self, streamed: bool) -> &'static str {
        match self.content {
            Content::Chat { .. } if streamed => "text/event-stream",
            Content::Raw(_) | Content::Pieces(_) if streamed => "text/event-stream",
            _ => "application/json",
        }
    }
}

fn told((input, output): (u64, u64)) -> Value {
    json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output })
}
