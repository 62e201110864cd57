//! A source as the settings describe it: where it is, and how each of its files is loaded.

use std::time::Duration;

use ibid_core::{Corpus, Scope, Secret, SourceName, Tenant};
use ibid_knowledge::{DocumentOrigin, DocumentRow};
use ibid_reading::format_of_name;
use ibid_sources::{
    Credentials, DocumentSource, PathPattern, PathPatterns, SourceEntry, SourceKind, SourceLimits,
    SourceLocation,
};

use crate::documents::DocumentFields;
use crate::error::{DoingExt, Error};
use crate::settings::{IngestSettings, SourcePathSettings, SourceSettings};

/// The corpus of documents that nobody says otherwise of.
const DEFAULT_CORPUS: &str = "documents";

/// A source, ready to be read.
pub(super) struct ConfiguredSource {
    pub(super) name: SourceName,
    pub(super) tenant: Tenant,
    pub(super) corpus: Corpus,
    pub(super) kind: SourceKind,
    pub(super) settings: SourceSettings,
    pub(super) source: DocumentSource,
    /// What is different for some paths.
    paths: Vec<(PathPattern, SourcePathSettings)>,
}

impl ConfiguredSource {
    pub(super) fn new(
        name: &SourceName,
        settings: &SourceSettings,
        ingest: &IngestSettings,
    ) -> Result<Self, Error> {
        let open = || -> Result<Self, Error> {
            let mut location = SourceLocation::parse(&settings.location).map_err(Error::other)?;
            location.endpoint.clone_from(&settings.endpoint);
            location.region.clone_from(&settings.region);
            location.credentials = Credentials {
                name: variable("user_env", settings.user_env.as_deref())?,
                secret: variable("password_env", settings.password_env.as_deref())?
                    .map(|secret| Secret::new(&secret)),
            };
            let paths = settings
                .paths
                .iter()
                .map(|rule| Ok((PathPattern::new(&rule.path).map_err(Error::other)?, rule.clone())));
            let paths = paths.collect::<Result<_, Error>>()?;
            let patterns = PathPatterns::new(&settings.include, &settings.exclude).map_err(Error::other)?;
            let limits = SourceLimits { largest: ingest.largest_mb << 20, settle: settings.settle.0 };
            let corpus = match &settings.corpus {
                Some(corpus) => corpus.clone(),
                None => DEFAULT_CORPUS.parse().map_err(Error::other)?,
            };
            Ok(Self {
                name: name.clone(),
                tenant: settings.tenant(),
                corpus,
                kind: location.kind(),
                settings: settings.clone(),
                source: DocumentSource::open(&location, patterns, limits).map_err(Error::other)?,
                paths,
            })
        };
        open().doing(|| format!("the source `{name}` cannot be kept in step (`sources.{name}`)"))
    }

    /// How long after a round the next one begins.
    pub(super) fn every(&self) -> Duration {
        self.settings.every.0
    }

    /// Whether somebody who looks after the documents of a scope looks after this source.
    pub(super) fn is_seen_by(&self, scope: &Scope) -> bool {
        *scope.tenant() == self.tenant && scope.corpora().is_none_or(|corpora| corpora.contains(&self.corpus))
    }

    /// Whoever may see all of its documents, also those that were loaded with other labels.
    pub(super) fn scope<'d>(&self, known: impl Iterator<Item = &'d DocumentRow>) -> Scope {
        let labels = self.settings.labels.iter().cloned();
        let of_paths = self.settings.paths.iter().flat_map(|rule| rule.labels.iter().cloned());
        let of_documents = known.flat_map(|document| document.labels.iter().cloned());
        Scope::of(self.tenant.clone()).holding(labels.chain(of_paths).chain(of_documents))
    }

    /// Whether a file can be read, as far as its name tells. Pages of a site tell it themselves.
    pub(super) fn is_readable(&self, entry: &SourceEntry) -> bool {
        self.kind == SourceKind::Site || format_of_name(&entry.path).is_some()
    }

    /// The source of a document, as people read it.
    pub(super) fn shown(&self, path: &str) -> String {
        match self.kind {
            SourceKind::Site => path.to_owned(),
            _ => format!("{}/{path}", self.name),
        }
    }

    /// The key of a document that is not here yet.
    pub(super) fn key(&self, path: &str) -> String {
        format!("{}/{path}", self.name)
    }

    pub(super) fn origin(&self, path: &str, mark: &str) -> DocumentOrigin {
        DocumentOrigin { source: self.name.clone(), path: path.to_owned(), mark: mark.to_owned() }
    }

    /// What is known of a file.
    pub(super) fn fields(&self, path: &str, mark: &str, key: String) -> DocumentFields {
        let fitting = self.paths.iter().filter(|(pattern, _)| pattern.fits(path));
        let rules: Vec<&SourcePathSettings> = fitting.map(|(_, rule)| rule).collect();
        let labels = rules.iter().map(|rule| &rule.labels).find(|labels| !labels.is_empty());
        let document_type = rules.iter().find_map(|rule| rule.document_type.clone());
        DocumentFields {
            key: Some(key),
            corpus: Some(self.corpus.clone()),
            document_type: document_type.or_else(|| self.settings.document_type.clone()),
            title: None,
            language: self.settings.language.clone(),
            labels: labels.unwrap_or(&self.settings.labels).clone(),
            chunk: (None, None),
            origin: Some(self.origin(path, mark)),
        }
    }
}

fn variable(setting: &str, name: Option<&str>) -> Result<Option<String>, Error> {
    let value = name.map(std::env::var).transpose();
    value.doing(|| {
        let name = name.unwrap_or_default();
        format!("the environment variable {name}, which `{setting}` names, cannot be read")
    })
}
