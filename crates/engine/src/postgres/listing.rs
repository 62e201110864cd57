//! Pages of threads, filtered and in order.

use ibid_core::Scope;
use uuid::Uuid;

use super::PostgresEngine;
use super::rows::{STATUS, THREAD_COLUMNS, read_thread};
use super::threads::storable;
use super::visibility::Condition;
use crate::run::{encode, millis};
use crate::store::{StoreError, ThreadUse};
use crate::types::{Thread, ThreadField, ThreadFilter, ThreadPage};

impl PostgresEngine {
    /// A page of the threads of the scope.
    pub(super) async fn list_threads(
        &self,
        scope: &Scope,
        page: &ThreadPage,
    ) -> Result<Vec<Thread>, StoreError> {
        let mut wanted = conditions(scope, &page.filter)?;
        if let Some(cursor) = page.after {
            let updated = wanted.parameter(millis(cursor.updated));
            let id = wanted.parameter(cursor.id);
            wanted.and(&format!("(updated_ms, threads.id) < ({updated}, {id})"));
        }
        let by = match page.order.by {
            ThreadField::Updated => "updated_ms",
            ThreadField::Created => "threads.created_ms",
            ThreadField::Id => "threads.id",
            ThreadField::Status => STATUS,
        };
        let direction = if page.order.ascending { "ASC" } else { "DESC" };
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let (limit, skip) = (wanted.parameter(number(page.limit)), wanted.parameter(number(page.skip)));
        let sql = format!(
            "SELECT {THREAD_COLUMNS}, {STATUS} FROM threads WHERE {}
             ORDER BY {by} {direction}, threads.id {direction} LIMIT {limit} OFFSET {skip}",
            wanted.sql
        );
        let rows = self.database().query(&sql, &wanted.values).await?;
        rows.iter().map(|row| Ok(read_thread(row)?.thread)).collect()
    }

    /// How many threads of the scope the filter fits.
    pub(super) async fn count_fitting(
        &self,
        scope: &Scope,
        filter: &ThreadFilter,
    ) -> Result<u64, StoreError> {
        let wanted = conditions(scope, filter)?;
        let sql = format!("SELECT count(*) FROM threads WHERE {}", wanted.sql);
        let found = self.database().first(&sql, &wanted.values).await?;
        let count: i64 = found.map(|row| row.try_get(0)).transpose()?.unwrap_or_default();
        Ok(count.unsigned_abs())
    }
}

fn conditions(scope: &Scope, filter: &ThreadFilter) -> Result<Condition, StoreError> {
    let mut wanted = Condition::new("NOT temporary AND NOT is_queue", Vec::new());
    wanted.visible(scope, ThreadUse::List)?;
    if let Some(caller) = scope.caller().filter(|_| filter.own) {
        // What nobody owns is in no other list.
        let unowned = if scope.sees_all_threads() { " OR threads.owner IS NULL" } else { "" };
        let caller = wanted.parameter(caller);
        wanted.and(&format!("(threads.owner = {caller}{unowned})"));
    }
    if let Some(ids) = &filter.ids {
        let ids: Vec<Uuid> = ids.iter().map(|id| Uuid::from_bytes(*id.as_bytes())).collect();
        let ids = wanted.parameter(ids);
        wanted.and(&format!("threads.id = ANY({ids}::uuid[])"));
    }
    if !filter.metadata.is_empty() {
        let noted = wanted.parameter(storable(&encode(&filter.metadata)?).replace("\\u0000", "\\ufffd"));
        wanted.and(&format!("threads.metadata @> {noted}::jsonb"));
    }
    if let Some(status) = filter.status {
        let status = wanted.parameter(status.as_str());
        wanted.and(&format!("{STATUS} = {status}"));
    }
    if let Some(title) = &filter.title {
        let title = wanted.parameter(pattern(&storable(title)));
        wanted.and(&format!("lower(title) LIKE lower({title})"));
    }
    Ok(wanted)
}

/// What contains a text, for `LIKE`.
fn pattern(text: &str) -> String {
    let plain = text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    format!("%{plain}%")
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_looked_for_is_no_pattern() {
        assert_eq!(super::pattern(r"5% of a_b\c"), r"%5\% of a\_b\\c%");
    }
}
