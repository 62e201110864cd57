//! Documents that a message names with @, by the names that people use: a title, a file name, or something near it.

use std::ops::Range;

use ibid_core::evidence::DocumentName;

/// A name of several words without quotation marks has at most so many.
const MOST_WORDS: usize = 8;
/// How alike a name must be to one of a document.
const ALIKE: f64 = 0.9;
/// Fewer words are no question by themselves.
const SHORTEST_QUESTION: usize = 3;
/// How many documents a message may name.
const MOST_MENTIONS: usize = 8;

/// What a message names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mentions {
    /// The documents, in the order in which they are named.
    pub documents: Vec<DocumentName>,
    /// Names that no document has.
    pub unknown: Vec<String>,
    /// The message without the signs of mentions; what is asked, where it begins with the one document that it is asked of.
    pub text: String,
}

/// Whether a message may name documents.
pub fn has_any(message: &str) -> bool {
    !starts(message).is_empty()
}

/// The documents that a message names.
pub fn find(message: &str, documents: &[DocumentName]) -> Mentions {
    let mut mentions = Mentions::default();
    let mut from = 0;
    let mut address = None;
    for start in starts(message).into_iter().take(MOST_MENTIONS) {
        if start < from {
            continue;
        }
        let exact =
            candidates(message, start).find_map(|(name, range)| Some((called(name, documents)?, range)));
        let found = exact.or_else(|| {
            candidates(message, start).find_map(|(name, range)| Some((alike(name, documents)?, range)))
        });
        let (put, end) = match found {
            Some((document, range)) => {
                if !mentions.documents.contains(document) {
                    mentions.documents.push(document.clone());
                }
                if start == 0 {
                    address = Some(range.end);
                }
                (typed(message, &range), range.end)
            }
            None => {
                let Some((name, range)) = candidates(message, start).last() else { continue };
                mentions.unknown.push(name.to_owned());
                (name.to_owned(), range.end)
            }
        };
        mentions.text.push_str(&message[from..start]);
        mentions.text.push_str(&put);
        from = end;
    }
    mentions.text.push_str(&message[from..]);
    // What is asked of the one document that a message begins with is asked without its name: "@rules.pdf how long?".
    let asked = address.map(|end| message[end..].trim_start_matches([' ', ',', ':']));
    let is_question = |asked: &&str| asked.split_whitespace().count() >= SHORTEST_QUESTION;
    if let ([_], [], Some(asked)) =
        (mentions.documents.as_slice(), mentions.unknown.as_slice(), asked.filter(is_question))
    {
        mentions.text = asked.to_owned();
    }
    mentions
}

/// What was typed for a name, without @ and quotation marks.
fn typed(message: &str, range: &Range<usize>) -> String {
    message[range.clone()].trim_matches(['@', '"', '\u{201c}', '\u{201d}', '\'']).to_owned()
}

/// Documents whose names begin with what is typed, or have it in them, the nearest first.
pub fn complete<'a>(typed: &str, documents: &'a [DocumentName], most: usize) -> Vec<&'a DocumentName> {
    let typed = plain(typed);
    let rank = |document: &DocumentName| {
        let names = names(document);
        let begins = names.iter().any(|name| name.starts_with(&typed));
        let has = names.iter().any(|name| name.contains(&typed));
        let alike = names.iter().map(|name| likeness(&typed, name)).fold(0.0, f64::max);
        match (begins, has) {
            (true, _) => Some(0),
            (false, true) => Some(1),
            _ if alike >= ALIKE => Some(2),
            _ => None,
        }
    };
    let mut ranked: Vec<_> =
        documents.iter().filter_map(|document| Some((rank(document)?, document))).collect();
    ranked.sort_by(|one, other| (one.0, &one.1.title).cmp(&(other.0, &other.1.title)));
    ranked.into_iter().take(most).map(|(_, document)| document).collect()
}

/// Where mentions begin. An @ within a word, as in an address, is none.
fn starts(message: &str) -> Vec<usize> {
    let mut before = ' ';
    let mut starts = Vec::new();
    for (at, letter) in message.char_indices() {
        let follows = message[at + letter.len_utf8()..].chars().next();
        let named = follows.is_some_and(|next| next.is_alphanumeric() || "\"\u{201c}'".contains(next));
        if letter == '@' && !before.is_alphanumeric() && named {
            starts.push(at);
        }
        before = letter;
    }
    starts
}

/// The names that a mention may mean, the longest first, each with where it stands.
fn candidates(message: &str, start: usize) -> impl Iterator<Item = (&str, Range<usize>)> {
    let rest = &message[start + 1..];
    let quoted =
        [('"', '"'), ('\u{201c}', '\u{201d}'), ('\'', '\'')].into_iter().find_map(|(open, close)| {
            let inner = rest.strip_prefix(open)?;
            let name = &inner[..inner.find(close)?];
            Some(vec![(name, start..start + 1 + open.len_utf8() + name.len() + close.len_utf8())])
        });
    let found = quoted.unwrap_or_else(|| {
        let mut ends: Vec<usize> = Vec::new();
        let mut inside = false;
        for (at, letter) in rest.char_indices() {
            if letter == '\n' || letter == '@' || ends.len() == MOST_WORDS {
                break;
            }
            match (inside, letter.is_whitespace()) {
                (true, true) => {
                    ends.push(at);
                    inside = false;
                }
                (false, false) => inside = true,
                _ => {}
            }
        }
        if inside && ends.len() < MOST_WORDS {
            let end = rest.find(['\n', '@']).unwrap_or(rest.len());
            ends.push(end);
        }
        let trimmed = ends
            .into_iter()
            .rev()
            .map(|end| rest[..end].trim_end_matches(|letter: char| ",.;:?!)".contains(letter)));
        trimmed.map(|name| (name, start..start + 1 + name.len())).collect()
    });
    found.into_iter()
}

/// The document that has a name.
fn called<'a>(name: &str, documents: &'a [DocumentName]) -> Option<&'a DocumentName> {
    let name = plain(name);
    documents.iter().find(|document| names(document).contains(&name))
}

/// The document with a name that is most like one, if any is like it.
fn alike<'a>(name: &str, documents: &'a [DocumentName]) -> Option<&'a DocumentName> {
    let name = plain(name);
    let words = |text: &str| text.split(' ').count();
    let likeness = |document: &DocumentName| {
        let own = names(document);
        let own = own.iter().filter(|own| words(own) == words(&name)).map(|own| likeness(&name, own));
        own.fold(0.0, f64::max)
    };
    let best = documents.iter().map(|document| (likeness(document), document));
    let best =
        best.max_by(|one, other| one.0.total_cmp(&other.0).then_with(|| other.1.title.cmp(&one.1.title)))?;
    (best.0 >= ALIKE).then_some(best.1)
}

/// The names of a document: its title, and its file name with and without its ending.
fn names(document: &DocumentName) -> Vec<String> {
    let file = document.source.trim_end_matches('/').rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    [document.title.as_str(), file, stem].map(plain).into_iter().filter(|name| !name.is_empty()).collect()
}

/// How alike two names are, from 0 to 1. Names with other numbers are other names: chapter 84 is not chapter 85.
fn likeness(one: &str, other: &str) -> f64 {
    let numbers = |text: &str| {
        text.split(|letter: char| !letter.is_ascii_digit())
            .filter(|number| !number.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    if numbers(one) != numbers(other) {
        return 0.0;
    }
    // Only names of nearly the same length are one name with slips.
    let (shorter, longer) = (one.len().min(other.len()) as f64, one.len().max(other.len()) as f64);
    if shorter < 4.0 || shorter / longer < 0.7 { 0.0 } else { strsim::jaro_winkler(one, other) }
}

/// A name without case and with one space for everything that parts words.
fn plain(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use ibid_core::evidence::DocumentId;

    use super::*;

    fn library() -> Vec<DocumentName> {
        let named = |title: &str, source: &str| DocumentName {
            id: DocumentId(title.to_owned()),
            title: title.to_owned(),
            source: source.to_owned(),
            kind: "general".to_owned(),
        };
        vec![
            named("Travel policy", "docs/travel_policy_2025.pdf"),
            named("Chapter 84", "chapter-84.pdf"),
            named("Chapter 85", "chapter-85.pdf"),
            named("Importing into the United States", "import-guide.pdf"),
        ]
    }

    #[track_caller]
    fn check(message: &str, expected: &[&str], text: &str) {
        let found = find(message, &library());
        let titles: Vec<&str> = found.documents.iter().map(|document| document.title.as_str()).collect();
        assert_eq!((titles.as_slice(), found.text.as_str()), (expected, text));
    }

    #[test]
    fn documents_are_named_in_many_ways() {
        check("What does @Travel policy say?", &["Travel policy"], "What does Travel policy say?");
        check("@\"travel policy\": flights?", &["Travel policy"], "travel policy: flights?");
        check(
            "compare @chapter-84 and @chapter-85.pdf",
            &["Chapter 84", "Chapter 85"],
            "compare chapter-84 and chapter-85.pdf",
        );
        check("in @travl_policy, is it allowed", &["Travel policy"], "in travl_policy, is it allowed");
        check("@Chapter 85, what does note 2 say?", &["Chapter 85"], "what does note 2 say?");
        check("@import-guide!", &["Importing into the United States"], "import-guide!");
        check("@chapter 86 rates", &[], "chapter 86 rates");
        check("write to me@home.example", &[], "write to me@home.example");
    }

    #[test]
    fn a_name_that_nobody_has_is_told() {
        assert_eq!(find("what says @handbook?", &library()).unknown, ["handbook"]);
        assert!(!has_any("me@home.example") && has_any("(@handbook)"));
    }

    #[test]
    fn names_are_completed_as_they_are_typed() {
        let library = library();
        let titles = |typed: &str| {
            complete(typed, &library, 5).iter().map(|document| document.title.clone()).collect::<Vec<_>>()
        };
        assert_eq!(titles("chap"), ["Chapter 84", "Chapter 85"]);
        assert_eq!(titles("policy"), ["Travel policy"]);
        assert_eq!(titles("zebra"), [""; 0]);
    }
}
