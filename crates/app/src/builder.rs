//! Opens an application: models, documents, assistants and engine, in this order.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ibid_assistants::definition::Definition;
use ibid_core::cache::AnswerCache;
use ibid_core::evidence::Index;
use ibid_core::model::{Caller, Spending};
use ibid_core::tool::Tool;
use ibid_core::{Scope, Tenant};
use ibid_engine::{GraphEntry, Graphs, TurnGraph};

use crate::app::{App, Inner};
use crate::assistants::{AssistantParts, AssistantRegistry, own_definition};
use crate::backup::refuse_half_restored;
use crate::documents::{DocumentService, GRAPH};
use crate::engines::{open_loads, open_turns, refuse_role_alone};
use crate::erasing::keep_erasing;
use crate::error::{DoingExt, Error};
use crate::health::{Checked, CheckedDocuments, ON_NETWORK, ServerInfo, network_file_system};
use crate::live::{LiveAssistants, Watch, make_all};
use crate::models::ModelCatalog;
use crate::rehearsal;
use crate::settings::Settings;
use crate::shares::keep_shares;
use crate::store::Knowledge;
use crate::sync::SyncService;

/// Puts an application together. Graphs and tools of the program's own are registered by name.
pub struct AppBuilder {
    settings: Arc<Settings>,
    graphs: Vec<(String, GraphEntry, Definition)>,
    tools: Vec<Arc<dyn Tool>>,
    documents: bool,
    /// Whether documents can be loaded; else they can only be searched.
    loads: bool,
    /// The only assistant whose servers are started, if not all are.
    only: Option<String>,
    /// Whether turns are answered; else there is no engine for them.
    turns: bool,
    /// The file of the engine that runs them, if not that of the settings.
    turns_file: Option<PathBuf>,
    /// The models of several applications in one process, which share the limits of their accounts.
    models: Option<Arc<ModelCatalog>>,
    caller: Caller,
}

impl App {
    /// An application with these settings.
    pub fn builder(settings: Settings) -> AppBuilder {
        AppBuilder {
            settings: Arc::new(settings),
            graphs: Vec::new(),
            tools: Vec::new(),
            documents: true,
            loads: true,
            only: None,
            turns: true,
            turns_file: None,
            models: None,
            caller: Caller::chat(Tenant::local()),
        }
    }
}

impl AppBuilder {
    /// Serves a graph under a name, through every API, like the assistants that ship.
    #[must_use]
    pub fn graph(self, name: &str, graph: TurnGraph) -> Self {
        self.graph_with(name, graph, own_definition(name, ""))
    }

    /// The same with a title, a description, examples and a greeting.
    #[must_use]
    pub fn graph_with(mut self, name: &str, graph: TurnGraph, definition: Definition) -> Self {
        let entry = GraphEntry::turn(graph).with_history(definition.limits.history_messages);
        self.graphs.push((name.to_owned(), entry, definition));
        self
    }

    /// Lets assistants use a tool: those whose `tools` name it.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Without documents, and so without the assistants that answer from them: no embedding model is needed.
    #[must_use]
    pub fn without_documents(mut self) -> Self {
        self.documents = false;
        self
    }

    /// Without the engine that loads documents, which one process at a time may run: they can be searched.
    #[must_use]
    pub fn without_loads(mut self) -> Self {
        self.loads = false;
        self
    }

    /// For one assistant alone: the servers whose tools others use are not started.
    #[must_use]
    pub fn only(mut self, assistant: &str) -> Self {
        self.only = Some(assistant.to_owned());
        self
    }

    /// Keeps conversations in a file of their own, apart from those of the settings.
    #[must_use]
    pub fn turns_in(mut self, file: &Path) -> Self {
        self.turns_file = Some(file.to_owned());
        self
    }

    /// With models that other applications use, too. Whoever brings them keeps account of them.
    #[must_use]
    pub(crate) fn models(mut self, models: Arc<ModelCatalog>) -> Self {
        self.models = Some(models);
        self
    }

    /// For documents alone: they are loaded, searched and deleted, and nobody answers.
    #[must_use]
    pub fn documents_only(mut self) -> Self {
        self.turns = false;
        self.caller = Caller::ingestion(Tenant::local());
        self
    }

    /// Opens everything, and takes up what an earlier process left.
    ///
    /// # Errors
    /// Fails when a part cannot be opened; says what helps. An assistant that cannot answer is left out and is no error.
    pub async fn open(self) -> Result<App, Error> {
        let Self { settings, graphs, tools, documents, loads, only, turns, turns_file, models, caller } =
            self;
        settings.refuse_several_cells()?;
        refuse_role_alone(&settings)?;
        refuse_half_restored(&settings)?;
        make_private_folder(&settings.data)?;
        if let Some(kind) = network_file_system(&settings.data) {
            tracing::warn!(data = %settings.data.display(), "the data folder lies on {kind}: {ON_NETWORK}");
        }
        let keeps_account = models.is_none();
        let models = match models {
            Some(models) => models,
            None => Arc::new(ModelCatalog::new(settings.clone())?),
        };
        let knowledge =
            if documents { Some(Knowledge::open(&settings, &models, &caller).await?) } else { None };
        let assistants = LiveAssistants::default();
        let rehearsal = (
            rehearsal::NAME.to_owned(),
            rehearsal::graph_entry()?,
            own_definition("Rehearsal", rehearsal::DESCRIPTION),
        );
        let grounding = models.grounding()?;
        let parts = knowledge.as_ref().filter(|_| turns).map(|knowledge| AssistantParts {
            settings: settings.clone(),
            models: models.clone(),
            index: knowledge.search.clone(),
            cache: knowledge.answers.clone(),
            catalogues: knowledge.catalogues.clone(),
            grounding: grounding.clone(),
            tools,
            only,
        });
        let mut entries = match &parts {
            Some(parts) => make_all(&assistants, parts).await?,
            None => Vec::new(),
        };
        let mut own = Vec::new();
        for (name, entry, definition) in std::iter::once(rehearsal).chain(graphs) {
            assistants.change(|registry| registry.add(&name, &entry, definition));
            own.push(name.clone());
            entries.push((name, entry));
        }
        let graphs: Graphs = entries.into_iter().collect();
        let engine =
            if turns { Some(open_turns(&settings, turns_file, graphs.clone()).await?) } else { None };
        if let Some(engine) = engine.as_ref().filter(|_| keeps_account) {
            let spending: Arc<dyn Spending> = engine.clone();
            models.keep_spending(spending);
            if settings.engine.url.is_some() {
                let shares = keep_shares(Arc::downgrade(engine), models.shared_providers());
                tokio::spawn(shares);
            }
        }
        let documents = match knowledge.as_ref().filter(|_| loads) {
            Some(knowledge) => Some(open_documents(&settings, knowledge, &assistants.get()).await?),
            None => None,
        };
        if let Some(documents) = &documents {
            tokio::spawn(keep_erasing(documents.downgrade(), settings.clone()));
        }
        let sources = match &documents {
            Some(documents) => Some(SyncService::new(&settings, documents.clone())?),
            None => None,
        };
        let checks = match &engine {
            Some(turns) => Checked {
                settings: &settings,
                models: &models,
                assistants: &assistants,
                turns,
                documents: documents.as_ref().zip(knowledge.as_ref()).map(|(documents, knowledge)| {
                    CheckedDocuments {
                        loads: documents.engine(),
                        store: documents.store(),
                        embedder: &knowledge.embedder,
                    }
                }),
                reranker: knowledge.as_ref().and_then(|knowledge| knowledge.reranker.clone()),
                grounding,
            }
            .checks(),
            None => Vec::new(),
        };
        let info = ServerInfo::of(&settings, &models);
        let scope = Scope::of(Tenant::local());
        let watch = parts.map(|parts| {
            let (watch, look) = Watch::new(assistants.clone(), parts, graphs, documents.clone(), own);
            (tokio::spawn(watch.run()).abort_handle(), look)
        });
        let answers = knowledge.map(|knowledge| -> Arc<dyn AnswerCache> { knowledge.answers });
        Ok(App::new(Inner {
            settings,
            models,
            assistants,
            watch,
            engine,
            documents,
            sources,
            answers,
            checks,
            info,
            began: std::time::SystemTime::now(),
            scope,
        }))
    }
}

/// Makes the data folder, for the user who runs this alone.
fn make_private_folder(folder: &Path) -> Result<(), Error> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.doing(|| format!("the data folder {} cannot be made", folder.display()))
}

async fn open_documents(
    settings: &Settings,
    knowledge: &Knowledge,
    assistants: &AssistantRegistry,
) -> Result<DocumentService, Error> {
    // Also of those who cannot answer: their documents can be loaded all the same.
    let known = crate::assistants::known_assistants(settings, &[])?;
    let mut definitions: Vec<Definition> =
        known.into_iter().filter_map(|known| Some(known.assistant.ok()?.definition)).collect();
    definitions.extend(assistants.ready().values().map(|info| info.definition.clone()));
    let named = definitions.iter().flat_map(|definition| &definition.documents);
    let ingestion = knowledge.ingestion(settings, named.map(|document| document.url.as_str()))?;
    let graphs: Graphs = [(GRAPH.to_owned(), GraphEntry::job(ingestion.compiled()?))].into_iter().collect();
    let engine = open_loads(settings, graphs).await?;
    let (store, index): (_, Arc<dyn Index>) = (knowledge.store.clone(), knowledge.search.clone());
    let service = DocumentService::new(store, index, ingestion, engine, settings.ingest.clone(), definitions);
    service.recover().await?;
    Ok(service)
}
