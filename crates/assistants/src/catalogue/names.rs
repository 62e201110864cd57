//! Names as people write them, matched with those that a catalogue has: aliases, accents, slips of the pen and of the ear, endings.

use ibid_core::catalogue::CatalogueColumn;

use crate::definition::CatalogueField;
use crate::language::folded;

/// What a text may be a name of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Match {
    /// This name, by its place in the column.
    One(usize),
    /// One of these, and it is not clear which.
    Several(Vec<usize>),
    /// None that is known.
    None,
}

/// The names of a column with everything that they are called.
pub(crate) struct NameIndex {
    /// The place of the name, what it is called, the same without separators, and as it sounds.
    entries: Vec<Entry>,
}

struct Entry {
    name: usize,
    text: String,
    joined: String,
    sound: String,
    ending: String,
}

impl NameIndex {
    /// Those of a column.
    pub(crate) fn of(column: &CatalogueColumn, field: &CatalogueField) -> Self {
        let mut entries = Vec::new();
        for (name, known) in column.names.iter().enumerate() {
            let own = folded(&known.name);
            let others =
                field.aliases.iter().filter(|(of, _)| folded(of) == own).flat_map(|(_, others)| others);
            let all = std::iter::once(own.clone()).chain(others.map(|other| folded(other)));
            entries.extend(all.map(|text| Entry {
                name,
                joined: joined(&text),
                sound: sound(&text),
                ending: without_ending(&text),
                text,
            }));
        }
        Self { entries }
    }

    /// The name that a text is, letter by letter but for case, accents, separators and endings.
    pub(crate) fn find_exactly(&self, text: &str) -> Match {
        let text = folded(text);
        let (joined, ending) = (joined(&text), without_ending(&text));
        let ways: [&dyn Fn(&Entry) -> bool; 3] =
            [&|entry| entry.text == text, &|entry| entry.joined == joined, &|entry| {
                ending.chars().count() >= 3 && entry.ending == ending
            }];
        if joined.is_empty() {
            return Match::None;
        }
        ways.into_iter().map(|way| self.those(way)).find(|found| *found != Match::None).unwrap_or(Match::None)
    }

    /// The name that a text is, or may be a slip for.
    pub(crate) fn find(&self, text: &str) -> Match {
        let exact = self.find_exactly(text);
        if exact != Match::None {
            return exact;
        }
        let text = folded(text);
        let (joined, sound) = (joined(&text), sound(&text));
        let most = most_slips(&joined);
        let near = |entry: &Entry| -> Option<usize> {
            let lengths = (entry.joined.chars().count(), joined.chars().count());
            if digits(&entry.joined) != digits(&joined) || lengths.0 < 4 {
                return None;
            }
            let slips = strsim::osa_distance(&entry.joined, &joined);
            let is_heard = entry.sound == sound && sound.len() >= 3;
            let most =
                most.min(most_slips(&entry.joined)).max(usize::from(lacks_one(&joined, &entry.joined)));
            if is_heard { Some(usize::from(slips > 0)) } else { (slips <= most).then_some(slips * 2) }
        };
        let best = self.entries.iter().filter_map(near).min();
        match best {
            Some(best) => self.those(&|entry| near(entry) == Some(best)),
            None => Match::None,
        }
    }

    /// The names that begin with a text and go on after it, as Yuan Plus does after Yuan.
    pub(crate) fn find_beginning(&self, text: &str) -> Match {
        let text = folded(text);
        let goes_on = |entry: &Entry| {
            let rest = entry.text.strip_prefix(text.as_str());
            rest.is_some_and(|rest| rest.starts_with(|letter: char| !letter.is_alphanumeric()))
        };
        if text.chars().count() < 2 { Match::None } else { self.those(&goes_on) }
    }

    fn those(&self, wanted: &dyn Fn(&Entry) -> bool) -> Match {
        let mut found: Vec<usize> =
            self.entries.iter().filter(|entry| wanted(entry)).map(|entry| entry.name).collect();
        found.sort_unstable();
        found.dedup();
        match found.as_slice() {
            [] => Match::None,
            [only] => Match::One(*only),
            _ => Match::Several(found),
        }
    }
}

fn joined(text: &str) -> String {
    text.chars().filter(|letter| letter.is_alphanumeric()).collect()
}

fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

/// How many letters of a text may be wrong.
fn most_slips(joined: &str) -> usize {
    match joined.chars().filter(|letter| !letter.is_ascii_digit()).count() {
        0..=3 => 0,
        4..=5 => 1,
        6..=9 => 2,
        _ => 3,
    }
}

/// Whether three letters are a name of four that lacks one, and begin like it.
fn lacks_one(text: &str, name: &str) -> bool {
    let is_short = text.len() == 3 && name.chars().count() == 4 && text.chars().next() == name.chars().next();
    let mut rest = name.chars();
    is_short && text.chars().all(|letter| rest.any(|other| other == letter))
}

/// A word without the ending by which gender and number are told: rojo, roja and rojos are one.
fn without_ending(text: &str) -> String {
    let words = text.split_whitespace().map(|word| {
        let stem = word.strip_suffix('s').unwrap_or(word);
        let stem = stem.strip_suffix(['a', 'e', 'o']).unwrap_or(stem);
        if stem.chars().count() >= 3 { stem } else { word }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A text as it sounds to a speaker of Spanish or English: letters that are heard alike are one.
fn sound(text: &str) -> String {
    let mut heard = String::new();
    let letters: Vec<char> = joined(text).chars().collect();
    let mut at = 0;
    while at < letters.len() {
        let (letter, next) = (letters[at], letters.get(at + 1).copied().unwrap_or(' '));
        let (sound, taken) = match (letter, next) {
            // A name that begins like Jetta is heard like one that begins with a y.
            ('j' | 'y', _) if at == 0 => ("y", 1),
            ('l', 'l') => ("y", 2),
            ('q', 'u') if matches!(letters.get(at + 2), Some('e' | 'i')) => ("k", 2),
            ('g', 'u') if matches!(letters.get(at + 2), Some('e' | 'i')) => ("g", 2),
            ('c', 'h') => ("C", 2),
            ('s', 'h') => ("C", 2),
            ('p', 'h') => ("f", 2),
            ('t', 'h') => ("t", 2),
            ('c', 'k') => ("k", 2),
            ('c', 'e' | 'i') | ('z' | 's', _) => ("s", 1),
            ('c' | 'q' | 'k', _) => ("k", 1),
            ('g', 'e' | 'i') | ('j' | 'x', _) => ("j", 1),
            ('v' | 'w' | 'b', _) => ("b", 1),
            ('y' | 'i', _) => ("i", 1),
            ('h', _) => ("", 1),
            _ => {
                heard.push(letter);
                at += 1;
                continue;
            }
        };
        heard.push_str(sound);
        at += taken;
    }
    // Letters that are doubled are heard once.
    let mut single = String::new();
    for letter in heard.chars() {
        if single.ends_with(letter) && !letter.is_ascii_digit() {
            continue;
        }
        single.push(letter);
    }
    single
}
