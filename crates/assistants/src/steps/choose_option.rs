//! Finds out what is to be paid in instalments, and how; asks where that is not clear.

use std::sync::Arc;

use ibid_core::model::Prompt;
use ibid_graph::{Context, NodeError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::concierge::ConciergeUpdate;
use crate::node_context::NodeContext;
use crate::payment::{PaymentContext, SaidPayment, read};
use crate::turn::{TurnCost, TurnState, TurnUpdate};

/// It has at most so many tokens.
const MOST_TOKENS: usize = 120;
/// How often a person is asked.
pub(crate) const MOST_QUESTIONS: u32 = 2;

/// What a model reads from a message. Nothing is computed here.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "payment")]
struct Payment {
    /// The words by which the message says which option is meant, such as "the second one"; empty if it says none.
    option: String,
    /// The words for a price that the person gives; empty if none is given.
    price: String,
    /// The words for the down payment; empty if none is given.
    down_payment: String,
    /// The words for the term; empty if none is given.
    months: String,
}

/// What a person is asked.
#[derive(Debug, Serialize)]
pub(crate) struct OptionQuestion {
    /// What kind of question it is, for whoever shows it.
    kind: &'static str,
    /// In words.
    question: String,
    /// What there is to choose from.
    options: Vec<Value>,
}

/// What a person answers: the number of an option, a price, or words for one of them.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct OptionReply(Value);

impl OptionReply {
    /// In words.
    pub(crate) fn text(&self) -> String {
        match &self.0 {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

/// What a person is asked when it is not clear what is to be paid.
pub(crate) fn option_question(turn: &TurnState) -> OptionQuestion {
    let context = PaymentContext::of(&turn.request.history);
    let options =
        context.options.iter().map(|option| json!({ "number": option.number, "title": option.title }));
    let texts = turn.texts();
    let question = if context.options.is_empty() { &texts.no_car } else { &texts.which_car };
    OptionQuestion { kind: "option", question: question.clone(), options: options.collect() }
}

/// Reads what is to be paid.
pub(crate) async fn choose_option(
    node_context: Arc<NodeContext>,
    turn: Arc<TurnState>,
    context: Context,
) -> Result<TurnUpdate, NodeError> {
    context.status("reading what is to be financed");
    let payment = PaymentContext::of(&turn.request.history);
    // What was answered to our question needs no model: it is an option or a price.
    if let Some(reply) = turn.concierge.replies.last() {
        let before = turn.concierge.payment.clone().unwrap_or_default();
        let price = if payment.option(reply).is_some() { String::new() } else { reply.clone() };
        let words = SaidPayment { option: reply.clone(), price, ..SaidPayment::default() };
        let said = format!("{}\n{reply}", turn.said_by_person());
        let mut wish = read(&node_context.definition, &payment, &words, &said);
        wish.down_payment = wish.down_payment.or(before.down_payment);
        if wish.months.is_empty() {
            wish.months = before.months;
        }
        return Ok(update(wish, TurnCost::default()));
    }
    let model = node_context.ports.small.as_ref();
    let options: Vec<String> =
        payment.options.iter().map(|option| format!("{}. {}", option.number, option.title)).collect();
    let financed = payment.financed.as_ref().map(|form| form.title.clone()).unwrap_or_default();
    let variables = json!({ "options": options, "financed": financed, "message": turn.request.text });
    let prompt = node_context.prompt("payment", &turn, variables)?;
    let mut request = node_context.request(&turn, vec![Prompt::User(prompt)]);
    request.max_output_tokens = Some(MOST_TOKENS);
    let (said, spent) = node_context.ask_for::<Payment>(&context, model, request).await?;
    let Payment { option, price, down_payment, months } = said.unwrap_or_default();
    let words = SaidPayment { option, price, down_payment, months };
    Ok(update(read(&node_context.definition, &payment, &words, &turn.said_by_person()), spent))
}

fn update(payment: crate::concierge::PaymentWish, spent: TurnCost) -> TurnUpdate {
    TurnUpdate::Concierge(ConciergeUpdate::PaymentRead { payment, spent })
}
