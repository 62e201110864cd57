//! What came of turns, for whoever looks after many of them.

use std::collections::BTreeMap;
use std::time::SystemTime;

use ibid_core::answer::{AnswerOutcome, WarningKind};
use ibid_core::event::ModelUsage;
use ibid_core::{RunId, RunStatus, ThreadId};

/// What was measured of a turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TurnMeasures {
    /// What became of the question, if the turn answered.
    pub outcome: Option<AnswerOutcome>,
    /// How long it took, in milliseconds; none if it waited for a person or was left by a process.
    pub took_ms: Option<u64>,
    /// How long it took to the first word of its answer.
    pub first_word_ms: Option<u64>,
    /// How many quotations of the answer were found word for word, with slips, and not at all.
    pub quotes: [u32; 3],
    /// What the guard found.
    pub warnings: Vec<WarningKind>,
    /// In how many rounds it was researched.
    pub rounds: u32,
    /// Tokens read and written, by the name of the model.
    pub usage: BTreeMap<String, (u64, u64)>,
}

impl TurnMeasures {
    /// A model of the turn used something.
    pub(crate) fn add_usage(&mut self, ModelUsage { model, usage }: ModelUsage) {
        let (read, written) = self.usage.entry(model).or_default();
        *read += usage.input_tokens;
        *written += usage.output_tokens;
    }
}

/// What came of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnFacts {
    /// Which turn; none if it was deleted.
    pub run: Option<RunId>,
    /// Its conversation, if that was not deleted.
    pub thread: Option<ThreadId>,
    /// The beginning of that.
    pub title: String,
    /// Which assistant answered.
    pub assistant: String,
    /// When it ended.
    pub ended: SystemTime,
    /// How.
    pub status: RunStatus,
    /// What was measured of it.
    pub measures: TurnMeasures,
    /// How many people found the answer good.
    pub good: u32,
    /// How many found it bad.
    pub bad: u32,
}

/// Which turns are meant.
#[derive(Debug, Clone)]
pub struct FactsRange {
    /// Those that ended then or later.
    pub from: SystemTime,
    /// And before this.
    pub to: SystemTime,
    /// Only those of this assistant.
    pub assistant: Option<String>,
    /// Only those.
    pub filter: TurnFilter,
    /// Whether those whose conversation was deleted are left out.
    pub existing: bool,
    /// How many, the newest ones.
    pub at_most: usize,
}

impl FactsRange {
    /// All turns of a time.
    pub fn between(from: SystemTime, to: SystemTime) -> Self {
        Self {
            from,
            to,
            assistant: None,
            filter: TurnFilter::All,
            existing: false,
            at_most: i64::MAX as usize,
        }
    }
}

/// Which turns somebody wants to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnFilter {
    /// All.
    All,
    /// Those that failed.
    Failed,
    /// Those whose answer the documents did not hold.
    Unanswered,
    /// Those whose answer the guard withheld or warned of.
    Warned,
    /// Those that somebody found good.
    Good,
    /// Those that somebody found bad.
    Bad,
}

impl TurnFilter {
    /// Each by its name.
    pub const ALL: [(&str, Self); 6] = [
        ("all", Self::All),
        ("failed", Self::Failed),
        ("unanswered", Self::Unanswered),
        ("warned", Self::Warned),
        ("good", Self::Good),
        ("bad", Self::Bad),
    ];
}
