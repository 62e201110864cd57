//! What an answer consists of besides its text: citations, warnings, sources, the route and plan that led to it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cache::CachedFrom;
use crate::evidence::{DocumentId, DocumentName};
use crate::location::{Location, place_in_words};
use crate::model::Usage;
use crate::research::ResearchRound;

/// What an answer carries besides its text. It is stored with the message, field by field beside the text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "StoredMetadata", into = "StoredMetadata")]
pub struct AnswerMetadata {
    /// Whether the turn was stopped before the answer was complete. Then it is not checked, and has sources only.
    pub partial: bool,
    /// The format that it was asked for in.
    pub format: String,
    /// The answer in fields, if the format has fields.
    pub structured: Option<Value>,
    /// What it cites.
    pub citations: Vec<Citation>,
    /// What the guard found.
    pub warnings: Vec<Warning>,
    /// What it could cite.
    pub sources: Vec<SourceInfo>,
    /// What was searched for.
    pub searched: Vec<String>,
    /// Whether the documents did not hold it.
    pub unanswered: bool,
    /// Whether it was withheld.
    pub withheld: bool,
    /// Where the router sent the turn.
    pub route: Option<Route>,
    /// The plan that was followed.
    pub plan: Vec<PlanStep>,
    /// The rounds in which it was researched.
    pub research: Vec<ResearchRound>,
    /// Where it comes from, if it was given before.
    pub cached: Option<CachedFrom>,
    /// What the models of the turn used.
    pub usage: Usage,
    /// How often a model was asked.
    pub model_calls: u32,
}

/// What became of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerOutcome {
    /// It was answered, with citations.
    Cited,
    /// It was answered without any: from tools, as chat, or as the assistant may.
    Uncited,
    /// The documents did not hold the answer.
    Unanswered,
    /// The guard withheld the answer.
    Withheld,
    /// It had been answered before, and was given that answer again.
    Cached,
    /// It was stopped before the answer was complete.
    Partial,
}

impl AnswerOutcome {
    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cited => "cited",
            Self::Uncited => "uncited",
            Self::Unanswered => "unanswered",
            Self::Withheld => "withheld",
            Self::Cached => "cached",
            Self::Partial => "partial",
        }
    }
}

impl AnswerMetadata {
    /// What became of the question.
    pub fn outcome(&self) -> AnswerOutcome {
        if self.partial {
            AnswerOutcome::Partial
        } else if self.withheld {
            AnswerOutcome::Withheld
        } else if self.unanswered {
            AnswerOutcome::Unanswered
        } else if self.cached.is_some() {
            AnswerOutcome::Cached
        } else if self.citations.is_empty() {
            AnswerOutcome::Uncited
        } else {
            AnswerOutcome::Cited
        }
    }
}

/// As it is stored: a partial answer has nothing but its sources.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AnswerMetadata")]
struct StoredMetadata {
    /// Whether the turn was stopped before the answer was complete. Then it is not checked, and has sources only.
    #[serde(default, skip_serializing_if = "is_false")]
    partial: bool,
    /// The format that it was asked for in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    format: Option<String>,
    /// The answer in fields, if the format has fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    structured: Option<Value>,
    /// What it cites.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Citation>")]
    citations: Option<Vec<Citation>>,
    /// What the guard found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Warning>")]
    warnings: Option<Vec<Warning>>,
    /// What it could cite.
    sources: Vec<SourceInfo>,
    /// What was searched for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    searched: Option<Vec<String>>,
    /// Whether the documents did not hold it.
    #[serde(default, skip_serializing_if = "is_false")]
    unanswered: bool,
    /// Whether it was withheld.
    #[serde(default, skip_serializing_if = "is_false")]
    withheld: bool,
    /// Where the router sent the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    route: Option<Route>,
    /// The plan that was followed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    plan: Vec<PlanStep>,
    /// The rounds in which it was researched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    research: Vec<ResearchRound>,
    /// Where it comes from, if it was given before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cached: Option<CachedFrom>,
    /// What the models of the turn used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Usage")]
    usage: Option<Usage>,
    /// How often a model was asked.
    #[serde(default, skip_serializing_if = "is_zero")]
    model_calls: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl AnswerMetadata {
    /// The names of its fields as they stand in a stored message.
    pub(crate) const FIELDS: [&str; 15] = [
        "partial",
        "format",
        "structured",
        "citations",
        "warnings",
        "sources",
        "searched",
        "unanswered",
        "withheld",
        "route",
        "plan",
        "research",
        "cached",
        "usage",
        "model_calls",
    ];

    /// That of an answer that was stopped before it was complete.
    pub fn partial(sources: Vec<SourceInfo>) -> Self {
        Self { partial: true, sources, ..Self::default() }
    }
}

impl From<StoredMetadata> for AnswerMetadata {
    fn from(stored: StoredMetadata) -> Self {
        Self {
            partial: stored.partial,
            format: stored.format.unwrap_or_default(),
            structured: stored.structured,
            citations: stored.citations.unwrap_or_default(),
            warnings: stored.warnings.unwrap_or_default(),
            sources: stored.sources,
            searched: stored.searched.unwrap_or_default(),
            unanswered: stored.unanswered,
            withheld: stored.withheld,
            route: stored.route,
            plan: stored.plan,
            research: stored.research,
            cached: stored.cached,
            usage: stored.usage.unwrap_or_default(),
            model_calls: stored.model_calls,
        }
    }
}

impl From<AnswerMetadata> for StoredMetadata {
    fn from(metadata: AnswerMetadata) -> Self {
        let whole = !metadata.partial;
        Self {
            partial: metadata.partial,
            format: whole.then_some(metadata.format),
            structured: metadata.structured,
            citations: whole.then_some(metadata.citations),
            warnings: whole.then_some(metadata.warnings),
            sources: metadata.sources,
            searched: whole.then_some(metadata.searched),
            unanswered: metadata.unanswered,
            withheld: metadata.withheld,
            route: metadata.route,
            plan: metadata.plan,
            research: metadata.research,
            cached: metadata.cached,
            usage: whole.then_some(metadata.usage),
            model_calls: metadata.model_calls,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_false(value: &bool) -> bool {
    !value
}

/// A citation, looked up on the page that it names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Citation {
    /// The number of the source, as it stands in the answer.
    pub source: u32,
    /// Which document; for what a tool gave back, the name of the tool.
    pub document_id: String,
    /// Its type, or `tool`.
    pub document_type: String,
    /// Its title.
    pub title: String,
    /// The page; none for what a tool gave back.
    pub page: Option<u32>,
    /// Where it stands in the terms of its format: sheet and cells, slide, heading and paragraph. None for a PDF.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// The words that support the answer, as the source has them; what was quoted if they were not found.
    pub snippet: String,
    /// Whether the quotation was found.
    pub found: QuoteMatch,
    /// Where the words stand on the page: left, top, right, bottom, in points.
    pub boxes: Vec<[f32; 4]>,
    /// The SHA-256 of the document's content.
    #[serde(rename = "version")]
    pub content_hash: String,
    /// Whether the model did not name the source, and ibid has found there what the answer says.
    #[serde(default, skip_serializing_if = "is_false")]
    pub attributed: bool,
    /// When it was retrieved, as RFC 3339 has it, if it is a page of the web.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieved_at: Option<String>,
    /// What the model quoted. It is needed while the answer is checked, and not stored.
    #[serde(skip)]
    pub quoted: String,
}

impl Citation {
    /// Where it stands, in words; none for what a tool gave back.
    pub fn place(&self) -> Option<String> {
        self.page.map(|page| place_in_words(self.location.as_ref(), page))
    }
}

/// How a quotation was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuoteMatch {
    /// The same words in the same order; in a table, in cells of one row.
    Exact,
    /// The same words but for slips of spelling and articles: at most one word in seven.
    Fuzzy,
    /// Not there.
    NotFound,
    /// Nothing was quoted; the words shown are the nearest ones.
    Unquoted,
}

impl QuoteMatch {
    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Fuzzy => "fuzzy",
            Self::NotFound => "not_found",
            Self::Unquoted => "unquoted",
        }
    }
}

/// Something that the guard found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// What kind of thing.
    pub kind: WarningKind,
    /// In words, in the language of whoever asks.
    pub text: String,
    /// The words of the answer that it is about, if it is about some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Where a value stands that the answer gives to something else, and then where the right one does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<CellQuote>,
}

/// A cell of a table in a source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellQuote {
    /// The number of the source.
    pub source: u32,
    /// Its document.
    pub document_id: String,
    /// The page.
    pub page: u32,
    /// What its row is called.
    pub row: String,
    /// What its column is called.
    pub column: String,
    /// What it says.
    pub text: String,
    /// Where it stands on the page: left, top, right, bottom, in points from the upper left corner.
    pub boxes: Vec<[f32; 4]>,
}

/// Kinds of warnings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WarningKind {
    /// A source is cited that does not exist. The citation is removed.
    UnknownSource,
    /// A page is cited that does not have the words.
    WrongPage,
    /// The quoted words are not in the source.
    QuoteNotFound,
    /// No source supports a number, code or date of the answer.
    ValueNotFound,
    /// A value belongs to another column of the row that the answer speaks of.
    WrongColumn,
    /// A value belongs to another row.
    WrongRow,
    /// A value belongs to another year, quarter or month.
    WrongPeriod,
    /// A value is counted in something else.
    WrongUnit,
    /// A sum, difference or share is not what its values come to.
    WrongArithmetic,
    /// No source supports a sentence.
    Unsupported,
    /// It does not answer the question.
    NotAnswered,
    /// Nothing is cited.
    NothingCited,
    /// The message was taken for chat, and nothing was searched.
    NotFromDocuments,
    /// The model reached its limit of tokens.
    CutOff,
}

impl WarningKind {
    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnknownSource => "unknown_source",
            Self::WrongPage => "wrong_page",
            Self::QuoteNotFound => "quote_not_found",
            Self::ValueNotFound => "value_not_found",
            Self::WrongColumn => "wrong_column",
            Self::WrongRow => "wrong_row",
            Self::WrongPeriod => "wrong_period",
            Self::WrongUnit => "wrong_unit",
            Self::WrongArithmetic => "wrong_arithmetic",
            Self::Unsupported => "unsupported",
            Self::NotAnswered => "not_answered",
            Self::NothingCited => "nothing_cited",
            Self::NotFromDocuments => "not_from_documents",
            Self::CutOff => "cut_off",
        }
    }
}

/// A source of an answer, without its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Source")]
pub struct SourceInfo {
    /// Its number in the turn, from 1.
    pub number: u32,
    /// Which document; for what a tool gave back, the name of the tool.
    pub document_id: String,
    /// Its type, or `tool`.
    pub document_type: String,
    /// The title of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// Where it stands in the terms of its format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// The headings over it, from the highest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<Vec<String>>,
    /// How well it fits the question; greater is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
}

/// Where the router sends a turn, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Route {
    /// What the person wants; none while a model has yet to classify the message.
    pub intent: Option<Intent>,
    /// What decided it.
    pub by: RoutedBy,
    /// The documents that the message names.
    #[serde(default)]
    pub documents: Vec<DocumentName>,
}

/// What a person wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// To talk.
    Chat,
    /// An answer from the documents.
    DirectRag,
    /// An answer from documents that the message names.
    SpecificDocRag,
    /// An answer to a common question.
    Faq,
    /// Something from a catalogue.
    Buy,
    /// Instalments.
    Financing,
    /// To talk, or help.
    General,
}

/// What decided the intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoutedBy {
    /// The mode that the person chose.
    Mode,
    /// A document that the message names.
    Mention,
    /// A phrase of everyday talk.
    Smalltalk,
    /// Words that ask for what a document says.
    Phrase,
    /// The distance to the nearest passage.
    Distance,
    /// A model.
    Model,
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanStep {
    /// Its number, from 1.
    pub number: u32,
    /// The tool.
    pub action: String,
    /// What it is for.
    pub description: String,
    /// Why it is needed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// With what, by name.
    pub inputs: Value,
    /// Whether it was done.
    pub done: bool,
}

/// One search that a turn makes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SearchRequest {
    /// What is searched for, in several phrasings.
    pub phrasings: Vec<String>,
    /// Only in this document.
    pub document: Option<DocumentId>,
}
