//! The part of an address after the question mark. Clients write lists in three ways: the name repeated, one JSON
//! array, or commas; and they write what they do not mean as an empty value.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use super::Problem;

/// What stands after the question mark.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    fn read(text: &str) -> Self {
        let pairs = url::form_urlencoded::parse(text.as_bytes());
        Self(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
    }

    fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.0.iter().filter(move |(other, _)| other.strip_suffix("[]").unwrap_or(other) == name);
        named.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// The value of a name.
    pub(crate) fn one<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.values(name).next()
    }

    /// All values of a name.
    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        let mut list = Vec::new();
        for value in self.values(name) {
            match serde_json::from_str::<Vec<String>>(value) {
                Ok(several) => list.extend(several),
                Err(_) => list.extend(value.split(',').map(|part| part.trim().trim_matches('"').to_owned())),
            }
        }
        list
    }

    /// Whether something is wanted.
    pub(crate) fn flag(&self, name: &str) -> bool {
        matches!(self.one(name), Some("1" | "true" | "True"))
    }

    /// A number.
    pub(crate) fn number(&self, name: &str) -> Result<Option<usize>, Problem> {
        let read = |text: &str| text.parse().map_err(|_| Problem::invalid(format!("{name} is not a number")));
        self.one(name).map(read).transpose()
    }
}

impl<S: Sync> FromRequestParts<S> for Query {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::read(parts.uri.query().unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_however_they_are_written() {
        for text in [
            "m=values&m=updates",
            "m=%5B%22values%22,%22updates%22%5D",
            "m=values,updates",
            "m[]=values&m[]=updates",
        ] {
            assert_eq!(Query::read(text).list("m"), ["values", "updates"], "{text}");
        }
        assert!(Query::read("m=").list("m").is_empty(), "an empty value is none");
    }
}
