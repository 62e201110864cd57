//! On whose behalf something is read or written. There is no default: whoever reads must say for whom.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::evidence::DocumentId;
use crate::{Corpus, Label, Tenant};

/// What a caller may see. An argument of every read, and the filter that it becomes. It is kept with a turn, so
/// that whoever takes the turn up again sees no more and no less.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    tenant: Tenant,
    corpora: Option<BTreeSet<Corpus>>,
    labels: BTreeSet<Label>,
    #[serde(default, skip_serializing_if = "Focus::is_everything")]
    focus: Focus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    caller: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    all_threads: bool,
}

/// What a question is about, within what may be seen: some documents, types or languages. Of each, none means all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Focus {
    /// These documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documents: Option<BTreeSet<DocumentId>>,
    /// Documents of these types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub types: Option<BTreeSet<String>>,
    /// Documents in these languages, as ISO 639-1 has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub languages: Option<BTreeSet<String>>,
}

impl Focus {
    /// Whether nothing is left out.
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a document is within it.
    pub fn includes(&self, document: &DocumentId, kind: &str, language: &str) -> bool {
        self.documents.as_ref().is_none_or(|documents| documents.contains(document))
            && self.types.as_ref().is_none_or(|types| types.contains(kind))
            && self.languages.as_ref().is_none_or(|languages| languages.contains(language))
    }
}

/// What two sets have in common, where none means everything.
fn common<T: Ord + Clone>(had: Option<BTreeSet<T>>, asked: Option<BTreeSet<T>>) -> Option<BTreeSet<T>> {
    match (had, asked) {
        (Some(had), Some(asked)) => Some(had.intersection(&asked).cloned().collect()),
        (had, asked) => had.or(asked),
    }
}

impl Scope {
    /// What everybody at one tenant may see, in all of its corpora, and nothing of any other tenant.
    pub fn of(tenant: Tenant) -> Self {
        Self {
            tenant,
            corpora: None,
            labels: BTreeSet::new(),
            focus: Focus::default(),
            caller: None,
            all_threads: false,
        }
    }

    /// For somebody in particular, who owns the threads that they begin and sees no others.
    #[must_use]
    pub fn for_caller(mut self, caller: impl Into<String>) -> Self {
        self.caller = Some(caller.into());
        self
    }

    /// For somebody who looks after the tenant, and sees the threads of others, too.
    #[must_use]
    pub fn with_all_threads(mut self) -> Self {
        self.all_threads = true;
        self
    }

    /// For nobody in particular: which documents may be seen, and nothing else.
    #[must_use]
    pub fn of_nobody(&self) -> Self {
        Self { caller: None, all_threads: false, ..self.clone() }
    }

    /// Only the documents that another scope sees as well; of labels, only those that both hold.
    #[must_use]
    pub fn limited_to(mut self, other: &Self) -> Self {
        self.corpora = common(self.corpora, other.corpora.clone());
        self.labels.retain(|label| other.labels.contains(label));
        self
    }

    /// Only what is in these corpora too. A scope never grows: corpora that it did not have stay out.
    #[must_use]
    pub fn within(mut self, corpora: impl IntoIterator<Item = Corpus>) -> Self {
        self.corpora = common(self.corpora, Some(corpora.into_iter().collect()));
        self
    }

    /// Only what is in this focus too. It says what is searched, not what may be loaded or deleted.
    #[must_use]
    pub fn focused(mut self, focus: Focus) -> Self {
        self.focus = Focus {
            documents: common(self.focus.documents, focus.documents),
            types: common(self.focus.types, focus.types),
            languages: common(self.focus.languages, focus.languages),
        };
        self
    }

    /// With permission to see documents that have one of these labels.
    #[must_use]
    pub fn holding(mut self, labels: impl IntoIterator<Item = Label>) -> Self {
        self.labels.extend(labels);
        self
    }

    /// Whose it is.
    pub fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    /// The corpora that may be seen; none means all of the tenant.
    pub fn corpora(&self) -> Option<&BTreeSet<Corpus>> {
        self.corpora.as_ref()
    }

    /// The labels that are held.
    pub fn labels(&self) -> &BTreeSet<Label> {
        &self.labels
    }

    /// Who asks; none if it is nobody in particular, as for whoever runs the server.
    pub fn caller(&self) -> Option<&str> {
        self.caller.as_deref()
    }

    /// Whether threads of others may be seen.
    pub fn sees_all_threads(&self) -> bool {
        self.all_threads || self.caller.is_none()
    }

    /// Whether it sees every document that another scope of its tenant sees. What a thread holds may quote any of those.
    pub fn covers(&self, corpora: Option<&BTreeSet<Corpus>>, labels: &BTreeSet<Label>) -> bool {
        let has_corpora = match (&self.corpora, corpora) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(own), Some(others)) => others.is_subset(own),
        };
        has_corpora && labels.is_subset(&self.labels)
    }

    /// What is searched of it.
    pub fn focus(&self) -> &Focus {
        &self.focus
    }

    /// Whether a document of this tenant and corpus with these labels may be seen.
    pub fn sees(&self, tenant: &Tenant, corpus: &Corpus, labels: &BTreeSet<Label>) -> bool {
        self.tenant == *tenant
            && self.corpora.as_ref().is_none_or(|corpora| corpora.contains(corpus))
            && (labels.is_empty() || !self.labels.is_disjoint(labels))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_narrows_and_never_grows() {
        let [one, two]: [Corpus; 2] = ["one", "two"].map(|name| name.parse().expect("a plain name"));
        let scope = Scope::of(Tenant::local()).within([one.clone()]).within([one.clone(), two.clone()]);
        assert!(scope.sees(&Tenant::local(), &one, &BTreeSet::new()));
        assert!(!scope.sees(&Tenant::local(), &two, &BTreeSet::new()));
    }

    #[test]
    fn a_focus_narrows_and_is_kept_with_a_turn() {
        let of = |types: &[&str]| Focus {
            types: Some(types.iter().map(|name| (*name).to_owned()).collect()),
            ..Focus::default()
        };
        let scope = Scope::of(Tenant::local());
        assert_eq!(
            serde_json::to_string(&scope).unwrap(),
            r#"{"tenant":"local","corpora":null,"labels":[]}"#
        );
        let scope = scope.focused(of(&["law", "guide"])).focused(of(&["law", "news"]));
        let document = DocumentId("a".to_owned());
        assert!(
            scope.focus().includes(&document, "law", "en")
                && !scope.focus().includes(&document, "news", "en")
        );
        let kept: Scope = serde_json::from_str(&serde_json::to_string(&scope).unwrap()).unwrap();
        assert_eq!(kept, scope);
    }

    #[test]
    fn a_scope_covers_what_another_sees_if_it_has_its_labels_and_corpora() {
        let [rules, prices]: [Corpus; 2] = ["rules", "prices"].map(|name| name.parse().unwrap());
        let legal: Label = "legal".parse().unwrap();
        let all = Scope::of(Tenant::local());
        let some = all.clone().within([rules.clone()]).holding([legal.clone()]).for_caller("key:ana");
        let covers = |scope: &Scope, other: &Scope| scope.covers(other.corpora(), other.labels());
        assert!(covers(&some, &some) && !covers(&some, &all), "all corpora are more than one");
        assert!(!covers(&all, &some), "a label is missing");
        assert!(covers(&all.clone().holding([legal.clone()]), &some));
        let both = all.holding([legal, "hr".parse().unwrap()]).within([rules, prices]).limited_to(&some);
        assert_eq!(both, some.of_nobody());
        assert!(both.sees_all_threads() && !some.sees_all_threads());
        assert!(some.with_all_threads().sees_all_threads());
    }

    #[test]
    fn a_label_hides_a_document_from_those_who_do_not_hold_it() {
        let corpus: Corpus = "rules".parse().expect("a plain name");
        let legal: Label = "legal".parse().expect("a plain name");
        let labels = BTreeSet::from([legal.clone()]);
        let scope = Scope::of(Tenant::local());
        assert!(!scope.sees(&Tenant::local(), &corpus, &labels));
        assert!(scope.holding([legal]).sees(&Tenant::local(), &corpus, &labels));
    }
}
