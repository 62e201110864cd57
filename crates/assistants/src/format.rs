//! The forms of an answer: what a model is asked to write, and what it becomes.

use ibid_core::model::AnswerSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The version of the structured forms.
pub const SCHEMA_VERSION: &str = "1.0";

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Plain text with the numbers of its sources in brackets.
    Text,
    /// An answer with citations, confidence and questions that may follow.
    Structured,
    /// An answer on an import: codes, agencies, documents, tariffs and risks.
    TradeCompliance,
}

impl Format {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Structured => "structured",
            Self::TradeCompliance => "trade_compliance",
        }
    }

    /// The form of that name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Text, Self::Structured, Self::TradeCompliance].into_iter().find(|format| format.name() == name)
    }

    /// The form that a model must keep to, if there is one.
    pub fn schema(self) -> Option<AnswerSchema> {
        match self {
            Self::Text => None,
            Self::Structured => Some(AnswerSchema::of::<Structured>()),
            Self::TradeCompliance => Some(AnswerSchema::of::<TradeCompliance>()),
        }
    }
}

/// A citation as a model gives it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CitationDraft {
    /// The number of the source.
    pub source: u32,
    /// The page that the source names, or null.
    #[serde(default)]
    pub page: Option<u32>,
    /// A few words copied from the source, letter by letter.
    #[serde(default)]
    pub quote: String,
}

/// How sure an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The sources say it.
    High,
    /// The sources say most of it.
    Medium,
    /// The sources hardly say it.
    Low,
}

/// What a model writes for [`Format::Structured`].
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "structured_answer")]
struct Structured {
    /// The answer, with the number of a source in brackets after each statement.
    answer: String,
    /// What the answer rests on.
    citations: Vec<CitationDraft>,
    /// How far the sources bear the answer out.
    confidence: Confidence,
    /// Up to three questions that the sources may also answer.
    follow_up_questions: Vec<String>,
}

/// What a model writes for [`Format::TradeCompliance`].
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "trade_compliance_answer")]
struct TradeCompliance {
    /// The answer, with the number of a source in brackets after each statement.
    answer: String,
    /// The HTS codes that the sources name for the product.
    hts_codes: Vec<String>,
    /// The agencies that the sources name.
    agencies: Vec<String>,
    /// The documents that the sources require.
    required_documents: Vec<RequiredDocument>,
    /// What is due.
    tariff_info: TariffInfo,
    /// What could go wrong, by the sources.
    risk_flags: Vec<String>,
    /// What the answer rests on.
    citations: Vec<CitationDraft>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct RequiredDocument {
    /// Who requires it.
    agency: String,
    /// What it is called.
    document_name: String,
    /// What it is for.
    description: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct TariffInfo {
    /// The general rate of duty, as the source writes it.
    duty_rate: String,
    /// Programmes with a special rate.
    special_programs: Vec<String>,
    /// Duties for the country of origin.
    country_specific: String,
}

/// What a model wrote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// In which form.
    pub format: Format,
    /// As it came.
    pub raw: String,
    /// Whether it was stopped before its end.
    #[serde(default)]
    pub partial: bool,
    /// Whether the model reached its limit of tokens.
    #[serde(default)]
    pub cut_off: bool,
}

/// A draft, read.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedAnswer {
    /// The answer in words.
    pub answer: String,
    /// What it cites, in fields of their own; a text cites in its words.
    pub cited: Vec<CitationDraft>,
    /// Its other fields; null for a text.
    pub fields: Value,
}

impl Draft {
    /// Reads it. What was stopped half-way has no fields.
    pub fn read(&self) -> ParsedAnswer {
        let fields: Value = match self.format {
            Format::Text => Value::Null,
            _ => serde_json::from_str(&self.raw).unwrap_or_default(),
        };
        let answer = match (self.format, fields["answer"].as_str()) {
            (Format::Text, _) => self.raw.trim().to_owned(),
            (_, Some(answer)) => answer.trim().to_owned(),
            (_, None) => answer_so_far(&self.raw),
        };
        let cited = serde_json::from_value(fields["citations"].clone()).unwrap_or_default();
        ParsedAnswer { answer, cited, fields }
    }
}

impl ParsedAnswer {
    /// Everything that the answer claims, in its words and in its other fields.
    pub fn claims(&self) -> String {
        fn collect(value: &Value, into: &mut String) {
            match value {
                Value::String(text) => {
                    into.push('\n');
                    into.push_str(text);
                }
                Value::Array(items) => items.iter().for_each(|item| collect(item, into)),
                Value::Object(fields) => fields.values().for_each(|field| collect(field, into)),
                _ => {}
            }
        }
        let mut claims = self.answer.clone();
        for (name, field) in self.fields.as_object().into_iter().flatten() {
            if !["answer", "citations", "follow_up_questions", "confidence"].contains(&name.as_str()) {
                collect(field, &mut claims);
            }
        }
        claims
    }

    /// The fields as they are handed out: with a version, and with the citations that were found.
    pub fn structured(&self, answer: &str, citations: Value) -> Value {
        let mut fields = json!({ "schema_version": SCHEMA_VERSION, "answer": answer });
        for (name, field) in self.fields.as_object().into_iter().flatten() {
            let field = match name.as_str() {
                "answer" => continue,
                "citations" => &citations,
                _ => field,
            };
            fields[name] = field.clone();
        }
        fields["citations"] = citations;
        fields
    }
}

/// As much of the answer as has come of a structured one: the field `answer`, which comes first.
pub(crate) fn answer_so_far(raw: &str) -> String {
    let field = raw.find("\"answer\"").map(|at| raw[at + "\"answer\"".len()..].trim_start());
    let text =
        field.and_then(|rest| rest.strip_prefix(':')).and_then(|rest| rest.trim_start().strip_prefix('"'));
    let Some(text) = text else { return String::new() };
    // To the quotation mark that ends it, or to the last whole character.
    let mut end = 0;
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => break,
            '\\' => {
                let escape = letters.next().map(|(_, letter)| letter);
                let length = if escape == Some('u') { 6 } else { 2 };
                if at + length > text.len() || !text.is_char_boundary(at + length) {
                    break;
                }
                while letters.clone().next().is_some_and(|(next, _)| next < at + length) {
                    letters.next();
                }
                end = at + length;
            }
            _ => end = at + letter.len_utf8(),
        }
    }
    // Half of a pair that means one character waits for the other half.
    let mut whole = &text[..end];
    loop {
        match serde_json::from_str(&format!("\"{whole}\"")) {
            Ok(answer) => return answer,
            Err(_) => match whole.rfind('\\') {
                Some(at) => whole = &whole[..at],
                None => return String::new(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_shown_as_it_comes() {
        let raw = "{\n \"answer\": \"The rate is 2 %\\n\\u00e9 \\\"LED\\\" [1]\", \"citations\": [";
        let whole = "The rate is 2 %\né \"LED\" [1]";
        let mut last = String::new();
        for end in (0..=raw.len()).filter(|end| raw.is_char_boundary(*end)) {
            let now = answer_so_far(&raw[..end]);
            assert!(now.starts_with(&last) && whole.starts_with(&now), "{now:?} after {last:?}");
            last = now;
        }
        assert_eq!(last, whole);
    }

    #[test]
    fn a_structured_answer_has_the_fields_that_are_promised() {
        let raw = json!({
            "answer": "Two percent [1].", "hts_codes": ["8539.52.00"], "agencies": [], "required_documents": [],
            "tariff_info": { "duty_rate": "2%", "special_programs": [], "country_specific": "" },
            "risk_flags": [], "citations": [{ "source": 1, "page": 3, "quote": "2%" }],
        });
        let draft =
            Draft { format: Format::TradeCompliance, raw: raw.to_string(), partial: false, cut_off: false };
        let written = draft.read();
        assert_eq!(written.cited, [CitationDraft { source: 1, page: Some(3), quote: "2%".to_owned() }]);
        assert_eq!(written.claims(), "Two percent [1].\n8539.52.00\n2%\n");
        let fields = written.structured("Two percent [1].", json!([]));
        assert_eq!(fields["schema_version"], "1.0");
        let names: Vec<&String> = fields.as_object().unwrap().keys().collect();
        let wanted = [
            "schema_version",
            "answer",
            "hts_codes",
            "agencies",
            "required_documents",
            "tariff_info",
            "risk_flags",
            "citations",
        ];
        assert_eq!(names, wanted);
    }
}
