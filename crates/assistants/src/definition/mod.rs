//! `assistant.toml`: what can be set of an assistant.

mod cache;
mod catalogue;
mod corrective;
mod limits;
mod mcp;

use std::collections::BTreeMap;

use ibid_core::Corpus;
use ibid_core::evidence::Question;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use cache::Cache;
pub use catalogue::{
    CatalogueField, CatalogueSettings, FaqSettings, FinancingSettings, NumberAlone, NumberField,
};
pub use corrective::Corrective;
pub use limits::Limits;
pub use mcp::McpServer;

use crate::format::TEXT;
use crate::guard::Policy;

/// What an assistant is. Every field has a default; a folder with an empty `assistant.toml` is an assistant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Definition {
    /// What it is called where people choose.
    pub title: String,
    /// What it is for, in a sentence.
    pub description: String,
    /// What it says first.
    pub greeting: String,
    /// Questions that show what it can do.
    pub examples: Vec<String>,
    /// The sets of documents that it answers from; empty means all that whoever asks may see.
    pub corpora: Vec<Corpus>,
    /// The ways in which it can answer; the first one unless asked otherwise.
    pub modes: Vec<Mode>,
    /// The formats in which it can answer, by name; the first one unless asked otherwise. `text` needs no more; every other
    /// one is a JSON Schema: one that ships, or a file `formats/NAME.json`.
    pub formats: Vec<String>,
    /// What it may answer from.
    pub knowledge: Knowledge,
    /// What is done about statements that the documents do not bear out.
    pub guard: Policy,
    /// What becomes of links and images that a model writes.
    pub links: Links,
    /// The models that it uses, by their names in ibid.toml.
    pub models: Models,
    /// How it looks for what documents say.
    pub retrieval: Retrieval,
    /// How the graph `adaptive` tells chat from questions.
    pub routing: Routing,
    /// How the graph `corrective` checks and searches again.
    pub corrective: Corrective,
    /// Whether verified answers are given again.
    pub cache: Cache,
    /// What the graph `concierge` offers.
    pub catalogue: CatalogueSettings,
    /// On which terms it finances that.
    pub financing: FinancingSettings,
    /// How it finds the category of a question.
    pub faq: FaqSettings,
    /// How far a turn may go.
    pub limits: Limits,
    /// The tools that the graph `agentic` may use.
    pub tools: Vec<String>,
    /// Whether the model must call a tool in the first round.
    pub first_round: FirstRound,
    /// Whether a plan is made before tools are called.
    pub planning: Planning,
    /// Servers that speak the Model Context Protocol and whose tools it may use as well.
    pub mcp: Vec<McpServer>,
    /// Which words in a file name tell its type, such as "chapter hts = hts_schedule"; the first row that fits.
    pub types: Vec<String>,
    /// Names for columns of tables, by the names that the tables have: "Rates of Duty 1 General" = "Column 1 general rate".
    pub columns: BTreeMap<String, String>,
    /// How its documents are cut into chunks; as `ingest` says where it is not set.
    pub chunks: Chunks,
    /// Documents that are fetched from elsewhere.
    pub documents: Vec<RemoteDocument>,
    /// Another assistant that answers a share of the conversations in its place, to compare the two.
    pub variant: Option<Variant>,
}

/// Another assistant that answers a share of the conversations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Its name.
    pub assistant: String,
    /// The share, from 0 to 1. Which conversations it answers depends on their ids alone, so that each is answered by the same.
    pub share: f64,
}

/// What an assistant may answer from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Knowledge {
    /// The documents alone. What they do not hold is not answered.
    #[default]
    Documents,
    /// The documents; where they do not hold the answer, what the model knows, marked as such.
    DocumentsFirst,
    /// The documents where they fit the question, else anything, as in any chat.
    Open,
}

impl Knowledge {
    /// Its name, for prompts.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Documents => "documents",
            Self::DocumentsFirst => "documents-first",
            Self::Open => "open",
        }
    }
}

/// What becomes of links, images and HTML that a model writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Links {
    /// They are shown as words: an image that a document talked a model into could carry what was read elsewhere.
    #[default]
    Inert,
    /// They stay as they are written.
    AsWritten,
}

/// Whether a model must call a tool before it answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FirstRound {
    /// The model decides. A question that it answers from the documents alone is searched for all the same.
    #[default]
    Auto,
    /// It must.
    Required,
}

/// Whether a plan is made before tools are called.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Planning {
    /// Unless the model reads so slowly that it must be a small one, whose plans are not worth the call.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never: the model calls tools at once.
    Never,
}

/// The kinds of graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GraphKind {
    /// Condense the question, retrieve, answer.
    Conversational,
    /// Plan, call tools, answer.
    Agentic,
    /// Find out what is wanted, retrieve if need be, answer.
    Adaptive,
    /// Retrieve, leave out what is not relevant, answer, check the answer, and search again until it holds.
    Corrective,
    /// Find out what is wanted, then answer a common question, search a catalogue, or work out instalments.
    Concierge,
}

impl GraphKind {
    /// Whether it looks for passages by itself.
    pub(crate) fn retrieves(&self) -> bool {
        !matches!(self, Self::Agentic | Self::Concierge)
    }
}

/// What a person wants, where that is not left to the router.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ForcedIntent {
    /// To talk.
    Chat,
    /// An answer from the documents.
    Rag,
}

/// A way to answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mode {
    /// What it is called.
    pub name: String,
    /// On which graph.
    pub graph: GraphKind,
    /// For `adaptive`: what is wanted, without asking the router.
    #[serde(default)]
    pub intent: Option<ForcedIntent>,
}

impl Mode {
    fn new(name: &str, graph: GraphKind, intent: Option<ForcedIntent>) -> Self {
        Self { name: name.to_owned(), graph, intent }
    }
}

/// The models of an assistant. Without a name, `answer` is the model of that name, or else the only one that is
/// configured; `small` is the model of that name, or else the one that answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Models {
    /// The one that answers.
    pub answer: Option<String>,
    /// The one that condenses, routes, rewrites and plans.
    pub small: Option<String>,
}

/// How passages are looked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Retrieval {
    /// How many passages.
    pub top: usize,
    /// In how many ways a question is put, by one call of the small model; 1 searches with the question itself.
    pub phrasings: usize,
    /// Whether the first question of a conversation, too, is put in several ways, which costs a call of the small model.
    pub rephrase_first: bool,
    /// How many chunks before and after each passage come along, also from the next page.
    pub neighbours: u32,
    /// How many chunks of the beginning of a document that is named with @ come along.
    pub introduction: u32,
    /// Only documents of these types; empty means all.
    pub types: Vec<String>,
    /// Whether a reranker, if there is one, has the last word.
    pub rerank: bool,
    /// How many passages, at least, it puts in order.
    pub reranked: usize,
    /// Passages that fit the question less than this are left out: from 0, which leaves out none, to 1, as a passage that
    /// answers. Those that hold a code of the question stay.
    pub floor: f32,
}

impl Retrieval {
    /// A search put in these ways.
    pub(crate) fn question(&self, phrasings: Vec<String>) -> Question {
        let mut question = Question::new("");
        question.phrasings = phrasings;
        question.top = self.top;
        question.neighbours = self.neighbours;
        question.introduction = self.introduction;
        question.kinds.clone_from(&self.types);
        question.reranked = if self.rerank { self.reranked } else { 0 };
        question.floor = self.floor;
        question
    }
}

impl Default for Retrieval {
    fn default() -> Self {
        let Question { top, neighbours, introduction, reranked, floor, .. } = Question::new("");
        Self {
            top,
            phrasings: 3,
            rephrase_first: false,
            neighbours,
            introduction,
            types: Vec::new(),
            rerank: true,
            reranked,
            floor,
        }
    }
}

/// How chat is told from questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Routing {
    /// A first message that is no question and fits every passage less than this is chat: from 0, as texts that have
    /// nothing to do with each other, to 1, as a passage that answers.
    pub relevance: f32,
}

impl Default for Routing {
    fn default() -> Self {
        Self { relevance: 0.25 }
    }
}

/// How the documents of an assistant are cut into chunks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Chunks {
    /// The most characters of a chunk.
    pub characters: Option<usize>,
    /// How many characters two neighbouring chunks share.
    pub overlap: Option<usize>,
}

/// A document that is fetched from elsewhere, with what is known of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemoteDocument {
    /// What tells it apart in its corpus.
    pub key: String,
    /// Its address.
    pub url: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its title.
    pub title: String,
    /// Its language, such as es.
    pub language: String,
    /// The most characters of a chunk.
    #[serde(default)]
    pub chunk_characters: Option<usize>,
    /// How many characters two neighbouring chunks share.
    #[serde(default)]
    pub chunk_overlap: Option<usize>,
}

impl Default for Definition {
    fn default() -> Self {
        Self {
            title: String::new(),
            description: String::new(),
            greeting: String::new(),
            examples: Vec::new(),
            corpora: Vec::new(),
            modes: vec![
                Mode::new("auto", GraphKind::Adaptive, None),
                Mode::new("rag", GraphKind::Adaptive, Some(ForcedIntent::Rag)),
                Mode::new("chat", GraphKind::Adaptive, Some(ForcedIntent::Chat)),
            ],
            formats: vec![TEXT.to_owned(), "structured".to_owned()],
            knowledge: Knowledge::default(),
            guard: Policy::default(),
            links: Links::default(),
            models: Models::default(),
            retrieval: Retrieval::default(),
            routing: Routing::default(),
            corrective: Corrective::default(),
            cache: Cache::default(),
            catalogue: CatalogueSettings::default(),
            financing: FinancingSettings::default(),
            faq: FaqSettings::default(),
            limits: Limits::default(),
            tools: Vec::new(),
            first_round: FirstRound::default(),
            planning: Planning::default(),
            mcp: Vec::new(),
            types: Vec::new(),
            columns: BTreeMap::new(),
            chunks: Chunks::default(),
            documents: Vec::new(),
            variant: None,
        }
    }
}

impl Definition {
    /// The mode of a name; without a name, the first.
    ///
    /// # Errors
    /// Names those that there are.
    pub fn mode(&self, name: Option<&str>) -> Result<&Mode, String> {
        let found = match name {
            Some(name) => self.modes.iter().find(|mode| mode.name == name),
            None => self.modes.first(),
        };
        let names = || self.modes.iter().map(|mode| mode.name.as_str()).collect::<Vec<_>>().join(", ");
        found.ok_or_else(|| format!("there is no mode `{}`; there are {}", name.unwrap_or_default(), names()))
    }

    /// The name of a format that it has; without a name, the first.
    ///
    /// # Errors
    /// Names those that there are.
    pub fn format(&self, name: Option<&str>) -> Result<&str, String> {
        let found = match name {
            Some(name) => self.formats.iter().find(|format| *format == name),
            None => self.formats.first(),
        };
        found.map(String::as_str).ok_or_else(|| {
            let names = self.formats.join(", ");
            format!("there is no format `{}`; there are {names}", name.unwrap_or_default())
        })
    }

    /// The kinds of graphs that its modes use.
    pub fn graphs(&self) -> Vec<GraphKind> {
        let mut kinds: Vec<GraphKind> = self.modes.iter().map(|mode| mode.graph).collect();
        kinds.sort();
        kinds.dedup();
        kinds
    }

    /// What is wrong with it, in words.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.modes.is_empty() {
            problems.push(
                "`modes` is empty, so that it cannot answer; leave it out for the usual ones".to_owned(),
            );
        }
        if self.formats.is_empty() {
            problems.push("`formats` is empty; leave it out for text and structured".to_owned());
        }
        for (index, mode) in self.modes.iter().enumerate() {
            if self.modes[..index].iter().any(|other| other.name == mode.name) {
                problems.push(format!("two modes are called `{}`", mode.name));
            }
            if mode.intent.is_some() && mode.graph != GraphKind::Adaptive {
                problems.push(format!("the mode `{}` has an intent, which only `adaptive` takes", mode.name));
            }
        }
        let any_tools = !self.tools.is_empty() || !self.mcp.is_empty();
        let agentic = self.graphs().contains(&GraphKind::Agentic);
        if agentic && !any_tools {
            problems.push("a mode is `agentic`, but there are no `tools`".to_owned());
        }
        if any_tools && !agentic && !self.graphs().contains(&GraphKind::Concierge) {
            problems.push("there are `tools`, but no mode is `agentic` or `concierge`".to_owned());
        }
        for server in &self.mcp {
            if server.command.is_empty() == server.url.is_none() {
                problems
                    .push(format!("the MCP server `{}` needs either a `command` or a `url`", server.name));
            }
            let of_command = !server.env.is_empty() || !server.pass_env.is_empty();
            let of_address = !server.headers.is_empty() || server.token_env.is_some();
            if (server.url.is_some() && of_command) || (server.url.is_none() && of_address) {
                problems.push(format!(
                    "the MCP server `{}`: `env` and `pass_env` are for a `command`, `headers` and `token_env` for a `url`",
                    server.name
                ));
            }
        }
        if let Some(row) = self.types.iter().find(|row| !row.contains('=')) {
            problems.push(format!("`{row}` in `types` has no `=` between the words and the type"));
        }
        for document in &self.documents {
            if url::Url::parse(&document.url).is_err() {
                problems.push(format!("the document `{}` has no address: {}", document.key, document.url));
            }
        }
        problems
            .extend(self.catalogue.problems(self.graphs().contains(&GraphKind::Concierge), &self.financing));
        if let Some(variant) = self.variant.as_ref().filter(|variant| !(0.0..=1.0).contains(&variant.share)) {
            problems.push(format!("`variant.share` is {}; it goes from 0 to 1", variant.share));
        }
        if self.retrieval.top == 0 {
            problems.push("`retrieval.top` is 0, so that nothing would be found".to_owned());
        }
        problems
    }
}
