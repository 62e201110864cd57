//! The documents that assistants name: they are fetched and loaded in the background when a server starts.

use ibid_assistants::definition::{Definition, RemoteDocument};
use ibid_core::{Corpus, Scope};

use crate::app::App;
use crate::assistants::{AssistantOrigin, known_assistants};
use crate::documents::{DocumentFields, DocumentService, IfLoading, LoadContent};
use crate::error::Error;
use crate::settings::NamedDocuments;

impl DocumentFields {
    /// What an assistant says of a document that it names.
    pub fn named(document: &RemoteDocument, corpus: Option<Corpus>) -> Self {
        Self {
            key: Some(document.key.clone()),
            corpus,
            document_type: Some(document.kind.clone()),
            title: Some(document.title.clone()),
            language: Some(document.language.clone()),
            labels: Vec::new(),
            chunk: (document.chunk_characters, document.chunk_overlap),
        }
    }
}

impl App {
    /// Begins to load the documents that assistants name and that are not there yet, for these scopes. They show like all
    /// loads. Says how many were begun.
    ///
    /// # Errors
    /// Fails when the assistants or the ledger cannot be read.
    pub async fn load_named_documents(&self, scopes: &[Scope]) -> Result<usize, Error> {
        let (documents, which) = (self.documents()?, self.settings().ingest.named);
        if which == NamedDocuments::None {
            return Ok(0);
        }
        let mut begun = 0;
        for known in known_assistants(self.settings(), &[])? {
            let wanted = which == NamedDocuments::All || known.origin == AssistantOrigin::Folder;
            let Ok(assistant) = known.assistant else { continue };
            for scope in scopes.iter().filter(|_| wanted) {
                begun += load_those_of(documents, scope, &assistant.definition).await?;
            }
        }
        Ok(begun)
    }
}

async fn load_those_of(documents: &DocumentService, scope: &Scope, of: &Definition) -> Result<usize, Error> {
    let mut begun = 0;
    for document in &of.documents {
        let fields = DocumentFields::named(document, of.corpora.first().cloned());
        let request = documents.request(scope, &document.url, &fields)?;
        let known = documents.store().document(scope, &request.document()).await.map_err(Error::other)?;
        if known.is_some_and(|known| known.state.is_ready()) {
            continue;
        }
        match documents.load(scope, request, LoadContent::Remote, IfLoading::ResumeOrReplace).await {
            Ok(_) => begun += 1,
            Err(error) => tracing::warn!("{} is not loaded: {error}", document.url),
        }
    }
    Ok(begun)
}
