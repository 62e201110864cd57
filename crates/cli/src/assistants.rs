//! Puts assistants together: those that ship and those of the user's folder, with their models, documents and tools.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use ibid_assistants::definition::{Definition, Models, Retrieval};
use ibid_assistants::tools::{Stocks, Weather, connect, of_documents};
use ibid_assistants::{Assistant, FILE, Format, InvalidAssistant, Ports, SHIPPED, program};
use ibid_core::evidence::Index;
use ibid_core::model::ChatModel;
use ibid_core::tool::Tool;
use ibid_engine::{Assistant as Runnable, Assistants, TurnProgram};

use crate::config::Config;
use crate::library::Library;
use crate::nearest::hint;
use crate::parts::Parts;
use crate::rehearsal;

/// The assistant that answers where none is named.
pub(crate) const DEFAULT: &str = "default";

/// Where an assistant comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    /// It ships with ibid.
    Shipped,
    /// It is in the user's folder.
    Folder,
}

/// An assistant by name, and whether it is in order.
pub(crate) type Known = (String, From, Result<Assistant, InvalidAssistant>);

/// All assistants by name, whether they are in order or not. One of the user's folder takes the place of one that ships.
pub(crate) fn all(config: &Config) -> anyhow::Result<Vec<Known>> {
    let mut found: Vec<Known> =
        SHIPPED.iter().map(|shipped| (shipped.name.to_owned(), From::Shipped, shipped.read())).collect();
    for folder in folders(&config.assistants)? {
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        found.retain(|(other, ..)| *other != name);
        found.push((name, From::Folder, Assistant::load(&folder)));
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(found)
}

/// The folders of assistants in a folder.
fn folders(root: &Path) -> anyhow::Result<Vec<std::path::PathBuf>> {
    if !root.is_dir() {
        return Ok(Vec::new());
    }
    let entries = std::fs::read_dir(root).with_context(|| format!("{} cannot be read", root.display()))?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    Ok(paths.into_iter().filter(|path| path.join(FILE).is_file()).collect())
}

/// One assistant by name.
pub(crate) fn find(config: &Config, name: &str) -> anyhow::Result<Assistant> {
    let all = all(config)?;
    let names: Vec<&str> = all.iter().map(|(name, ..)| name.as_str()).chain([rehearsal::NAME]).collect();
    let hint = hint(name, names);
    let found = all.into_iter().find(|(other, ..)| other == name);
    let (.., assistant) = found.with_context(|| format!("there is no assistant `{name}`; {hint}"))?;
    Ok(assistant?)
}

/// An assistant's graph without anything behind it, to be drawn.
pub(crate) fn drawn(config: &Config, name: &str) -> anyhow::Result<TurnProgram> {
    let Assistant { name, definition, prompts } = find(config, name)?;
    Ok(program(&name, definition, prompts, Ports::absent())?)
}

/// An assistant that can answer.
pub(crate) struct Ready {
    /// What it is called.
    pub(crate) name: String,
    /// What it is.
    pub(crate) definition: Definition,
    /// Its tools.
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    /// What the engine runs.
    pub(crate) runnable: Runnable,
}

/// Who can answer, and who cannot.
pub(crate) struct Lineup {
    /// Those that can.
    pub(crate) ready: Vec<Ready>,
    /// Those that cannot, and why.
    pub(crate) left_out: Vec<(String, anyhow::Error)>,
}

impl Lineup {
    /// Everybody, with what they answer from. The servers whose tools an assistant uses are started if `starts` says so.
    pub(crate) async fn of(
        config: &Config,
        library: &Library<'_>,
        starts: impl Fn(&str) -> bool,
    ) -> anyhow::Result<Self> {
        let index: Arc<dyn Index> = Arc::new(library.search()?);
        let mut lineup = Self { ready: vec![rehearsing()?], left_out: Vec::new() };
        for (name, _, assistant) in all(config)? {
            let put = async {
                let Assistant { name, definition, prompts } = assistant?;
                if !starts(&name) && !definition.mcp.is_empty() {
                    bail!("its servers are not started for another assistant");
                }
                let ports = ports(config, &library.parts, &definition, &index).await?;
                let (tools, history) = (ports.tools.clone(), definition.limits.history_messages);
                let program = program(&name, definition.clone(), prompts, ports)?;
                anyhow::Ok(Ready { name, definition, tools, runnable: Runnable { program, history } })
            };
            match put.await {
                Ok(ready) => lineup.ready.push(ready),
                Err(error) => lineup.left_out.push((name, error)),
            }
        }
        Ok(lineup)
    }

    /// Who cannot answer, and why: a sentence for each reason.
    pub(crate) fn obstacles(&self) -> Vec<String> {
        let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
        for (name, error) in &self.left_out {
            let reason = format!("{error:#}");
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, names)) => names.push(name),
                None => reasons.push((reason, vec![name])),
            }
        }
        let told =
            |(reason, names): (String, Vec<&str>)| format!("{} cannot answer: {reason}", names.join(", "));
        reasons.into_iter().map(told).collect()
    }

    /// For the engine.
    pub(crate) fn assistants(&self) -> Assistants {
        self.ready.iter().map(|ready| (ready.name.clone(), ready.runnable.clone())).collect()
    }
}

/// The assistant that needs neither models nor documents.
pub(crate) fn rehearsing() -> anyhow::Result<Ready> {
    let definition = Definition {
        title: "Rehearsal".to_owned(),
        description: "Repeats what it is told, without a model, to show the machine at work.".to_owned(),
        modes: Vec::new(),
        formats: vec![Format::Text],
        ..Definition::default()
    };
    let (name, runnable) = (rehearsal::NAME.to_owned(), rehearsal::assistant()?);
    Ok(Ready { name, definition, tools: Vec::new(), runnable })
}

async fn ports(
    config: &Config,
    parts: &Parts<'_>,
    definition: &Definition,
    index: &Arc<dyn Index>,
) -> anyhow::Result<Ports> {
    let Models { answer, small } = &definition.models;
    let answer: Arc<dyn ChatModel> = Arc::new(parts.chat_of("answer", answer.as_deref()).await?);
    let small: Arc<dyn ChatModel> =
        match small.as_deref().or(config.models.contains_key("small").then_some("small")) {
            Some(name) => Arc::new(parts.chat(name)?),
            None => answer.clone(),
        };
    let tools = definition
        .tools
        .iter()
        .filter_map(|name| tool(config, name, index, &definition.retrieval).transpose());
    let mut tools = tools.collect::<anyhow::Result<Vec<_>>>()?;
    for server in &definition.mcp {
        tools.extend(connect(server).await.map_err(|error| anyhow!(error))?);
    }
    Ok(Ports { answer, small, index: index.clone(), tools })
}

/// A tool by its name; none if it asks a service that is not switched on.
fn tool(
    config: &Config,
    name: &str,
    index: &Arc<dyn Index>,
    retrieval: &Retrieval,
) -> anyhow::Result<Option<Arc<dyn Tool>>> {
    let settings = &config.tools;
    if let Some(tool) = of_documents(name, index, retrieval) {
        return Ok(Some(tool));
    }
    if let Some((_, false)) = switch(config, name) {
        return Ok(None);
    }
    let unusable = |error: String| anyhow!(error).context("in `tools`");
    match name {
        "get_weather" => {
            let weather =
                Weather::new(&settings.weather_places, &settings.weather_forecasts).map_err(unusable)?;
            Ok(Some(Arc::new(weather)))
        }
        "get_stock_price" => Ok(Some(Arc::new(Stocks::new(&settings.stocks_quotes).map_err(unusable)?))),
        _ => bail!("there is no tool `{name}`"),
    }
}

/// The setting that switches a tool on, and whether it is on; none for a tool that needs none.
fn switch(config: &Config, name: &str) -> Option<(&'static str, bool)> {
    match name {
        "get_weather" => Some(("tools.weather", config.tools.weather)),
        "get_stock_price" => Some(("tools.stocks", config.tools.stocks)),
        _ => None,
    }
}

/// The tools of an assistant that are switched off, with the setting that switches each on.
pub(crate) fn switched_off(config: &Config, definition: &Definition) -> Vec<(String, &'static str)> {
    let off = definition.tools.iter().filter_map(|name| match switch(config, name) {
        Some((setting, false)) => Some((name.clone(), setting)),
        _ => None,
    });
    off.collect()
}
