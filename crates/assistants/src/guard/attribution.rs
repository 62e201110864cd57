//! Which source bears a sentence that does not name it. Models forget to cite, and small ones more often than not; where the
//! words or values of a sentence stand is looked up all the same.

use std::collections::BTreeSet;

use super::bare::{Bare, is_negation};
use super::lines::pieces;
use super::{borrowed, marks};
use crate::language::Language;
use crate::source::{Origin, Source};
use ibid_core::value::{Value, Worth, agree, claimed, codes, values};

/// Words with fewer letters say nothing of what a sentence is about.
const SHORTEST_WORD: usize = 4;
/// A sentence without values and without words in a row is borne by a piece that has this share of so many words.
const FEWEST_WORDS: usize = 5;
const SHARE: f64 = 0.9;
/// Or by one that has so many words of the question, and all that the sentence adds to it.
const ASKED_WORDS: usize = 2;

/// A code that was asked about tells more of what a row is about than words do.
const MORE_THAN_WORDS: usize = 10;

/// What an answer is about.
struct About {
    words: BTreeSet<String>,
    codes: Vec<Value>,
    /// Words that name the documents themselves, as in "according to the sources".
    spoken_of: BTreeSet<String>,
}

/// A source that bears a sentence, though the sentence does not name it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Attribution {
    /// Where in the answer its number belongs.
    pub(super) at: usize,
    /// Its number.
    pub(super) source: u32,
    /// What it says.
    pub(super) quote: String,
}

/// The sources that bear sentences of an answer which do not name them. `asked` is what the answer is about.
pub(super) fn attribute(
    answer: &str,
    asked: &str,
    sources: &[Source],
    language: Language,
) -> Vec<Attribution> {
    let texts: Vec<SourceText<'_>> = sources.iter().map(SourceText::of).collect();
    let telling = |text: &str| telling(text, language);
    let spoken_of = telling(&language.documents().join(" "));
    let asked = About { words: telling(asked), codes: codes(asked), spoken_of };
    let mut found = Vec::new();
    let mut begins = 0;
    for line in answer.split_inclusive('\n') {
        let start = begins;
        begins += line.len();
        let on_line = marks::numbers(line);
        let mut in_line: Vec<Attribution> = Vec::new();
        let mut goes_on = false;
        for piece in pieces(line) {
            let sentence = &line[piece.clone()];
            let said = marks::without(sentence);
            if said.trim_end().ends_with([':', '?']) {
                continue;
            }
            let own = marks::numbers(sentence);
            let named = if own.is_empty() { &on_line } else { &own };
            let at = start + piece.start + end_of(sentence);
            let sentence = Sentence { claims: claimed(&said), words: telling(&said), text: &said };
            let borne = sentence.borne(&texts, named, &asked);
            // One mark is enough for sentences in a row that one source bears.
            if let ([last], [(source, _)]) = (in_line.as_mut_slice(), borne.as_slice())
                && last.source == *source
                && goes_on
                && own.is_empty()
            {
                last.at = at;
                continue;
            }
            goes_on = !borne.is_empty();
            in_line.extend(borne.into_iter().map(|(source, quote)| Attribution { at, source, quote }));
        }
        found.extend(in_line);
    }
    found
}

/// The sources that an answer names, without quoting them, although they have nothing to do with it: no word and no value in
/// common with it, nor with what was asked. Small models put a number after whatever they say.
pub(super) fn unrelated(answer: &str, asked: &str, sources: &[Source], language: Language) -> Vec<u32> {
    let said = format!("{}\n{asked}", marks::without(answer));
    let telling = |text: &str| telling(text, language);
    let (own, claims) = (telling(&said), values(&said));
    let named = marks::numbers(answer);
    let of_other_things = sources.iter().filter(|source| named.contains(&source.number)).filter(|source| {
        let Origin::Passage(passage) = &source.origin else { return false };
        // An answer in another language has other words.
        let is_comparable = passage.language == language.code() && !own.is_empty();
        let whole = format!("{}\n{}", source.over(), passage.text);
        let borne = || claims.iter().any(|claim| values(&whole).iter().any(|value| agree(claim, value)));
        is_comparable && own.is_disjoint(&telling(&whole)) && !borne()
    });
    of_other_things.map(|source| source.number).collect()
}

/// An answer with the numbers of these sources in their places.
pub(super) fn with_marks(answer: &str, attributions: &[Attribution]) -> String {
    let mut marked = answer.to_owned();
    let mut places: Vec<usize> = attributions.iter().map(|one| one.at).collect();
    places.sort_unstable();
    places.dedup();
    for place in places.into_iter().rev() {
        let mut numbers: Vec<u32> =
            attributions.iter().filter(|one| one.at == place).map(|one| one.source).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
        let space = if marked[..place].ends_with(' ') { "" } else { " " };
        marked.insert_str(place, &format!("{space}[{}]", numbers.join(", ")));
    }
    marked
}

/// Where the number of a source belongs in a sentence: before the sign that ends it.
fn end_of(sentence: &str) -> usize {
    let trimmed = sentence.trim_end();
    let ended = trimmed.trim_end_matches(['.', ';', '!', '|']);
    ended.trim_end().len()
}

/// A source cut into rows and sentences.
struct SourceText<'a> {
    number: u32,
    pieces: Vec<Piece<'a>>,
    /// The values in its title and headings.
    over: Vec<Value>,
    text: &'a str,
}

struct Piece<'a> {
    text: &'a str,
    values: Vec<Value>,
    words: BTreeSet<String>,
}

impl<'a> SourceText<'a> {
    fn of(source: &'a Source) -> Self {
        let text = source.text();
        let pieces = pieces(text).map(|span| {
            let text = &text[span];
            Piece { text, values: values(text), words: words(text) }
        });
        Self { number: source.number, pieces: pieces.collect(), over: values(&source.over()), text }
    }

    fn bears(&self, value: &Value) -> bool {
        let all = self.pieces.iter().flat_map(|piece| &piece.values).chain(&self.over);
        all.into_iter().any(|own| agree(value, own))
    }
}

/// A sentence of an answer.
struct Sentence<'a> {
    text: &'a str,
    claims: Vec<Value>,
    words: BTreeSet<String>,
}

impl Sentence<'_> {
    /// The sources that bear it, with what they say, beside those that it names.
    fn borne(&self, texts: &[SourceText<'_>], named: &[u32], asked: &About) -> Vec<(u32, String)> {
        let (named, others): (Vec<_>, Vec<_>) = texts.iter().partition(|text| named.contains(&text.number));
        if self.claims.is_empty() {
            let borne = self.by_words(&named, &others, asked).or_else(|| self.in_asked_row(texts, asked));
            return borne
                .filter(|(number, _)| !named.iter().any(|text| text.number == *number))
                .into_iter()
                .collect();
        }
        let missing: Vec<&Value> =
            self.claims.iter().filter(|claim| !named.iter().any(|text| text.bears(claim))).collect();
        let mut found: Vec<(u32, String)> = Vec::new();
        let mut left = missing;
        // One place that has all, else one for as many as it has, and so on.
        while !left.is_empty() {
            let Some((text, piece)) = self.best(&left, &others, asked) else { break };
            let has = |claim: &&Value| piece.values.iter().chain(&text.over).any(|own| agree(claim, own));
            left.retain(|claim| !has(claim));
            if !found.iter().any(|(number, _)| *number == text.number) {
                found.push((text.number, piece.text.to_owned()));
            }
        }
        found
    }

    /// The piece that has most of these values and most in common with the sentence and what was asked.
    fn best<'t>(
        &self,
        wanted: &[&Value],
        texts: &[&'t SourceText<'t>],
        asked: &About,
    ) -> Option<(&'t SourceText<'t>, &'t Piece<'t>)> {
        let mut best = None;
        let mut most = (0, 0);
        for text in texts {
            for piece in &text.pieces {
                let has = |claim: &&&Value| piece.values.iter().any(|own| agree(claim, own));
                let borne = wanted.iter().filter(has).count();
                let shared =
                    self.words.union(&asked.words).filter(|word| piece.words.contains(*word)).count();
                let is_asked = |code: &&Value| piece.values.iter().any(|own| agree(code, own));
                let about = shared + MORE_THAN_WORDS * asked.codes.iter().filter(is_asked).count();
                let telling = wanted.iter().filter(has).any(|claim| !matches!(claim.worth, Worth::Number(_)));
                // A value by itself stands in many places: what it belongs to has to be there, too, unless it is no mere
                // number and stands nowhere else.
                let fits = about > 0 || telling && (borne > 1 || only_in(wanted, texts, text.number));
                if borne > 0 && fits && (borne, about) > most {
                    (most, best) = ((borne, about), Some((*text, piece)));
                }
            }
        }
        best
    }

    /// The row of a code that was asked about, if it has all words of a sentence: "Free".
    fn in_asked_row(&self, texts: &[SourceText<'_>], asked: &About) -> Option<(u32, String)> {
        let has_code = |piece: &&Piece<'_>| {
            asked.codes.iter().any(|code| piece.values.iter().any(|own| agree(code, own)))
        };
        let is_borne = |piece: &&Piece<'_>| !self.words.is_empty() && self.words.is_subset(&piece.words);
        texts.iter().find_map(|text| {
            let piece = text.pieces.iter().filter(has_code).find(is_borne)?;
            Some((text.number, piece.text.to_owned()))
        })
    }

    /// The source that has words in a row with it, or nearly all of its words in one place.
    fn by_words(
        &self,
        named: &[&SourceText<'_>],
        others: &[&SourceText<'_>],
        asked: &About,
    ) -> Option<(u32, String)> {
        let in_a_row = |texts: &[&SourceText<'_>]| {
            let found = texts.iter().filter_map(|text| {
                let (count, words) = borrowed::longest(self.text, text.text)?;
                Some((count, text.number, words))
            });
            found.reduce(|best, next| if next.0 > best.0 { next } else { best })
        };
        if in_a_row(named).is_some() {
            return None;
        }
        if let Some((_, number, words)) = in_a_row(others) {
            return Some((number, words));
        }
        // Who names a source may say it in other words.
        if !named.is_empty() {
            return None;
        }
        let negated =
            |text: &str| Bare::of(text).words().iter().filter(|(word, _)| is_negation(word)).count() % 2 == 1;
        let share = |piece: &Piece<'_>| {
            let shared = self.words.intersection(&piece.words).count();
            shared as f64 / self.words.len() as f64
        };
        let is_long = self.words.len() >= FEWEST_WORDS;
        let added: BTreeSet<&String> = self
            .words
            .iter()
            .filter(|word| !asked.words.contains(*word) && !asked.spoken_of.contains(*word))
            .collect();
        let answers = |piece: &Piece<'_>| {
            let of_question = asked.words.intersection(&piece.words).count();
            !added.is_empty()
                && added.iter().all(|word| piece.words.contains(*word))
                && of_question >= ASKED_WORDS.min(asked.words.len()).max(1)
        };
        let alike = |piece: &Piece<'_>| is_long && share(piece) >= SHARE;
        let find = |bears: &dyn Fn(&Piece<'_>) -> bool| {
            others.iter().find_map(|text| {
                let bears = |piece: &&Piece<'_>| bears(piece) && negated(piece.text) == negated(self.text);
                let piece = text.pieces.iter().find(bears)?;
                Some((text.number, piece.text.to_owned()))
            })
        };
        find(&alike).or_else(|| find(&answers))
    }
}

/// Whether only one of these sources has these values.
fn only_in(wanted: &[&Value], texts: &[&SourceText<'_>], number: u32) -> bool {
    let having = |text: &&&SourceText<'_>| wanted.iter().any(|claim| text.bears(claim));
    texts.iter().filter(having).all(|text| text.number == number)
}

/// The words of a text that are none of the commonest.
fn telling(text: &str, language: Language) -> BTreeSet<String> {
    words(text).into_iter().filter(|word| !language.is_common(word)).collect()
}

/// The words of a text that say something.
fn words(text: &str) -> BTreeSet<String> {
    let words = Bare::of(text).words().into_iter().map(|(word, _)| word);
    words
        .filter(|word| word.chars().count() >= SHORTEST_WORD && word.chars().all(char::is_alphabetic))
        .map(|word| word.strip_suffix('s').map(str::to_owned).unwrap_or(word))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEDULE: &str = "Code | Article | General | Column 2\n\
        8507.10.00 | Lead-acid batteries | 3.5% [2/] | 40%\n\
        8507.30.80 | Nickel-cadmium batteries | 2.5% [5/] | 40%";
    const RULES: &str = "Import records have to be kept for five years from the date of entry. \
        Nobody may destroy them before that. A person who fails to keep them pays 2.5% of their worth.";

    fn sources() -> Vec<Source> {
        let tool = |text: &str| Origin::Tool { tool: "t".to_owned(), text: text.to_owned() };
        vec![Source { number: 1, origin: tool(RULES) }, Source { number: 2, origin: tool(SCHEDULE) }]
    }

    #[track_caller]
    fn check(answer: &str, asked: &str, expected: &str) {
        let attributed = attribute(answer, asked, &sources(), Language::english());
        assert_eq!(with_marks(answer, &attributed), expected);
    }

    #[test]
    fn values_get_the_number_of_the_row_that_they_belong_to() {
        let asked = "What is the rate for nickel-cadmium batteries?";
        check("The rate is 2.5%.", asked, "The rate is 2.5% [2].");
        check("The rate of **8507.30.80** is **2.5%**", asked, "The rate of **8507.30.80** is **2.5%** [2]");
        check("The rate is 2.5% [2].", asked, "The rate is 2.5% [2].");
        check("The rate is 3.5% [1].", "lead batteries", "The rate is 3.5% [1] [2].");
        check("The rate is 7%.", asked, "The rate is 7%.");
        check("Word 2, 5 and 40.", "Tell me.", "Word 2, 5 and 40.");
        check("Word 2, 5 and 40.", "Tell me from the date.", "Word 2, 5 and 40.");
        check("Lead-acid batteries.", "What is 8507.10.00?", "Lead-acid batteries [2].");
        check("8507.10.00", "Which code?", "8507.10.00 [2]");
        check("3.5%", "8507.10.00?", "3.5% [2]");
        check("Es 40 %.", "\u{bf}y la otra?", "Es 40 % [2].");
        let quote = &attribute("The rate is 2.5%.", asked, &sources(), Language::english())[0].quote;
        assert!(quote.starts_with("8507.30.80"), "{quote}");
    }

    #[test]
    fn sentences_get_the_number_of_the_words_that_they_have() {
        check(
            "Import records have to be kept for five years. Nobody may destroy them before that.",
            "",
            "Import records have to be kept for five years. Nobody may destroy them before that [1].",
        );
        check(
            "A person who fails keeps nothing and pays for their worth.",
            "",
            "A person who fails keeps nothing and pays for their worth.",
        );
        check(
            "Of what kind are they:\nLead-acid batteries",
            "",
            "Of what kind are they:\nLead-acid batteries",
        );
        check("Records are kept.", "", "Records are kept.");
        let asked = "From when on have import records to be kept?";
        check("They are kept from the date of entry.", asked, "They are kept from the date of entry [1].");
        check(
            "According to the sources, from the date.",
            asked,
            "According to the sources, from the date [1].",
        );
        check("They are kept from their arrival.", asked, "They are kept from their arrival.");
        check("They are not kept from their entry.", asked, "They are not kept from their entry.");
    }

    #[test]
    fn a_source_of_other_things_is_not_cited() {
        let sources = crate::packing::sample("en", RULES);
        let english = Language::english();
        let named = |answer: &str, asked: &str| unrelated(answer, asked, &sources, english);
        assert_eq!(named("Paris [1].", "What is the capital of France?"), [1]);
        assert_eq!(named("They are kept [1].", "For how long are records kept?"), [] as [u32; 0]);
        assert_eq!(named("Five [1].", "For how long?"), [] as [u32; 0]);
        assert_eq!(named("It is 2.5 % [1].", "How much?"), [] as [u32; 0]);
        assert_eq!(named("Paris.", "What is the capital of France?"), [] as [u32; 0]);
        let spanish = crate::packing::sample("es", RULES);
        assert_eq!(unrelated("Paris [1].", "?", &spanish, english), [] as [u32; 0]);
    }
}
