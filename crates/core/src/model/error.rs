//! Why a model did not answer.

use std::time::Duration;

use crate::Tenant;

/// Why a model did not answer. Each says what happened, why, and what helps; none holds a key.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// The provider has no room now.
    #[error("`{provider}` takes no more requests for now{}", retry_hint(*.retry_after))]
    Busy {
        /// Whose limit it is.
        provider: String,
        /// When it may have room again.
        retry_after: Option<Duration>,
    },
    /// The provider failed so often that it is left alone for a while.
    #[error(
        "`{provider}` is not asked for {} s, because it failed {failures} times in a row: {last}",
        .retry_after.as_secs_f32().ceil()
    )]
    Unavailable {
        /// Which one.
        provider: String,
        /// How often it failed.
        failures: u32,
        /// The last failure.
        last: String,
        /// When it is tried again.
        retry_after: Duration,
    },
    /// Something took too long.
    #[error("`{provider}` took longer than {} s {waiting_for}", .limit.as_secs_f32())]
    TimeLimit {
        /// Which one.
        provider: String,
        /// What was waited for, as in "to begin its answer".
        waiting_for: &'static str,
        /// How long was waited.
        limit: Duration,
    },
    /// The connection could not be made, or broke.
    #[error("the connection to `{provider}` failed: {reason}")]
    Broken {
        /// Which one.
        provider: String,
        /// How.
        reason: String,
    },
    /// The provider failed.
    #[error("`{provider}` failed with status {status}: {reason}")]
    Failed {
        /// Which one.
        provider: String,
        /// The HTTP status.
        status: u16,
        /// What it said.
        reason: String,
    },
    /// The provider does not accept the request; the same request will be refused again.
    #[error("`{provider}` refused the request with status {status}: {reason}")]
    Refused {
        /// Which one.
        provider: String,
        /// The HTTP status.
        status: u16,
        /// What it said.
        reason: String,
    },
    /// The provider does not accept the key, or there is none.
    #[error("`{provider}` does not accept the key: {reason}; {help}")]
    Key {
        /// Which one.
        provider: String,
        /// What it said.
        reason: String,
        /// Where the key is taken from.
        help: String,
    },
    /// The tenant has used up its tokens.
    #[error(
        "`{tenant}` has used its {limit} tokens of today; the next ones come in {} minutes",
        .resets_in.as_secs().div_ceil(60)
    )]
    Budget {
        /// Whose budget.
        tenant: Tenant,
        /// How large it is.
        limit: u64,
        /// When the next day begins.
        resets_in: Duration,
    },
    /// What must be shown to the model does not fit into it.
    #[error(
        "the question and what belongs to it take {needed} tokens, but `{model}` has room for {room}; \
         show it less, or use a model with a larger context"
    )]
    TooLong {
        /// Which model.
        model: String,
        /// What cannot be left out.
        needed: usize,
        /// What there is room for.
        room: usize,
    },
    /// The answer does not have the form that was asked for, even after the model was told.
    #[error("the answer of `{model}` does not have the form that was asked for: {reason}")]
    Form {
        /// Which model.
        model: String,
        /// What is wrong with it.
        reason: String,
    },
    /// What came back cannot be understood.
    #[error("`{provider}` answered with something that is no answer: {reason}")]
    Nonsense {
        /// Which one.
        provider: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A model that runs here could not be loaded or run.
    #[error("the model `{model}` cannot be run here: {reason}; {help}")]
    Local {
        /// Which model.
        model: String,
        /// Why.
        reason: String,
        /// What helps.
        help: String,
    },
    /// What was used could not be counted.
    #[error(transparent)]
    Spending(#[from] super::SpendingError),
}

impl ModelError {
    /// Whether the same call may succeed later.
    pub fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::Busy { .. }
                | Self::Unavailable { .. }
                | Self::TimeLimit { .. }
                | Self::Broken { .. }
                | Self::Failed { .. }
                | Self::Spending(_)
        )
    }

    /// Whether another model may succeed where this one did not.
    pub fn other_model_may_help(&self) -> bool {
        !matches!(self, Self::Budget { .. } | Self::Spending(_))
    }

    /// When it is worth trying again, if that is known.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Busy { retry_after, .. } => *retry_after,
            Self::Unavailable { retry_after, .. } => Some(*retry_after),
            _ => None,
        }
    }
}

fn retry_hint(delay: Option<Duration>) -> String {
    delay.map_or_else(String::new, |delay| format!("; try again in {} s", delay.as_secs_f32().ceil()))
}
