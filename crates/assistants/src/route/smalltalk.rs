//! What people say in passing, in English and Spanish: greetings, thanks, goodbyes, and questions to the assistant about
//! itself.

use std::sync::LazyLock;

use regex::Regex;

/// A longer message says more than a greeting.
const MOST_WORDS: usize = 9;

static SMALLTALK: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "the pattern is written here and tested")]
    Regex::new(
        r"(?x)^(?:
            (?:hi|hello|hey|hiya|howdy|yo|greetings|good\ (?:morning|afternoon|evening|day|night))
              (?:\ (?:there|everyone|all|again|ibid|assistant|bot|you))*
              (?:\ how\ are\ (?:you|things)(?:\ (?:doing|today))*)?
          | (?:how\ are\ you|how\ is\ it\ going|hows\ it\ going|whats\ up|sup)(?:\ (?:doing|today))*
          | (?:many\ )?(?:thanks|thank\ you|thx|ty|cheers)
              (?:\ (?:a\ lot|so\ much|very\ much|again|that\ helps|for\ (?:your|the)\ help|everyone))*
          | (?:great|perfect|nice|cool|awesome|excellent|ok|okay|fine|got\ it|understood|i\ see|alright|sounds\ good)
              (?:\ (?:thanks|thank\ you|work|job|then|so\ far|a\ lot|very\ much))*
          | (?:bye|goodbye|see\ you|see\ ya|take\ care|have\ a\ (?:nice|good|great)\ (?:day|weekend|evening))
              (?:\ (?:later|soon|tomorrow|then|bye|now))*
          | (?:who|what)\ are\ you | what(?:s|\ is)\ your\ name | what\ can\ you\ do(?:\ for\ me)?
          | (?:can|could|will)\ you\ help(?:\ me)? | are\ you\ (?:a\ (?:bot|robot|human|person)|real|there)
          | tell\ me\ a\ joke | (?:yes|no|yep|nope|sure|please|maybe)(?:\ (?:please|thanks|thank\ you))?
          | (?:hola|buenas|buen\ dia|buenos\ dias|buenas\ (?:tardes|noches)|que\ tal|saludos|hey|ey)
              (?:\ (?:a\ todos|que\ tal|como\ (?:estas|esta|va|andas)|ibid|asistente|de\ nuevo))*
          | como\ (?:estas|esta|va\ todo|va|andas|te\ va)(?:\ hoy)?
          | (?:muchas\ |mil\ )?gracias(?:\ (?:por\ (?:tu|la|su)\ ayuda|de\ nuevo|a\ ti|muy\ amable))*
          | (?:perfecto|genial|excelente|buenisimo|ok|vale|bien|de\ acuerdo|entendido|entiendo|listo|claro|dale|barbaro)
              (?:\ (?:gracias|muchas\ gracias|entonces))*
          | (?:adios|chau|chao|hasta\ (?:luego|pronto|manana)|nos\ vemos)(?:\ (?:gracias|luego))*
          | quien\ (?:eres|sos|es\ usted) | como\ te\ llamas | que\ (?:puedes|podes|sabes)\ hacer
          | (?:puedes|podes|podrias|me\ puedes|me\ podes)\ ayudar(?:me)? | (?:si|no)(?:\ (?:gracias|por\ favor))?
          | cuentame\ un\ chiste
        )$",
    )
    .expect("a pattern that can be read")
});

/// Whether a message is only said in passing.
pub fn is_smalltalk(message: &str) -> bool {
    let words = message.split_whitespace().map(plain).filter(|word| !word.is_empty());
    let words: Vec<String> = words.take(MOST_WORDS + 1).collect();
    (1..=MOST_WORDS).contains(&words.len()) && SMALLTALK.is_match(&words.join(" "))
}

/// Whether a message takes up what was said before: then it means more than it says.
pub fn is_reply(message: &str) -> bool {
    const REPLIES: [&str; 12] =
        ["yes", "no", "yep", "nope", "sure", "please", "maybe", "si", "claro", "dale", "bueno", "quiza"];
    let first = message.split_whitespace().map(plain).find(|word| !word.is_empty());
    first.is_some_and(|word| REPLIES.contains(&word.as_str()))
}

/// Words that a question begins with, in English and Spanish.
const ASKING: [&str; 44] = [
    "what", "which", "who", "whom", "whose", "when", "where", "why", "how", "is", "are", "was", "were", "do",
    "does", "did", "can", "could", "may", "must", "should", "will", "would", "has", "have", "tell",
    "explain", "list", "compare", "describe", "que", "cual", "cuales", "quien", "quienes", "cuando", "donde",
    "como", "cuanto", "cuanta", "cuantos", "explica", "compara", "dime",
];

/// Whether a message has the form of a question or a request for something.
pub fn is_question(message: &str) -> bool {
    let first = message.split_whitespace().map(plain).find(|word| !word.is_empty());
    message.contains(['?', '\u{bf}']) || first.is_some_and(|word| ASKING.contains(&word.as_str()))
}

/// A word without case, accents and punctuation.
fn plain(word: &str) -> String {
    let letters = word.to_lowercase();
    let letters = letters.chars().map(|letter| match letter {
        'á' => 'a',
        'é' => 'e',
        'í' => 'i',
        'ó' => 'o',
        'ú' | 'ü' => 'u',
        'ñ' => 'n',
        other => other,
    });
    letters.filter(|letter| letter.is_alphanumeric()).collect()
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
