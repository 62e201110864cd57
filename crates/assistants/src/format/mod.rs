//! The formats of an answer: plain text, or fields by a JSON Schema. A schema is a file: two ship, and an assistant's folder
//! may have its own.

mod check;
mod draft;
mod fields;
mod inert;

use std::collections::BTreeMap;
use std::sync::Arc;

use ibid_core::model::AnswerSchema;
use serde_json::{Map, Value, json};

pub use draft::{CitationDraft, Draft, ParsedAnswer};
pub(crate) use draft::{answer_so_far, without_signal_so_far};
pub(crate) use inert::{inert, inert_fields};

/// The format without fields, which needs no schema.
pub const TEXT: &str = "text";
/// The folder of an assistant's own formats.
pub const FORMATS_FOLDER: &str = "formats";

/// What the answer itself, its citations and the version of its format are called in every format. Of these, a schema has the
/// first alone: the others are ibid's.
const ANSWER: &str = "answer";
const CITATIONS: &str = "citations";
const VERSION: &str = "schema_version";
/// What a schema says for whoever shows it, and no model is told.
const FOR_VIEWS: &str = "x-";
/// The version of a format whose schema names none.
const FIRST_VERSION: &str = "1.0";

/// The formats that ship, by name, for every assistant.
const SHIPPED: [(&str, &str); 2] = [
    ("structured", include_str!("../../formats/structured.json")),
    ("trade_compliance", include_str!("../../formats/trade_compliance.json")),
];

/// A format of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerFormat {
    name: String,
    schema: Option<Arc<Value>>,
}

impl AnswerFormat {
    /// Plain text, with the numbers of its sources in brackets.
    pub fn text() -> Self {
        Self { name: TEXT.to_owned(), schema: None }
    }

    /// A format with fields, from the text of its file.
    ///
    /// # Errors
    /// Names everything that is wrong.
    pub fn read(name: &str, text: &str) -> Result<Self, Vec<String>> {
        let mut schema: Value = serde_json::from_str(text).map_err(|error| vec![error.to_string()])?;
        let problems = check::problems(&schema);
        if !problems.is_empty() {
            return Err(problems);
        }
        check::close(&mut schema);
        Ok(Self { name: name.to_owned(), schema: Some(Arc::new(schema)) })
    }

    /// A format that ibid fills itself: no model is asked for it.
    pub(crate) fn made(name: &str, schema: Value) -> Self {
        Self { name: name.to_owned(), schema: Some(Arc::new(schema)) }
    }

    /// The formats of an assistant by their names, in that order. `files` are those of its folder.
    ///
    /// # Errors
    /// Names everything that is wrong.
    pub(crate) fn find_all(
        names: &[String],
        files: &BTreeMap<String, String>,
    ) -> Result<Vec<Self>, Vec<String>> {
        let mut problems = Vec::new();
        let mut all: BTreeMap<String, Self> = BTreeMap::from([(TEXT.to_owned(), Self::text())]);
        let shipped = SHIPPED.into_iter().map(|(name, text)| (format!("{name}.json"), text));
        for (file, text) in shipped.chain(files.iter().map(|(file, text)| (file.clone(), text.as_str()))) {
            match file.strip_suffix(".json") {
                Some(TEXT) => problems.push(format!("{file}: `{TEXT}` is plain text and has no schema")),
                Some(name) => match Self::read(name, text) {
                    Ok(format) => drop(all.insert(name.to_owned(), format)),
                    Err(found) => {
                        problems.extend(found.into_iter().map(|problem| format!("{file}: {problem}")));
                        // It is there, though it cannot be used.
                        all.insert(name.to_owned(), Self::text());
                    }
                },
                None => problems.push(format!("{file}: a format is a JSON Schema in a file `NAME.json`")),
            }
        }
        let mut found = Vec::new();
        for name in names {
            match all.get(name) {
                Some(format) => found.push(format.clone()),
                None => problems.push(format!(
                    "there is no format `{name}`; there are {}, and `{name}.json` would add it",
                    all.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
                )),
            }
        }
        if problems.is_empty() { Ok(found) } else { Err(problems) }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its schema, with what whoever shows it needs to know; none for text.
    pub fn schema(&self) -> Option<&Value> {
        self.schema.as_deref()
    }

    /// What a model must keep to: the schema with citations, and without what only whoever shows it needs.
    pub(crate) fn for_model(&self) -> Option<AnswerSchema> {
        let mut schema = self.schema()?.clone();
        fields::for_model(&mut schema);
        let AnswerSchema { schema: mut citations, .. } = AnswerSchema::of::<Vec<CitationDraft>>();
        citations["description"] = json!("What the answer rests on.");
        let mut all = Map::new();
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            all.insert(name.clone(), field.clone());
            // Right after the answer, while the model has it before its eyes.
            if name == ANSWER {
                all.insert(CITATIONS.to_owned(), citations.clone());
            }
        }
        schema["required"] = json!(all.keys().collect::<Vec<_>>());
        schema["properties"] = Value::Object(all);
        Some(AnswerSchema { name: format!("{}_answer", self.name), schema })
    }

    /// An answer in this format that has nothing but words; none for text.
    pub(crate) fn blank(&self, answer: &str) -> Option<Value> {
        let schema = self.schema()?;
        Some(whole(schema, &fields::blank(schema), answer, json!([])))
    }

    /// What a model wrote, with the words and the citations that were verified; none for text.
    pub(crate) fn fill(&self, written: &Value, answer: &str, citations: Value) -> Option<Value> {
        let schema = self.schema()?;
        Some(whole(schema, &fields::tidied(schema, written), answer, citations))
    }
}

/// An answer as it is handed out: what is ibid's first, then the fields of its format.
fn whole(schema: &Value, fields: &Value, answer: &str, citations: Value) -> Value {
    let version = schema["x-version"].as_str().unwrap_or(FIRST_VERSION);
    let mut whole = json!({ VERSION: version, ANSWER: answer, CITATIONS: citations });
    for (name, field) in fields.as_object().into_iter().flatten().filter(|(name, _)| *name != ANSWER) {
        whole[name] = field.clone();
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shipped(name: &str) -> AnswerFormat {
        let (_, text) = SHIPPED.into_iter().find(|(shipped, _)| *shipped == name).unwrap();
        AnswerFormat::read(name, text).unwrap()
    }

    #[test]
    fn an_answer_has_the_fields_that_are_promised() {
        let format = shipped("trade_compliance");
        let raw = json!({
            "answer": "Two percent [1].", "hts_codes": ["8539.52.00"], "agencies": [], "required_documents": [],
            "tariff_info": { "duty_rate": "2%", "special_programs": [], "country_specific": "" },
            "risk_flags": [], "citations": [{ "source": 1, "page": 3, "quote": "2%" }],
        });
        let draft = Draft {
            format: "trade_compliance".to_owned(),
            raw: raw.to_string(),
            partial: false,
            cut_off: false,
        };
        let written = draft.read(&format, crate::language::Language::english().texts());
        assert_eq!(written.cited, [CitationDraft { source: 1, page: Some(3), quote: "2%".to_owned() }]);
        assert_eq!(written.claims, "Two percent [1].\n8539.52.00\n2%");
        let fields = format.fill(&written.fields, "Two percent [1].", json!([])).unwrap();
        assert_eq!(fields["schema_version"], "1.0");
        assert_eq!(fields["tariff_info"]["country_specific"], Value::Null, "empty is null where it may be");
        let names: Vec<&String> = fields.as_object().unwrap().keys().collect();
        let wanted = [
            "schema_version",
            "answer",
            "citations",
            "hts_codes",
            "agencies",
            "required_documents",
            "tariff_info",
            "risk_flags",
        ];
        assert_eq!(names, wanted);
        let blank = format.blank("I don't know.").unwrap();
        assert_eq!(blank.as_object().unwrap().keys().collect::<Vec<_>>(), names);
        assert_eq!(shipped("structured").blank("I don't know.").unwrap()["confidence"], "low");
    }

    #[test]
    fn a_model_is_told_what_it_must_write_and_no_more() {
        let schema = shipped("structured").for_model().unwrap().schema;
        assert!(!schema.to_string().contains("x-"), "{schema}");
        let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["answer", "citations", "confidence", "follow_up_questions"]);
        assert_eq!(schema["required"], json!(names));
        assert_eq!(schema["additionalProperties"], false);
    }

    #[test]
    fn a_format_of_a_folder_is_found_and_a_missing_one_is_said() {
        let own = r#"{ "type": "object", "properties": { "answer": { "type": "string" } } }"#;
        let files = BTreeMap::from([("report.json".to_owned(), own.to_owned())]);
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let found = AnswerFormat::find_all(&names(&["report", "text"]), &files).unwrap();
        assert_eq!(found.iter().map(AnswerFormat::name).collect::<Vec<_>>(), ["report", "text"]);
        let problems = AnswerFormat::find_all(&names(&["rapport"]), &files).unwrap_err();
        assert_eq!(
            problems,
            ["there is no format `rapport`; there are report, structured, text, trade_compliance, and \
              `rapport.json` would add it"]
        );
    }
}
