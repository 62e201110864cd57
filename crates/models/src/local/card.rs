//! The card of a model that runs here: a small file beside it that says how it wants to be used.

use std::path::{Path, PathBuf};

use ibid_core::model::{ModelError, Similarity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::network::Input;

/// The name of the file.
pub(crate) const FILE: &str = "model.toml";

/// How a model wants to be used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// Its name. Vectors of different names must not be compared.
    pub name: String,
    /// What it does.
    pub kind: ModelKind,
    /// The network, in this folder.
    #[serde(default = "network_file")]
    pub network: PathBuf,
    /// How long its vectors are; for embedding models.
    #[serde(default)]
    pub dimensions: usize,
    /// How many tokens of a text it reads; the rest is left out.
    #[serde(default = "max_tokens")]
    pub max_tokens: usize,
    /// How the vectors of its tokens become one.
    #[serde(default)]
    pub pooling: Pooling,
    /// What stands before a text that is searched with.
    #[serde(default)]
    pub query_prefix: String,
    /// What stands before a text that is to be found.
    #[serde(default)]
    pub passage_prefix: String,
    /// How question and passage are put into one text, for rerank models that do not take pairs; with
    /// `{question}` and `{passage}` in it. For grounding models, the question is the statement.
    #[serde(default)]
    pub pair: Option<String>,
    /// Which class of a grounding model means that the text supports the statement, from 0; the last if not set.
    #[serde(default)]
    pub supports: Option<usize>,
    /// The scale of its cosines; for embedding models.
    #[serde(default)]
    pub similarity: Similarity,
}

/// What a model does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelKind {
    /// Gives texts vectors.
    Embedding,
    /// Scores passages.
    Rerank,
    /// Says whether a text supports a statement.
    Grounding,
}

impl ModelKind {
    /// In a word, as cards have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Embedding => "embedding",
            Self::Rerank => "rerank",
            Self::Grounding => "grounding",
        }
    }
}

/// How the vectors of the tokens become the vector of the text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pooling {
    /// Their mean.
    #[default]
    Mean,
    /// The first one.
    Cls,
    /// The network does it itself.
    None,
}

fn network_file() -> PathBuf {
    PathBuf::from("model.onnx")
}

fn max_tokens() -> usize {
    512
}

impl Card {
    /// A question, or a statement, and a passage as the network takes them.
    pub(crate) fn input(&self, question: &str, passage: &str) -> Input {
        match &self.pair {
            // The passage goes in last, so that nothing in it is taken for a place to fill.
            Some(form) => Input::Text(filled(form, question, passage)),
            // A classifier of entailment reads the premise first.
            None if self.kind == ModelKind::Grounding => Input::Pair(passage.to_owned(), question.to_owned()),
            None => Input::Pair(question.to_owned(), passage.to_owned()),
        }
    }

    /// Reads the card in a model's folder.
    ///
    /// # Errors
    /// Fails when the folder holds no model, or the card cannot be read.
    pub fn read(folder: &Path) -> Result<Self, ModelError> {
        let path = folder.join(FILE);
        let text = std::fs::read_to_string(&path)
            .map_err(|error| unusable(folder, format!("{}: {error}", path.display())))?;
        toml::from_str(&text)
            .map_err(|error| unusable(folder, format!("{}: {}", path.display(), error.message())))
    }
}

fn filled(form: &str, question: &str, passage: &str) -> String {
    form.split("{passage}").map(|part| part.replace("{question}", question)).collect::<Vec<_>>().join(passage)
}

/// A model that cannot be run, and what helps.
pub(crate) fn unusable(folder: &Path, reason: String) -> ModelError {
    let model = folder
        .file_name()
        .map_or_else(|| folder.display().to_string(), |name| name.to_string_lossy().into_owned());
    let help = "`ibid models pull` brings a recommended set, `ibid doctor` checks what is there".to_owned();
    ModelError::Local { model, reason, help }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_and_passage_are_put_together_whatever_stands_in_them() {
        let form = "Query: {question}\nSentence: {passage}";
        assert_eq!(
            filled(form, "a {passage}?", "{question} b"),
            "Query: a {passage}?\nSentence: {question} b"
        );
    }
}
