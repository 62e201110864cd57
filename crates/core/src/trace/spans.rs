//! The spans that there are, with the names that readers of traces know: OpenTelemetry's conventions for generative AI in
//! version 1.41.0, and OpenInference's where a reader goes by those.

use std::borrow::Cow;
use std::fmt::Display;

use serde_json::json;
use tracing::Span;

use super::{TraceParent, TraceValue, tracer};
use crate::evidence::Passage;
use crate::model::Usage;
use crate::{RunId, Tenant, ThreadId};

/// So much of a text is told, in characters.
const LONGEST_TEXT: usize = 20_000;

/// What OpenInference calls a kind of span.
mod kind {
    pub(super) const AGENT: &str = "AGENT";
    pub(super) const CHAIN: &str = "CHAIN";
    pub(super) const LLM: &str = "LLM";
    pub(super) const EMBEDDING: &str = "EMBEDDING";
    pub(super) const RETRIEVER: &str = "RETRIEVER";
    pub(super) const RERANKER: &str = "RERANKER";
    pub(super) const TOOL: &str = "TOOL";
    pub(super) const GUARDRAIL: &str = "GUARDRAIL";
    pub(super) const EVALUATOR: &str = "EVALUATOR";
}

/// Names a span and says of what kind it is.
fn describe(span: &Span, name: impl FnOnce() -> String, operation: Option<&'static str>, kind: &'static str) {
    let Some(tracer) = tracer(span) else { return };
    tracer.name(span, name());
    if let Some(operation) = operation {
        tracer.set(span, "gen_ai.operation.name".into(), operation.into());
    }
    tracer.set(span, "openinference.span.kind".into(), kind.into());
}

fn set(span: &Span, attribute: impl Into<Cow<'static, str>>, value: impl Into<TraceValue>) {
    if let Some(tracer) = tracer(span) {
        tracer.set(span, attribute.into(), value.into());
    }
}

/// A text, if texts may be told.
fn set_text(span: &Span, attribute: impl Into<Cow<'static, str>>, text: impl FnOnce() -> String) {
    if let Some(tracer) = tracer(span).filter(|tracer| tracer.exports_texts()) {
        let mut text = text();
        if let Some((end, _)) = text.char_indices().nth(LONGEST_TEXT) {
            text.truncate(end);
        }
        tracer.set(span, attribute.into(), text.into());
    }
}

/// What a span stands for was given this, if texts may be told.
pub fn with_input(span: &Span, text: impl FnOnce() -> String) {
    set_text(span, "input.value", text);
}

/// What a span stands for gave this, if texts may be told.
pub fn with_output(span: &Span, text: impl FnOnce() -> String) {
    set_text(span, "output.value", text);
}

/// What a span stands for failed. Why may quote a model or a tool, and is told only if texts may be.
pub fn failed(span: &Span, error: &impl Display) {
    if let Some(tracer) = tracer(span) {
        tracer.fail(span, if tracer.exports_texts() { error.to_string() } else { String::new() });
    }
}

/// A request to the server, and the trace that it belongs to: the one of its caller, or a new one.
pub fn request_span(method: &str, route: &str, parent: Option<TraceParent>) -> (Span, TraceParent) {
    let empty = tracing::field::Empty;
    // Who only looks, as health checks and the page do, begins no trace: only targets of ibid's own crates are traced.
    let span = if parent.is_some() || (method != "GET" && !route.is_empty()) {
        tracing::error_span!(parent: None, "request", method, route, trace_id = empty, caller = empty, tenant = empty)
    } else {
        tracing::error_span!(target: "request", parent: None, "request", method, route, trace_id = empty, caller = empty, tenant = empty)
    };
    if let Some(tracer) = tracer(&span) {
        if let Some(parent) = &parent {
            tracer.continue_trace(&span, parent);
        }
        tracer.name(&span, format!("{method} {route}"));
        tracer.set(&span, "http.request.method".into(), method.to_owned().into());
        tracer.set(&span, "http.route".into(), route.to_owned().into());
    }
    let place = super::position(&span).or(parent).unwrap_or_else(TraceParent::begin);
    span.record("trace_id", place.trace_id());
    (span, place)
}

/// A turn or a job.
pub struct RunSpan<'a> {
    /// Its run.
    pub run: RunId,
    /// Its conversation; none if it is a job.
    pub thread: Option<ThreadId>,
    /// The assistant that answers, or the graph of a job.
    pub graph: &'a str,
    /// On whose behalf.
    pub tenant: &'a Tenant,
    /// What it is a part of.
    pub parent: Option<TraceParent>,
}

/// A turn, or a job.
pub fn run_span(run: &RunSpan<'_>) -> Span {
    let RunSpan { run, thread, graph, tenant, parent } = run;
    let trace_id = parent.map(|parent| parent.trace_id()).unwrap_or_default();
    let span = match thread {
        Some(thread) => {
            tracing::error_span!(parent: None, "turn", %thread, %run, %tenant, assistant = graph, trace_id)
        }
        None => tracing::error_span!(parent: None, "job", %run, %tenant, graph, trace_id),
    };
    let Some(tracer) = tracer(&span) else { return span };
    if let Some(parent) = parent {
        tracer.continue_trace(&span, parent);
    }
    match thread {
        Some(thread) => {
            describe(&span, || format!("invoke_agent {graph}"), Some("invoke_agent"), kind::AGENT);
            set(&span, "gen_ai.agent.name", (*graph).to_owned());
            set(&span, "gen_ai.conversation.id", thread.to_string());
            set(&span, "session.id", thread.to_string());
        }
        None => describe(&span, || (*graph).to_owned(), None, kind::CHAIN),
    }
    span
}

/// A step of a turn or a job.
pub fn node_span(node: &str, step: u32) -> Span {
    let span = tracing::info_span!("node", node, step);
    describe(&span, || node.to_owned(), None, kind::CHAIN);
    span
}

/// A call of a chat model.
pub fn chat_span(model: &str) -> Span {
    let span = tracing::info_span!("chat", model);
    describe(&span, || format!("chat {model}"), Some("chat"), kind::LLM);
    set(&span, "gen_ai.request.model", model.to_owned());
    set(&span, "llm.model_name", model.to_owned());
    span
}

/// What a call of a chat model took, and which model answered in the end.
pub fn chat_used(span: &Span, model: &str, usage: Usage) {
    set(span, "gen_ai.response.model", model.to_owned());
    set(span, "gen_ai.usage.input_tokens", usage.input_tokens);
    set(span, "gen_ai.usage.output_tokens", usage.output_tokens);
    set(span, "gen_ai.usage.cache_read.input_tokens", usage.cached_tokens);
    set(span, "llm.token_count.prompt", usage.input_tokens);
    set(span, "llm.token_count.completion", usage.output_tokens);
    set(span, "llm.token_count.total", usage.total());
    set(span, "llm.token_count.prompt_details.cache_read", usage.cached_tokens);
}

/// Texts become vectors.
pub fn embedding_span(model: &str, texts: usize) -> Span {
    let span = tracing::info_span!("embeddings", model, texts);
    describe(&span, || format!("embeddings {model}"), Some("embeddings"), kind::EMBEDDING);
    set(&span, "gen_ai.request.model", model.to_owned());
    set(&span, "embedding.model_name", model.to_owned());
    span
}

/// A rerank model puts passages in order.
pub fn rerank_span(model: &str, passages: usize) -> Span {
    let span = tracing::info_span!("rerank", model, passages);
    describe(&span, || format!("rerank {model}"), None, kind::RERANKER);
    set(&span, "reranker.model_name", model.to_owned());
    span
}

/// A model says whether texts support statements.
pub fn grounding_span(model: &str, pairs: usize) -> Span {
    let span = tracing::info_span!("grounding", model, pairs);
    describe(&span, || format!("grounding {model}"), None, kind::EVALUATOR);
    set(&span, "gen_ai.request.model", model.to_owned());
    span
}

/// A search in documents.
pub fn retrieval_span(phrasings: &[String], top: usize) -> Span {
    let span = tracing::info_span!("retrieval", phrasings = phrasings.len(), top);
    describe(&span, || "retrieval".to_owned(), Some("retrieval"), kind::RETRIEVER);
    set(&span, "gen_ai.request.top_k", top as u64);
    set_text(&span, "gen_ai.retrieval.query.text", || phrasings.join("\n"));
    with_input(&span, || phrasings.join("\n"));
    span
}

/// What a search found.
pub fn retrieved(span: &Span, passages: &[Passage]) {
    if tracer(span).is_none() {
        return;
    }
    let id = |passage: &Passage| format!("{}#{}-{}", passage.document, passage.chunks.0, passage.chunks.1);
    let documents = passages.iter().map(|passage| json!({ "id": id(passage), "score": passage.score }));
    set(span, "gen_ai.retrieval.documents", json!(documents.collect::<Vec<_>>()).to_string());
    for (at, passage) in passages.iter().enumerate() {
        set(span, format!("retrieval.documents.{at}.document.id"), id(passage));
        set(span, format!("retrieval.documents.{at}.document.score"), f64::from(passage.score));
        set_text(span, format!("retrieval.documents.{at}.document.content"), || passage.text.clone());
    }
}

/// A call of a tool.
pub fn tool_span(tool: &str, call: &str) -> Span {
    let span = tracing::info_span!("tool", tool);
    describe(&span, || format!("execute_tool {tool}"), Some("execute_tool"), kind::TOOL);
    set(&span, "gen_ai.tool.name", tool.to_owned());
    set(&span, "gen_ai.tool.call.id", call.to_owned());
    set(&span, "tool.name", tool.to_owned());
    span
}

/// A search of the web.
pub fn web_search_span(query: &str) -> Span {
    let span = tracing::info_span!("web_search");
    describe(&span, || "web_search".to_owned(), Some("retrieval"), kind::RETRIEVER);
    with_input(&span, || query.to_owned());
    span
}

/// A look into the answers that may be given again.
pub fn cache_span() -> Span {
    let span = tracing::info_span!("cache");
    describe(&span, || "cache".to_owned(), None, kind::CHAIN);
    span
}

/// The check of an answer.
pub fn guard_span() -> Span {
    let span = tracing::info_span!("guard");
    describe(&span, || "guard".to_owned(), None, kind::GUARDRAIL);
    span
}

/// What somebody thinks of an answer, a draft or a passage.
#[derive(Debug, Clone, Default)]
pub struct Evaluation {
    /// What is judged, such as `guard` or `relevance`.
    pub name: &'static str,
    /// The verdict in a word.
    pub label: &'static str,
    /// The verdict as a number, if it is one.
    pub score: Option<f64>,
    /// Why, in words; told only if texts may be.
    pub explanation: Option<String>,
}

/// Tells a verdict on what a span stands for.
pub fn evaluated(span: &Span, evaluation: Evaluation) {
    let Some(tracer) = tracer(span) else { return };
    let Evaluation { name, label, score, explanation } = evaluation;
    let mut attributes: Vec<(&'static str, TraceValue)> =
        vec![("gen_ai.evaluation.name", name.into()), ("gen_ai.evaluation.score.label", label.into())];
    attributes.extend(score.map(|score| ("gen_ai.evaluation.score.value", score.into())));
    let explanation = explanation.filter(|_| tracer.exports_texts());
    attributes.extend(explanation.map(|text| ("gen_ai.evaluation.explanation", text.into())));
    tracer.event(span, "gen_ai.evaluation.result", attributes);
}
