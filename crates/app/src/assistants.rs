//! The assistants: those that ship, those of the user's folder, and graphs that a program registers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ibid_assistants::definition::{Definition, Models};
use ibid_assistants::tools::{ToolContext, ToolEntry, connect};
use ibid_assistants::{
    AnswerFormat, Assistant, FILE, InvalidAssistant, Ports, SHIPPED, TEXT, WebAccess, assistant_graph,
    named_columns,
};
use ibid_core::cache::AnswerCache;
use ibid_core::catalogue::Catalogues;
use ibid_core::evidence::Index;
use ibid_core::model::{ChatModel, Grounding};
use ibid_core::tool::Tool;
use ibid_engine::GraphEntry;
use ibid_graph::Topology;

use crate::error::{DoingExt, Error};
use crate::models::ModelCatalog;
use crate::nearest::hint;
use crate::rehearsal;
use crate::settings::Settings;

/// Where an assistant comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssistantOrigin {
    /// It ships with ibid, and nobody changed it.
    Shipped,
    /// It is in the user's folder.
    Folder,
}

/// An assistant by name, and whether it is in order.
pub struct KnownAssistant {
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub origin: AssistantOrigin,
    /// What it is, or what is wrong with it.
    pub assistant: Result<Assistant, InvalidAssistant>,
}

/// All assistants by name, whether they are in order or not. One of the user's folder takes the place of one that ships.
/// They may use tools that were registered besides those that ship.
///
/// # Errors
/// Fails when the user's folder cannot be read.
pub fn known_assistants(settings: &Settings, extra_tools: &[String]) -> Result<Vec<KnownAssistant>, Error> {
    let shipped = SHIPPED.iter().map(|shipped| KnownAssistant {
        name: shipped.name.to_owned(),
        origin: AssistantOrigin::Shipped,
        assistant: shipped.read(),
    });
    let mut found: Vec<KnownAssistant> = shipped.collect();
    for folder in folders(&settings.assistants)? {
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        found.retain(|other| other.name != name);
        let assistant = Assistant::load(&folder, extra_tools);
        let shipped = SHIPPED.iter().find(|shipped| shipped.name == name);
        let origin = match shipped.filter(|shipped| shipped.is_in(&folder)) {
            Some(_) => AssistantOrigin::Shipped,
            None => AssistantOrigin::Folder,
        };
        found.push(KnownAssistant { name, origin, assistant });
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

/// The folders of assistants in a folder.
pub(crate) fn folders(root: &Path) -> Result<Vec<PathBuf>, Error> {
    if !root.is_dir() {
        return Ok(Vec::new());
    }
    let unread = || format!("{} cannot be read", root.display());
    let entries = std::fs::read_dir(root).doing(unread)?;
    let paths: Result<Vec<PathBuf>, std::io::Error> = entries.map(|entry| Ok(entry?.path())).collect();
    Ok(paths.doing(unread)?.into_iter().filter(|path| path.join(FILE).is_file()).collect())
}

/// An assistant that can answer.
#[derive(Clone)]
pub struct AssistantInfo {
    /// What it is.
    pub definition: Definition,
    /// The formats in which it can answer.
    pub formats: Vec<AnswerFormat>,
    /// The plan of its graph.
    pub topology: Topology,
    /// Its own tools. Those of other servers are for the assistant alone.
    pub tools: Vec<Arc<dyn Tool>>,
    /// What is wrong with its folder since it was changed; until that is mended, it answers as before.
    pub problem: Option<String>,
}

impl AssistantInfo {
    /// The same, if it has a mode and a format of these names. One that was registered in Rust says itself what it does with them.
    pub(crate) fn offering(
        self: Arc<Self>,
        name: &str,
        mode: Option<&str>,
        format: Option<&str>,
    ) -> Result<Arc<Self>, Error> {
        let mode = mode.map_or(Ok(()), |mode| self.definition.mode(Some(mode)).map(drop));
        let format = format.map_or(Ok(()), |format| self.definition.format(Some(format)).map(drop));
        let offered = if self.definition.modes.is_empty() { Ok(()) } else { mode.and(format) };
        offered
            .map_err(|why| Error::NotOffered(format!("the assistant `{name}` cannot answer so: {why}")))?;
        Ok(self)
    }
}

/// Who can answer, and who cannot.
#[derive(Clone, Default)]
pub struct AssistantRegistry {
    ready: BTreeMap<String, Arc<AssistantInfo>>,
    left_out: BTreeMap<String, String>,
}

/// What assistants are made with.
#[derive(Clone)]
pub(crate) struct AssistantParts {
    pub(crate) settings: Arc<Settings>,
    pub(crate) models: Arc<ModelCatalog>,
    pub(crate) index: Arc<dyn Index>,
    /// The answers that may be given again.
    pub(crate) cache: Arc<dyn AnswerCache>,
    /// The catalogues.
    pub(crate) catalogues: Arc<dyn Catalogues>,
    /// The model that checks sentences against sources.
    pub(crate) grounding: Option<Arc<dyn Grounding>>,
    /// The tools that were registered.
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    /// The only assistant whose servers are started, if not all are.
    pub(crate) only: Option<String>,
}

impl AssistantRegistry {
    /// One assistant by name, as it is defined.
    ///
    /// # Errors
    /// Fails when there is none, or when it is not in order.
    pub fn find(settings: &Settings, name: &str) -> Result<Assistant, Error> {
        let all = known_assistants(settings, &[])?;
        let names: Vec<&str> = all.iter().map(|known| known.name.as_str()).chain([rehearsal::NAME]).collect();
        let unknown = Error::Unknown(format!("there is no assistant `{name}`; {}", hint(name, names)));
        let found = all.into_iter().find(|known| known.name == name).ok_or(unknown)?;
        Ok(found.assistant?)
    }

    /// The plan of an assistant's graph, without anything behind it.
    ///
    /// # Errors
    /// Fails when there is none, or when it is not in order.
    pub fn topology(settings: &Settings, name: &str) -> Result<Topology, Error> {
        if name == rehearsal::NAME {
            return Ok(rehearsal::graph_entry()?.topology().clone());
        }
        Ok(assistant_graph(Self::find(settings, name)?, Ports::absent())?.topology().clone())
    }

    /// Those that can answer, by name.
    pub fn ready(&self) -> &BTreeMap<String, Arc<AssistantInfo>> {
        &self.ready
    }

    /// Those that cannot answer, and why.
    pub fn left_out(&self) -> &BTreeMap<String, String> {
        &self.left_out
    }

    /// One that can answer.
    ///
    /// # Errors
    /// Names those that there are, or says why this one cannot answer.
    pub fn get(&self, name: &str) -> Result<Arc<AssistantInfo>, Error> {
        if let Some(info) = self.ready.get(name) {
            return Ok(info.clone());
        }
        if let Some(reason) = self.left_out.get(name) {
            return Err(Error::Missing(reason.clone()));
        }
        let names: Vec<&str> = self.ready.keys().map(String::as_str).collect();
        Err(Error::Unknown(format!("there is no assistant `{name}`; there are {}", names.join(", "))))
    }

    /// Who cannot answer, and why: a sentence for each reason.
    pub fn obstacles(&self) -> Vec<String> {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for (name, reason) in &self.left_out {
            match reasons.iter_mut().find(|(known, _)| known == reason) {
                Some((_, names)) => names.push(name),
                None => reasons.push((reason, vec![name])),
            }
        }
        let sentence =
            |(reason, names): (&str, Vec<&str>)| format!("{} cannot answer: {reason}", names.join(", "));
        let changed = self.ready.iter().filter_map(|(name, info)| {
            let problem = info.problem.as_ref()?;
            Some(format!("{name} answers as before its folder was changed: {problem}"))
        });
        reasons.into_iter().map(sentence).chain(changed).collect()
    }

    /// Adds a graph that a program brings.
    pub(crate) fn add(&mut self, name: &str, entry: &GraphEntry, definition: Definition) {
        let formats = vec![AnswerFormat::text()];
        let topology = entry.topology().clone();
        let info = AssistantInfo { definition, formats, topology, tools: Vec::new(), problem: None };
        self.ready.insert(name.to_owned(), Arc::new(info));
    }

    /// Takes in an assistant as it was made, in the place of the one that had its name. One that cannot be made any more
    /// answers as before.
    pub(crate) fn take(&mut self, name: &str, made: Result<AssistantInfo, String>) {
        match (made, self.ready.get_mut(name)) {
            (Ok(info), _) => {
                self.left_out.remove(name);
                self.ready.insert(name.to_owned(), Arc::new(info));
            }
            (Err(problem), Some(before)) => Arc::make_mut(before).problem = Some(problem),
            (Err(problem), None) => {
                self.left_out.insert(name.to_owned(), problem);
            }
        }
    }

    /// Forgets an assistant that is no more.
    pub(crate) fn forget(&mut self, name: &str) {
        self.ready.remove(name);
        self.left_out.remove(name);
    }
}

impl AssistantParts {
    /// Makes an assistant, and its graph for the engine.
    pub(crate) async fn make(
        &self,
        assistant: Result<Assistant, InvalidAssistant>,
    ) -> Result<(AssistantInfo, GraphEntry), Error> {
        let assistant = assistant?;
        let (definition, formats) = (assistant.definition.clone(), assistant.formats.clone());
        let starts = self.only.as_ref().is_none_or(|only| *only == assistant.name);
        if !starts && !definition.mcp.is_empty() {
            return Err(Error::Missing("its servers are not started for another assistant".to_owned()));
        }
        let ports = ports(self, &definition).await?;
        let own = |tool: &&Arc<dyn Tool>| definition.tools.contains(&tool.spec().name);
        let tools = ports.tools.iter().filter(own).cloned().collect();
        let graph = assistant_graph(assistant, ports)?;
        let (history, topology) = (definition.limits.history_messages, graph.topology().clone());
        let mut entry = GraphEntry::turn(graph).with_history(history);
        // Who asks for one assistant alone, as an evaluation does, gets that one.
        if let Some(variant) = definition.variant.as_ref().filter(|_| self.only.is_none()) {
            entry = entry.with_variant(&variant.assistant, variant.share);
        }
        let info = AssistantInfo { definition, formats, topology, tools, problem: None };
        Ok((info, entry))
    }

    /// All assistants by name, as they are defined now.
    pub(crate) fn known(&self) -> Result<Vec<KnownAssistant>, Error> {
        let extra: Vec<String> = self.tools.iter().map(|tool| tool.spec().name.clone()).collect();
        known_assistants(&self.settings, &extra)
    }
}

async fn ports(parts: &AssistantParts, definition: &Definition) -> Result<Ports, Error> {
    let Models { answer, small } = &definition.models;
    let answer: Arc<dyn ChatModel> = Arc::new(parts.models.chat_of("answer", answer.as_deref()).await?);
    let configured = parts.settings.models.contains_key("small").then_some("small");
    let small: Arc<dyn ChatModel> = match small.as_deref().or(configured) {
        Some(name) => Arc::new(parts.models.chat(name)?),
        None => answer.clone(),
    };
    let index = named_columns(parts.index.clone(), &definition.columns);
    let settings = &parts.settings.tools;
    let context = ToolContext { index: &index, catalogues: Some(&parts.catalogues), definition, settings };
    let mut tools = Vec::new();
    for name in &definition.tools {
        if let Some(own) = parts.tools.iter().find(|tool| tool.spec().name == *name) {
            tools.push(own.clone());
            continue;
        }
        let entry =
            ToolEntry::find(name).ok_or_else(|| Error::Unknown(format!("there is no tool `{name}`")))?;
        tools.extend(entry.build(&context).doing(|| "in `tools`".to_owned())?);
    }
    for server in &definition.mcp {
        tools.extend(connect(server).await.map_err(Error::Missing)?);
    }
    let web = match settings.web.build(&|name| std::env::var(name).ok()) {
        Ok(None) => WebAccess::Off,
        Ok(Some(search)) => WebAccess::On { search: Arc::new(search), rules: settings.web.rules() },
        Err(missing) => WebAccess::Missing(missing),
    };
    let grounding = parts.grounding.clone();
    let cache = definition.cache.enabled.then(|| parts.cache.clone());
    let catalogues = Some(parts.catalogues.clone());
    Ok(Ports { answer, small, index, tools, web, cache, catalogues, grounding })
}

/// The definition of a graph that a program brings.
pub(crate) fn own_definition(title: &str, description: &str) -> Definition {
    Definition {
        title: title.to_owned(),
        description: description.to_owned(),
        modes: Vec::new(),
        formats: vec![TEXT.to_owned()],
        ..Definition::default()
    }
}
