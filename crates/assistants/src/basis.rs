//! What a turn says in the end, and what that rests on: kept with its words, for whoever shows it.

use ibid_core::Message;
use ibid_core::model::Usage;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::format::Format;
use crate::guard::{Citation, Warning};
use crate::source::{Listed, Source};
use crate::turn::{Answer, PlanStep, Route, Turn};

/// What an answer rests on.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Basis {
    /// The form that it was asked for in.
    format: Format,
    /// The answer in fields, if the form has fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    structured: Option<Value>,
    /// What it cites.
    citations: Vec<Citation>,
    /// What the guard found.
    warnings: Vec<Warning>,
    /// What it could cite.
    sources: Vec<Listed>,
    /// What was looked for.
    searched: Vec<String>,
    /// Whether the documents did not hold it.
    #[serde(skip_serializing_if = "is_false")]
    unanswered: bool,
    /// Whether it was withheld.
    #[serde(skip_serializing_if = "is_false")]
    withheld: bool,
    /// Where the router sent the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<Route>,
    /// The plan that was followed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    plan: Vec<PlanStep>,
    /// What the models of the turn took.
    usage: Usage,
}

/// What a turn says: the answer, or as much of it as there is.
pub(crate) fn messages(turn: &Turn) -> Vec<Message> {
    let Some(answer) = &turn.answer else {
        let draft = turn.draft.as_ref().filter(|_| !turn.asked.only_checked);
        let written = draft.map(|draft| draft.read().answer).filter(|text| !text.is_empty());
        let partial = |text| {
            let mut message = Message::assistant(text);
            message.extra.insert("partial".to_owned(), true.into());
            // Its numbers are not checked, and still say what they mean.
            let sources: Vec<Listed> = turn.sources.iter().map(Source::listed).collect();
            message.extra.extend(serde_json::to_value(sources).ok().map(|all| ("sources".to_owned(), all)));
            message
        };
        return written.map(partial).into_iter().collect();
    };
    let mut message = Message::assistant(&answer.text);
    message.extra = Basis::of(turn, answer).fields();
    vec![message]
}

impl Basis {
    fn of(turn: &Turn, answer: &Answer) -> Self {
        Self {
            format: turn.asked.format,
            structured: answer.structured.clone(),
            citations: answer.checked.citations.clone(),
            warnings: answer.checked.warnings.clone(),
            sources: turn.sources.iter().map(Source::listed).collect(),
            searched: turn.searched.clone(),
            unanswered: answer.unanswered,
            withheld: answer.withheld,
            route: turn.route.clone(),
            plan: turn.plan.clone(),
            usage: turn.spent.usage,
        }
    }

    /// As it is kept with the message.
    fn fields(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_false(value: &bool) -> bool {
    !value
}
