//! On whose behalf something is read or written. There is no default: whoever reads must say for whom.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{Corpus, Label, Tenant};

/// What a caller may see. An argument of every read, and the filter that it becomes. It is kept with a turn, so
/// that whoever takes the turn up again sees no more and no less.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    tenant: Tenant,
    corpora: Option<BTreeSet<Corpus>>,
    labels: BTreeSet<Label>,
}

impl Scope {
    /// What everybody at one tenant may see, in all of its corpora, and nothing of any other tenant.
    pub fn of(tenant: Tenant) -> Self {
        Self { tenant, corpora: None, labels: BTreeSet::new() }
    }

    /// Only what is in these corpora too. A scope never grows: corpora that it did not have stay out.
    #[must_use]
    pub fn within(mut self, corpora: impl IntoIterator<Item = Corpus>) -> Self {
        let asked: BTreeSet<Corpus> = corpora.into_iter().collect();
        self.corpora = Some(match self.corpora {
            Some(had) => had.intersection(&asked).cloned().collect(),
            None => asked,
        });
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
    fn a_label_hides_a_document_from_those_who_do_not_hold_it() {
        let corpus: Corpus = "rules".parse().expect("a plain name");
        let legal: Label = "legal".parse().expect("a plain name");
        let labels = BTreeSet::from([legal.clone()]);
        let scope = Scope::of(Tenant::local());
        assert!(!scope.sees(&Tenant::local(), &corpus, &labels));
        assert!(scope.holding([legal]).sees(&Tenant::local(), &corpus, &labels));
    }
}
