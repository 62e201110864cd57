//! What a model is shown of the sources: all of them, where it can read them in time; else the rows and sentences that
//! fit the question best, each with what is needed to understand it.

mod words;

use std::collections::{BTreeMap, BTreeSet};

use crate::guard::{AskedCells, pieces};
use crate::records;
use crate::source::{Origin, Source, beginning, harmless};
pub(crate) use words::words;
use words::{Weights, is_numbered};

/// A model that is shown more rows of tables takes one for another.
const MOST_ROWS: usize = 6;
/// One that has room for all sources may be a large one, which can be shown more.
const MOST_ROWS_WITH_ROOM: usize = 24;
/// Rows that fit less than this share of the best one are left out, unless there is room for all sources.
const ROW_FLOOR: f64 = 0.5;
/// So are sentences, as long as others need the room.
const SENTENCE_FLOOR: f64 = 0.25;
/// How much it counts that a search has put a source first.
const RANK: f64 = 0.5;
/// A line of more words is no title.
const LONGEST_TITLE: usize = 6;
/// How far around a sentence that fits others come along, if there is room.
const AROUND: usize = 2;

/// The sources as a model is shown them within so many tokens, in their order. Of prose that is all, if there is room for all
/// sources. Of tables it is the rows that fit best, each with the names of its columns, or only those that are asked for.
pub(crate) fn pack(
    sources: &[Source],
    question: &str,
    room: usize,
    count: &dyn Fn(&str) -> usize,
) -> Vec<String> {
    let whole: Vec<String> = sources.iter().map(Source::shown).collect();
    let fits = whole.iter().map(|shown| count(shown)).sum::<usize>() <= room;
    if fits && !sources.iter().any(|source| source.text().lines().any(records::is_row)) {
        return whole;
    }
    let asked = AskedCells::of(question, &sources.iter().collect::<Vec<_>>());
    let texts: Vec<Vec<Piece>> = sources.iter().map(|source| pieces_of(source, &asked)).collect();
    let weights = Weights::of(question, texts.iter().flatten().map(|piece| piece.text.as_str()));
    let scores = scores(&texts, &weights);
    let chosen = BTreeMap::new();
    let mut packing = Packing { sources, room, count, scores, texts, has_room: fits, chosen };
    if !fits && (packing.take_asked(&asked.rows()) || packing.take_named(&weights)) {
        return packing.shown(question);
    }
    packing.take_best();
    packing.take_around();
    packing.fill();
    packing.shown(question)
}

/// A row or a sentence of a source.
struct Piece {
    /// As it is shown.
    text: String,
    /// What else it is about: the headings over it.
    under: String,
    is_row: bool,
    /// Where a row begins in the text of its source.
    begins: usize,
    /// The line that stands as a title over it, by its place.
    title: Option<usize>,
}

/// The rows and sentences of a source, in their order. The names of columns stand in every row.
fn pieces_of(source: &Source, asked: &AskedCells<'_>) -> Vec<Piece> {
    let (text, headings) = (source.text(), source.headings());
    let said: &[String] = match &source.origin {
        Origin::Passage(passage) => &passage.path,
        Origin::Tool { .. } | Origin::Web(_) => &[],
    };
    let mut records = records::of(source).into_iter().peekable();
    let (mut all, mut prose, mut begins) = (Vec::new(), String::new(), 0);
    let mut title = None;
    let mut sentences = |prose: &mut String, all: &mut Vec<Piece>| {
        let taken = std::mem::take(prose);
        for span in pieces(&taken) {
            let text = taken[span].to_owned();
            if is_title(&text) {
                title = Some(all.len());
            }
            let under = headings.clone();
            all.push(Piece {
                text,
                under,
                is_row: false,
                begins: 0,
                title: title.filter(|title| *title != all.len()),
            });
        }
    };
    for line in text.split_inclusive('\n') {
        let at = begins;
        begins += line.len();
        if !records::is_row(line) {
            prose.push_str(line);
            continue;
        }
        sentences(&mut prose, &mut all);
        if let Some(record) = records.next_if(|record| record.span.start == at) {
            all.push(Piece {
                text: record.shown(said, &asked.in_row(&record)),
                under: record.path.join("\n"),
                is_row: true,
                begins: at,
                title: None,
            });
        }
    }
    sentences(&mut prose, &mut all);
    all
}

/// Whether a line stands as a title over what follows: a few words that are no sentence.
fn is_title(line: &str) -> bool {
    let line = line.trim();
    line.split_whitespace().count() <= LONGEST_TITLE
        && line.starts_with(char::is_uppercase)
        && line.ends_with(|last: char| last.is_alphanumeric() || last == ')')
}

/// How well each piece of each source fits the question.
fn scores(texts: &[Vec<Piece>], weights: &Weights) -> Vec<Vec<f64>> {
    let of_source = texts.iter().enumerate().map(|(rank, pieces)| {
        let rank = 1.0 + RANK / (rank as f64 + 1.0);
        let fit = |piece: &Piece| {
            let title = piece.title.and_then(|title| pieces.get(title)).map(|title| title.text.as_str());
            rank * weights.fit(&piece.text, &piece.under, title)
        };
        pieces.iter().map(fit).collect()
    });
    of_source.collect()
}

/// A piece by the places of its source and of itself there.
type Place = (usize, usize);

struct Packing<'a> {
    sources: &'a [Source],
    texts: Vec<Vec<Piece>>,
    scores: Vec<Vec<f64>>,
    room: usize,
    count: &'a dyn Fn(&str) -> usize,
    /// Whether there is room for all sources as they are.
    has_room: bool,
    chosen: BTreeMap<usize, BTreeSet<usize>>,
}

impl Packing<'_> {
    fn piece(&self, (source, piece): Place) -> &Piece {
        &self.texts[source][piece]
    }

    fn score(&self, (source, piece): Place) -> f64 {
        self.scores[source][piece]
    }

    /// How many rows are shown at most.
    fn most_rows(&self) -> usize {
        if self.has_room { MOST_ROWS_WITH_ROOM } else { MOST_ROWS }
    }

    /// All places, source by source.
    fn all(&self) -> Vec<Place> {
        let sources = self.texts.iter().enumerate();
        sources.flat_map(|(source, pieces)| (0..pieces.len()).map(move |piece| (source, piece))).collect()
    }

    /// All places, the best first.
    fn ranked(&self) -> Vec<Place> {
        let mut all = self.all();
        all.sort_by(|one, other| self.score(*other).total_cmp(&self.score(*one)).then(one.cmp(other)));
        all
    }

    /// Takes a piece if there is room for it.
    fn take(&mut self, place: Place) -> bool {
        let (source, piece) = place;
        let chosen = self.chosen.get(&source);
        if chosen.is_some_and(|chosen| chosen.contains(&piece)) {
            return false;
        }
        let mut needed = (self.count)(&self.piece(place).text) + 2;
        if chosen.is_none() {
            needed += (self.count)(&self.sources[source].tagged(""));
        }
        if needed > self.room {
            return false;
        }
        self.room -= needed;
        self.chosen.entry(source).or_default().insert(piece);
        true
    }

    /// The rows that are asked for and nothing else, if they are. What a model is not shown, it does not take for the answer.
    fn take_asked(&mut self, rows: &[(u32, usize)]) -> bool {
        let is_asked = |place: &Place| {
            let (number, piece) = (self.sources[place.0].number, self.piece(*place));
            piece.is_row && rows.contains(&(number, piece.begins))
        };
        let asked: Vec<Place> = self.ranked().into_iter().filter(is_asked).take(self.most_rows()).collect();
        for place in asked {
            self.take(place);
        }
        !self.chosen.is_empty()
    }

    /// The paragraph that the question names by its number and title, if it names one, up to the next with a number.
    fn take_named(&mut self, weights: &Weights) -> bool {
        let is_named = |place: &Place| {
            let piece = self.piece(*place);
            let title = piece.title.and_then(|title| self.texts[place.0].get(title));
            !piece.is_row && title.is_some_and(|title| weights.is_named(&piece.text, &title.text))
        };
        let Some((source, first)) = self.ranked().into_iter().find(is_named) else { return false };
        let goes_on = |piece: &usize| {
            let piece = &self.texts[source][*piece];
            !piece.is_row && !is_numbered(&piece.text) && !is_title(&piece.text)
        };
        let rest: Vec<usize> = (first + 1..self.texts[source].len()).take_while(goes_on).collect();
        let title = self.piece((source, first)).title;
        for piece in [first].into_iter().chain(title).chain(rest) {
            self.take((source, piece));
        }
        !self.chosen.is_empty()
    }

    /// The rows and sentences that fit best.
    fn take_best(&mut self) {
        let ranked = self.ranked();
        let best = |is_row: bool| {
            let of_kind = ranked.iter().filter(|place| self.piece(**place).is_row == is_row);
            of_kind.map(|place| self.score(*place)).fold(0.0, f64::max)
        };
        let (best_row, best_sentence) = (best(true), best(false));
        let mut rows = 0;
        for place in ranked {
            let (is_row, score) = (self.piece(place).is_row, self.score(place));
            let fits = if is_row {
                rows < self.most_rows() && (self.has_room || score >= ROW_FLOOR * best_row.max(best_sentence))
            } else {
                score >= SENTENCE_FLOOR * best_sentence
            };
            if fits && score > 0.0 && self.take(place) {
                rows += usize::from(is_row);
                // A paragraph is a note, or an article, by the line over it.
                if let Some(title) = self.piece(place).title {
                    self.take((place.0, title));
                }
            }
        }
    }

    /// What stands around the sentences that were taken.
    fn take_around(&mut self) {
        let mut taken: Vec<Place> = self.places().filter(|place| !self.piece(*place).is_row).collect();
        taken.sort_by(|one, other| self.score(*other).total_cmp(&self.score(*one)));
        for distance in 1..=AROUND {
            for place in &taken {
                self.take_beside(*place, distance);
            }
        }
    }

    /// The sentences that stand so far after and before one.
    fn take_beside(&mut self, (source, piece): Place, distance: usize) {
        for piece in [piece.checked_add(distance), piece.checked_sub(distance)].into_iter().flatten() {
            if self.texts[source].get(piece).is_some_and(|piece| !piece.is_row) {
                self.take((source, piece));
            }
        }
    }

    /// Prose from its beginning, the best source first, as long as there is room. Rows that do not fit the question come only
    /// if there is nothing else, or room for all sources.
    fn fill(&mut self) {
        let is_row = |packing: &Self, place: &Place| packing.piece(*place).is_row;
        let rows = self.places().filter(|place| is_row(self, place)).count();
        let may_take_rows = self.chosen.is_empty() || self.has_room;
        let mut rows_left = if may_take_rows { self.most_rows() - rows } else { 0 };
        for place in self.all() {
            if !is_row(self, &place) {
                self.take(place);
            } else if rows_left > 0 && self.take(place) {
                rows_left -= 1;
            }
        }
    }

    fn places(&self) -> impl Iterator<Item = Place> + '_ {
        self.chosen.iter().flat_map(|(source, pieces)| pieces.iter().map(|piece| (*source, *piece)))
    }

    fn shown(&self, question: &str) -> Vec<String> {
        let shown: Vec<String> = self
            .chosen
            .iter()
            .map(|(source, chosen)| {
                let pieces = &self.texts[*source];
                if chosen.len() == pieces.len() && pieces.iter().all(|piece| !piece.is_row) {
                    return self.sources[*source].shown();
                }
                self.sources[*source].tagged(&harmless(&excerpt(pieces, chosen)))
            })
            .collect();
        if shown.is_empty() { self.first_letters(question) } else { shown }
    }

    /// Not one piece fits: the beginning of the one that fits best.
    fn first_letters(&self, question: &str) -> Vec<String> {
        let best = self.ranked().into_iter().next();
        let Some(place) = best else { return Vec::new() };
        let text = &self.piece(place).text;
        let most = self.room.max((self.count)(question)).max(20) * 3;
        vec![self.sources[place.0].tagged(&harmless(&beginning(text, most)))]
    }
}

/// The chosen pieces of a text in their order, with a sign where something is left out.
fn excerpt(pieces: &[Piece], chosen: &BTreeSet<usize>) -> String {
    let mut text = String::new();
    let mut before: Option<usize> = None;
    for place in chosen {
        let piece = &pieces[*place];
        let goes_on = before.map_or(*place == 0, |before| before + 1 == *place);
        if !goes_on && !piece.is_row {
            text.push_str("\u{2026} ");
        }
        text.push_str(&piece.text);
        text.push_str(if piece.is_row { "\n\n" } else { "\n" });
        before = Some(*place);
    }
    text.trim_end().to_owned()
}

/// One source, for tests.
#[cfg(test)]
pub(crate) fn sample(language: &str, text: &str) -> Vec<Source> {
    use crate::source::Origin;
    use ibid_core::evidence::{DocumentId, Passage};

    let passage = Passage {
        document: DocumentId("d".to_owned()),
        version: String::new(),
        corpus: "c".parse().unwrap(),
        title: "Chapter 85".to_owned(),
        source: String::new(),
        kind: String::new(),
        language: language.to_owned(),
        page: 7,
        location: None,
        chunks: (0, 0),
        path: Vec::new(),
        text: text.to_owned(),
        places: Vec::new(),
        tables: Vec::new(),
        score: 1.0,
        relevance: None,
    };
    vec![Source { number: 1, origin: Origin::Passage(Box::new(passage)) }]
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "Code | Suffix | Article | General | Special | Column 2\n\
        8539.31.00 |  | Fluorescent, hot cathode | 2.4% [5/] | Free (A, AU) | 20%\n\
        8539.31.00.40 | 40 | Straight tubes |  |  | \n\
         |  | Light-emitting diode (LED) light sources: |  |  | \n\
        8539.51.00.00 | 00 | Light-emitting diode (LED) modules | Free [5/] |  | 35%\n\
        8539.52.00 |  | Light-emitting diode (LED) lamps | 2% | Free (A, AU) | 20%\n\
        8539.90.00.00 | 00 | Parts | 2.6% [2/] | Free (A*) | 35%";

    fn source(number: u32, text: &str) -> Source {
        let mut source = sample("", text).remove(0);
        source.number = number;
        source
    }

    fn count(text: &str) -> usize {
        text.len() / 3
    }

    #[test]
    fn prose_that_fits_is_shown_as_it_is_and_more_rows() {
        let prose = "Records are kept. They are many.\n\nNobody reads them.";
        let shown = pack(&[source(1, TABLE), source(2, prose)], "LED lamps", 10_000, &count);
        assert!(
            shown[0].contains("Code: 8539.52.00\n") && shown[0].contains("Column 2: 20%"),
            "{}",
            shown[0]
        );
        assert!(shown[0].contains("modules") && shown[0].contains("Parts"), "{}", shown[0]);
        assert!(shown[1].contains(prose), "{}", shown[1]);
        assert_eq!(pack(&[source(2, prose)], "LED lamps", 10_000, &count), [source(2, prose).shown()]);
    }

    #[test]
    fn rows_that_fit_are_shown_with_their_columns_and_headings() {
        let shown = pack(&[source(1, TABLE)], "What is the general rate for 8539.52.00?", 120, &count);
        let expected = "<source number=\"1\" document=\"Chapter 85\" page=\"7\">\n\
            Code: 8539.52.00\n\
            Article: Light-emitting diode (LED) light sources: Light-emitting diode (LED) lamps\n\
            General: 2%\n</source>";
        assert_eq!(shown, [expected], "the column that is asked for");
        let prose =
            "The general rate of 8539.52.00 is told in many places, of which this is one. ".repeat(20);
        let sources = [source(1, TABLE), source(2, &prose)];
        let asked = pack(&sources, "What is the general rate for 8539.52.00?", 300, &count);
        assert_eq!(asked, [expected], "the cell that is asked for, and nothing else");
        let more = pack(
            &sources,
            "What is the general rate for 8539.52.00, and in which places is it told?",
            300,
            &count,
        );
        assert!(more.iter().any(|shown| shown.contains("told in many places")), "{more:?}");
        let shown = pack(&[source(1, TABLE)], "duty on straight tubes", 120, &count);
        assert!(shown[0].contains("Code: 8539.31.00.40\n"), "{}", shown[0]);
        assert!(
            shown[0].contains("Article: Fluorescent, hot cathode: Straight tubes\nGeneral: 2.4%"),
            "{}",
            shown[0]
        );
        assert!(!shown[0].contains("LED"), "{}", shown[0]);
        let question = "What is the general rate for \"Straight tubes\" under \"Fluorescent, hot cathode\"?";
        let shown = pack(&[source(1, TABLE)], question, 120, &count);
        assert!(
            shown[0].ends_with("Straight tubes\nGeneral: 2.4%\n</source>"),
            "what is under it: {}",
            shown[0]
        );
        assert_eq!(shown[0].matches("Code:").count(), 1, "{}", shown[0]);
        let shown = pack(&[source(1, TABLE)], "parts of lamps", 120, &count);
        assert!(shown[0].contains("Article: Parts\n"), "no heading of others: {}", shown[0]);
    }

    #[test]
    fn sentences_come_with_their_neighbours_from_the_best_sources() {
        let filler = "Nothing of this has anything to do with it. ".repeat(10);
        let first = format!(
            "{filler}Records are kept with care at the office. They have to be kept for five years. The desk keeps them in a box. {filler}"
        );
        let second = format!("{filler}The records of the weather are kept by nobody at all. {filler}");
        let sources = [source(1, &first), source(2, &second)];
        let shown = pack(&sources, "How many years do records have to be kept?", 110, &count);
        assert!(shown[0].contains("five years"), "{shown:?}");
        assert!(shown[0].contains("in a box") || shown[0].contains("with care"), "{shown:?}");
        assert!(shown[0].contains('\u{2026}'), "{shown:?}");
        let tokens: usize = shown.iter().map(|shown| count(shown)).sum();
        assert!(tokens <= 110, "{tokens}");
    }

    #[test]
    fn a_paragraph_that_is_named_by_its_number_is_shown_alone() {
        let notes = "Notes\n\n1. This chapter does not cover:\n\n(a) blankets;\n\n(b) furniture.\n\n\
            2. Headings 8501 to 8504 do not apply to goods of heading 8511.\n\n\
            However, rectifiers remain in heading 8504.\n\n3. Heading 8509 covers machines.\n\n\
            Additional U.S. Notes\n\n2. Picture tubes are measured.";
        let sources = [source(1, notes), source(2, &"Nothing of it. ".repeat(60))];
        let shown = pack(&sources, "What does note 2 say?", 200, &count);
        let expected = "Notes\n\u{2026} 2. Headings 8501 to 8504 do not apply to goods of heading 8511.\n\
            However, rectifiers remain in heading 8504.\n</source>";
        assert!(shown.len() == 1 && shown[0].ends_with(expected), "{shown:?}");
    }

    #[test]
    fn a_model_without_room_is_shown_the_beginning_of_the_best() {
        let long = "word ".repeat(400);
        let shown = pack(&[source(1, &long)], "x", 10, &count);
        assert!(
            shown[0].len() < 200 && shown[0].contains("word\u{2026}") || shown[0].contains("word \u{2026}"),
            "{shown:?}"
        );
        assert_eq!(pack(&[], "x", 10, &count), Vec::<String>::new());
    }
}
