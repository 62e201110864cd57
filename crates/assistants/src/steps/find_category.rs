//! Finds the category of a common question, by how near the question is to what stands in it. The answer comes from that
//! category alone; what is near to none is not known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::future::try_join_all;
use ibid_core::Focus;
use ibid_core::event::TurnEvent;
use ibid_core::evidence::{DocumentId, EvidenceError, Passage};
use ibid_graph::{Context, NodeError};

use crate::concierge::ConciergeUpdate;
use crate::language::{Language, folded};
use crate::node_context::{NodeContext, emit, not_searched};
use crate::source::{Source, take};
use crate::turn::{TurnState, TurnUpdate};

/// The type of documents that are categories.
pub const FAQ: &str = "faq";
/// So many categories are compared.
const MOST_CATEGORIES: usize = 6;
/// A shorter word is no name.
const SHORTEST_NAME: usize = 3;
/// A word that leads so many different names leads names.
const LEAST_NAMES: usize = 3;

/// Finds it.
pub(crate) async fn find_category(
    node_context: Arc<NodeContext>,
    turn: Arc<TurnState>,
    context: Context,
) -> Result<TurnUpdate, NodeError> {
    context.status("looking for the category of the question");
    let found = category(&node_context, &turn).await.map_err(not_searched)?;
    let (category, passages) = match found {
        Some((title, passages)) => (Some(title), passages),
        None => (None, Vec::new()),
    };
    let mut sources = turn.sources.clone();
    take(&mut sources, passages.clone());
    emit(&context, &TurnEvent::Sources { sources: sources.iter().map(Source::info).collect() });
    let searched = vec![turn.question.clone()];
    Ok(TurnUpdate::Concierge(ConciergeUpdate::CategoryFound { category, passages, searched }))
}

/// The category that is nearest, if it is near enough and says something of the names in the question.
async fn category(
    node_context: &NodeContext,
    turn: &TurnState,
) -> Result<Option<(String, Vec<Passage>)>, EvidenceError> {
    let index = node_context.ports.index.as_ref();
    let mut question = node_context.definition.retrieval.question(vec![turn.question.clone()]);
    question.kinds = vec![FAQ.to_owned()];
    let found = index.retrieve(&turn.request.scope, &question).await?;
    let mut categories: Vec<DocumentId> = Vec::new();
    for passage in &found.passages {
        if !categories.contains(&passage.document) && categories.len() < MOST_CATEGORIES {
            categories.push(passage.document.clone());
        }
    }
    let near = categories.iter().map(|category| async move {
        let scope = turn.request.scope.clone().focused(focus(category));
        Ok::<_, EvidenceError>((index.relevance(&scope, &turn.question).await?, category))
    });
    let near = try_join_all(near).await?;
    let nearest = near.into_iter().filter_map(|(relevance, category)| Some((relevance?, category)));
    let nearest = nearest.max_by(|one, other| one.0.total_cmp(&other.0));
    let Some((_, category)) =
        nearest.filter(|(relevance, _)| *relevance >= node_context.definition.faq.relevance)
    else {
        return Ok(None);
    };
    let scope = turn.request.scope.clone().focused(focus(category));
    let passages = index.retrieve(&scope, &question).await?.passages;
    let Some(title) = passages.first().map(|passage| passage.title.clone()) else { return Ok(None) };
    let whole = index.page(&scope, category, 1).await?;
    let said = |passage: &Passage| format!("{} {} ", passage.path.join(" "), passage.text);
    let text: String = whole.iter().chain(&passages).map(said).collect();
    let known = folded(&text);
    let asked = &turn.request.text;
    let is_unknown = |name: &str| !known.contains(&folded(name));
    let names_another = names(asked).into_iter().any(is_unknown)
        || words_after(asked, &name_prepositions(&text)).iter().any(|name| is_unknown(name));
    Ok((!names_another).then_some((title, passages)))
}

/// The words that lead names in a category, as "in" does where places are listed.
fn name_prepositions(text: &str) -> Vec<String> {
    let mut found: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    let words: Vec<&str> = text.split_whitespace().collect();
    for pair in words.windows(2) {
        let (lead, name) = (folded(pair[0]), pair[1]);
        let is_lead = Language::all().any(|language| language.is_preposition(&lead));
        if is_lead && name.starts_with(char::is_uppercase) {
            found.entry(lead).or_default().insert(name);
        }
    }
    found.into_iter().filter(|(_, names)| names.len() >= LEAST_NAMES).map(|(lead, _)| lead).collect()
}

/// The words of a message that stand where names do, also where they are written small.
fn words_after(text: &str, prepositions: &[String]) -> Vec<String> {
    let words: Vec<String> = text
        .split_whitespace()
        .map(|word| folded(word.trim_matches(|letter: char| !letter.is_alphanumeric())))
        .collect();
    let follows = |pair: &[String]| {
        let is_common = Language::any_has_common(&pair[1]);
        (prepositions.contains(&pair[0]) && !is_common && pair[1].chars().count() > SHORTEST_NAME)
            .then(|| pair[1].clone())
    };
    words.windows(2).filter_map(follows).collect()
}

fn focus(category: &DocumentId) -> Focus {
    Focus { documents: Some(BTreeSet::from([category.clone()])), ..Focus::default() }
}

/// The names in a message: words with a capital letter that do not begin a sentence. In a message without small letters, there are
/// none.
fn names(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut begins = true;
    if !text.chars().any(char::is_lowercase) {
        return names;
    }
    for word in text.split_whitespace() {
        let bare = word.trim_matches(|letter: char| !letter.is_alphanumeric());
        let is_capital = bare.chars().next().is_some_and(char::is_uppercase);
        let opens = word.starts_with(['\u{bf}', '\u{a1}', '"', '(']);
        let is_common = Language::any_has_common(&folded(bare));
        if is_capital && !begins && !opens && !is_common && bare.chars().count() >= SHORTEST_NAME {
            names.push(bare);
        }
        begins = word.ends_with(['.', '?', '!', ':', '\u{2026}']);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::{name_prepositions, names, words_after};

    #[test]
    fn names_are_words_with_a_capital_inside_a_sentence() {
        assert_eq!(names("\u{bf}Tienen sucursal en Tampico?"), ["Tampico"]);
        assert_eq!(names("Hola. \u{bf}Abren en Puebla los Domingos?"), ["Puebla", "Domingos"]);
        assert!(names("DONDE ESTAN").is_empty() && names("donde estan").is_empty());
    }

    #[test]
    fn what_stands_where_names_do_is_one_also_in_small_letters() {
        let prepositions = name_prepositions(
            "Sucursal en Puebla. Hay dos en Monterrey y una en Toluca. Se paga en efectivo con Ana.",
        );
        assert_eq!(prepositions, ["en"]);
        assert_eq!(words_after("tienen sucursal en tampico?", &prepositions), ["tampico"]);
        assert!(words_after("que hay con tampico, en la tarde", &prepositions).is_empty());
    }
}
