//! The numbers of lists and headings, which office files do not write down but count.

use std::collections::HashMap;

use roxmltree::Node;

use super::package::{attribute, child, children, xml};
use crate::protocol::Failure;

/// Lists are as deep in each other at most.
const LEVELS: usize = 10;
/// What stands before an item that has no number.
const BULLET: &str = "-";

/// How the items of a level are numbered.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Level {
    /// How a number is written.
    pub(super) numeral: Numeral,
    /// The text around the numbers, in which `%1` is the number of the first level.
    pub(super) text: String,
    pub(super) start: u32,
}

/// How a number is written.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Numeral {
    #[default]
    Bullet,
    None,
    Decimal,
    Letter {
        upper: bool,
    },
    Roman {
        upper: bool,
    },
}

impl Numeral {
    fn write(self, number: u32) -> String {
        let cased = |text: String, upper: bool| if upper { text.to_uppercase() } else { text };
        match self {
            Self::Bullet | Self::None => String::new(),
            Self::Decimal => number.to_string(),
            // After z comes aa, then bb.
            Self::Letter { upper } => {
                let (round, letter) = ((number.max(1) - 1) / 26, (number.max(1) - 1) % 26);
                let letter = char::from(b'a' + letter as u8).to_string();
                cased(letter.repeat(round.min(10) as usize + 1), upper)
            }
            Self::Roman { upper } => cased(roman(number), upper),
        }
    }
}

fn roman(number: u32) -> String {
    const SIGNS: [(u32, &str); 13] = [
        (1000, "m"),
        (900, "cm"),
        (500, "d"),
        (400, "cd"),
        (100, "c"),
        (90, "xc"),
        (50, "l"),
        (40, "xl"),
        (10, "x"),
        (9, "ix"),
        (5, "v"),
        (4, "iv"),
        (1, "i"),
    ];
    let (mut rest, mut text) = (number.min(3999), String::new());
    for (value, sign) in SIGNS {
        while rest >= value {
            text.push_str(sign);
            rest -= value;
        }
    }
    text
}

/// The numbers that were reached, level by level.
#[derive(Clone, Debug, Default)]
pub(super) struct Counters(Vec<u32>);

impl Counters {
    /// Goes on to the next item of a level, and gives what stands before it.
    pub(super) fn next(&mut self, levels: &[Level], at: usize) -> String {
        let Some(level) = levels.get(at) else { return BULLET.to_owned() };
        self.0.truncate(at + 1);
        while self.0.len() < at + 1 {
            let start = levels.get(self.0.len()).map_or(1, |level| level.start);
            // A level that was skipped counts as begun.
            self.0.push(if self.0.len() < at { start } else { start.saturating_sub(1) });
        }
        self.0[at] = self.0[at].saturating_add(1);
        if level.numeral == Numeral::Bullet {
            return BULLET.to_owned();
        }
        let mut text = level.text.clone();
        for (index, (number, level)) in self.0.iter().zip(levels).enumerate() {
            text = text.replace(&format!("%{}", index + 1), &level.numeral.write(*number));
        }
        text.trim().to_owned()
    }

    /// Begins the numbers of a level and of those below it anew.
    pub(super) fn restart(&mut self, at: usize) {
        self.0.truncate(at);
    }
}

/// The numbering of a Word document.
#[derive(Default)]
pub(super) struct WordNumbering {
    /// The levels of each list, and which lists count together.
    lists: HashMap<String, (String, Vec<Level>)>,
    counters: HashMap<String, Counters>,
    /// Lists that begin anew when they are first met.
    restarting: HashMap<String, Vec<usize>>,
}

impl WordNumbering {
    pub(super) fn read(text: &str) -> Result<Self, Failure> {
        let document = xml(text)?;
        let root = document.root_element();
        let mut found = Self::default();
        let levels: HashMap<&str, Vec<Level>> = children(root, "abstractNum")
            .filter_map(|node| Some((attribute(node, "abstractNumId")?, word_levels(node))))
            .collect();
        for node in children(root, "num") {
            let kind = child(node, "abstractNumId").and_then(|kind| attribute(kind, "val"));
            let (Some(id), Some(kind)) = (attribute(node, "numId"), kind) else { continue };
            let mut own = levels.get(kind).cloned().unwrap_or_default();
            let mut restarting = Vec::new();
            for change in children(node, "lvlOverride") {
                let Some(at) = attribute(change, "ilvl").and_then(|at| at.parse::<usize>().ok()) else {
                    continue;
                };
                let start =
                    child(change, "startOverride").and_then(|start| attribute(start, "val")?.parse().ok());
                if let (Some(level), Some(start)) = (own.get_mut(at), start) {
                    level.start = start;
                    restarting.push(at);
                }
                if let (Some(place), Some(level)) = (own.get_mut(at), child(change, "lvl")) {
                    *place = word_level(level);
                }
            }
            if !restarting.is_empty() {
                found.restarting.insert(id.to_owned(), restarting);
            }
            found.lists.insert(id.to_owned(), (kind.to_owned(), own));
        }
        Ok(found)
    }

    /// What stands before the next item of a list.
    pub(super) fn next(&mut self, list: &str, at: usize) -> String {
        let Some((kind, levels)) = self.lists.get(list) else { return BULLET.to_owned() };
        let counters = self.counters.entry(kind.clone()).or_default();
        for at in self.restarting.remove(list).unwrap_or_default() {
            counters.restart(at);
        }
        counters.next(levels, at)
    }
}

fn word_levels(list: Node<'_, '_>) -> Vec<Level> {
    let mut levels = vec![Level { start: 1, ..Level::default() }; LEVELS];
    for node in children(list, "lvl") {
        let at = attribute(node, "ilvl").and_then(|at| at.parse::<usize>().ok());
        if let Some(place) = at.and_then(|at| levels.get_mut(at)) {
            *place = word_level(node);
        }
    }
    levels
}

fn word_level(node: Node<'_, '_>) -> Level {
    let value = |name: &str| child(node, name).and_then(|node| attribute(node, "val"));
    let numeral = match value("numFmt") {
        Some("bullet") => Numeral::Bullet,
        Some("none") => Numeral::None,
        Some("lowerLetter") => Numeral::Letter { upper: false },
        Some("upperLetter") => Numeral::Letter { upper: true },
        Some("lowerRoman") => Numeral::Roman { upper: false },
        Some("upperRoman") => Numeral::Roman { upper: true },
        _ => Numeral::Decimal,
    };
    Level {
        numeral,
        text: value("lvlText").unwrap_or_default().to_owned(),
        start: value("start").and_then(|start| start.parse().ok()).unwrap_or(1),
    }
}

/// The numbering of an OpenDocument text: the levels of its lists by the names of their styles.
#[derive(Default)]
pub(super) struct ListStyles(HashMap<String, Vec<Level>>);

impl ListStyles {
    /// Adds those that are defined below an element.
    pub(super) fn add(&mut self, styles: Node<'_, '_>) {
        for style in children(styles, "list-style") {
            if let Some(name) = attribute(style, "name") {
                self.0.insert(name.to_owned(), open_levels(style));
            }
        }
    }

    pub(super) fn of(&self, name: Option<&str>) -> Vec<Level> {
        name.and_then(|name| self.0.get(name)).cloned().unwrap_or_default()
    }
}

fn open_levels(style: Node<'_, '_>) -> Vec<Level> {
    let mut levels = vec![Level { start: 1, ..Level::default() }; LEVELS];
    for node in style.children().filter(|node| node.tag_name().name().starts_with("list-level-style")) {
        let at = attribute(node, "level").and_then(|at| at.parse::<usize>().ok()?.checked_sub(1));
        let Some(place) = at.and_then(|at| levels.get_mut(at)) else { continue };
        let number = |name: &str| attribute(node, name).and_then(|value| value.parse::<u32>().ok());
        let numeral = match attribute(node, "num-format") {
            _ if node.tag_name().name() != "list-level-style-number" => Numeral::Bullet,
            Some("a") => Numeral::Letter { upper: false },
            Some("A") => Numeral::Letter { upper: true },
            Some("i") => Numeral::Roman { upper: false },
            Some("I") => Numeral::Roman { upper: true },
            Some("") | None => Numeral::None,
            Some(_) => Numeral::Decimal,
        };
        let level = at.unwrap_or_default() + 1;
        let first = (level + 1).saturating_sub(number("display-levels").unwrap_or(1) as usize).max(1);
        let numbers: Vec<String> = (first..=level).map(|level| format!("%{level}")).collect();
        let around = |name: &str| attribute(node, name).unwrap_or_default();
        *place = Level {
            numeral,
            text: format!("{}{}{}", around("num-prefix"), numbers.join("."), around("num-suffix")),
            start: number("start-value").unwrap_or(1),
        };
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_their_level_says() {
        let letter = Numeral::Letter { upper: false };
        assert_eq!([1, 26, 27, 28].map(|number| letter.write(number)), ["a", "z", "aa", "bb"]);
        assert_eq!(Numeral::Roman { upper: true }.write(1994), "MCMXCIV");
        assert_eq!(Numeral::Decimal.write(7), "7");
    }

    #[test]
    fn deeper_levels_begin_anew_under_each_item() {
        let level = |numeral, text: &str| Level { numeral, text: text.to_owned(), start: 1 };
        let levels = [
            level(Numeral::Decimal, "%1."),
            level(Numeral::Decimal, "%1.%2"),
            level(Numeral::Letter { upper: false }, "%3)"),
        ];
        let mut counters = Counters::default();
        let found: Vec<String> = [0, 1, 1, 2, 0, 1, 2].map(|at| counters.next(&levels, at)).into();
        assert_eq!(found, ["1.", "1.1", "1.2", "a)", "2.", "2.1", "a)"]);
    }

    #[test]
    fn lists_of_word_that_share_a_kind_count_on_unless_one_begins_anew() {
        let text = "<n><abstractNum abstractNumId='0'><lvl ilvl='0'><start val='1'/><numFmt val='decimal'/><lvlText val='%1.'/></lvl></abstractNum>\
            <num numId='1'><abstractNumId val='0'/></num><num numId='2'><abstractNumId val='0'/></num>\
            <num numId='3'><abstractNumId val='0'/><lvlOverride ilvl='0'><startOverride val='5'/></lvlOverride></num></n>";
        let mut numbering = WordNumbering::read(text).unwrap();
        assert_eq!(
            ["1", "1", "2", "3", "3", "9"].map(|list| numbering.next(list, 0)),
            ["1.", "2.", "3.", "5.", "6.", "-"]
        );
    }
}
