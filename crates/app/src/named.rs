//! The documents that assistants name: they are fetched and loaded in the background when a server starts.

use ibid_assistants::definition::{Definition, RemoteDocument};
use ibid_assistants::{Assistant, FAQ, FAQ_FOLDER};
use ibid_core::{Corpus, Scope};

use crate::app::App;
use crate::assistants::{AssistantOrigin, known_assistants};
use crate::documents::{DocumentFields, DocumentService, IfLoading, LoadContent, StartedLoad};
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
            origin: None,
        }
    }

    /// The source of a category of common questions of an assistant, and what is known of it.
    pub fn category(assistant: &Assistant, file: &str) -> (String, Self) {
        let source = format!("{FAQ_FOLDER}/{file}");
        let fields = Self {
            corpus: assistant.definition.corpora.first().cloned(),
            document_type: Some(FAQ.to_owned()),
            ..Self::default()
        };
        (source, fields)
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
                begun += load_faq_of(documents, scope, &assistant).await?;
            }
        }
        Ok(begun)
    }
}

/// Loads the categories of common questions of an assistant that are not there yet as they are now.
async fn load_faq_of(
    documents: &DocumentService,
    scope: &Scope,
    assistant: &Assistant,
) -> Result<usize, Error> {
    let mut begun = 0;
    for (name, text) in &assistant.faq {
        let (source, fields) = DocumentFields::category(assistant, name);
        let request = documents.request(scope, &source, &fields)?;
        let content = LoadContent::Bytes(text.as_bytes());
        if documents.was_set_aside(scope, &request).await? {
            tracing::warn!("{source} is not loaded: it ended its process again and again");
            continue;
        }
        match documents.load(scope, request, content, IfLoading::ResumeOrReplace).await {
            Ok(StartedLoad::Running(_)) => begun += 1,
            Ok(StartedLoad::Unchanged(_)) => {}
            Err(error) => tracing::warn!("{source} is not loaded: {error}"),
        }
    }
    Ok(begun)
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
        if documents.was_set_aside(scope, &request).await? {
            tracing::warn!("{} is not loaded: it ended its process again and again", document.url);
            continue;
        }
        match documents.load(scope, request, LoadContent::Remote, IfLoading::ResumeOrReplace).await {
            Ok(_) => begun += 1,
            Err(error) => tracing::warn!("{} is not loaded: {error}", document.url),
        }
    }
    Ok(begun)
}
