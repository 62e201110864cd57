//! Fits what a model is shown into its context: the oldest part of the conversation is left out first; system
//! prompts and the question with what follows it never are.

use ibid_core::model::{ModelError, Prompt};

use super::tokens::Tokenizer;

/// Where the question stands: it and what follows are never left out.
pub(super) fn question_in(prompts: &[Prompt]) -> usize {
    prompts.iter().rposition(|prompt| matches!(prompt, Prompt::User(_))).unwrap_or(0)
}

/// Leaves out what does not fit into `room` tokens. Returns what is left and how many tokens it takes.
pub(super) fn fit(
    model: &str,
    tokenizer: &Tokenizer,
    prompts: Vec<Prompt>,
    question: usize,
    room: usize,
) -> Result<(Vec<Prompt>, usize), ModelError> {
    let sizes: Vec<usize> = prompts.iter().map(|prompt| tokenizer.count_prompt(prompt)).collect();
    let stays = |index: usize| index >= question || matches!(prompts[index], Prompt::System(_));
    let needed: usize = (0..prompts.len()).filter(|index| stays(*index)).map(|index| sizes[index]).sum();
    if needed > room {
        return Err(ModelError::TooLong { model: model.to_owned(), needed, room });
    }
    let (mut used, mut oldest, mut all) = (needed, question, true);
    for index in (0..question).rev() {
        if !stays(index) {
            if used + sizes[index] > room {
                all = false;
                break;
            }
            used += sizes[index];
        }
        oldest = index;
    }
    // Where something is left out, the rest begins with a person's words: an answer without its question, or the
    // result of a tool without its call, would answer nothing, and some models refuse it.
    while !all && oldest < question && !matches!(prompts[oldest], Prompt::User(_)) {
        if !stays(oldest) {
            used -= sizes[oldest];
        }
        oldest += 1;
    }
    let kept: Vec<bool> = (0..prompts.len()).map(|index| index >= oldest || stays(index)).collect();
    let left = prompts.into_iter().zip(kept).filter_map(|(prompt, kept)| kept.then_some(prompt)).collect();
    Ok((left, used))
}

#[cfg(test)]
mod tests {
    use ibid_core::model::ToolCall;
    use serde_json::json;

    use super::*;

    fn conversation(turns: usize) -> Vec<Prompt> {
        let mut prompts = vec![Prompt::System("be exact".to_owned())];
        for turn in 0..turns {
            prompts.push(Prompt::User(format!("question {turn}")));
            let call = ToolCall { id: turn.to_string(), name: "search".to_owned(), arguments: json!({}) };
            prompts.push(Prompt::Assistant { text: String::new(), calls: vec![call] });
            prompts.push(Prompt::Tool { call: turn.to_string(), text: "a long result of a tool".to_owned() });
            prompts.push(Prompt::assistant("answer"));
        }
        prompts.push(Prompt::User("the question".to_owned()));
        prompts.push(Prompt::assistant("let me see"));
        prompts
    }

    #[test]
    fn the_oldest_history_goes_first_and_the_rest_stays() {
        let tokenizer = Tokenizer::Estimate;
        let all = conversation(10);
        let whole: usize = all.iter().map(|prompt| tokenizer.count_prompt(prompt)).sum();
        let mut last = usize::MAX;
        for room in (0..=whole).rev() {
            let Ok((left, used)) = fit("m", &tokenizer, all.clone(), question_in(&all), room) else {
                assert!(room < 40, "{room} tokens are enough for the question");
                continue;
            };
            assert!(used <= room && left.len() <= last, "more room never means less");
            assert_eq!(used, left.iter().map(|prompt| tokenizer.count_prompt(prompt)).sum::<usize>());
            assert_eq!(left[0], all[0]);
            assert_eq!(left[left.len() - 2..], all[all.len() - 2..]);
            assert_eq!(left[1..], all[all.len() - (left.len() - 1)..], "a window without gaps");
            assert!(matches!(left[1], Prompt::User(_)), "no answer without its question");
            last = left.len();
        }
    }

    #[test]
    fn what_must_be_shown_and_does_not_fit_is_an_error_that_says_so() {
        let error = fit("small", &Tokenizer::Estimate, conversation(0), 1, 10).unwrap_err();
        assert!(matches!(error, ModelError::TooLong { room: 10, .. }), "{error}");
    }
}
