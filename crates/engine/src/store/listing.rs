//! Pages of threads, filtered and in order.

use ibid_core::Scope;
use rusqlite::types::Value as Bound;
use rusqlite::{Connection, params_from_iter};
use serde_json::Value;

use super::error::StoreError;
use super::threads::{COLUMNS, STATUS, read};
use super::visibility::{ThreadUse, visible};
use crate::run::millis;
use crate::types::{Thread, ThreadField, ThreadFilter, ThreadPage};

/// A page of the threads of the scope.
pub(crate) fn list_threads(
    connection: &Connection,
    scope: &Scope,
    page: &ThreadPage,
) -> Result<Vec<Thread>, StoreError> {
    let (mut wanted, mut bound) = conditions(scope, &page.filter)?;
    if let Some(cursor) = page.after {
        wanted.push_str(" AND (updated_ms, id) < (?, ?)");
        bound.push(millis(cursor.updated).into());
        bound.push(cursor.id.as_bytes().to_vec().into());
    }
    let by = match page.order.by {
        ThreadField::Updated => "updated_ms",
        ThreadField::Created => "created_ms",
        ThreadField::Id => "id",
        ThreadField::Status => STATUS,
    };
    let direction = if page.order.ascending { "ASC" } else { "DESC" };
    let sql = format!(
        "SELECT {COLUMNS}, {STATUS} FROM threads WHERE {wanted} ORDER BY {by} {direction}, id {direction}"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(params_from_iter(bound), read)?;
    let fitting =
        rows.filter(|row| match row {
            Ok(row) => page.filter.metadata.iter().all(|(name, value)| {
                row.thread.metadata.get(name).is_some_and(|noted| contains(noted, value))
            }),
            Err(_) => true,
        });
    let taken = fitting.skip(page.skip).take(page.limit);
    Ok(taken.map(|row| row.map(|found| found.thread)).collect::<Result<_, _>>()?)
}

/// How many threads of the scope the filter fits.
pub(crate) fn count_threads(
    connection: &Connection,
    scope: &Scope,
    filter: &ThreadFilter,
) -> Result<u64, StoreError> {
    if !filter.metadata.is_empty() {
        let page = ThreadPage { filter: filter.clone(), ..ThreadPage::first(usize::MAX) };
        return Ok(list_threads(connection, scope, &page)?.len() as u64);
    }
    let (wanted, bound) = conditions(scope, filter)?;
    let sql = format!("SELECT count(*) FROM threads WHERE {wanted}");
    Ok(connection.prepare_cached(&sql)?.query_row(params_from_iter(bound), |row| row.get(0))?)
}

fn conditions(scope: &Scope, filter: &ThreadFilter) -> Result<(String, Vec<Bound>), StoreError> {
    let (mut wanted, mut bound) = visible(scope, ThreadUse::List, 1)?;
    wanted.push_str(" AND temporary = 0");
    if let Some(caller) = scope.caller().filter(|_| filter.own) {
        // What nobody owns is in no other list.
        let unowned = if scope.sees_all_threads() { " OR owner IS NULL" } else { "" };
        wanted.push_str(&format!(" AND (owner = ?{unowned})"));
        bound.push(caller.to_owned().into());
    }
    if let Some(ids) = &filter.ids {
        let marks = vec!["?"; ids.len()].join(", ");
        wanted.push_str(&format!(" AND id IN ({marks})"));
        bound.extend(ids.iter().map(|id| Bound::from(id.as_bytes().to_vec())));
    }
    if let Some(status) = filter.status {
        wanted.push_str(&format!(" AND {STATUS} = ?"));
        bound.push(status.as_str().to_owned().into());
    }
    if let Some(title) = &filter.title {
        wanted.push_str(" AND instr(lower(title), lower(?)) > 0");
        bound.push(title.clone().into());
    }
    Ok((wanted, bound))
}

/// Whether a value has everything that another has: of objects the fields, of lists the members.
fn contains(value: &Value, part: &Value) -> bool {
    match (value, part) {
        (Value::Object(value), Value::Object(part)) => {
            part.iter().all(|(name, part)| value.get(name).is_some_and(|value| contains(value, part)))
        }
        (Value::Array(value), Value::Array(part)) => {
            part.iter().all(|part| value.iter().any(|value| contains(value, part)))
        }
        _ => value == part,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_contains_another_if_it_has_its_fields() {
        let noted = json!({ "user": { "name": "ana", "teams": ["law", "customs"] }, "open": true });
        for (part, fits) in [
            (json!({}), true),
            (json!({ "open": true }), true),
            (json!({ "user": { "teams": ["customs"] } }), true),
            (json!({ "user": { "name": "eva" } }), false),
            (json!({ "closed": null }), false),
        ] {
            assert_eq!(contains(&noted, &part), fits, "{part}");
        }
    }
}
