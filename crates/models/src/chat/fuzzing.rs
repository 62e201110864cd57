//! What a fuzzer tries of this crate: what a model's server sends.

use bytes::Bytes;
use ibid_core::model::ChatPart;
use ibid_egress::SseDecoder;
use serde_json::Value;

use super::decode::{Decoder, words_only};

/// The tools that may be called.
const TOOLS: [&str; 2] = ["search", "lookup"];

/// Decodes a stream of events, whole and in pieces: its first byte says how long they are. However it is cut, the same is read.
///
/// # Panics
/// Panics where it is not.
pub fn chat_stream(input: &[u8]) {
    let Some((size, body)) = input.split_first() else { return };
    let events = events(body, body.len().max(1));
    assert_eq!(
        events,
        self::events(body, usize::from(*size) + 1),
        "events must not depend on how they are cut"
    );
    let chunks: Vec<Value> = events.iter().filter_map(|event| serde_json::from_str(event).ok()).collect();
    let whole = decoded(|decoder| chunks.iter().flat_map(|chunk| decoder.push(chunk)).collect());
    let quick = decoded(|decoder| {
        let pushed = events.iter().map(|event| match words_only(event) {
            Some(words) => decoder.push_words(&words),
            None => {
                serde_json::from_str(event).map_or_else(|_| Vec::new(), |chunk: Value| decoder.push(&chunk))
            }
        });
        pushed.flatten().collect()
    });
    assert_eq!(whole, quick, "words must be read the same in both ways");
    assert!(whole.calls.iter().all(|(name, _)| !name.is_empty()));
}

/// Decodes a text that a model writes, whole and letter by letter.
///
/// # Panics
/// Panics where the two differ, or a call is read of a tool that there is not.
pub fn written_calls(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let whole = decoded(|decoder| decoder.push_words(text));
    let letters = decoded(|decoder| {
        text.chars().flat_map(|letter| decoder.push_words(letter.encode_utf8(&mut [0; 4]))).collect()
    });
    assert_eq!(whole, letters, "a text must be read the same however it comes");
    assert!(whole.calls.iter().all(|(name, _)| TOOLS.contains(&name.as_str())));
}

fn events(body: &[u8], size: usize) -> Vec<String> {
    let mut decoder = SseDecoder::default();
    for piece in body.chunks(size) {
        if decoder.push(&Bytes::copy_from_slice(piece)).is_err() {
            return Vec::new();
        }
    }
    decoder.end();
    std::iter::from_fn(|| decoder.pop()).collect()
}

/// What was decoded, without what differs each time.
#[derive(Debug, Default, PartialEq)]
struct Decoded {
    text: String,
    reasoning: String,
    calls: Vec<(String, Value)>,
    finish: String,
}

fn decoded(push: impl FnOnce(&mut Decoder) -> Vec<ChatPart>) -> Decoded {
    let mut decoder = Decoder::new(TOOLS.map(str::to_owned).to_vec());
    let parts = push(&mut decoder);
    let ended = decoder.end();
    let mut decoded = Decoded { finish: format!("{:?}", ended.finish), ..Decoded::default() };
    for part in parts.into_iter().chain(ended.parts) {
        match part {
            ChatPart::Text(text) => decoded.text.push_str(&text),
            ChatPart::Reasoning(text) => decoded.reasoning.push_str(&text),
            ChatPart::Call(call) => decoded.calls.push((call.name, call.arguments)),
            ChatPart::Again { .. } | ChatPart::End { .. } => {}
        }
    }
    decoded
}
