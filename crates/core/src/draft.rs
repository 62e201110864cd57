//! The answer of a turn as it grows, is withdrawn and is written anew.

use crate::event::TurnEvent;

/// The answer of a turn as far as its events tell it: one fold that every API and the terminal use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DraftAnswer {
    /// What was written so far.
    pub text: String,
    /// How many drafts were begun. What is written anew is another draft.
    pub number: u32,
    /// The step and attempt that write it.
    writer: (u32, u32),
    /// Whether the next piece begins another draft.
    closed: bool,
}

/// What an event did to a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DraftChange<'a> {
    /// Nothing.
    Unchanged,
    /// This piece begins a draft.
    Began(&'a str),
    /// This piece goes on with it.
    Continued(&'a str),
    /// What was written so far is void.
    Withdrawn,
}

impl DraftAnswer {
    /// Takes an event of a step.
    pub fn apply<'a>(&mut self, step: u32, attempt: u32, event: &'a TurnEvent) -> DraftChange<'a> {
        match event {
            TurnEvent::Token { text } => {
                let begins = self.number == 0 || self.closed || self.writer != (step, attempt);
                if begins {
                    self.text.clear();
                    self.number += 1;
                    (self.writer, self.closed) = ((step, attempt), false);
                }
                self.text.push_str(text);
                if begins { DraftChange::Began(text) } else { DraftChange::Continued(text) }
            }
            TurnEvent::DraftWithdrawn { .. }
            | TurnEvent::StepRetrying { .. }
            | TurnEvent::Restarted { .. }
                if self.number > 0 && !self.closed =>
            {
                self.closed = true;
                self.text.clear();
                DraftChange::Withdrawn
            }
            _ => DraftChange::Unchanged,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn token(text: &str) -> TurnEvent {
        TurnEvent::Token { text: text.to_owned() }
    }

    #[test]
    fn a_draft_is_void_when_its_step_writes_anew_or_another_attempt_or_step_writes() {
        let mut draft = DraftAnswer::default();
        assert_eq!(draft.apply(1, 1, &token("The rate ")), DraftChange::Began("The rate "));
        assert_eq!(draft.apply(1, 1, &token("is 2 %")), DraftChange::Continued("is 2 %"));
        assert_eq!((draft.text.as_str(), draft.number), ("The rate is 2 %", 1));
        let withdrawn = TurnEvent::DraftWithdrawn { reason: String::new() };
        assert_eq!(draft.apply(1, 1, &withdrawn), DraftChange::Withdrawn);
        assert_eq!(draft.apply(1, 1, &withdrawn), DraftChange::Unchanged);
        assert_eq!(draft.apply(1, 1, &token("Free")), DraftChange::Began("Free"));
        assert_eq!(draft.apply(1, 2, &token("Free")), DraftChange::Began("Free"));
        assert_eq!(draft.apply(3, 1, &token("Two")), DraftChange::Began("Two"));
        assert_eq!((draft.text.as_str(), draft.number), ("Two", 4));
    }

    /// The page folds the same recorded streams.
    #[test]
    fn recorded_streams_fold_to_what_was_told() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/streams");
        let mut files = 0;
        for file in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            let stream: Value = serde_json::from_str(&text).unwrap();
            let (mut draft, mut last) = (DraftAnswer::default(), Value::Null);
            for event in stream["events"].as_array().unwrap() {
                let number = |name: &str| u32::try_from(event[name].as_u64().unwrap()).unwrap();
                let typed: TurnEvent = serde_json::from_value(event.clone()).unwrap();
                draft.apply(number("step"), number("attempt"), &typed);
                last = event["status"].clone();
            }
            assert_eq!((draft.text.as_str(), &last), (stream["text"].as_str().unwrap(), &stream["status"]));
            files += 1;
        }
        assert!(files >= 3, "there are recorded streams");
    }
}
