//! Tells a model's thinking from its answer where the provider does not: some models write it first, between
//! tags, in the text itself.

const BEGIN: &str = "<think>";
const END: &str = "</think>";

/// Splits the text of one reply.
#[derive(Debug, Default)]
pub(super) struct Thinking {
    place: Place,
    held: String,
}

#[derive(Debug, Default, PartialEq)]
enum Place {
    /// Nothing but white space or a part of the tag has come.
    #[default]
    Before,
    Inside,
    /// The thinking is over; white space before the answer is still to be dropped.
    After,
    /// The answer.
    Answer,
}

/// A piece of text, sorted.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Sorted {
    pub(super) thinking: String,
    pub(super) answer: String,
}

impl Thinking {
    /// Sorts the next piece.
    pub(super) fn push(&mut self, piece: &str) -> Sorted {
        let mut sorted = Sorted::default();
        if self.place == Place::Answer {
            sorted.answer = piece.to_owned();
            return sorted;
        }
        self.held.push_str(piece);
        if self.place == Place::Before {
            let start = self.held.trim_start();
            if let Some(rest) = start.strip_prefix(BEGIN) {
                self.held = rest.to_owned();
                self.place = Place::Inside;
            } else if !BEGIN.starts_with(start) {
                self.place = Place::Answer;
                sorted.answer = std::mem::take(&mut self.held);
                return sorted;
            }
        }
        if self.place == Place::Inside {
            if let Some(end) = self.held.find(END) {
                sorted.thinking = self.held[..end].to_owned();
                self.held.drain(..end + END.len());
                self.place = Place::After;
            } else {
                let sure = self.held.len() - overlap(&self.held, END);
                sorted.thinking = self.held.drain(..sure).collect();
            }
        }
        if self.place == Place::After && !self.held.trim_start().is_empty() {
            sorted.answer = self.held.trim_start().to_owned();
            self.held.clear();
            self.place = Place::Answer;
        }
        sorted
    }

    /// What is left at the end.
    pub(super) fn end(&mut self) -> Sorted {
        let held = std::mem::take(&mut self.held);
        match self.place {
            Place::Inside => Sorted { thinking: held, answer: String::new() },
            Place::Before => Sorted { thinking: String::new(), answer: held },
            Place::After | Place::Answer => Sorted::default(),
        }
    }
}

/// How many bytes at the end of a text could be the beginning of a tag.
pub(super) fn overlap(text: &str, tag: &str) -> usize {
    (1..tag.len()).rev().find(|length| text.ends_with(&tag[..*length])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, thinking: &str, answer: &str) {
        for size in 1..=text.len() {
            let mut splitter = Thinking::default();
            let (mut seen_thinking, mut seen_answer) = (String::new(), String::new());
            for piece in text.as_bytes().chunks(size) {
                let Sorted { thinking, answer } = splitter.push(std::str::from_utf8(piece).unwrap());
                seen_thinking += &thinking;
                seen_answer += &answer;
            }
            let Sorted { thinking: last_thinking, answer: last_answer } = splitter.end();
            assert_eq!((seen_thinking + &last_thinking).as_str(), thinking, "in pieces of {size}");
            assert_eq!((seen_answer + &last_answer).as_str(), answer, "in pieces of {size}");
        }
    }

    #[test]
    fn thinking_between_tags_is_kept_apart() {
        check("<think>let me <b>see</b></think>\n\nTwo percent.", "let me <b>see</b>", "Two percent.");
        check("\n<think>cut off", "cut off", "");
        check("<think></think>yes", "", "yes");
        check("Two <think>percent</think>.", "", "Two <think>percent</think>.");
        check("<thin", "", "<thin");
        check("<table>", "", "<table>");
    }
}
