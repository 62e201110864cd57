//! `ibid assistants`: lists them, makes one from a template, and says what is wrong with one.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use ibid_assistants::SHIPPED;
use ibid_assistants::tools::ToolEntry;

use super::printable;
use crate::arguments::AssistantsCommand;
use ibid_app::hint;
use ibid_app::{AssistantOrigin, KnownAssistant, Settings, known_assistants};

/// Does what was asked.
pub(super) fn run(config: &Settings, command: &AssistantsCommand) -> anyhow::Result<ExitCode> {
    match command {
        AssistantsCommand::List => list(config),
        AssistantsCommand::New { name, from } => new(config, name, from),
        AssistantsCommand::Check { name } => check(config, name.as_deref()),
    }
}

fn list(config: &Settings) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    for KnownAssistant { name, origin, assistant } in known_assistants(config, &[])? {
        let from = if origin == AssistantOrigin::Shipped { "ships with ibid" } else { "of your folder" };
        match assistant {
            Ok(assistant) => {
                let definition = assistant.definition;
                let modes: Vec<&str> = definition.modes.iter().map(|mode| mode.name.as_str()).collect();
                writeln!(
                    out,
                    "{name:<18} {} ({from}; modes {})",
                    printable(&definition.title),
                    modes.join(", ")
                )?;
                writeln!(out, "{:<18} {}", "", printable(&definition.description))?;
            }
            Err(error) => {
                writeln!(out, "{name:<18} cannot be used ({from}): {} problems", error.problems.len())?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn new(config: &Settings, name: &str, from: &str) -> anyhow::Result<ExitCode> {
    let Some(template) = SHIPPED.iter().find(|shipped| shipped.name == from) else {
        bail!("there is no template `{from}`; {}", hint(from, SHIPPED.iter().map(|shipped| shipped.name)));
    };
    if name.parse::<ibid_core::Corpus>().is_err() {
        bail!("`{name}` cannot name an assistant: use letters, digits, hyphens, underscores or dots");
    }
    let folder = config.assistants.join(name);
    if folder.exists() {
        bail!("{} is there already", folder.display());
    }
    for (path, text) in template.files {
        let file = folder.join(path);
        write_new(&file, text).with_context(|| format!("{} cannot be written", file.display()))?;
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "{} is an assistant like `{from}`. Next:", folder.display())?;
    writeln!(out, "  edit {}", folder.join(ibid_assistants::FILE).display())?;
    writeln!(out, "  ibid assistants check {name}")?;
    writeln!(out, "  ibid ask {name} \"…\"")?;
    Ok(ExitCode::SUCCESS)
}

fn write_new(file: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::File::create_new(file)?.write_all(text.as_bytes())
}

fn check(config: &Settings, wanted: Option<&str>) -> anyhow::Result<ExitCode> {
    let (mut out, mut sound, mut any) = (std::io::stdout().lock(), true, false);
    let all = known_assistants(config, &[])?;
    let names: Vec<String> = all.iter().map(|known| known.name.clone()).collect();
    for KnownAssistant { name, assistant, .. } in
        all.into_iter().filter(|known| wanted.is_none_or(|wanted| wanted == known.name))
    {
        any = true;
        let mut problems = Vec::new();
        match assistant {
            Err(error) => problems.extend(error.problems),
            Ok(assistant) => {
                let models = &assistant.definition.models;
                for model in [&models.answer, &models.small].into_iter().flatten() {
                    if !config.models.contains_key(model) {
                        let hint = hint(model, config.models.keys().map(String::as_str));
                        problems.push(format!("there is no model `{model}` in the configuration; {hint}"));
                    }
                }
                for tool in &assistant.definition.tools {
                    let off = ToolEntry::find(tool).and_then(|entry| entry.switched_off(&config.tools));
                    if let Some(setting) = off {
                        writeln!(out, "{name}: the tool `{tool}` is off until `{setting}` is set to true")?;
                    }
                }
            }
        }
        if problems.is_empty() {
            writeln!(out, "{name}: in order")?;
        }
        for problem in &problems {
            sound = false;
            writeln!(out, "{name}: {}", printable(problem))?;
        }
    }
    if !any {
        let wanted = wanted.unwrap_or_default();
        bail!("there is no assistant `{wanted}`; {}", hint(wanted, names.iter().map(String::as_str)));
    }
    Ok(if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
