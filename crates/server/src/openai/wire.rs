//! Tokens, citations and times as OpenAI's clients know them.

use std::time::SystemTime;

use ibid_core::AnswerMetadata;
use ibid_engine::ThreadMessage;
use serde_json::{Value, json};

/// Seconds since 1970.
pub(super) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// What an answer carries, if it does.
fn metadata(said: Option<&ThreadMessage>) -> Option<&AnswerMetadata> {
    said?.message.metadata.as_deref()
}

/// Tokens that an answer took: read, kept from before, written.
pub(super) fn tokens(said: Option<&ThreadMessage>) -> (u64, u64, u64) {
    let usage = metadata(said).map(|metadata| metadata.usage).unwrap_or_default();
    (usage.input_tokens, usage.cached_tokens, usage.output_tokens)
}

/// What an answer cites, with everything that is known of it.
pub(super) fn citations(said: Option<&ThreadMessage>) -> Value {
    json!(metadata(said).map(|metadata| metadata.citations.as_slice()).unwrap_or_default())
}

/// What is wrong with an answer.
pub(super) fn warnings(said: Option<&ThreadMessage>) -> Value {
    json!(metadata(said).map(|metadata| metadata.warnings.as_slice()).unwrap_or_default())
}

/// A place in the text that cites a page: from where to where in characters, and what.
pub(super) struct CitationSpan {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) title: String,
    pub(super) url: String,
    pub(super) document: String,
}

/// The places in an answer that cite, such as `[2]`.
pub(super) fn citation_spans(said: Option<&ThreadMessage>) -> Vec<CitationSpan> {
    let (Some(said), Some(metadata)) = (said, metadata(said)) else { return Vec::new() };
    let text: Vec<char> = said.message.text.chars().collect();
    let mut spans = Vec::new();
    for citation in &metadata.citations {
        let number = citation.source;
        let mark: Vec<char> = format!("[{number}]").chars().collect();
        let Some(start) = text.windows(mark.len()).position(|window| window == mark) else { continue };
        let (document, page) = (&citation.document_id, json!(citation.page));
        spans.push(CitationSpan {
            start,
            end: start + mark.len(),
            title: citation.title.clone(),
            url: format!("/documents/{document}#page={page}"),
            document: document.clone(),
        });
    }
    spans
}
