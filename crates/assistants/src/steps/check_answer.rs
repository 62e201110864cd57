//! Checks whether a draft answers what was asked.

use std::sync::Arc;

use ibid_core::event::TurnEvent;
use ibid_core::model::Prompt;
use ibid_core::research::Answered;
use ibid_core::trace::{self, Evaluation};
use ibid_graph::{Context, NodeError, Terminal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::node_context::{NodeContext, emit};
use crate::packing::words;
use crate::source::{beginning, harmless};
use crate::turn::{TurnCost, TurnState, TurnUpdate};

/// A verdict has at most so many tokens.
const MOST_TOKENS: usize = 120;
/// What is missing is told in at most so many bytes.
const LONGEST: usize = 400;

/// The verdict as a model writes it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "verdict")]
struct Verdict {
    /// Whether the answer answers the question.
    answers: bool,
    /// What is missing, in a few words; empty if nothing is.
    missing: String,
}

/// Checks.
pub(crate) async fn check_answer(
    node_context: Arc<NodeContext>,
    turn: Arc<TurnState>,
    context: Context,
) -> Result<TurnUpdate, NodeError> {
    let Some(answer) = &turn.answer else { return Err(Terminal::new("nothing was written").into()) };
    let (answered, missing, spent) = if answer.unanswered {
        (Answered::No, String::new(), TurnCost::default())
    } else {
        context.status("checking whether that answers the question");
        let said = harmless(&answer.checked.answer);
        let variables = json!({ "question": turn.question, "answer": said });
        let prompt = node_context.prompt("check_answer", &turn, variables)?;
        let mut request = node_context.request(&turn, vec![Prompt::User(prompt)]);
        request.max_output_tokens = Some(MOST_TOKENS);
        let small = node_context.ports.small.as_ref();
        match node_context.ask_for::<Verdict>(&context, small, request).await? {
            (Some(Verdict { answers: true, .. }), spent) => (Answered::Yes, String::new(), spent),
            (Some(Verdict { missing, .. }), spent) if repeats(&missing, &said) => {
                (Answered::NotSure, String::new(), spent)
            }
            (Some(Verdict { missing, .. }), spent) => {
                (Answered::No, beginning(missing.trim(), LONGEST).into_owned(), spent)
            }
            (None, spent) => (Answered::NotSure, String::new(), spent),
        }
    };
    let label = match answered {
        Answered::Yes => "pass",
        Answered::No => "fail",
        Answered::NotSure => "not_sure",
    };
    let explanation = (!missing.is_empty()).then(|| missing.clone());
    let evaluation = Evaluation { name: "answers_question", label, score: None, explanation };
    trace::evaluated(&tracing::Span::current(), evaluation);
    let round = turn.research.judged(answer, answered, missing);
    emit(&context, &TurnEvent::Research(round.clone()));
    Ok(TurnUpdate::Judged { round, spent })
}

/// Whether what a model calls missing stands in the answer: small models repeat it there.
fn repeats(missing: &str, answer: &str) -> bool {
    let (missing, answer) = (words(missing), words(answer));
    !missing.is_empty() && missing.iter().all(|word| answer.contains(word))
}

#[cfg(test)]
mod tests {
    use super::repeats;

    #[test]
    fn what_stands_in_the_answer_is_not_missing() {
        let answer = "The outbreak was the Italian Plague of 1629 [1].";
        assert!(repeats("The outbreak was the Italian Plague of 1629", answer));
        assert!(!repeats("the rate for China", answer) && !repeats("", answer));
    }
}
