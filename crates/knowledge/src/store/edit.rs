//! What is said of a document changes in place: nothing is read or embedded again.

use std::collections::BTreeSet;

use ibid_core::catalogue::CATALOGUE;
use ibid_core::evidence::DocumentId;
use ibid_core::{Label, Scope};

use super::{Store, filter, rows};
use crate::document::{Document, DocumentOrigin};
use crate::{DocumentState, DocumentStatus, Error};

/// What a person wants to be said of a document; none means as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentChange {
    /// Its title.
    pub title: Option<String>,
    /// Its type.
    pub kind: Option<String>,
    /// Who may see it; empty means everybody at the tenant.
    pub labels: Option<BTreeSet<Label>>,
}

/// What is said of a document, apart from what was read of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentEdit {
    /// Its file or URL.
    pub source: String,
    /// Its title; none means the one that it has.
    pub title: Option<String>,
    /// Its type.
    pub kind: String,
    /// Who may see it; empty means everybody at the tenant.
    pub labels: BTreeSet<Label>,
    /// Where it came from, if it is kept in step with a source.
    pub origin: Option<DocumentOrigin>,
}

impl Store {
    /// Changes what is said of a document that the scope may see, and gives it; none if there is no such one.
    ///
    /// # Errors
    /// Says why the scope may not, or that the document is being loaded; fails when the store cannot be written.
    pub async fn change(
        &self,
        scope: &Scope,
        id: &DocumentId,
        change: DocumentChange,
    ) -> Result<Option<Document>, Error> {
        let Some(known) = self.document(scope, id).await? else { return Ok(None) };
        let (kind, labels) =
            (change.kind.unwrap_or(known.kind.clone()), change.labels.unwrap_or(known.labels.clone()));
        if let Some(origin) = &known.origin
            && (&kind, &labels) != (&known.kind, &known.labels)
        {
            return Err(Error::NotAllowed(format!(
                "the settings of the source `{}` say its type and labels; change them there",
                origin.source
            )));
        }
        if !scope.sees(&known.tenant, &known.corpus, &labels) {
            return Err(Error::NotAllowed(
                "whoever gives a document labels must hold one of them".to_owned(),
            ));
        }
        if labels != known.labels && known.state.status() == DocumentStatus::Duplicate {
            return Err(Error::NotAllowed(format!(
                "{} is a duplicate, and searched by those who see the other document: load it again with these labels",
                known.source
            )));
        }
        if (kind == CATALOGUE) != (known.kind == CATALOGUE) {
            return Err(Error::NotAllowed(format!(
                "a catalogue is loaded in another way: load the document again with the type `{kind}`"
            )));
        }
        let edit = DocumentEdit {
            source: known.source.clone(),
            title: change.title,
            kind,
            labels,
            origin: known.origin.clone(),
        };
        match self.edit(id, edit).await? {
            true => self.row(id).await,
            false => {
                Err(Error::Busy(format!("{} is being loaded; change it when that is over", known.source)))
            }
        }
    }

    /// Changes what is said of a document, without reading or embedding it again: it keeps its id. Whoever searches sees all of it before
    /// or after. Says whether it was changed; one that is being loaded is not.
    ///
    /// # Errors
    /// Fails when the store cannot be written. Doing it again goes on where it failed.
    pub async fn edit(&self, id: &DocumentId, edit: DocumentEdit) -> Result<bool, Error> {
        let Some(known) = self.row(id).await?.filter(is_at_rest) else { return Ok(false) };
        let title = match &edit.title {
            Some(title) => title,
            // One that is the name of the file follows it.
            None if known.title == file_name(&known.source) => file_name(&edit.source),
            None => &known.title,
        };
        let document = Document {
            title: title.to_owned(),
            source: edit.source,
            kind: edit.kind,
            labels: edit.labels,
            origin: edit.origin,
            ..known.clone()
        };
        if document == known {
            return Ok(true);
        }
        let searched = |document: &Document| {
            let Document { source, title, kind, labels, .. } = document.clone();
            (source, title, kind, labels)
        };
        if searched(&document) != searched(&known) {
            let labels: Vec<String> = rows::labels(&document).map(filter::quoted).collect();
            let values = [
                ("source", filter::quoted(&document.source)),
                ("title", filter::quoted(&document.title)),
                ("kind", filter::quoted(&document.kind)),
                ("labels", format!("[{}]", labels.join(", "))),
            ];
            self.chunks.update(&format!("document = {}", filter::quoted(&id.0)), &values).await?;
            // They cite it by what it was called, and were given to those who saw it then.
            self.forget_answers_from(id).await?;
        }
        if document.labels != known.labels {
            self.orphan_duplicates(&known).await?;
        }
        self.record(&document).await?;
        Ok(true)
    }
}

/// Whether nothing is on its way that would write the ledger, too.
fn is_at_rest(document: &Document) -> bool {
    matches!(document.state, DocumentState::Settled { pending: None, .. })
}

fn file_name(source: &str) -> &str {
    source.rsplit(['/', '\\']).next().unwrap_or(source)
}
