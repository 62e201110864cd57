//! Traces: which one a piece of work belongs to, and what is told of it. Everything here does nothing until a [`Tracer`] is
//! installed, which `ibid-telemetry` does if the settings name somebody who reads traces.

mod parent;
mod spans;

use std::borrow::Cow;
use std::sync::OnceLock;

use tracing::Span;

pub use parent::TraceParent;
pub use spans::{
    Evaluation, RunSpan, cache_span, chat_span, chat_used, embedding_span, evaluated, failed, grounding_span,
    guard_span, node_span, request_span, rerank_span, retrieval_span, retrieved, run_span, tool_span,
    web_search_span, with_input, with_output,
};

/// Who takes what is told of spans.
pub trait Tracer: Send + Sync {
    /// Makes a span a child of one elsewhere.
    fn continue_trace(&self, span: &Span, parent: &TraceParent);
    /// Where a span stands, for whoever goes on with its trace elsewhere.
    fn position(&self, span: &Span) -> Option<TraceParent>;
    /// Names a span.
    fn name(&self, span: &Span, name: String);
    /// Tells something of a span.
    fn set(&self, span: &Span, attribute: Cow<'static, str>, value: TraceValue);
    /// Tells that something happened in a span.
    fn event(&self, span: &Span, name: &'static str, attributes: Vec<(&'static str, TraceValue)>);
    /// Says that what a span stands for failed.
    fn fail(&self, span: &Span, error: String);
    /// Whether questions, answers and passages may be told.
    fn exports_texts(&self) -> bool;
}

/// What is told of a span.
#[derive(Debug, Clone, PartialEq)]
pub enum TraceValue {
    /// A text.
    Text(Cow<'static, str>),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
}

impl From<&'static str> for TraceValue {
    fn from(text: &'static str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for TraceValue {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl From<u64> for TraceValue {
    fn from(number: u64) -> Self {
        Self::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<u32> for TraceValue {
    fn from(number: u32) -> Self {
        Self::Integer(number.into())
    }
}

impl From<f64> for TraceValue {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

static TRACER: OnceLock<Box<dyn Tracer>> = OnceLock::new();

/// Installs who takes traces, for the whole process. Only the first one counts.
pub fn install(tracer: Box<dyn Tracer>) {
    let _ = TRACER.set(tracer);
}

/// Who takes what is told of a span, if anybody does.
fn tracer(span: &Span) -> Option<&'static dyn Tracer> {
    TRACER.get().map(|tracer| &**tracer).filter(|_| !span.is_disabled())
}

/// Where the work that runs now stands in its trace, if it is traced.
pub fn current() -> Option<TraceParent> {
    position(&Span::current())
}

/// Where a span stands in its trace, if it is traced.
pub fn position(span: &Span) -> Option<TraceParent> {
    tracer(span)?.position(span)
}
