//! Rows as both sides have them, and what tells whether two sides have the same.

use serde_json::Value as Json;
use sha2::{Digest, Sha256};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A number, or a truth value as 0 or 1.
    Int,
    /// Text.
    Text,
    /// An id of 16 bytes.
    Id,
    /// Any bytes.
    Bytes,
    /// JSON, of which the order of keys does not matter.
    Json,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

/// A row.
pub(super) type Row = Vec<Value>;

/// How many rows there are, and a hash of all of them that does not depend on their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tally {
    count: u64,
    hash: u128,
}

impl Tally {
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn add(&mut self, row: &Row, columns: &[(&str, Kind)]) {
        let mut hasher = Sha256::new();
        for (value, (_, kind)) in row.iter().zip(columns) {
            let (mark, bytes) = match value {
                Value::Null => (0_u8, Vec::new()),
                Value::Int(number) => (1, number.to_le_bytes().to_vec()),
                Value::Text(text) if *kind == Kind::Json => (2, ordered(text).into_bytes()),
                Value::Text(text) => (2, text.as_bytes().to_vec()),
                Value::Bytes(bytes) => (3, bytes.clone()),
            };
            hasher.update([mark]);
            hasher.update((bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        }
        let digest = hasher.finalize();
        let half = digest.iter().take(16).fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
        self.count += 1;
        self.hash = self.hash.wrapping_add(half);
    }
}

/// JSON with its keys in order.
fn ordered(text: &str) -> String {
    serde_json::from_str::<Json>(text).map_or_else(|_| text.to_owned(), |value| sorted(value).to_string())
}

fn sorted(value: Json) -> Json {
    match value {
        Json::Object(fields) => {
            let mut fields: Vec<(String, Json)> =
                fields.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            fields.sort_by(|one, other| one.0.cmp(&other.0));
            Json::Object(fields.into_iter().collect())
        }
        Json::Array(values) => Json::Array(values.into_iter().map(sorted).collect()),
        other => other,
    }
}

/// Text as both sides can keep it: Postgres has no place for a zero byte.
pub(super) fn storable(text: String, kind: Kind) -> String {
    match kind {
        Kind::Json if text.contains("\\u0000") => text.replace("\\u0000", "\\ufffd"),
        _ if text.contains('\0') => text.replace('\0', "\u{fffd}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_knows_what_was_changed_and_not_in_which_order_it_came() {
        let columns = [("a", Kind::Text), ("b", Kind::Json)];
        let row = |a: &str, b: &str| vec![Value::Text(a.to_owned()), Value::Text(b.to_owned())];
        let of = |rows: &[Row]| {
            let mut tally = Tally::default();
            rows.iter().for_each(|row| tally.add(row, &columns));
            tally
        };
        let (one, other) = (row("x", r#"{"p":1,"q":[{"r":2,"s":3}]}"#), row("y", "{}"));
        let same = row("x", r#"{"q": [{"s": 3, "r": 2}], "p": 1}"#);
        assert_eq!(of(&[one.clone(), other.clone()]), of(&[other.clone(), same]));
        assert_ne!(of(&[one.clone(), other]), of(&[one.clone(), one.clone()]));
        assert_ne!(of(&[one]), of(&[row("x", r#"{"p":1,"q":[{"r":2,"s":4}]}"#)]));
    }
}
