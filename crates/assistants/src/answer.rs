//! What a turn says in the end, with the metadata that whoever shows it needs.

use ibid_core::{AnswerMetadata, Message};

use crate::format::{Draft, without_signal_so_far};
use crate::source::Source;
use crate::turn::{Answer, TurnState};

/// What a turn says: the answer, or as much of it as there is.
pub(crate) fn messages(turn: &TurnState) -> Vec<Message> {
    if let Some((kept, text, from)) = &turn.cache.recalled {
        let metadata = AnswerMetadata {
            cached: Some(from.clone()),
            route: turn.route.clone(),
            usage: turn.spent.usage,
            model_calls: turn.spent.calls,
            ..kept.metadata.clone()
        };
        return vec![Message::answer(turn.say(text), metadata)];
    }
    let Some(answer) = &turn.answer else {
        let draft = turn.draft.as_ref().filter(|_| !turn.request.only_checked);
        let written = draft.map(Draft::answer).map(|text| turn.say(without_signal_so_far(&text)));
        let written = written.filter(|text| !text.is_empty());
        // The numbers of its sources are not checked, and still say what they mean.
        let partial = |text| {
            Message::answer(text, AnswerMetadata::partial(turn.sources.iter().map(Source::info).collect()))
        };
        return written.map(partial).into_iter().collect();
    };
    vec![Message::answer(&answer.text, metadata(turn, answer))]
}

/// What an answer carries.
pub(crate) fn metadata(turn: &TurnState, answer: &Answer) -> AnswerMetadata {
    AnswerMetadata {
        partial: false,
        format: turn.request.format.clone(),
        structured: answer.structured.clone(),
        citations: answer.checked.citations.clone(),
        warnings: answer.checked.warnings.clone(),
        sources: turn.sources.iter().map(Source::info).collect(),
        searched: turn.searched.clone(),
        unanswered: answer.unanswered,
        withheld: answer.withheld,
        route: turn.route.clone(),
        plan: turn.plan.clone(),
        research: turn.research.rounds.clone(),
        cached: None,
        usage: turn.spent.usage,
        model_calls: turn.spent.calls,
    }
}
