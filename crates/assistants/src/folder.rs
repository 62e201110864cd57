//! An assistant is a folder: `assistant.toml`, `prompts/*.md`, `formats/*.json` and `faq/*.md`. Those that ship with ibid are
//! folders too, in the binary.

use std::collections::BTreeMap;
use std::path::Path;

use crate::catalogue;
use crate::definition::{Definition, GraphKind};
use crate::format::{AnswerFormat, FORMATS_FOLDER};
use crate::prompts::{PromptError, Prompts};
use crate::tools::{TOOLS, ToolEntry};

/// The file that says what an assistant is.
pub const FILE: &str = "assistant.toml";
/// The folder of its prompts.
pub const PROMPTS_FOLDER: &str = "prompts";
/// The folder of common questions: a file for each category, which is loaded as a document.
pub const FAQ_FOLDER: &str = "faq";

/// An assistant that was read and found to be in order.
#[derive(Debug, Clone)]
pub struct Assistant {
    /// Its name: that of its folder.
    pub name: String,
    /// What it is.
    pub definition: Definition,
    /// Its prompts.
    pub prompts: Prompts,
    /// The formats in which it can answer, the first one unless asked otherwise.
    pub formats: Vec<AnswerFormat>,
    /// Its common questions: the text of each category by the name of its file.
    pub faq: BTreeMap<String, String>,
}

/// What is wrong with an assistant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the assistant `{name}` cannot be used:{}", .problems.iter().map(|problem| format!("\n  {problem}")).collect::<String>())]
pub struct InvalidAssistant {
    /// Which one.
    pub name: String,
    /// Everything that is wrong, in words.
    pub problems: Vec<String>,
}

impl Assistant {
    /// Reads an assistant from its files, by their path in its folder. It may use the tools that ship, and `extra_tools`,
    /// which were registered.
    ///
    /// # Errors
    /// Names everything that is wrong.
    pub fn read(
        name: &str,
        files: &BTreeMap<String, String>,
        extra_tools: &[String],
    ) -> Result<Self, InvalidAssistant> {
        let mut problems = Vec::new();
        if name.parse::<ibid_core::Corpus>().is_err() {
            problems.push(format!(
                "`{name}` cannot be its name: use letters, digits, hyphens, underscores or dots"
            ));
        }
        let toml = files.get(FILE).map(String::as_str).unwrap_or_default();
        let definition = toml::from_str::<Definition>(toml).map_err(|error| {
            // With the line, as the parser shows it.
            problems.push(format!("{FILE}: {}", error.to_string().trim_end().replace('\n', "\n  ")));
        });
        if let Ok(definition) = &definition {
            problems.extend(definition.problems().into_iter().map(|problem| format!("{FILE}: {problem}")));
            for tool in definition
                .tools
                .iter()
                .filter(|tool| !extra_tools.contains(tool) && ToolEntry::find(tool).is_none())
            {
                let names = TOOLS
                    .iter()
                    .map(|entry| entry.name)
                    .chain(extra_tools.iter().map(String::as_str))
                    .collect::<Vec<_>>()
                    .join(", ");
                problems.push(format!("{FILE}: there is no tool `{tool}`; there are {names}"));
            }
        }
        let prompts = Prompts::new(&inside(files, PROMPTS_FOLDER))
            .map_err(|errors| problems.extend(errors.iter().map(PromptError::to_string)));
        let named = definition.as_ref().map(|definition| definition.formats.as_slice()).unwrap_or_default();
        let formats = AnswerFormat::find_all(named, &inside(files, FORMATS_FOLDER)).map_err(|wrong| {
            problems.extend(wrong.into_iter().map(|problem| format!("{FORMATS_FOLDER}: {problem}")));
        });
        match (definition, prompts, formats) {
            (Ok(definition), Ok(prompts), Ok(mut formats)) if problems.is_empty() => {
                if definition.graphs().contains(&GraphKind::Concierge) {
                    formats.extend(catalogue::formats(&definition.catalogue));
                }
                let faq = inside(files, FAQ_FOLDER);
                Ok(Self { name: name.to_owned(), definition, prompts, formats, faq })
            }
            _ => Err(InvalidAssistant { name: name.to_owned(), problems }),
        }
    }

    /// Reads an assistant from its folder.
    ///
    /// # Errors
    /// Names everything that is wrong.
    pub fn load(folder: &Path, extra_tools: &[String]) -> Result<Self, InvalidAssistant> {
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let unread = |path: &Path, error: &std::io::Error| InvalidAssistant {
            name: name.clone(),
            problems: vec![format!("{} cannot be read: {error}", path.display())],
        };
        let read = |path: &Path| std::fs::read_to_string(path).map_err(|error| unread(path, &error));
        let mut files = BTreeMap::from([(FILE.to_owned(), read(&folder.join(FILE))?)]);
        for inside in [PROMPTS_FOLDER, FORMATS_FOLDER, FAQ_FOLDER] {
            let path = folder.join(inside);
            if !path.is_dir() {
                continue;
            }
            for entry in std::fs::read_dir(&path).map_err(|error| unread(&path, &error))? {
                let path = entry.map_err(|error| unread(&path, &error))?.path();
                let file =
                    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                if !file.starts_with('.') {
                    files.insert(format!("{inside}/{file}"), read(&path)?);
                }
            }
        }
        Self::read(&name, &files, extra_tools)
    }
}

/// The files in a folder, by their name there.
fn inside(files: &BTreeMap<String, String>, folder: &str) -> BTreeMap<String, String> {
    let name = |path: &str| path.strip_prefix(folder)?.strip_prefix('/').map(str::to_owned);
    files.iter().filter_map(|(path, text)| Some((name(path)?, text.clone()))).collect()
}
