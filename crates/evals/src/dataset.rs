//! Datasets: questions with what is known of their answers, one JSON object a line.

use std::collections::BTreeSet;

use ibid_core::{Message, Role, Scope, Tenant, TurnOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The longest name of a dataset, in letters.
const LONGEST_NAME: usize = 80;

/// A line of a dataset cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("line {line} of the dataset: {problem}")]
pub struct DatasetError {
    /// Which line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: String,
}

/// A question with what is known of its answer. What is not given is not measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DatasetItem {
    /// What it is called; its line if it has no name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// What is asked.
    pub question: String,
    /// What was said before, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<DatasetMessage>,
    /// What it is narrowed to: `documents`, `corpora`, `types`, `languages`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub scope: Map<String, Value>,
    /// Which mode of the assistant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Which format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The pages that hold the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<ExpectedPage>,
    /// What a right answer says word for word: numbers, codes, names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// What a right answer says in some words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<String>,
    /// Whether the documents do not hold the answer; no if pages, values or facts are given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<bool>,
}

/// A message before a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DatasetMessage {
    /// Who said it: `user` or `assistant`.
    #[schemars(with = "String")]
    pub role: Role,
    /// What was said.
    pub text: String,
}

/// A page that holds an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectedPage {
    /// Its document, by id or title.
    pub document: String,
    /// The page, from 1.
    pub page: u32,
}

impl DatasetItem {
    /// How the turn is to be answered: never with what was answered before.
    pub fn options(&self) -> TurnOptions {
        let mut fields = self.scope.clone();
        fields.insert("cache".to_owned(), false.into());
        TurnOptions::from(fields).with(self.mode.clone(), self.format.clone())
    }

    /// What was said before.
    pub fn earlier_messages(&self) -> Vec<Message> {
        self.history.iter().map(|said| Message::new(said.role, &said.text)).collect()
    }

    /// Whether "I don't know" is the right answer, if that is known.
    pub(crate) fn should_refuse(&self) -> Option<bool> {
        let is_known = !(self.pages.is_empty() && self.values.is_empty() && self.facts.is_empty());
        self.refusal.or(is_known.then_some(false))
    }

    fn check(&self) -> Result<(), String> {
        if self.question.trim().is_empty() {
            return Err("`question` is empty".to_owned());
        }
        if self.refusal == Some(true) && !(self.values.is_empty() && self.facts.is_empty()) {
            return Err("`refusal` is true, so there are no `values` or `facts` to say".to_owned());
        }
        if let Some(said) =
            self.history.iter().find(|said| !matches!(said.role, Role::User | Role::Assistant))
        {
            return Err(format!("`history` is what user and assistant said, not {:?}", said.role));
        }
        let known = TurnOptions::narrowing_in(&self.scope);
        if let Some(name) =
            self.scope.keys().find(|name| !known.as_map().contains_key(*name) || *name == "cache")
        {
            return Err(format!("`scope` has no `{name}`; it has documents, corpora, types and languages"));
        }
        known.narrow(Scope::of(Tenant::local())).map(drop).map_err(|error| format!("`scope`: {error}"))
    }
}

/// Whether a dataset can be called so.
///
/// # Errors
/// Says how it can be called.
pub fn check_dataset_name(name: &str) -> Result<(), String> {
    let usable = |letter: char| letter.is_alphanumeric() || "-_. ".contains(letter);
    if name.trim().is_empty() || name.chars().count() > LONGEST_NAME || !name.chars().all(usable) {
        return Err(format!(
            "the name of a dataset has 1 to {LONGEST_NAME} letters, digits, spaces, dots, hyphens and underscores"
        ));
    }
    Ok(())
}

/// Reads a dataset. Empty lines are skipped.
///
/// # Errors
/// Says which line cannot be used, and why: a question twice under one name, too.
pub fn read_dataset(text: &str) -> Result<Vec<DatasetItem>, DatasetError> {
    let (mut items, mut names) = (Vec::new(), BTreeSet::new());
    for (at, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let wrong = |problem: String| DatasetError { line: at + 1, problem };
        if line.trim().is_empty() {
            continue;
        }
        let mut item: DatasetItem = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        item.check().map_err(wrong)?;
        if item.id.is_empty() {
            item.id = format!("line {}", at + 1);
        }
        if !names.insert(item.id.clone()) {
            return Err(wrong(format!("another question is called `{}`, too", item.id)));
        }
        items.push(item);
    }
    Ok(items)
}

/// A dataset as text.
pub fn write_dataset(items: &[DatasetItem]) -> String {
    let lines = items.iter().filter_map(|item| serde_json::to_string(item).ok());
    lines.fold(String::new(), |text, line| text + &line + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let text = concat!(
            "{\"question\": \"What is the rate?\", \"values\": [\"2%\"], \"scope\": {\"corpora\": [\"hts\"]}}\n\n",
            "{\"id\": \"b\", \"question\": \"And then?\", \"history\": [{\"role\": \"user\", \"text\": \"hello\"}], \"refusal\": true}\n",
        );
        let items = read_dataset(text).unwrap();
        assert_eq!((items[0].id.as_str(), items[1].id.as_str()), ("line 1", "b"));
        assert_eq!((items[0].should_refuse(), items[1].should_refuse()), (Some(false), Some(true)));
        assert!(!items[0].options().may_be_cached());
        assert_eq!(read_dataset(&write_dataset(&items)).unwrap(), items);
    }

    #[test]
    fn a_line_that_cannot_be_used_is_named() {
        let told = |text: &str| read_dataset(text).unwrap_err().to_string();
        assert!(
            told("{\"question\": \"a\"}\n{\"query\": \"b\"}")
                .starts_with("line 2 of the dataset: unknown field `query`")
        );
        assert!(told("{\"question\": \" \"}").contains("empty"));
        assert!(told("{\"question\": \"a\", \"scope\": {\"tenant\": \"x\"}}").contains("no `tenant`"));
        assert!(
            told("{\"question\": \"a\", \"refusal\": true, \"values\": [\"1\"]}")
                .contains("`refusal` is true")
        );
        assert!(
            told("{\"id\": \"a\", \"question\": \"a\"}\n{\"id\": \"a\", \"question\": \"b\"}")
                .contains("another question")
        );
    }
}
