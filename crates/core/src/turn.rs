//! What a turn or a job begins with.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::evidence::DocumentId;
use crate::{Corpus, Focus, Message, RunId, Scope, ThreadId};

/// What the graph of a turn is a function of: the history of the thread and what is new. It is the
/// same whenever the turn is taken up again.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnInput {
    /// The conversation.
    pub thread: ThreadId,
    /// The turn.
    pub run: RunId,
    /// On whose behalf: what may be read to answer it.
    pub scope: Scope,
    /// The window of earlier messages that the assistant asked for, oldest first.
    pub history: Vec<Message>,
    /// What is new.
    pub messages: Vec<Message>,
    /// How this turn is to be answered.
    pub options: TurnOptions,
}

/// How a turn is to be answered: mode, format, what it is narrowed to, and whatever else a caller configures for its own graph.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TurnOptions(Map<String, Value>);

impl TurnOptions {
    const MODE: &str = "mode";
    const FORMAT: &str = "format";
    const CACHE: &str = "cache";

    /// Which of the assistant's modes.
    pub fn mode(&self) -> Option<&str> {
        self.0.get(Self::MODE).and_then(Value::as_str)
    }

    /// Which of the assistant's formats.
    pub fn format(&self) -> Option<&str> {
        self.0.get(Self::FORMAT).and_then(Value::as_str)
    }

    /// Whether an answer that was given before may be given again.
    pub fn may_be_cached(&self) -> bool {
        self.0.get(Self::CACHE).and_then(Value::as_bool).unwrap_or(true)
    }

    /// The same with a mode and a format, where they are given.
    #[must_use]
    pub fn with(mut self, mode: Option<String>, format: Option<String>) -> Self {
        self.0.extend(mode.map(|mode| (Self::MODE.to_owned(), mode.into())));
        self.0.extend(format.map(|format| (Self::FORMAT.to_owned(), format.into())));
        self
    }

    /// The names of what a turn can be narrowed to: lists of documents by their ids, of corpora, of document types and of
    /// languages.
    const NARROWING: [&str; 4] = ["documents", "corpora", "types", "languages"];

    /// Those of the fields of a request that say what a turn is narrowed to, and whether it may be answered from the cache.
    pub fn narrowing_in(fields: &Map<String, Value>) -> Self {
        let named = Self::NARROWING.into_iter().chain([Self::CACHE]);
        let given = named.filter_map(|name| fields.get_key_value(name));
        Self(given.map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    /// A scope narrowed to what these options name. It never grows.
    ///
    /// # Errors
    /// Says what is wrong with an option.
    pub fn narrow(&self, scope: Scope) -> Result<Scope, String> {
        let [documents, corpora, types, languages] = Self::NARROWING.map(|name| self.list(name));
        let mut scope = scope;
        if let Some(corpora) = corpora? {
            let corpora: Result<Vec<Corpus>, _> = corpora.iter().map(|name| name.parse()).collect();
            scope = scope.within(corpora.map_err(|error| format!("`corpora`: {error}"))?);
        }
        Ok(scope.focused(Focus {
            documents: documents?.map(|ids| ids.into_iter().map(DocumentId).collect()),
            types: types?,
            languages: languages?,
        }))
    }

    /// An option that is a list of texts, or one text. An empty list narrows to nothing in particular.
    fn list(&self, name: &str) -> Result<Option<BTreeSet<String>>, String> {
        let wrong = || format!("`{name}` must be a list of texts");
        let texts = match self.0.get(name) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(one)) => BTreeSet::from([one.clone()]),
            Some(Value::Array(several)) => {
                let texts = several.iter().map(|one| one.as_str().map(str::to_owned).ok_or_else(wrong));
                texts.collect::<Result<_, _>>()?
            }
            Some(_) => return Err(wrong()),
        };
        Ok(Some(texts).filter(|texts| !texts.is_empty()))
    }

    /// All of them, by name.
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }
}

impl From<Map<String, Value>> for TurnOptions {
    fn from(options: Map<String, Value>) -> Self {
        Self(options)
    }
}

/// What the graph of a job is a function of, such as the load of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct JobInput {
    /// The run.
    pub run: RunId,
    /// On whose behalf.
    pub scope: Scope,
    /// What is to be done, as the graph reads it.
    pub request: Value,
}
