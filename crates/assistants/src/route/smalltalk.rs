//! What can be told of a message by its words, in every language that ibid speaks: greetings, thanks, goodbyes and
//! questions about the assistant itself; replies; questions; requests for what documents say.

use crate::language::{CATALOGUES, plain};

/// A longer message says more than a greeting.
const MOST_WORDS: usize = 9;

/// Whether a message is only said in passing.
pub fn is_smalltalk(message: &str) -> bool {
    let message = plain(message);
    let words = message.split_whitespace().count();
    (1..=MOST_WORDS).contains(&words)
        && CATALOGUES.iter().any(|language| language.words.smalltalk.is_match(&message))
}

/// Whether a message takes up what was said before: then it means more than it says.
pub fn is_reply(message: &str) -> bool {
    let message = plain(message);
    let first = message.split(' ').next().unwrap_or_default();
    CATALOGUES.iter().any(|language| language.words.replies.iter().any(|word| word == first))
}

/// Whether a message has the form of a question or a request for something.
pub fn is_question(message: &str) -> bool {
    if message.contains(['?', '\u{bf}']) {
        return true;
    }
    let message = plain(message);
    let first = message.split(' ').next().unwrap_or_default();
    CATALOGUES.iter().any(|language| language.words.questions.iter().any(|word| word == first))
}

/// Whether a message says that it wants what documents say.
pub fn asks_for_documents(message: &str) -> bool {
    let message = format!(" {} ", plain(message));
    CATALOGUES.iter().any(|language| {
        let words = &language.words;
        words.documents.iter().any(|phrase| message.contains(&format!(" {phrase} ")))
            || words.requests.iter().any(|phrase| message.starts_with(&format!(" {phrase} ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_told_from_remarks() {
        for message in ["Who has to approve it", "and the other one?", "¿Y el plazo", "Explica el artículo 5"]
        {
            assert!(is_question(message), "{message}");
        }
        for message in ["My grandmother bakes cakes", "I see that it is late", ""] {
            assert!(!is_question(message), "{message}");
        }
    }

    #[test]
    fn words_that_ask_for_documents_are_heard() {
        for message in [
            "Find the rule on samples",
            "What, according to chapter 85, is a lamp?",
            "¿En qué página está?",
            "Según la ley, ¿cuándo?",
            "De acordo com a lei, quando?",
        ] {
            assert!(asks_for_documents(message), "{message}");
        }
        for message in ["I find that nice", "hello", "Tell me a joke", "Write me a page of verse"] {
            assert!(!asks_for_documents(message), "{message}");
        }
    }

    #[test]
    fn greetings_are_told_from_questions() {
        let passing = [
            "Hi!",
            "hello there",
            "Good morning, how are you?",
            "Thanks a lot!",
            "ok, thanks",
            "What can you do?",
            "¡Hola!",
            "Buenos días, ¿cómo estás?",
            "muchas gracias",
            "¿Quién eres?",
            "Chau",
            "perfecto, gracias",
            "who are you?",
            "Olá, tudo bem?",
            "Muito obrigada!",
        ];
        for message in passing {
            assert!(is_smalltalk(message), "{message}");
        }
        let meant = [
            "hello, what duty applies to LED lamps?",
            "thanks, and for China?",
            "8539.52",
            "",
            "What is the notice period?",
            "¿Qué puedes deducir?",
            "hola, ¿qué dice la ley?",
            "no fee applies",
            "ok google what is a CFR",
        ];
        for message in meant {
            assert!(!is_smalltalk(message), "{message}");
        }
    }
}
