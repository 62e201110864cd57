//! Which threads a scope may list, read and change. A thread belongs to whoever began it, and to the tenant if nobody did; what
//! it holds may quote any document that its scope sees, so that only who sees them all may see it.

use ibid_core::Scope;
use rusqlite::types::Value as Bound;

use super::error::StoreError;
use crate::run::encode;

/// What is to be done with a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThreadUse {
    /// Be told that it is there.
    List,
    /// Read what is in it, also if it is somebody else's and shared.
    Read,
    /// Ask in it, change it, delete it.
    Change,
}

/// A condition on `threads`, with what it is compared with, as parameters of which the first has this number.
pub(super) fn visible(
    scope: &Scope,
    to: ThreadUse,
    first: usize,
) -> Result<(String, Vec<Bound>), StoreError> {
    let mut bound: Vec<Bound> = vec![scope.tenant().as_str().to_owned().into()];
    let mut wanted = format!("threads.tenant = ?{first}");
    let mut parameter = |value: String| {
        bound.push(value.into());
        format!("?{}", first + bound.len() - 1)
    };
    // Whoever runs the server sees what is there.
    let Some(caller) = scope.caller() else { return Ok((wanted, bound)) };
    if !scope.sees_all_threads() {
        let caller = parameter(caller.to_owned());
        wanted.push_str(&match to {
            ThreadUse::List => format!(" AND threads.owner = {caller}"),
            ThreadUse::Read => {
                format!(" AND (threads.owner IS NULL OR threads.owner = {caller} OR shared = 1)")
            }
            ThreadUse::Change => format!(" AND (threads.owner IS NULL OR threads.owner = {caller})"),
        });
    }
    let (covered, values) = covered(scope, "threads", first + bound.len())?;
    bound.extend(values);
    Ok((format!("{wanted} AND {covered}"), bound))
}

/// A condition on the columns `corpora` and `labels` of a table: whether the scope sees all that a row may quote.
pub(super) fn covered(scope: &Scope, table: &str, first: usize) -> Result<(String, Vec<Bound>), StoreError> {
    if scope.caller().is_none() {
        return Ok(("TRUE".to_owned(), Vec::new()));
    }
    let within = |column: &str, parameter: usize| {
        format!(
            "NOT EXISTS (SELECT 1 FROM json_each({table}.{column})
                         WHERE value NOT IN (SELECT value FROM json_each(?{parameter})))"
        )
    };
    let labels = within("labels", first);
    let mut bound = vec![Bound::from(encode(scope.labels())?)];
    let mut wanted = format!("({table}.labels = '[]' OR {labels})");
    if let Some(corpora) = scope.corpora() {
        let within = within("corpora", first + 1);
        wanted.push_str(&format!(" AND {table}.corpora IS NOT NULL AND {within}"));
        bound.push(encode(corpora)?.into());
    }
    Ok((wanted, bound))
}
