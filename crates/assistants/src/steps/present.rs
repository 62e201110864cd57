//! Says what was found or worked out. A model writes the words; numbers are put in by code, and words that bring others are
//! replaced by ibid's own.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use ibid_core::answer::{Citation, QuoteMatch};
use ibid_core::event::TurnEvent;
use ibid_core::model::Prompt;
use ibid_graph::{Context, NodeError};
use serde_json::{Value, json};

use crate::catalogue::{
    INSTALMENTS, InstalmentsForm, OPTIONS, OptionsForm, criteria_in_words, list, money, relaxed,
};
use crate::concierge::{DownPayment, FoundOptions};
use crate::guard::{VerifiedAnswer, bears_out};
use crate::language::filled;
use crate::node_context::{NodeContext, emit, failed};
use crate::payment::{instalments, setting};
use crate::source::{Origin, Source, add};
use crate::turn::{Answer, TurnCost, TurnState, TurnUpdate};

/// The words have at most so many tokens.
const MOST_TOKENS: usize = 120;

/// What is to be said.
struct Presentation {
    /// In ibid's own words.
    own: String,
    /// What the model may put in its words, by name.
    values: BTreeMap<String, String>,
    /// What stands below the words.
    below: String,
    /// The tool that it comes from.
    tool: &'static str,
    /// What that is called for people.
    title: String,
    format: &'static str,
    form: Value,
    /// Whether there is something that a model could find words for.
    has_words: bool,
    unanswered: bool,
}

/// Presents.
pub(crate) async fn present(
    node_context: Arc<NodeContext>,
    turn: Arc<TurnState>,
    context: Context,
) -> Result<TurnUpdate, NodeError> {
    let facts = match (&turn.concierge.found, &turn.concierge.payment) {
        (Some(found), _) => options(&node_context, &turn, found),
        (None, Some(payment)) => {
            let definition = &node_context.definition;
            match instalments(&definition.financing, &definition.catalogue.currency, payment) {
                Some(form) => payments(&node_context, &turn, &form),
                None => plain(&turn.texts().no_car),
            }
        }
        (None, None) => plain(&turn.texts().help),
    };
    let (words, spent) = if facts.has_words {
        words(&node_context, &turn, &context, &facts).await?
    } else {
        (facts.own.clone(), TurnCost::default())
    };
    let mut text = words.clone();
    if !facts.below.is_empty() {
        text = format!("{text} [1]\n\n{}", facts.below);
    }
    context.token(turn.say(&text));
    let (sources, citations) = cited(&facts);
    emit(&context, &TurnEvent::Sources { sources: sources.iter().map(Source::info).collect() });
    emit(&context, &TurnEvent::Citations { citations: citations.clone() });
    let mut structured = facts.form;
    if structured.is_object() {
        structured["answer"] = text.clone().into();
        // For whoever shows the data in another way than the text does.
        structured["words"] = words.into();
        structured["citations"] = json!(citations);
    }
    let checked = VerifiedAnswer { answer: text.clone(), citations, warnings: Vec::new() };
    let structured = structured.is_object().then_some(structured);
    let answer = Answer { text, structured, checked, unanswered: facts.unanswered, withheld: false };
    Ok(TurnUpdate::Presented { answer: Box::new(answer), format: facts.format.to_owned(), sources, spent })
}

fn plain(text: &str) -> Presentation {
    Presentation {
        own: text.to_owned(),
        values: BTreeMap::new(),
        below: String::new(),
        tool: "",
        title: String::new(),
        format: crate::format::TEXT,
        form: Value::Null,
        has_words: false,
        unanswered: false,
    }
}

/// The data as a source, and the citation of it.
fn cited(facts: &Presentation) -> (Vec<Source>, Vec<Citation>) {
    let mut sources = Vec::new();
    if facts.below.is_empty() {
        return (sources, Vec::new());
    }
    let text = format!("{}\n{}", facts.own, facts.below);
    let source = add(&mut sources, Origin::Tool { tool: facts.tool.to_owned(), text });
    let citation = Citation {
        source,
        document_id: facts.tool.to_owned(),
        document_type: "tool".to_owned(),
        title: facts.title.clone(),
        page: None,
        location: None,
        snippet: facts.below.lines().next().unwrap_or_default().to_owned(),
        found: QuoteMatch::Exact,
        boxes: Vec::new(),
        content_hash: String::new(),
        attributed: true,
        retrieved_at: None,
        quoted: String::new(),
    };
    (sources, vec![citation])
}

/// What was found in the catalogue.
fn options(node_context: &NodeContext, turn: &TurnState, found: &FoundOptions) -> Presentation {
    let (settings, texts, language) =
        (&node_context.definition.catalogue, turn.texts(), turn.request.spoken.language);
    let FoundOptions { understood, result, has_catalogue, .. } = found;
    let wanted = criteria_in_words(&understood.criteria, settings, language);
    let mut own: Vec<String> = Vec::new();
    for words in &understood.unknown {
        own.push(filled(&texts.name_unknown, &[("words", words)]));
    }
    for unclear in &understood.unclear {
        own.push(filled(
            &texts.name_unclear,
            &[("words", &unclear.words), ("names", &unclear.names.join(", "))],
        ));
    }
    let (count, shown) = (result.count, result.options.len());
    let values: [(&str, &dyn Display); 4] = [
        ("count", &count),
        ("shown", &shown),
        ("criteria", &wanted),
        ("relaxed", &relaxed(result, settings, language)),
    ];
    let is_asked = !understood.criteria.is_empty();
    let is_open = !own.is_empty();
    match result.options.as_slice() {
        _ if !has_catalogue => own = vec![texts.options_no_catalogue.clone()],
        [] if is_asked => own.push(filled(&texts.options_none, &values)),
        [] if own.is_empty() => own.push(texts.options_nothing_asked.clone()),
        [] => {}
        _ if !result.relaxed.is_empty() => own.push(filled(&texts.options_relaxed, &values)),
        options if options.len() as u64 == count => own.push(filled(&texts.options_all, &values)),
        _ => own.push(filled(&texts.options_found, &values)),
    }
    let form = OptionsForm {
        count,
        criteria: understood.criteria.clone(),
        relaxed: result.relaxed.clone(),
        unclear: understood.unclear.clone(),
        options: result.options.clone(),
    };
    Presentation {
        own: own.join(" "),
        values: values.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())).collect(),
        below: list(&result.options, settings),
        tool: "search_catalogue",
        title: found.title.clone(),
        format: OPTIONS,
        form: serde_json::to_value(form).unwrap_or_default(),
        // What is unclear or not there is said plainly.
        has_words: shown > 0 && result.relaxed.is_empty() && !is_open,
        unanswered: shown == 0 && is_asked,
    }
}

/// What was worked out.
fn payments(node_context: &NodeContext, turn: &TurnState, form: &InstalmentsForm) -> Presentation {
    let (texts, currency) = (turn.texts(), form.currency.as_str());
    let amount = |amount| money(amount, currency);
    let rate = format!("{} %", form.yearly_rate_percent);
    let (price, down_payment, financed) =
        (amount(form.price), amount(form.down_payment), amount(form.financed));
    let values: [(&str, &dyn Display); 5] = [
        ("title", &form.title),
        ("price", &price),
        ("down_payment", &down_payment),
        ("financed", &financed),
        ("rate", &rate),
    ];
    let mut own = vec![filled(&texts.financing, &values)];
    let least = node_context.definition.financing.least_down_payment_percent;
    let is_less = match turn.concierge.payment.as_ref().and_then(|payment| payment.down_payment) {
        Some(DownPayment::Amount(amount)) => amount < form.least_down_payment,
        Some(DownPayment::Percent(percent)) => percent < setting(least),
        None => false,
    };
    if is_less {
        let percent = format!("{least} %");
        own.push(filled(&texts.financing_least, &[("percent", &percent), ("amount", &down_payment)]));
    }
    let asked = turn.concierge.payment.iter().flat_map(|payment| &payment.months);
    let (least, most) = form.month_range;
    if asked.clone().any(|months| !(least..=most).contains(months)) {
        own.push(filled(&texts.financing_months, &[("least", &least), ("most", &most)]));
    }
    own.push(filled(&texts.financing_terms, &values));
    let head = [&texts.months, &texts.instalment, &texts.last_instalment, &texts.total, &texts.interest];
    let mut rows = vec![
        format!("| {} |", head.map(String::as_str).join(" | ")),
        "|---:|---:|---:|---:|---:|".to_owned(),
    ];
    let mut known: BTreeMap<String, String> =
        values.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())).collect();
    for plan in &form.plans {
        let cells = [plan.instalment, plan.last_instalment, plan.total, plan.interest].map(amount);
        rows.push(format!("| {} | {} |", plan.months, cells.join(" | ")));
        known.insert(format!("instalment_{}", plan.months), amount(plan.instalment));
    }
    Presentation {
        own: own.join(" "),
        values: known,
        below: rows.join("\n"),
        tool: "compute_financing",
        title: texts.financing_source.clone(),
        format: INSTALMENTS,
        form: serde_json::to_value(form).unwrap_or_default(),
        has_words: own.len() == 2,
        unanswered: false,
    }
}

/// The words of a model around the facts; ibid's own where the model brings numbers of its own, or says nothing.
async fn words(
    node_context: &NodeContext,
    turn: &TurnState,
    context: &Context,
    facts: &Presentation,
) -> Result<(String, TurnCost), NodeError> {
    context.status("writing the answer");
    let model = node_context.ports.answer.as_ref();
    let names: Vec<String> =
        facts.values.iter().map(|(name, value)| format!("{{{name}}} = {value}")).collect();
    let variables = json!({
        "persona": node_context.persona(turn)?,
        "language": turn.request.spoken.name(),
        "values": names,
        "facts": facts.own,
        "message": turn.request.text,
    });
    let prompt = node_context.prompt("present", turn, variables)?;
    let mut request = node_context.request(turn, vec![Prompt::User(prompt)]);
    request.max_output_tokens = Some(MOST_TOKENS);
    let reply = node_context.ask(context, model, request, |_| {}).await.map_err(failed)?;
    let values: Vec<(&str, &dyn Display)> =
        facts.values.iter().map(|(name, value)| (name.as_str(), value as &dyn Display)).collect();
    let words = filled(reply.text.trim(), &values);
    let words = words.split("\n\n").next().unwrap_or_default().trim().to_owned();
    let known = format!("{}\n{}", facts.own, facts.below);
    let is_fit = !words.is_empty()
        && !reply.partial
        && !reply.cut_off
        && !words.contains(['|', '['])
        && bears_out(&known, &words, &turn.said_by_person(), turn.request.spoken.language);
    // On which terms is said in any case.
    let terms = facts.values.get("rate").map(|rate| filled(&turn.texts().financing_terms, &[("rate", rate)]));
    let words = match terms {
        Some(terms) if is_fit => format!("{words} {terms}"),
        _ if is_fit => words,
        _ => facts.own.clone(),
    };
    Ok((words, reply.spent))
}
