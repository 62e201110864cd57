//! Ends the rounds: gives the answer that is best by its verdict, with the sentences marked that no source supports.

use std::sync::Arc;

use ibid_core::answer::WarningKind;
use ibid_core::event::TurnEvent;
use ibid_core::research::{Answered, RoundVerdict};
use ibid_graph::{Context, NodeError, Terminal};
use serde_json::json;

use super::search_again::does_not_answer;
use super::verify::{searched, withheld_text};
use crate::guard::{Policy, marked, warning, warning_about};
use crate::language::filled;
use crate::node_context::{NodeContext, emit};
use crate::research::is_unsupported;
use crate::turn::{Answer, TurnState, TurnUpdate};

/// Concludes.
pub(crate) async fn conclude(
    node_context: Arc<NodeContext>,
    turn: Arc<TurnState>,
    context: Context,
) -> Result<TurnUpdate, NodeError> {
    let Some((best, verdict)) = turn.research.best() else {
        return Err(Terminal::new("nothing was written").into());
    };
    let mut answer = best.clone();
    if !verdict.is_accepted() && !answer.unanswered {
        doubt(&mut answer, verdict, &turn);
    }
    let block = node_context.definition.guard == Policy::Block;
    if block && !answer.unanswered && !answer.checked.warnings.is_empty() {
        answer.withheld = true;
        answer.text = withheld_text(turn.texts(), &answer.checked.warnings);
    }
    let format = node_context.format(&turn)?;
    if answer.text != best.text {
        answer.structured = match answer.structured.take() {
            Some(fields) if !answer.withheld && !answer.unanswered => {
                format.fill(&fields, &answer.text, json!(answer.checked.citations))
            }
            _ => format.blank(&answer.text),
        };
    }
    // What was shown last may be the draft of another round, or without its marks.
    let shown = turn.answer.as_ref().map(|shown| &shown.text);
    if block {
        context.token(turn.say(&answer.text));
    } else if shown != Some(&answer.text) {
        emit(&context, &TurnEvent::DraftWithdrawn { reason: turn.texts().best_round.clone() });
        context.token(turn.say(&answer.text));
    }
    emit(&context, &TurnEvent::Citations { citations: answer.checked.citations.clone() });
    emit(&context, &TurnEvent::Warnings { warnings: answer.checked.warnings.clone() });
    Ok(TurnUpdate::Answered { answer: Box::new(answer) })
}

/// Marks what no source supports. Where that is all of it, the answer is not known.
fn doubt(answer: &mut Answer, verdict: &RoundVerdict, turn: &TurnState) {
    let texts = turn.texts();
    if is_unsupported(answer, verdict) {
        answer.unanswered = true;
        answer.checked.citations.clear();
        answer.checked.warnings.clear();
        answer.checked.answer.clone_from(&texts.unknown);
        answer.text = format!("{}\n\n{}", texts.unknown, searched(turn));
        return;
    }
    let warnings = &mut answer.checked.warnings;
    for sentence in &verdict.unsupported {
        let is_told =
            warnings.iter().any(|told| told.about.as_deref().is_some_and(|about| sentence.contains(about)));
        if !is_told {
            let text = filled(&texts.unsupported, &[("sentence", sentence)]);
            let about = sentence.trim_end_matches(['.', ';', '!']);
            warnings.push(warning_about(warning(WarningKind::Unsupported, &text, &[]), about));
        }
    }
    if verdict.answered == Answered::No {
        let text = does_not_answer(verdict, texts);
        warnings.push(warning(WarningKind::NotAnswered, &text, &[]));
    }
    answer.checked.answer = marked(&answer.checked.answer, &verdict.unsupported, &texts.unsupported_mark);
    answer.text = answer.checked.answer.clone();
}
