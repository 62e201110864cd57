//! Tokens, citations and times as OpenAI's clients know them.

use std::time::SystemTime;

use ibid_engine::Said;
use serde_json::{Value, json};

/// Seconds since 1970.
pub(super) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Tokens that an answer took: read, kept from before, written.
pub(super) fn tokens(said: Option<&Said>) -> (u64, u64, u64) {
    let usage = said.and_then(|said| said.message.extra.get("usage"));
    let count = |name: &str| usage.and_then(|usage| usage[name].as_u64()).unwrap_or_default();
    (count("input_tokens"), count("cached_tokens"), count("output_tokens"))
}

/// What an answer cites, with everything that is known of it.
pub(super) fn citations(said: Option<&Said>) -> Value {
    said.and_then(|said| said.message.extra.get("citations")).cloned().unwrap_or_else(|| json!([]))
}

/// What is wrong with an answer.
pub(super) fn warnings(said: Option<&Said>) -> Value {
    said.and_then(|said| said.message.extra.get("warnings")).cloned().unwrap_or_else(|| json!([]))
}

/// A place in the text that cites a page: from where to where in characters, and what.
pub(super) struct Mark {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) title: String,
    pub(super) url: String,
    pub(super) document: String,
}

/// The places in an answer that cite, such as `[2]`.
pub(super) fn marks(said: Option<&Said>) -> Vec<Mark> {
    let Some(said) = said else { return Vec::new() };
    let all = citations(Some(said));
    let text: Vec<char> = said.message.text.chars().collect();
    let mut marks = Vec::new();
    for citation in all.as_array().into_iter().flatten() {
        let Some(number) = citation["source"].as_u64() else { continue };
        let mark: Vec<char> = format!("[{number}]").chars().collect();
        let Some(start) = text.windows(mark.len()).position(|window| window == mark) else { continue };
        let (document, page) = (citation["document_id"].as_str().unwrap_or_default(), &citation["page"]);
        marks.push(Mark {
            start,
            end: start + mark.len(),
            title: citation["title"].as_str().unwrap_or_default().to_owned(),
            url: format!("/documents/{document}#page={page}"),
            document: document.to_owned(),
        });
    }
    marks
}
