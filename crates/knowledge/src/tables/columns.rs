//! Which column of a table a name means.

use std::collections::{BTreeMap, BTreeSet};

use ibid_core::table::{TableColumn, readable_names};

use crate::terms;

/// The names of the columns of a table.
pub(super) struct ColumnNames {
    /// As a person understands them.
    shown: Vec<String>,
    /// The words of every name that each has.
    words: Vec<Vec<BTreeSet<String>>>,
}

impl ColumnNames {
    /// Those that a table gives its columns, and other names by these.
    pub(super) fn new(columns: &[TableColumn], others: &BTreeMap<String, String>) -> Self {
        let written: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let readable = readable_names(&written);
        let (mut shown, mut words) = (Vec::new(), Vec::new());
        for (place, (written, readable)) in written.iter().zip(readable).enumerate() {
            let other = others.get(*written);
            let numbered = format!("Column {}", place + 1);
            let names = [Some(*written), Some(readable.as_str()), other.map(String::as_str)];
            let mut named: Vec<BTreeSet<String>> =
                names.into_iter().flatten().map(telling).filter(|name| !name.is_empty()).collect();
            if named.is_empty() {
                named.push(telling(&numbered));
            }
            let name = other.cloned().unwrap_or(readable);
            shown.push(if name.trim().is_empty() { numbered } else { name });
            words.push(named);
        }
        Self { shown, words }
    }

    /// As a person understands them.
    pub(super) fn shown(&self) -> impl Iterator<Item = String> + '_ {
        self.shown.iter().cloned()
    }

    /// The column that a name means: the one whose name it is, else the only one with the most of its words.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        let is_name = |shown: &String| shown.trim().eq_ignore_ascii_case(name.trim());
        let asked = telling(name);
        let whole = self.shown.iter().position(is_name);
        let whole = whole.or_else(|| only(self.words.iter().map(|own| own.contains(&asked))));
        whole.or_else(|| {
            let common = |own: &Vec<BTreeSet<String>>| {
                own.iter().map(|own| own.intersection(&asked).count()).max().unwrap_or_default()
            };
            let common: Vec<usize> = self.words.iter().map(common).collect();
            let best = common.iter().copied().max().filter(|best| *best * 2 > asked.len())?;
            only(common.into_iter().map(|common| common == best))
        })
    }
}

/// Where something holds, if it does in one place only.
pub(super) fn only(places: impl Iterator<Item = bool>) -> Option<usize> {
    let mut holds = places.enumerate().filter(|(_, holds)| *holds);
    let (place, _) = holds.next()?;
    holds.next().is_none().then_some(place)
}

/// The words of a name, as they are compared.
fn telling(name: &str) -> BTreeSet<String> {
    terms::of_question(name, &["en".to_owned(), "es".to_owned()]).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use ibid_core::table::CellKind;

    use super::*;

    fn names(columns: &[&str], others: &[(&str, &str)]) -> ColumnNames {
        let columns: Vec<TableColumn> = columns
            .iter()
            .map(|name| TableColumn { name: (*name).to_owned(), kind: CellKind::Text })
            .collect();
        let others = others.iter().map(|(one, other)| ((*one).to_owned(), (*other).to_owned())).collect();
        ColumnNames::new(&columns, &others)
    }

    #[test]
    fn a_column_is_found_by_any_of_its_names() {
        let schedule = names(
            &["Heading/ Subheading", "Article Description", "Rates of Duty 1 General", "Rates of Duty 2"],
            &[("Rates of Duty 2", "Column 2 rate")],
        );
        for (name, place) in [
            ("Rates of Duty 1 General", Some(2)),
            ("general rate", Some(2)),
            ("general", Some(2)),
            ("Column 2 rate", Some(3)),
            ("description", Some(1)),
            ("subheading", Some(0)),
            ("rate of duty", None),
            ("price", None),
            ("", None),
        ] {
            assert_eq!(schedule.find(name), place, "{name}");
        }
        assert_eq!(names(&["", "", "Fee"], &[]).find("column 2"), Some(1));
    }
}
