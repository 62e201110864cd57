//! Searches the web where the documents hold nothing that is relevant, if the rule of the corpora allows it.

use std::sync::Arc;

use ibid_core::event::TurnEvent;
use ibid_core::web::WebRule;
use ibid_core::{metric, trace};
use ibid_graph::{Context, NodeError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tracing::Instrument;

use crate::node_context::{NodeContext, WebAccess, emit};
use crate::source::{Origin, Source, add_after};
use crate::turn::{TurnState, TurnUpdate};

/// What a person is asked before anything is sent.
#[derive(Debug, Serialize)]
pub(crate) struct WebQuery {
    /// What kind of question it is, for whoever shows it.
    kind: &'static str,
    /// In words.
    question: String,
    /// What would be sent, exactly.
    queries: Vec<String>,
}

/// What a person answers: yes, or anything else.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct WebReply(Value);

impl WebReply {
    /// Whether it is a yes.
    pub(crate) fn is_yes(&self) -> bool {
        is_yes(&self.0)
    }
}

/// Whether an answer is a yes.
pub(super) fn is_yes(answer: &Value) -> bool {
    match answer {
        Value::Bool(agreed) => *agreed,
        Value::String(text) => {
            let text = text.trim().trim_end_matches(['.', '!']).to_lowercase();
            matches!(text.as_str(), "yes" | "y" | "s\u{ed}" | "si" | "sim" | "allow" | "ok")
        }
        _ => false,
    }
}

/// What a person is asked about a search of the web.
pub(crate) fn web_query(turn: &TurnState) -> WebQuery {
    let question = turn.texts().may_search_web.clone();
    WebQuery { kind: "web_search", question, queries: vec![query(turn)] }
}

/// What is searched for.
fn query(turn: &TurnState) -> String {
    turn.question.clone()
}

/// Where the graph goes to search the web; none if it does not.
pub(crate) fn next_to_web(node_context: &NodeContext, turn: &TurnState) -> Option<&'static str> {
    let web = &turn.research.web;
    if !node_context.definition.corrective.web_search || web.is_searched || web.agreed == Some(false) {
        return None;
    }
    match &node_context.ports.web {
        WebAccess::Off => None,
        // The node says what is missing.
        WebAccess::Missing(_) => Some("web_search"),
        WebAccess::On { rules, .. } => match rules.of(&turn.request.scope) {
            WebRule::Never => None,
            WebRule::Ask => Some("ask_web"),
            WebRule::Allow => Some("web_search"),
        },
    }
}

/// Searches.
pub(crate) async fn web_search(
    node_context: Arc<NodeContext>,
    turn: Arc<TurnState>,
    context: Context,
) -> Result<TurnUpdate, NodeError> {
    let query = query(&turn);
    let none = |failure: Option<String>| TurnUpdate::WebSearched {
        pages: Vec::new(),
        query: query.clone(),
        failure,
    };
    let (search, rules) = match &node_context.ports.web {
        WebAccess::On { search, rules } => (search, rules),
        WebAccess::Missing(reason) => {
            context.status(format!("the web is not searched: {reason}"));
            return Ok(none(Some(format!("web_search: {reason}"))));
        }
        WebAccess::Off => return Ok(none(None)),
    };
    // Settings may have changed since the question was asked: what holds now decides.
    let may = match rules.of(&turn.request.scope) {
        WebRule::Never => false,
        WebRule::Ask => turn.research.web.agreed == Some(true),
        WebRule::Allow => true,
    };
    if !may {
        return Ok(none(None));
    }
    context.status("searching the web");
    let span = trace::web_search_span(&query);
    let searched = search.search(&query).instrument(span.clone()).await;
    metric::web_searched(if searched.is_ok() { "done" } else { "failed" });
    match searched {
        Ok(pages) => {
            let mut sources = turn.sources.clone();
            for page in &pages {
                add_after(&mut sources, Origin::Web(page.clone()), turn.research.last_left_out());
            }
            emit(&context, &TurnEvent::Sources { sources: sources.iter().map(Source::info).collect() });
            emit(&context, &TurnEvent::Searched { queries: vec![query.clone()] });
            Ok(TurnUpdate::WebSearched { pages, query, failure: None })
        }
        Err(error) => {
            trace::failed(&span, &error);
            context.status(format!("the web could not be searched: {error}"));
            Ok(none(Some(format!("web_search: {error}"))))
        }
    }
}
