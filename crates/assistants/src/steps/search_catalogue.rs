//! Searches the catalogue for what the person looks for, gathered over the conversation.

use std::collections::BTreeMap;
use std::sync::Arc;

use ibid_core::catalogue::CatalogueValue;
use ibid_core::event::TurnEvent;
use ibid_core::evidence::EvidenceError;
use ibid_core::value::Decimal;
use ibid_graph::{Context, NodeError};

use crate::catalogue::{
    CatalogueResult, Criteria, Fields, OptionsForm, criteria_in_words, last_options, naming, search,
    understand,
};
use crate::concierge::{ConciergeUpdate, FoundOptions};
use crate::node_context::{NodeContext, emit, not_searched};
use crate::turn::{TurnState, TurnUpdate};

/// Searches.
pub(crate) async fn search_catalogue(
    node_context: Arc<NodeContext>,
    turn: Arc<TurnState>,
    context: Context,
) -> Result<TurnUpdate, NodeError> {
    context.status("searching the catalogue");
    let found = found(&node_context, &turn).await.map_err(not_searched)?;
    let settings = &node_context.definition.catalogue;
    let words = criteria_in_words(&found.understood.criteria, settings, turn.request.spoken.language);
    emit(&context, &TurnEvent::Searched { queries: vec![words] });
    Ok(TurnUpdate::Concierge(ConciergeUpdate::CatalogueSearched { found: Box::new(found) }))
}

async fn found(node_context: &NodeContext, turn: &TurnState) -> Result<FoundOptions, EvidenceError> {
    let settings = &node_context.definition.catalogue;
    let Some(port) = &node_context.ports.catalogues else { return Ok(FoundOptions::default()) };
    let catalogues = port.list(&turn.request.scope).await?;
    let Some(first) = naming(&catalogues) else {
        return Ok(FoundOptions::default());
    };
    let change = turn.concierge.change.clone().unwrap_or_default();
    let before = last_options(&turn.request.history);
    let shown = before.as_ref().map(numbers).unwrap_or_default();
    let criteria: Option<&Criteria> = before.as_ref().map(|form| &form.criteria);
    let understood = understand(&Fields::of(settings, first), &change, criteria, &shown);
    let result = if understood.criteria.is_empty() {
        CatalogueResult::default()
    } else {
        search(port.as_ref(), &turn.request.scope, &catalogues, settings, &understood.criteria).await?
    };
    Ok(FoundOptions { understood, result, has_catalogue: true, title: first.title.clone() })
}

/// The numbers of the options that were shown, by field.
fn numbers(form: &OptionsForm) -> BTreeMap<String, Vec<Decimal>> {
    let mut numbers: BTreeMap<String, Vec<Decimal>> = BTreeMap::new();
    for (field, value) in form.options.iter().flat_map(|option| &option.values) {
        if let CatalogueValue::Number(number) = value {
            numbers.entry(field.clone()).or_default().push(*number);
        }
    }
    numbers
}
