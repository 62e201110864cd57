//! The port to answers that were verified before, and what tells whether one may be given again.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evidence::{DocumentId, Passage};
use crate::{AnswerMetadata, RunId, Scope};

/// What has to be the same besides the question and the scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CacheKey {
    /// Who answers.
    pub assistant: String,
    /// What tells its versions apart: its definition, its prompts and its model.
    pub version: String,
    /// The format of the answer.
    pub format: String,
    /// The language of the conversation.
    pub language: String,
}

/// A question as it stands alone, and what is left of it when everything is taken away that may be said in another way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheQuestion {
    /// The question.
    pub text: String,
    /// Questions of the same form ask for the same.
    pub form: String,
}

/// A piece of a document that an answer rests on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EvidencePiece {
    /// Which document.
    pub document: DocumentId,
    /// The SHA-256 of its content.
    pub version: String,
    /// Which chunk of it.
    pub chunk: u32,
}

impl From<&Passage> for EvidencePiece {
    fn from(passage: &Passage) -> Self {
        Self { document: passage.document.clone(), version: passage.version.clone(), chunk: passage.chunks.0 }
    }
}

/// A verified answer as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CachedAnswer {
    /// The turn that came to it.
    pub run: RunId,
    /// What was asked, as it stands alone.
    pub question: String,
    /// What was said.
    pub text: String,
    /// What it carries.
    pub metadata: AnswerMetadata,
    /// Everything that was found in documents for it.
    pub evidence: Vec<EvidencePiece>,
    /// The generation of the documents before they were searched.
    pub generation: u64,
    /// When it was given, in milliseconds since 1970.
    pub created: u64,
    /// When it is too old to be given again.
    pub expires: u64,
}

/// An answer that may be given again: what it rests on is unchanged, and may be seen.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheHit {
    /// The answer.
    pub answer: CachedAnswer,
    /// The cosine of the two questions.
    pub similarity: f32,
    /// Whether no document was loaded or deleted since.
    pub is_current: bool,
}

/// Where an answer comes from that was given before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct CachedFrom {
    /// What was asked then.
    pub question: String,
    /// The turn that came to it.
    pub run_id: String,
    /// When it was given, as RFC 3339 has it.
    pub answered_at: String,
    /// Whether the question was another one, and the answer is offered because no model could be reached.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub similar: bool,
}

/// Why the cache could not be read or written. No turn fails for it.
#[derive(Debug, thiserror::Error)]
#[error("the cache of answers cannot be used: {0}")]
pub struct CacheError(pub String);

/// Keeps verified answers.
#[async_trait]
pub trait AnswerCache: Send + Sync {
    /// The generation of the documents: another one after each that is loaded or deleted.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    async fn generation(&self) -> Result<u64, CacheError>;

    /// The answer to a question of the same form.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    async fn find(
        &self,
        scope: &Scope,
        key: &CacheKey,
        question: &CacheQuestion,
    ) -> Result<Option<CacheHit>, CacheError>;

    /// Answers to the questions that are most similar, the most similar first.
    ///
    /// # Errors
    /// Fails when the store or the embedding model cannot be reached.
    async fn find_similar(
        &self,
        scope: &Scope,
        key: &CacheKey,
        question: &CacheQuestion,
        least: f32,
    ) -> Result<Vec<CacheHit>, CacheError>;

    /// Keeps an answer, in the place of an earlier one to a question of the same form.
    ///
    /// # Errors
    /// Fails when the store or the embedding model cannot be reached.
    async fn keep(
        &self,
        scope: &Scope,
        key: &CacheKey,
        question: &CacheQuestion,
        answer: CachedAnswer,
    ) -> Result<(), CacheError>;

    /// Forgets the answer of a turn. Says whether there was one.
    ///
    /// # Errors
    /// Fails when the store cannot be written.
    async fn forget(&self, scope: &Scope, run: RunId) -> Result<bool, CacheError>;
}
