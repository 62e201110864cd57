//! Which threads a scope may list, read and change, as [`crate::store`] has it for SQLite.

use ibid_core::Scope;

use super::bound::Bound;
use crate::run::encode;
use crate::store::{StoreError, ThreadUse};

/// A condition with the values that it is compared with.
pub(super) struct Condition {
    pub(super) sql: String,
    pub(super) values: Vec<Bound>,
}

impl Condition {
    /// One that begins with some values.
    pub(super) fn new(sql: impl Into<String>, values: Vec<Bound>) -> Self {
        Self { sql: sql.into(), values }
    }

    /// Binds another value; the parameter that stands for it.
    pub(super) fn parameter(&mut self, value: impl Into<Bound>) -> String {
        self.values.push(value.into());
        format!("${}", self.values.len())
    }

    /// Adds what must hold, too.
    pub(super) fn and(&mut self, sql: &str) {
        self.sql.push_str(" AND ");
        self.sql.push_str(sql);
    }

    /// Only threads with which the scope may do this.
    pub(super) fn visible(&mut self, scope: &Scope, to: ThreadUse) -> Result<(), StoreError> {
        let tenant = self.parameter(scope.tenant());
        self.and(&format!("threads.tenant = {tenant}"));
        // Whoever runs the server sees what is there.
        let Some(caller) = scope.caller() else { return Ok(()) };
        if !scope.sees_all_threads() {
            let caller = self.parameter(caller);
            let owned = format!("threads.owner IS NULL OR threads.owner = {caller}");
            self.and(&match to {
                ThreadUse::List => format!("threads.owner = {caller}"),
                ThreadUse::Read => format!("({owned} OR threads.shared)"),
                ThreadUse::Change => format!("({owned})"),
            });
        }
        self.covered(scope, "threads")
    }

    /// Only rows of which the scope sees all that they may quote.
    pub(super) fn covered(&mut self, scope: &Scope, table: &str) -> Result<(), StoreError> {
        if scope.caller().is_none() {
            return Ok(());
        }
        let labels = self.parameter(encode(scope.labels())?);
        self.and(&format!("{table}.labels <@ {labels}::jsonb"));
        if let Some(corpora) = scope.corpora() {
            let corpora = self.parameter(encode(corpora)?);
            self.and(&format!("{table}.corpora IS NOT NULL AND {table}.corpora <@ {corpora}::jsonb"));
        }
        Ok(())
    }
}
