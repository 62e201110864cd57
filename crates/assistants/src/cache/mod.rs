//! Verified answers that are given again: what tells that two questions are one, and what may be kept.

mod form;

use ibid_core::cache::{CacheKey, CacheQuestion, CachedAnswer, CachedFrom};
use serde::Serialize;

pub(crate) use form::is_near;
pub use form::question_form;

use crate::definition::Definition;
use crate::node_context::{NodeContext, Ports};
use crate::prompts::Prompts;
use crate::turn::TurnState;

/// What tells the versions of an assistant apart: what it is told, and who answers.
pub(crate) fn version(definition: &Definition, prompts: &Prompts, ports: &Ports) -> String {
    let definition = serde_json::to_string(definition).unwrap_or_default();
    format!("{definition}\n{}\n{}", ports.answer.name(), prompts.sources())
}

/// The part of a turn that belongs to the cache.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct CacheUse {
    /// The generation of the documents when an answer was looked for in vain.
    pub(crate) generation: Option<u64>,
    /// The answer that is given again, as it is said now, and where it comes from.
    pub(crate) recalled: Option<(CachedAnswer, String, CachedFrom)>,
}

impl CacheUse {
    /// Whether no answer was looked for.
    pub(crate) fn is_empty(&self) -> bool {
        self.generation.is_none() && self.recalled.is_none()
    }
}

impl TurnState {
    /// Whether it is answered with what was said before.
    pub(crate) fn is_recalled(&self) -> bool {
        self.cache.recalled.is_some()
    }

    /// Its question, as the cache compares it.
    pub(crate) fn cache_question(&self) -> CacheQuestion {
        let form = question_form(&self.question, self.request.spoken);
        CacheQuestion { text: self.question.clone(), form }
    }
}

impl NodeContext {
    /// What has to be the same for an answer to be given again.
    pub(crate) fn cache_key(&self, turn: &TurnState) -> CacheKey {
        let spoken = turn.request.spoken;
        CacheKey {
            assistant: self.name.clone(),
            version: self.version.clone(),
            format: format!("{}/{:?}", turn.request.format, turn.request.graph),
            language: if spoken.is_known { spoken.language.code().to_owned() } else { String::new() },
        }
    }
}
