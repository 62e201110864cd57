//! Looks at what was written before it is said: citations, quotations, values. What is found is told, repaired once or
//! withheld, as the assistant is set up.

use std::sync::Arc;

use ibid_core::answer::{Intent, RoutedBy, Warning, WarningKind};
use ibid_core::event::TurnEvent;
use ibid_core::trace::{self, Evaluation};
use ibid_graph::{Context, NodeError, Terminal};
use serde_json::json;
use tracing::Instrument;

use crate::definition::Knowledge;
use crate::format::{AnswerFormat, ParsedAnswer};
use crate::guard::{self, Policy, VerifiedAnswer, warning};
use crate::language::{Texts, filled};
use crate::node_context::{NodeContext, emit, not_searched};
use crate::turn::{Answer, TurnState, TurnUpdate};

/// How often an answer is written again.
pub(crate) const MOST_REPAIRS: u32 = 1;

/// Verifies.
pub(crate) async fn verify(
    node_context: Arc<NodeContext>,
    turn: Arc<TurnState>,
    context: Context,
) -> Result<TurnUpdate, NodeError> {
    let Some(draft) = &turn.draft else { return Err(Terminal::new("nothing was written").into()) };
    let format = node_context.format(&turn)?;
    let written = draft.read(format, turn.texts());
    let knowledge = node_context.definition.knowledge;
    if turn.is_chat() || turn.sources.is_empty() {
        let unknown = !turn.is_chat() && knowledge == Knowledge::Documents;
        let mut answer = written.answer.clone();
        let is_general = turn.route.as_ref().is_some_and(|route| route.intent == Some(Intent::General));
        // Who only talks has looked nothing up: figures would be invented.
        if is_general && !guard::bears_out("", &answer, &turn.said_by_person(), turn.request.spoken.language)
        {
            emit(&context, &TurnEvent::DraftWithdrawn { reason: String::new() });
            answer.clone_from(&turn.texts().help);
            context.token(turn.say(&answer));
        }
        let mut checked = VerifiedAnswer { answer, citations: Vec::new(), warnings: Vec::new() };
        if knowledge != Knowledge::Open && may_be_a_question(&turn) {
            checked.warnings.push(warning(WarningKind::NotFromDocuments, &turn.texts().taken_for_chat, &[]));
        } else if knowledge == Knowledge::DocumentsFirst && !turn.is_chat() {
            checked.warnings.push(not_from_documents(&turn));
        }
        if !checked.warnings.is_empty() {
            emit(&context, &TurnEvent::Warnings { warnings: checked.warnings.clone() });
        }
        // That nothing was found has been told.
        if turn.request.only_checked && !unknown && !turn.is_research() {
            context.token(turn.say(&checked.answer));
        }
        return Ok(answered(&turn, format, &written, checked, unknown, false));
    }
    context.status("checking citations, quotations and figures");
    let index = node_context.ports.index.as_ref();
    let (said, span) = (turn.said_by_person(), trace::guard_span());
    let language = turn.request.spoken.language;
    let checked = guard::check(index, &turn.request.scope, &turn.sources, &written, &said, language);
    let mut checked = checked.instrument(span.clone()).await.map_err(not_searched)?;
    let unanswered = written.unanswered;
    if unanswered {
        checked.warnings.retain(|warning| warning.kind != WarningKind::NothingCited);
    }
    if knowledge != Knowledge::Documents && checked.citations.is_empty() && !unanswered {
        // It says something else than the documents, as it may.
        checked.warnings.clear();
        if knowledge == Knowledge::DocumentsFirst {
            checked.warnings.push(not_from_documents(&turn));
        }
    }
    if draft.cut_off {
        checked.warnings.push(warning(WarningKind::CutOff, &turn.texts().cut_off, &[]));
    }
    let found = checked.warnings.iter().any(|warning| warning.kind != WarningKind::NotFromDocuments);
    trace::evaluated(
        &span,
        Evaluation {
            name: "guard",
            label: if found { "fail" } else { "pass" },
            score: Some(if found { 0.0 } else { 1.0 }),
            explanation: found.then(|| warned(&checked.warnings)),
        },
    );
    emit(&context, &TurnEvent::Citations { citations: checked.citations.clone() });
    emit(&context, &TurnEvent::Warnings { warnings: checked.warnings.clone() });
    let policy = node_context.definition.guard;
    if turn.is_research() {
        // Whether it is given is decided with the other checks.
        return Ok(answered(&turn, format, &written, checked, unanswered, false));
    }
    if found && policy == Policy::Repair && turn.repairs < MOST_REPAIRS && !draft.partial {
        return Ok(TurnUpdate::Rejected { findings: checked.warnings });
    }
    let withheld = found && policy == Policy::Block;
    if policy == Policy::Block && !withheld {
        context.token(turn.say(&checked.answer));
    }
    if withheld {
        checked.answer = withheld_text(turn.texts(), &checked.warnings);
        context.token(turn.say(&checked.answer));
    }
    Ok(answered(&turn, format, &written, checked, unanswered, withheld))
}

fn not_from_documents(turn: &TurnState) -> Warning {
    warning(WarningKind::NotFromDocuments, &turn.texts().general_knowledge, &[])
}

/// Whether a router decided that this is chat, and not the person nor the words themselves.
fn may_be_a_question(turn: &TurnState) -> bool {
    let route = turn.route.as_ref().filter(|route| route.intent == Some(Intent::Chat));
    matches!(route.map(|route| route.by), Some(RoutedBy::Distance | RoutedBy::Model))
}

/// Where the graph goes after it: the answer is written again, or it is said.
pub(crate) fn is_rejected(turn: &TurnState) -> bool {
    turn.answer.is_none() && !turn.findings.is_empty()
}

fn answered(
    turn: &TurnState,
    format: &AnswerFormat,
    written: &ParsedAnswer,
    checked: VerifiedAnswer,
    unanswered: bool,
    withheld: bool,
) -> TurnUpdate {
    let mut text = checked.answer.clone();
    if unanswered && !turn.sources.is_empty() {
        text.push_str("\n\n");
        text.push_str(&searched(turn));
    }
    // What was not written by the model has the fields of its format all the same.
    let structured = if written.fields.is_null() || withheld {
        format.blank(&text)
    } else {
        format.fill(&written.fields, &text, json!(checked.citations))
    };
    TurnUpdate::Answered { answer: Box::new(Answer { text, structured, checked, unanswered, withheld }) }
}

/// What was looked for and where, for whoever wants to look further.
pub(super) fn searched(turn: &TurnState) -> String {
    let mut titles: Vec<&str> = Vec::new();
    for source in &turn.sources {
        if let crate::source::Origin::Passage(passage) = &source.origin
            && !titles.contains(&passage.title.as_str())
        {
            titles.push(&passage.title);
        }
    }
    let (searched, titles) = (turn.searched.join("; "), titles.join("; "));
    filled(&turn.texts().searched_and_read, &[("searched", &searched), ("titles", &titles)])
}

/// What was found, in words.
fn warned(warnings: &[Warning]) -> String {
    warnings.iter().map(|warning| warning.text.as_str()).collect::<Vec<_>>().join("; ")
}

pub(super) fn withheld_text(texts: &Texts, warnings: &[Warning]) -> String {
    filled(&texts.withheld, &[("found", &warned(warnings))])
}
