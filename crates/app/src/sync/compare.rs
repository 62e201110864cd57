//! What a source has, beside what is here of it. Pure.

use std::collections::HashMap;

use ibid_knowledge::{DocumentRow, DocumentState, DocumentStatus};
use ibid_sources::SourceEntry;

/// What is to be done so that both are the same.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    /// Files that are not here, or not as they are there, with the document that is here.
    pub(super) to_bring: Vec<(SourceEntry, Option<DocumentRow>)>,
    /// Documents whose files are not there any more.
    pub(super) gone: Vec<DocumentRow>,
    /// How many are as they are there.
    pub(super) unchanged: usize,
    /// Those of them that are not searched, as another document has the same content.
    pub(super) duplicates: Vec<DocumentRow>,
    /// Those of which the ledger says that they are being loaded, so that nothing can be said of them yet.
    pub(super) loading: Vec<(SourceEntry, DocumentRow)>,
}

/// Compares the files of a source with the documents that came from it.
pub(super) fn compare(
    entries: Vec<SourceEntry>,
    known: Vec<DocumentRow>,
    is_same: impl Fn(&SourceEntry, &DocumentRow) -> bool,
) -> Comparison {
    let mut comparison = Comparison::default();
    let mut by_path: HashMap<String, DocumentRow> = HashMap::with_capacity(known.len());
    for document in known {
        let path = path_of(&document).to_owned();
        // Of two documents of one file, as a move that was interrupted can leave them, one is too many.
        match by_path.remove(&path) {
            None => drop(by_path.insert(path, document)),
            Some(other) => {
                let (kept, spare) =
                    if document.state.is_ready() { (document, other) } else { (other, document) };
                by_path.insert(path, kept);
                comparison.gone.push(spare);
            }
        }
    }
    for entry in entries {
        match by_path.remove(&entry.path) {
            None => comparison.to_bring.push((entry, None)),
            Some(document) if is_loading(&document) => comparison.loading.push((entry, document)),
            Some(document) if is_same(&entry, &document) => {
                comparison.unchanged += 1;
                if document.state.status() == DocumentStatus::Duplicate {
                    comparison.duplicates.push(document);
                }
            }
            Some(document) => comparison.to_bring.push((entry, Some(document))),
        }
    }
    comparison.gone.extend(by_path.into_values());
    comparison.gone.sort_by(|a, b| path_of(a).cmp(path_of(b)));
    comparison
}

/// The path of a document in its source.
pub(super) fn path_of(document: &DocumentRow) -> &str {
    document.origin.as_ref().map_or("", |origin| &origin.path)
}

/// Whether something is on its way that will change the document.
pub(super) fn is_loading(document: &DocumentRow) -> bool {
    document.state == DocumentState::Loading || document.state.pending().is_some()
}

/// Whether so many are gone of so many that a person has to say so. A single file of a few may go, the last one may not.
pub(super) fn holds(gone: usize, of: usize, files: usize, percent: u8) -> bool {
    const FEW: usize = 5;
    let is_much = gone.saturating_mul(100) > of.saturating_mul(percent.into());
    gone > 0 && is_much && (gone >= FEW || files == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, mark: &str) -> SourceEntry {
        SourceEntry { path: path.to_owned(), mark: mark.to_owned(), bytes: None }
    }

    fn document(path: &str, mark: &str, status: &str) -> DocumentRow {
        serde_json::from_value(serde_json::json!({
            "id": path, "tenant": "local", "corpus": "c", "key": path, "source": path, "title": path,
            "kind": "general", "language": "", "labels": [], "size": { "characters": 1200, "overlap": 200 },
            "version": "ab", "bytes": 1, "status": status, "chunks": 0, "tables": 0, "milliseconds": 0,
            "changed": 0, "pages": [], "origin": { "source": "s", "path": path, "mark": mark },
        }))
        .unwrap()
    }

    fn same(entry: &SourceEntry, document: &DocumentRow) -> bool {
        document.origin.as_ref().is_some_and(|origin| origin.mark == entry.mark)
    }

    #[test]
    fn what_is_new_changed_gone_and_on_its_way_is_told_apart() {
        let entries = vec![entry("a", "1"), entry("b", "2"), entry("c", "1"), entry("d", "2")];
        let known = vec![
            document("a", "1", "ready"),
            document("b", "1", "ready"),
            document("d", "1", "loading"),
            document("e", "1", "ready"),
            document("f", "1", "loading"),
        ];
        let found = compare(entries, known, same);
        let to_bring: Vec<(&str, bool)> =
            found.to_bring.iter().map(|(entry, known)| (&*entry.path, known.is_some())).collect();
        assert_eq!(to_bring, [("b", true), ("c", false)]);
        assert_eq!(found.gone.iter().map(path_of).collect::<Vec<_>>(), ["e", "f"]);
        assert_eq!((found.unchanged, found.loading.len()), (1, 1));
    }

    #[test]
    fn of_two_documents_of_one_file_the_one_that_can_be_searched_stays() {
        let known = vec![document("a", "1", "failed"), document("a", "1", "ready")];
        let found = compare(vec![entry("a", "1")], known, same);
        assert_eq!((found.unchanged, found.gone.len()), (1, 1));
        assert!(!found.gone[0].state.is_ready());
    }

    #[test]
    fn much_at_once_and_everything_are_held() {
        for (gone, of, files, held) in [
            (0, 0, 0, false),
            (1, 3, 2, false),
            (1, 1, 0, true),
            (20, 100, 80, false),
            (21, 100, 79, true),
            (4, 6, 2, false),
            (5, 6, 1, true),
        ] {
            assert_eq!(holds(gone, of, files, 20), held, "{gone} of {of}");
        }
        assert!(!holds(100, 100, 0, 100), "a brake of 100 % never holds");
    }
}
