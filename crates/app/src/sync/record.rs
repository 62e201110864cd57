//! What is told and written down of how a source is kept in step.

use ibid_core::{Corpus, SourceName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// So many rounds that changed something are remembered.
const MOST_ROUNDS: usize = 50;
/// So many problems of a round are told.
const MOST_PROBLEMS: usize = 50;

/// A source, and how it stands.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SourceStatus {
    /// As the settings call it.
    pub name: SourceName,
    /// What it is: folder, s3, webdav or site.
    pub kind: String,
    /// Where it is.
    pub location: String,
    /// The corpus of its documents.
    pub corpus: Corpus,
    /// How many seconds after it was compared it is compared again.
    pub every_seconds: u64,
    /// The round that goes on, if one does.
    pub running: Option<SyncProgress>,
    /// The last round.
    pub last: Option<SyncReport>,
    /// The rounds that changed something or failed, newest first.
    pub history: Vec<SyncReport>,
}

/// How far a round is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SyncProgress {
    /// When it began, in milliseconds since 1970.
    pub began: u64,
    /// When this was told.
    pub updated: u64,
    /// How many files have been brought up to date.
    pub done: usize,
    /// Of how many that are new or changed.
    pub of: usize,
}

/// What a round came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SyncReport {
    /// When it began, in milliseconds since 1970.
    pub began: u64,
    /// When it ended.
    pub ended: u64,
    /// How it ended.
    pub outcome: SyncOutcome,
    /// How many files the source has, of those that are taken.
    pub files: usize,
    /// How many of them are here as they are there.
    pub unchanged: usize,
    /// How many were loaded that were not here.
    pub loaded: usize,
    /// How many were loaded again.
    pub updated: usize,
    /// How many had another path, and were followed.
    pub moved: usize,
    /// How many were deleted here.
    pub deleted: usize,
    /// How many could not be loaded.
    pub failed: usize,
    /// How many were left out: of a format that cannot be read, or too large.
    pub left_out: usize,
    /// How many were being written or loaded, so that the next round looks at them.
    pub waiting: usize,
    /// What went wrong, or was left out, of the first files where something was.
    pub problems: Vec<SyncProblem>,
}

/// How a round ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum SyncOutcome {
    /// Everything is as it is there.
    #[default]
    Done,
    /// Everything but deletions: so many documents are gone there that a person has to say so.
    Held {
        /// How many are gone.
        deletions: usize,
    },
    /// The source could not be read.
    Failed {
        /// Why.
        why: String,
    },
}

/// What went wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SyncProblem {
    /// Its path.
    pub path: String,
    /// What.
    pub problem: String,
}

/// What a round would do now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SyncPlan {
    /// How many files the source has, of those that are taken.
    pub files: usize,
    /// How many are here as they are there, as far as can be told without reading them.
    pub unchanged: usize,
    /// Files that are not here. One that was moved is among these and among the gone.
    pub new: SyncPaths,
    /// Files that may have changed.
    pub changed: SyncPaths,
    /// Documents whose files are gone.
    pub gone: SyncPaths,
    /// Files that are left out.
    pub left_out: SyncPaths,
    /// Whether a person would have to say that the gone ones are to be deleted.
    pub would_hold: bool,
    /// Why nothing would be deleted, if a part of the source cannot be read.
    pub problem: Option<String>,
}

/// Some paths, and how many there are in all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SyncPaths {
    /// How many.
    pub count: usize,
    /// The first of them.
    pub first: Vec<String>,
}

impl SyncPaths {
    /// As many as are told.
    const MOST: usize = 1_000;

    pub(super) fn of<'a>(paths: impl ExactSizeIterator<Item = &'a str>) -> Self {
        Self { count: paths.len(), first: paths.take(Self::MOST).map(str::to_owned).collect() }
    }
}

impl SyncReport {
    pub(super) fn failed(began: u64, ended: u64, why: String) -> Self {
        Self { began, ended, outcome: SyncOutcome::Failed { why }, ..Self::default() }
    }

    pub(super) fn problem(&mut self, path: &str, problem: impl Into<String>) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(SyncProblem { path: path.to_owned(), problem: problem.into() });
        }
    }

    /// The same for a pass that came after others of the same round.
    pub(super) fn after(self, earlier: &Self) -> Self {
        if *earlier == Self::default() {
            return self;
        }
        let mut problems = earlier.problems.clone();
        problems.extend(self.problems.into_iter().filter(|problem| !earlier.problems.contains(problem)));
        problems.truncate(MOST_PROBLEMS);
        Self {
            unchanged: earlier.unchanged,
            loaded: earlier.loaded + self.loaded,
            updated: earlier.updated + self.updated,
            moved: earlier.moved + self.moved,
            deleted: earlier.deleted + self.deleted,
            failed: earlier.failed + self.failed,
            problems,
            ..self
        }
    }

    /// Whether something was done, or has to be.
    pub fn is_news(&self) -> bool {
        self.outcome != SyncOutcome::Done
            || self.loaded + self.updated + self.moved + self.deleted + self.failed > 0
    }
}

/// What is kept of a source's rounds.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct SyncRecord {
    pub(super) running: Option<SyncProgress>,
    pub(super) last: Option<SyncReport>,
    pub(super) history: Vec<SyncReport>,
}

impl SyncRecord {
    pub(super) fn end(&mut self, report: &SyncReport) {
        // The same failure or the same question, round after round, is one piece of news.
        let again = report.outcome != SyncOutcome::Done
            && self.history.first().is_some_and(|before| before.outcome == report.outcome);
        if again && report.loaded + report.updated + report.moved + report.deleted == 0 {
            self.history.remove(0);
        }
        if report.is_news() {
            self.history.insert(0, report.clone());
            self.history.truncate(MOST_ROUNDS);
        }
        self.last = Some(report.clone());
        self.running = None;
    }
}
