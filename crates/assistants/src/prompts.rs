//! The prompts: Markdown files with declared variables, in English and, where there is one, in the language of the
//! conversation. An assistant may put its own file in the place of any.

use std::collections::BTreeMap;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};
use serde_json::Value;

use crate::language::Language;

/// A prompt and the variables that it may use.
#[derive(Debug, Clone, Copy)]
pub struct Declared {
    /// Its name, which is that of its file without `.md`.
    pub name: &'static str,
    /// What it is for.
    pub purpose: &'static str,
    /// The variables that it may use.
    pub variables: &'static [&'static str],
    /// The text in English, and those in other languages.
    english: &'static str,
    others: &'static [(&'static str, &'static str)],
}

macro_rules! declared {
    ($name:literal, $purpose:literal, [$($variable:literal),*]) => {
        declared!($name, $purpose, [$($variable),*], ["es"])
    };
    ($name:literal, $purpose:literal, [$($variable:literal),*], [$($language:literal),*]) => {
        Declared {
            name: $name,
            purpose: $purpose,
            variables: &[$($variable),*],
            english: include_str!(concat!("../prompts/", $name, ".md")),
            others: &[$(($language, include_str!(concat!("../prompts/", $name, ".", $language, ".md")))),*],
        }
    };
}

/// All prompts.
pub const PROMPTS: [Declared; 19] = [
    declared!("persona", "who the assistant is; it stands in the prompts that write", []),
    declared!(
        "condense",
        "makes a question of a conversation, and puts it in several ways",
        ["conversation", "question", "others"]
    ),
    declared!("classify", "tells chat from a question to the documents", ["description", "message"]),
    declared!("rewrite", "makes searches of a question", ["conversation", "documents", "question"]),
    declared!("plan", "plans an answer", ["persona", "question", "tools", "documents"]),
    declared!("agent", "calls tools", ["persona", "plan", "unknown"]),
    declared!("generate", "writes the answer", ["persona", "format", "knowledge", "language", "unknown"]),
    declared!("evidence", "shows the sources and the question", ["question", "sources"]),
    declared!("chat", "talks", ["persona", "description", "knowledge", "language"]),
    declared!("grade", "decides which passages are relevant", ["question", "passages"]),
    declared!("ground", "decides which sentences the sources support", ["sources", "sentences"]),
    declared!("check_answer", "decides whether an answer answers the question", ["question", "answer"]),
    declared!(
        "search_again",
        "makes other searches after an answer that did not hold",
        ["question", "searched", "faults", "most"]
    ),
    declared!(
        "intent",
        "decides what a message to a concierge wants",
        ["description", "conversation", "message"]
    ),
    declared!("extract", "reads what is looked for in a catalogue", ["fields", "known", "message"]),
    declared!("payment", "reads what is to be paid in instalments", ["options", "financed", "message"]),
    declared!(
        "present",
        "writes the words around what was found or worked out",
        ["persona", "language", "values", "facts", "message"]
    ),
    declared!("repair", "has an answer written again", ["findings"]),
    declared!(
        "unknown",
        "says that the documents do not hold the answer",
        ["unknown", "searched_for", "failures", "searched"],
        []
    ),
];

/// Why a prompt cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the prompt `{name}` cannot be used: {reason}")]
pub struct PromptError {
    name: String,
    reason: String,
}

/// What prompts were called before.
const FORMER_NAMES: [(&str, &str); 1] = [("decide", "classify")];

/// The prompts of one assistant.
#[derive(Debug, Clone)]
pub struct Prompts {
    environment: Environment<'static>,
}

impl Prompts {
    /// The usual prompts, with these files (by name, such as `persona.es.md`) in the place of theirs.
    ///
    /// # Errors
    /// Refuses a file that is no prompt, that cannot be read as a template, or that uses what is not declared.
    pub fn new(files: &BTreeMap<String, String>) -> Result<Self, Vec<PromptError>> {
        let files: BTreeMap<String, &String> =
            files.iter().map(|(name, text)| (current_name(name), text)).collect();
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        if let Ok(syntax) = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build() {
            environment.set_syntax(syntax);
        }
        let mut problems = Vec::new();
        for declared in PROMPTS {
            for language in Language::all() {
                let name = format!("{}.{}", declared.name, language.code());
                let other = declared.others.iter().find(|(code, _)| *code == language.code());
                let text = other.map_or(declared.english, |(_, text)| text);
                // Who replaces a prompt in one language only, means it in all.
                let own =
                    files.get(&format!("{name}.md")).or_else(|| files.get(&format!("{}.md", declared.name)));
                let text = own.map_or(text, |own| own.as_str()).trim().to_owned();
                if let Err(reason) = add(&mut environment, name.clone(), text, declared.variables) {
                    problems.push(PromptError { name, reason });
                }
            }
        }
        for file in files.keys() {
            let base = file.strip_suffix(".md").map(|name| match name.rsplit_once('.') {
                Some((base, code)) if Language::all().any(|language| language.code() == code) => base,
                _ => name,
            });
            if !PROMPTS.iter().any(|declared| Some(declared.name) == base) {
                let names = PROMPTS.map(|declared| declared.name).join(", ");
                let reason = format!("there is no prompt of that name; there are {names}");
                problems.push(PromptError { name: file.clone(), reason });
            }
        }
        if problems.is_empty() { Ok(Self { environment }) } else { Err(problems) }
    }

    /// All of them as they are written, by which versions of an assistant are told apart.
    pub(crate) fn sources(&self) -> String {
        let mut all: Vec<String> = self
            .environment
            .templates()
            .map(|(name, template)| format!("{name}\n{}", template.source()))
            .collect();
        all.sort();
        all.join("\n")
    }

    /// A prompt in a language, with its variables filled in.
    ///
    /// # Errors
    /// Fails when a variable is missing.
    pub fn render(&self, name: &str, language: Language, variables: Value) -> Result<String, PromptError> {
        let render = || {
            let template = self.environment.get_template(&format!("{name}.{}", language.code()))?;
            template.render(Serde(variables))
        };
        render().map_err(|error| PromptError { name: name.to_owned(), reason: error.to_string() })
    }
}

/// The file of a prompt under its name today. One that was renamed is still read.
fn current_name(file: &str) -> String {
    for (former, name) in FORMER_NAMES {
        if let Some(suffix) = file.strip_prefix(former).filter(|suffix| suffix.starts_with('.')) {
            tracing::warn!("the prompt `{file}` is called `{name}{suffix}` now; rename the file");
            return format!("{name}{suffix}");
        }
    }
    file.to_owned()
}

fn add(
    environment: &mut Environment<'static>,
    name: String,
    text: String,
    variables: &[&str],
) -> Result<(), String> {
    environment.add_template_owned(name.clone(), text).map_err(|error| error.to_string())?;
    let template = environment.get_template(&name).map_err(|error| error.to_string())?;
    let mut used: Vec<String> = template.undeclared_variables(false).into_iter().collect();
    used.sort();
    match used.iter().find(|variable| !variables.contains(&variable.as_str())) {
        Some(variable) if variables.is_empty() => {
            Err(format!("it uses `{variable}`, and takes no variables"))
        }
        Some(variable) => Err(format!("it uses `{variable}`; it may use {}", variables.join(", "))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn prompts_are_rendered_in_their_languages() {
        let prompts = Prompts::new(&BTreeMap::new()).unwrap();
        let step = json!({ "number": 1, "action": "search_documents", "description": "find the code", "done": true });
        let variables = json!({
            "conversation": "Person: What is the rate?\nAssistant: 2% [1].",
            "description": "It answers questions on tariffs.",
            "documents": ["Chapter 84", "Chapter 85"],
            "facts": "I found 12.",
            "fields": [{ "name": "make", "about": "who makes it" }],
            "financed": "Volkswagen Jetta",
            "known": "Volkswagen, price up to $200,000 MXN",
            "options": ["1. Volkswagen Jetta", "2. Nissan Versa"],
            "values": ["{count} = 12"],
            "failures": ["get_weather: Open-Meteo failed: it answered with status 503"],
            "answer": "2% [1].",
            "faults": ["the rate for China"],
            "most": 3,
            "passages": "<source number=\"1\">…</source>",
            "sentences": ["The rate is 2%."],
            "findings": ["no source supports 3.9 %"],
            "format": "structured",
            "knowledge": "documents",
            "language": "Spanish",
            "unknown": ["look_around"],
            "searched_for": "Searched for: lamps; LED lamps.",
            "others": 2,
            "message": "And for lamps?",
            "persona": "You help importers.",
            "plan": [step],
            "question": "And for lamps?",
            "searched": ["lamps", "LED lamps"],
            "sources": "<source number=\"1\">…</source>",
            "tools": [{ "name": "search_documents", "description": "Searches." }],
        });
        for (name, language) in ["english", "spanish"].into_iter().zip(Language::all()) {
            let rendered = PROMPTS.iter().map(|declared| {
                let text = prompts.render(declared.name, language, variables.clone()).unwrap();
                format!("## {}\n\n{text}\n", declared.name)
            });
            insta::assert_snapshot!(name, rendered.collect::<Vec<_>>().join("\n"));
        }
    }

    #[test]
    fn a_file_takes_the_place_of_a_prompt_and_may_use_what_is_declared() {
        let own = |name: &str, text: &str| Prompts::new(&[(name.to_owned(), text.to_owned())].into());
        let language = |code: &str| Language::all().find(|language| language.code() == code).unwrap();
        let prompts = own("persona.md", "You know tariffs.").unwrap();
        assert_eq!(prompts.render("persona", language("es"), json!({})).unwrap(), "You know tariffs.");
        let problems_of = |made: Result<Prompts, Vec<PromptError>>| made.unwrap_err()[0].to_string();
        assert!(
            problems_of(own("generate.md", "{{ evidence }}"))
                .contains("it may use persona, format, knowledge")
        );
        assert!(problems_of(own("generate.md", "{% if %}")).contains("cannot be used"));
        assert!(problems_of(own("answer.md", "x")).contains("there is no prompt of that name"));
    }
}
