//! Who may see what, as a filter of a table.

use std::collections::BTreeSet;

use ibid_core::evidence::{DocumentId, Question};
use ibid_core::{Focus, Scope};

/// The label of what everybody at a tenant may see. No user can name a label so.
pub(crate) const EVERYBODY: &str = "*";

/// A text as a literal of a filter.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn any_of(column: &str, values: impl Iterator<Item = String>) -> String {
    let values: Vec<String> = values.map(|value| quoted(&value)).collect();
    match values.as_slice() {
        [only] => format!("{column} = {only}"),
        _ => format!("{column} IN ({})", values.join(", ")),
    }
}

/// What a scope may see, or none if that is nothing.
pub(crate) fn of_scope(scope: &Scope) -> Option<String> {
    let mut parts = vec![format!("tenant = {}", quoted(scope.tenant().as_str()))];
    if let Some(corpora) = scope.corpora() {
        if corpora.is_empty() {
            return None;
        }
        parts.push(any_of("corpus", corpora.iter().map(ToString::to_string)));
    }
    let labels = scope.labels().iter().map(ToString::to_string).chain([EVERYBODY.to_owned()]);
    let labels: Vec<String> = labels.map(|label| quoted(&label)).collect();
    parts.push(format!("array_has_any(labels, [{}])", labels.join(", ")));
    Some(parts.join(" AND "))
}

/// What a question may be answered from, or none if that is nothing.
pub(crate) fn of_question(scope: &Scope, question: &Question) -> Option<String> {
    let mut filter = of_scope(scope)?;
    let mut narrow = |column: &str, values: Vec<String>| {
        if !values.is_empty() {
            filter.push_str(" AND ");
            filter.push_str(&any_of(column, values.into_iter()));
        }
    };
    narrow("kind", question.kinds.clone());
    narrow("language", question.languages.clone());
    narrow("document", question.documents.iter().map(|DocumentId(id)| id.clone()).collect());
    let Focus { documents, types, languages } = scope.focus();
    let documents = documents.as_ref().map(|ids| ids.iter().map(|DocumentId(id)| id.clone()).collect());
    let all = [("document", documents), ("kind", types.clone()), ("language", languages.clone())];
    for (column, wanted) in all.into_iter().filter_map(|(column, wanted)| Some((column, wanted?))) {
        let wanted: BTreeSet<String> = wanted;
        if wanted.is_empty() {
            return None;
        }
        narrow(column, wanted.into_iter().collect());
    }
    Some(filter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_user_writes_stays_a_text() {
        let mut question = Question::new("x");
        question.kinds = vec!["a' OR '1'='1".to_owned()];
        let scope = Scope::of(ibid_core::Tenant::local());
        let filter = of_question(&scope, &question).unwrap_or_default();
        assert!(filter.ends_with("AND kind = 'a'' OR ''1''=''1'"), "{filter}");
        let focus = Focus { types: Some(BTreeSet::from(["law".to_owned()])), ..Focus::default() };
        let filter =
            of_question(&scope.clone().focused(focus.clone()), &Question::new("x")).unwrap_or_default();
        assert!(filter.ends_with("AND kind = 'law'"), "{filter}");
        let other = Focus { types: Some(BTreeSet::from(["news".to_owned()])), ..Focus::default() };
        assert_eq!(of_question(&scope.clone().focused(focus).focused(other), &Question::new("x")), None);
        assert_eq!(of_question(&scope.within([]), &question), None);
    }
}
