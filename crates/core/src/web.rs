//! The port to a search of the web, and the rule for whether it may be asked.

use std::collections::BTreeMap;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tool::ToolError;
use crate::{Corpus, Scope};

/// A page of the web, as a search shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebPage {
    /// Its address.
    pub url: String,
    /// Its title.
    pub title: String,
    /// What it says, or the part that fits the search. Untrusted.
    pub text: String,
    /// When the search showed it, as RFC 3339 has it.
    pub retrieved_at: String,
}

/// Whether questions to a corpus may be sent to a search of the web. The stricter rule comes first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WebRule {
    /// Never.
    #[default]
    Never,
    /// If a person agrees to the exact queries.
    Ask,
    /// Whenever the documents do not hold the answer.
    Allow,
}

/// The rules of all corpora.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WebRules {
    /// For corpora that have none of their own.
    pub default: WebRule,
    /// By corpus.
    pub corpora: BTreeMap<Corpus, WebRule>,
}

impl WebRules {
    /// The rule for questions in a scope: the strictest of the corpora that it sees, whichever of them answers.
    pub fn of(&self, scope: &Scope) -> WebRule {
        let rule = |corpus: &Corpus| self.corpora.get(corpus).copied().unwrap_or(self.default);
        let strictest = match scope.corpora() {
            Some(corpora) => corpora.iter().map(rule).min(),
            None => self.corpora.values().copied().chain([self.default]).min(),
        };
        strictest.unwrap_or_default()
    }
}

/// Searches the web.
#[async_trait]
pub trait WebSearch: Send + Sync {
    /// The pages that fit a query best.
    ///
    /// # Errors
    /// Fails when the service does.
    async fn search(&self, query: &str) -> Result<Vec<WebPage>, ToolError>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tenant;

    #[test]
    fn the_strictest_corpus_decides() {
        let [open, private, other]: [Corpus; 3] =
            ["open", "private", "other"].map(|name| name.parse().expect("a plain name"));
        let corpora = BTreeMap::from([(open.clone(), WebRule::Allow), (private.clone(), WebRule::Never)]);
        let rules = WebRules { default: WebRule::Ask, corpora };
        let of = |corpora: &[&Corpus]| {
            rules.of(&Scope::of(Tenant::local()).within(corpora.iter().copied().cloned()))
        };
        assert_eq!(of(&[&open]), WebRule::Allow);
        assert_eq!(of(&[&open, &other]), WebRule::Ask);
        assert_eq!(of(&[&open, &private]), WebRule::Never);
        assert_eq!(of(&[]), WebRule::Never);
        assert_eq!(rules.of(&Scope::of(Tenant::local())), WebRule::Never);
        assert_eq!(WebRules::default().of(&Scope::of(Tenant::local())), WebRule::Never);
    }
}
