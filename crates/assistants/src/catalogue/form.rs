//! The data of answers about a catalogue: the fields that whoever shows them gets, and the schemas that say how.

use ibid_core::value::Decimal;
use ibid_core::{Message, Role};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::criteria::{Criteria, UnclearName};
use super::search::CatalogueOption;
use crate::definition::{CatalogueField, CatalogueSettings};
use crate::financing::InstalmentPlan;
use crate::format::AnswerFormat;
use crate::language::Language;

/// The format of an answer that shows options.
pub(crate) const OPTIONS: &str = "options";
/// The format of an answer that shows instalments.
pub(crate) const INSTALMENTS: &str = "instalments";

/// What an answer with options carries.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct OptionsForm {
    /// How many there are.
    pub(crate) count: u64,
    pub(crate) criteria: Criteria,
    /// The fields that gave way.
    pub(crate) relaxed: Vec<String>,
    pub(crate) unclear: Vec<UnclearName>,
    pub(crate) options: Vec<CatalogueOption>,
}

/// What an answer with instalments carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstalmentsForm {
    /// What is paid for.
    pub title: String,
    /// The option, if it is one of the catalogue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<Box<CatalogueOption>>,
    /// Its price.
    pub price: Decimal,
    /// The currency.
    pub currency: String,
    /// What is paid at once.
    pub down_payment: Decimal,
    /// The least that may be paid at once.
    pub least_down_payment: Decimal,
    /// What is financed.
    pub financed: Decimal,
    /// The yearly rate, in percent.
    pub yearly_rate_percent: Decimal,
    /// The shortest and the longest term.
    pub month_range: (u32, u32),
    /// The instalments for each term.
    pub plans: Vec<InstalmentPlan>,
}

/// What the last answer with options showed.
pub(crate) fn last_options(history: &[Message]) -> Option<OptionsForm> {
    last(history, OPTIONS)
}

/// What the last answer with instalments showed.
pub(crate) fn last_instalments(history: &[Message]) -> Option<InstalmentsForm> {
    last(history, INSTALMENTS)
}

fn last<T: serde::de::DeserializeOwned>(history: &[Message], format: &str) -> Option<T> {
    let answers = history.iter().rev().filter(|message| message.role == Role::Assistant);
    let mut forms =
        answers.filter_map(|answer| answer.metadata.as_deref()).filter(|metadata| metadata.format == format);
    serde_json::from_value(forms.next()?.structured.clone()?).ok()
}

/// The formats of an assistant that shows a catalogue, for whoever shows its answers.
pub(crate) fn formats(settings: &CatalogueSettings) -> Vec<AnswerFormat> {
    [(OPTIONS, options_schema(settings)), (INSTALMENTS, instalments_schema(&settings.currency))]
        .into_iter()
        .map(|(name, schema)| AnswerFormat::made(name, schema))
        .collect()
}

fn titles(of: impl Fn(Language) -> String) -> Map<String, Value> {
    Language::all().map(|language| (language.code().to_owned(), of(language).into())).collect()
}

fn options_schema(settings: &CatalogueSettings) -> Value {
    let field = |field: &CatalogueField| {
        let titles = titles(|language| field.title(language.code()).to_owned());
        let mut schema =
            json!({ "title": field.title("en"), "x-titles": titles, "type": ["string", "null"] });
        if let Some(numbers) = &field.numbers {
            schema["type"] = json!(["number", "null"]);
            if numbers.is_money {
                schema["x-view"] = "money".into();
                schema["x-currency"] = settings.currency.clone().into();
            } else if !numbers.unit.is_empty() {
                schema["x-unit"] = numbers.unit.clone().into();
            } else {
                schema["x-view"] = "plain".into();
            }
        }
        (field.name.clone(), schema)
    };
    let fields: Map<String, Value> = settings.fields.iter().map(field).collect();
    json!({
        "title": "Options",
        "x-titles": { "es": "Opciones", "pt": "Opções" },
        "type": "object",
        "properties": {
            "answer": { "type": "string" },
            "count": { "type": "integer", "x-view": "hidden" },
            "options": {
                "title": "Options",
                "x-titles": { "es": "Opciones", "pt": "Opções" },
                "x-view": "options",
                "x-name": settings.title,
                "type": "array",
                "items": { "type": "object", "properties": { "values": { "type": "object", "properties": fields } } },
            },
        },
    })
}

fn instalments_schema(currency: &str) -> Value {
    let column = |of: fn(&crate::language::Texts) -> &String| {
        let titles = titles(|language| of(language.texts()).clone());
        json!({ "x-titles": titles, "type": "number", "x-view": "money", "x-currency": currency })
    };
    let mut months = column(|texts| &texts.months);
    months["x-view"] = "plain".into();
    json!({
        "title": "Instalments",
        "x-titles": { "es": "Mensualidades", "pt": "Parcelas" },
        "type": "object",
        "properties": {
            "answer": { "type": "string" },
            "plans": {
                "title": "Instalments",
                "x-titles": { "es": "Mensualidades", "pt": "Parcelas" },
                "x-view": "instalments",
                "x-tool": "compute_financing",
                "type": "array",
                "items": { "type": "object", "properties": {
                    "months": months,
                    "instalment": column(|texts| &texts.instalment),
                    "last_instalment": column(|texts| &texts.last_instalment),
                    "total": column(|texts| &texts.total),
                    "interest": column(|texts| &texts.interest),
                } },
            },
        },
    })
}
