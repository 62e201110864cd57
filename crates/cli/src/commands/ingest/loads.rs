//! Where documents are loaded: in this process, or at a server.

use anyhow::{Context, bail};
use futures_util::{StreamExt, TryStreamExt};
use http::Method;
use ibid_app::{App, DocumentFields, IfLoading, LoadContent, LoadHandle, Settings, StartedLoad};
use ibid_core::evidence::DocumentId;
use ibid_core::load::{LoadOutcome, LoadSummary};
use ibid_core::{LoadEvent, Scope};
use ibid_engine::Stop;
use serde_json::{Map, Value};

use crate::client::{Client, Events};
use crate::place::Place;

/// Where documents are loaded.
pub(super) enum Loads {
    Here { app: App, scope: Scope },
    Server(Client),
}

/// What loading a document began with.
pub(super) enum Begun {
    /// Nothing is to be done.
    Unchanged(LoadSummary),
    /// It is being loaded.
    Running(Load),
}

/// A load that is under way.
pub(super) struct Load {
    pub(super) events: Events<LoadEvent>,
    /// Whether an earlier command had begun it.
    pub(super) resumed: bool,
    way: Way,
}

enum Way {
    Here(LoadHandle),
    /// The document and the run at the server.
    Server {
        document: String,
        run: String,
        source: String,
    },
}

impl Loads {
    pub(super) async fn open(config: &Settings, place: Place) -> anyhow::Result<Self> {
        match place {
            Place::Here(scope) => {
                let app = App::builder(config.clone()).documents_only().open().await?;
                Ok(Self::Here { app, scope })
            }
            Place::Server(client) => {
                eprintln!("loading at the server at {}", client.url());
                Ok(Self::Server(client))
            }
        }
    }

    /// Begins to load a document; without content, from its address.
    pub(super) async fn begin(
        &self,
        source: &str,
        fields: &DocumentFields,
        content: Option<&[u8]>,
    ) -> anyhow::Result<Begun> {
        match self {
            Self::Here { app, scope } => {
                let documents = app.documents()?;
                let request = documents.request(scope, source, fields)?;
                let content = content.map_or(LoadContent::Remote, LoadContent::Bytes);
                match documents.load(scope, request, content, IfLoading::ResumeOrReplace).await? {
                    StartedLoad::Unchanged(summary) => Ok(Begun::Unchanged(summary)),
                    StartedLoad::Running(handle) => {
                        let events =
                            documents.follow(scope, handle.run, 0).await?.map_err(Into::into).boxed();
                        Ok(Begun::Running(Load { events, resumed: handle.resumed, way: Way::Here(handle) }))
                    }
                }
            }
            Self::Server(client) => {
                let form = form(source, fields);
                let taken: Value = match content {
                    Some(content) => client.upload("/documents", &form, source, content).await?,
                    None => {
                        let mut body: Map<String, Value> = Map::new();
                        for (name, value) in form {
                            let value = match name {
                                "source" => continue,
                                "labels" => value.split(',').collect(),
                                "chunk_characters" | "chunk_overlap" => value.parse::<usize>()?.into(),
                                _ => value.into(),
                            };
                            body.insert(name.to_owned(), value);
                        }
                        body.insert("url".to_owned(), source.into());
                        client.call(Method::POST, "/documents/fetch", Some(body.into())).await?
                    }
                };
                let taken = &taken["documents"][0];
                let (document, run) = (taken["document_id"].as_str(), taken["run_id"].as_str());
                let (document, run) = document.zip(run).context("the server does not say what it loads")?;
                let events = client.events(&format!("/documents/{document}/events?run={run}"), 0).await?;
                let (document, run, source) = (document.to_owned(), run.to_owned(), source.to_owned());
                Ok(Begun::Running(Load {
                    events,
                    resumed: false,
                    way: Way::Server { document, run, source },
                }))
            }
        }
    }

    /// Stops a load; what was there before stays.
    pub(super) async fn stop(&self, load: &Load) -> anyhow::Result<()> {
        match (self, &load.way) {
            (Self::Here { app, scope }, Way::Here(handle)) => {
                Ok(app.documents()?.engine().stop(scope, handle.run, Stop::Keep).await?)
            }
            (Self::Server(client), Way::Server { document, run, .. }) => {
                client.cancel(&format!("/documents/{document}/cancel?run={run}")).await
            }
            _ => bail!("this load began elsewhere"),
        }
    }

    /// Brings the indexes up to date and ends what runs here. A server does so itself.
    pub(super) async fn close(&self) {
        let Self::Here { app, .. } = self else { return };
        if let Ok(documents) = app.documents()
            && let Err(error) = documents.maintain().await
        {
            eprintln!("the indexes of the store could not be brought up to date: {error}");
        }
        app.close().await;
    }
}

impl Load {
    /// What came of it, after its last event.
    pub(super) async fn finish(self, last: Option<LoadEvent>) -> anyhow::Result<LoadSummary> {
        match (self.way, last) {
            // Here, what it leaves behind is cleaned up first.
            (Way::Here(handle), _) => Ok(handle.finish().await?),
            (Way::Server { .. }, Some(LoadEvent::Ended { summary: Some(summary), .. })) => Ok(summary),
            (Way::Server { .. }, Some(LoadEvent::Ended { error: Some(error), .. })) => bail!("{error}"),
            // One that was stopped before it began has nothing to tell.
            (Way::Server { document, source, .. }, Some(LoadEvent::Ended { .. })) => Ok(LoadSummary {
                document: DocumentId(document),
                source,
                outcome: LoadOutcome::Stopped,
                pages: 0,
                skipped: 0,
                tables: 0,
                chunks: 0,
                milliseconds: 0,
            }),
            (Way::Server { .. }, _) => {
                bail!("the server has stopped; it goes on loading with its next start")
            }
        }
    }
}

/// What is said of a document, as a server takes it.
fn form(source: &str, fields: &DocumentFields) -> Vec<(&'static str, String)> {
    let DocumentFields { key, corpus, document_type, title, language, labels, chunk, origin: _ } = fields;
    let labels = labels.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    [
        ("source", Some(source.to_owned())),
        ("key", key.clone()),
        ("corpus", corpus.as_ref().map(ToString::to_string)),
        ("type", document_type.clone()),
        ("title", title.clone()),
        ("language", language.clone()),
        ("labels", Some(labels).filter(|labels| !labels.is_empty())),
        ("chunk_characters", chunk.0.map(|characters| characters.to_string())),
        ("chunk_overlap", chunk.1.map(|overlap| overlap.to_string())),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .collect()
}
