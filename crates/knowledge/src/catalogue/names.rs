//! What the values of a column are called: one name for all its spellings, and which names go together.

use std::collections::{BTreeMap, HashMap};

use ibid_core::catalogue::CatalogueName;

use super::rows::Column;
use crate::tables::folded;

/// A name that is read as another has at most one row for so many of the other.
const RARE: u64 = 20;
/// No name is read as one that is shorter.
const SHORTEST: usize = 5;
/// From this length on, two letters may differ.
const LONG: usize = 8;
/// Of a hundred rows with a name, so many have the same name in another column, if it is within that one.
const WITHIN: u64 = 98;
/// A name that so many of a hundred rows have is not what another one is within.
const USUAL: u64 = 90;

/// The names of a column while they are found out.
pub(super) struct Names {
    /// As they are shown.
    pub(super) names: Vec<String>,
    folded: Vec<String>,
    /// Which name each text of the column is; none for the empty one.
    of_text: Vec<Option<u32>>,
    /// How many rows have each.
    rows: Vec<u64>,
}

impl Names {
    /// The names of a column, where spellings that differ in case, accents and space are one.
    pub(super) fn of(column: &Column) -> Self {
        let counts = column.counts();
        let mut places: HashMap<String, u32> = HashMap::new();
        let mut found = Self { names: Vec::new(), folded: Vec::new(), of_text: vec![None], rows: Vec::new() };
        let mut best: Vec<u64> = Vec::new();
        for (text, rows) in column.texts.iter().zip(&counts).skip(1) {
            let folded = folded(text);
            let next = u32::try_from(found.names.len()).unwrap_or(u32::MAX);
            let place = *places.entry(folded.clone()).or_insert(next);
            if place == next {
                found.names.push(text.clone());
                found.folded.push(folded);
                found.rows.push(0);
                best.push(0);
            }
            let at = place as usize;
            found.rows[at] += rows;
            if *rows > best[at] {
                best[at] = *rows;
                found.names[at].clone_from(text);
            }
            found.of_text.push(Some(place));
        }
        found
    }

    /// The name of a text of the column, by their places.
    pub(super) fn name_of(&self, text: u32) -> Option<u32> {
        self.of_text.get(text as usize).copied().flatten()
    }

    /// How many different ones there are.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// Names that are misspelt, each with the one that is meant: rare, nearly the same, with the same digits, and beside the same
    /// names in other columns.
    pub(super) fn misspelt(&self, companions: &[Companions]) -> Vec<(u32, u32)> {
        let most = self.rows.iter().max().copied().unwrap_or_default();
        let mut found = Vec::new();
        for (rare, rows) in self.rows.iter().enumerate().filter(|(_, rows)| *rows * RARE <= most) {
            let own = &self.folded[rare];
            let meant = (0..self.names.len())
                .filter(|other| self.rows[*other] >= rows * RARE && is_slip(own, &self.folded[*other]))
                .filter(|other| companions.iter().all(|beside| beside.agree(rare, *other)))
                .max_by_key(|other| self.rows[*other]);
            found.extend(meant.map(|meant| (place(rare), place(meant))));
        }
        found
    }

    /// Reads names as others.
    pub(super) fn correct(&mut self, misspelt: &[(u32, u32)]) {
        let meant: HashMap<u32, u32> = misspelt.iter().copied().collect();
        for of in self.of_text.iter_mut().flatten() {
            if let Some(other) = meant.get(of) {
                *of = *other;
            }
        }
        for (wrong, right) in misspelt {
            self.rows[*right as usize] += std::mem::take(&mut self.rows[*wrong as usize]);
        }
    }

    /// The names that rows have, most rows first, and the place of each of ours there.
    pub(super) fn ranked(&self) -> (Vec<CatalogueName>, Vec<Option<u32>>) {
        let mut order: Vec<usize> = (0..self.names.len()).filter(|name| self.rows[*name] > 0).collect();
        order.sort_by(|a, b| (self.rows[*b], &self.names[*a]).cmp(&(self.rows[*a], &self.names[*b])));
        let mut ranks = vec![None; self.names.len()];
        let mut names = Vec::new();
        for (rank, name) in order.into_iter().enumerate() {
            ranks[name] = Some(place(rank));
            let (name, rows) = (self.names[name].clone(), self.rows[name]);
            names.push(CatalogueName { name, rows, within: Vec::new() });
        }
        (names, ranks)
    }
}

fn place(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Which names of another column each name of a column stands beside.
pub(super) struct Companions {
    /// For each name, the one of the other column that its rows have most often, and how many of them do.
    most: Vec<Option<(u32, u64)>>,
    rows: Vec<u64>,
    /// How many rows have each name of the other column.
    others: Vec<u64>,
    /// How many rows there are.
    all: u64,
}

impl Companions {
    /// Counts by the names of each row.
    pub(super) fn count(own: &[Option<u32>], other: &[Option<u32>], names: usize, others: usize) -> Self {
        let mut pairs: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        let mut quick: HashMap<u64, u64> = HashMap::new();
        let (mut rows, mut all_others) = (vec![0; names], vec![0; others]);
        for (own, other) in own.iter().zip(other) {
            if let Some(other) = other {
                all_others[*other as usize] += 1;
            }
            if let (Some(own), Some(other)) = (own, other) {
                rows[*own as usize] += 1;
                *quick.entry(u64::from(*own) << 32 | u64::from(*other)).or_default() += 1;
            }
        }
        for (pair, count) in quick {
            pairs.insert(((pair >> 32) as u32, (pair & u64::from(u32::MAX)) as u32), count);
        }
        let mut most: Vec<Option<(u32, u64)>> = vec![None; names];
        for ((own, other), count) in pairs {
            let best = &mut most[own as usize];
            if best.is_none_or(|(_, known)| count > known) {
                *best = Some((other, count));
            }
        }
        Self { most, rows, others: all_others, all: u64::try_from(own.len()).unwrap_or(u64::MAX) }
    }

    /// The name that a name is within, if its rows have the same one.
    pub(super) fn within(&self, name: usize) -> Option<u32> {
        let (other, count) = (*self.most.get(name)?)?;
        let is_sure = count * 100 >= self.rows[name] * WITHIN;
        let is_telling = self.others[other as usize] * 100 <= self.all * USUAL;
        (is_sure && is_telling).then_some(other)
    }

    /// Whether a rare name may stand for another one: it is within what the other one is within.
    fn agree(&self, rare: usize, other: usize) -> bool {
        match (self.within(other), self.most.get(rare).copied().flatten()) {
            (Some(wanted), Some((beside, _))) => beside == wanted,
            _ => true,
        }
    }
}

/// Whether one text may be a slip for another: a letter or two are wrong, and no digit.
fn is_slip(one: &str, other: &str) -> bool {
    let (length, other_length) = (one.chars().count(), other.chars().count());
    if other_length < SHORTEST || length.abs_diff(other_length) > 2 {
        return false;
    }
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    let most = if length >= LONG { 2 } else { 1 };
    one != other && digits(one) == digits(other) && strsim::osa_distance(one, other) <= most
}
