//! What a person looks for, gathered over the turns of a conversation: words become names and numbers of the catalogue.

use std::collections::BTreeMap;

use ibid_core::catalogue::FieldFilter;
use ibid_core::value::Decimal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{Fields, MappedField};
use super::names::{Match, NameIndex};
use super::numbers::{self, NumberWish, whole_numbers_in};
use crate::language::{Amounts, CATALOGUES, Language, folded};

/// The words of a criterion for how many options are to be shown.
pub(crate) const LIMIT: &str = "limit";
/// So many options are shown at most.
const MOST_SHOWN: usize = 20;
/// The most criteria of a message.
const MOST_CRITERIA: usize = 16;
/// The longest words of a criterion, in characters.
const LONGEST_WORDS: usize = 120;
/// A name consists of at most so many words.
const LONGEST_NAME: usize = 5;
/// So many names of a field are taken.
const MOST_NAMES: usize = 10;

/// What a person looks for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Criteria {
    /// What each field has to hold.
    #[serde(default)]
    pub fields: BTreeMap<String, FieldFilter>,
    /// By which field options are put in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort: Option<Sort>,
    /// How many options are wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// An order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sort {
    /// By which field.
    pub field: String,
    /// Whether the greatest comes first.
    pub descending: bool,
}

/// What a message changes about what is looked for, in the words of the person.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CriteriaChange {
    /// What is said of fields.
    pub criteria: Vec<CriterionWords>,
    /// Whether the person looks for something else now.
    pub start_over: bool,
}

/// What is said of a field.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CriterionWords {
    /// Which field.
    pub field: String,
    /// What it is to be, in words.
    pub words: String,
}

impl CriteriaChange {
    /// What a model may say at most.
    #[must_use]
    pub(crate) fn bounded(mut self) -> Self {
        self.criteria.truncate(MOST_CRITERIA);
        for criterion in &mut self.criteria {
            criterion.words = criterion.words.chars().take(LONGEST_WORDS).collect();
        }
        self
    }
}

impl Criteria {
    /// Whether nothing is looked for.
    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.sort.is_none()
    }

    /// With so many options at most.
    pub(crate) fn set_limit(&mut self, limit: Option<usize>) {
        self.limit = limit.map(|limit| limit.clamp(1, MOST_SHOWN));
    }
}

/// What came of reading words.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct UnderstoodCriteria {
    /// What is looked for now.
    pub criteria: Criteria,
    /// Words that may be several names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unclear: Vec<UnclearName>,
    /// Words that are no name in the catalogue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

/// Words that may be several names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnclearName {
    /// The words.
    pub words: String,
    /// Of which field.
    pub field: String,
    /// What they may be.
    pub names: Vec<String>,
}

/// Reads what a message changes.
pub(crate) fn understand(
    fields: &Fields<'_>,
    change: &CriteriaChange,
    before: Option<&Criteria>,
    shown: &BTreeMap<String, Vec<Decimal>>,
) -> UnderstoodCriteria {
    let mut reading = Reading {
        fields,
        shown,
        found: UnderstoodCriteria {
            criteria: before.filter(|_| !change.start_over).cloned().unwrap_or_default(),
            ..UnderstoodCriteria::default()
        },
        changed: Vec::new(),
    };
    // How many were wanted was about the last list.
    reading.found.criteria.limit = None;
    for said in &change.criteria {
        reading.take(said);
    }
    reading.settle();
    reading.found
}

struct Reading<'a> {
    fields: &'a Fields<'a>,
    /// The numbers of the options that were shown last.
    shown: &'a BTreeMap<String, Vec<Decimal>>,
    found: UnderstoodCriteria,
    /// The fields that this message speaks of.
    changed: Vec<String>,
}

impl Reading<'_> {
    fn take(&mut self, said: &CriterionWords) {
        if said.field == LIMIT {
            let number = whole_numbers_in(&said.words).first().copied();
            self.found.criteria.set_limit(number.map(|number| number as usize));
            return;
        }
        if does_not_matter(&said.words) {
            self.drop(&said.field);
            return;
        }
        match self.fields.get(&said.field) {
            Some(mapped) if mapped.numbers().is_some() => self.number(mapped, &said.words),
            Some(mapped) => self.names(&mapped.field.name, &said.words),
            // A field that the catalogue does not have.
            None => {}
        }
    }

    /// Forgets what was said of a field.
    fn drop(&mut self, field: &str) {
        let criteria = &mut self.found.criteria;
        criteria.fields.remove(field);
        if criteria.sort.as_ref().is_some_and(|sort| sort.field == field) {
            criteria.sort = None;
        }
    }

    fn number(&mut self, mapped: &MappedField<'_>, words: &str) {
        let Some(numbers) = mapped.numbers() else { return };
        let name = &mapped.field.name;
        let sort = |descending| Some(Sort { field: name.clone(), descending });
        match numbers::read(words, numbers) {
            Some(NumberWish::Range(least, most)) => {
                // "From 150, up to 200" may be said as two.
                let again = self.changed.contains(name);
                let (least, most) = match self.found.criteria.fields.get(name) {
                    Some(FieldFilter::Between(before_least, before_most)) if again => {
                        (least.or(*before_least), most.or(*before_most))
                    }
                    _ => (least, most),
                };
                self.set(name, FieldFilter::Between(least, most));
            }
            Some(NumberWish::Lowest) => self.found.criteria.sort = sort(false),
            Some(NumberWish::Highest) => self.found.criteria.sort = sort(true),
            Some(wish @ (NumberWish::Lower | NumberWish::Higher)) => {
                let is_lower = wish == NumberWish::Lower;
                let wanted = sort(!is_lower);
                // The cheapest there are come first. Where they did already, only what is cheaper than all of them is.
                if self.found.criteria.sort != wanted {
                    self.found.criteria.sort = wanted;
                    return;
                }
                let step = if numbers.is_money { Decimal::of_digits(1, 2) } else { Decimal::from(1) };
                let values = self.shown.get(name).map(Vec::as_slice).unwrap_or_default();
                let (before_least, before_most) = match self.found.criteria.fields.get(name) {
                    Some(FieldFilter::Between(least, most)) => (*least, *most),
                    _ => (None, None),
                };
                let bound = if is_lower {
                    values.iter().min().and_then(|least| least.plus(step.negated()))
                } else {
                    values.iter().max().and_then(|most| most.plus(step))
                };
                match bound {
                    Some(bound) if is_lower => self.set(
                        name,
                        FieldFilter::Between(before_least.filter(|least| *least <= bound), Some(bound)),
                    ),
                    Some(bound) => self.set(
                        name,
                        FieldFilter::Between(Some(bound), before_most.filter(|most| *most >= bound)),
                    ),
                    None => {}
                }
            }
            None => {}
        }
    }

    fn set(&mut self, field: &str, wanted: FieldFilter) {
        self.found.criteria.fields.insert(field.to_owned(), wanted);
        self.changed.push(field.to_owned());
    }

    /// Reads names: those of the field, else those of any other.
    fn names(&mut self, field: &str, words: &str) {
        let (is_unwanted, words) = without_negation(words);
        let mut any = false;
        let whole = self.find(field, &words);
        let parts =
            if matches!(whole, Some((_, Match::One(_)))) { vec![words.clone()] } else { parts(&words) };
        for part in parts {
            let mut found = Vec::new();
            let left_over = self.scan(field, &part, &mut found);
            // Whoever names something that is not there does not mean what stands beside it by chance.
            if left_over {
                found.retain(|(of, _)| of == field);
            }
            any |= !found.is_empty();
            for (field, name) in found {
                self.add(&field, name, is_unwanted);
            }
        }
        let is_told = self.found.unclear.iter().any(|unclear| words.contains(&unclear.words));
        if !any && !is_told && !words.is_empty() {
            self.found.unknown.push(words);
        }
    }

    /// The field and the name that words are.
    fn find(&self, field: &str, words: &str) -> Option<(String, Match)> {
        // A name of any field is nearer than a slip for one of this, and half a name is one only where it is no whole one. A slip for a
        // colour is not looked for where a model is named.
        let is_near = |mapped: &MappedField<'_>| {
            mapped.field.name == field || is_name_of_title(self.fields, &mapped.field.name)
        };
        let find = |by: fn(&NameIndex, &str) -> Match, everywhere: bool| {
            let fields = self.fields.named(field).into_iter().filter(|mapped| everywhere || is_near(mapped));
            fields.into_iter().find_map(|mapped| {
                let found = by(self.fields.index(mapped), words);
                (found != Match::None).then(|| (mapped.field.name.clone(), found))
            })
        };
        find(NameIndex::find_exactly, true)
            .or_else(|| find(NameIndex::find, false))
            .or_else(|| find(NameIndex::find_beginning, false))
    }

    /// Finds the names in words, the longest first. Says whether words are left over that may be a name.
    fn scan(&mut self, field: &str, words: &str, found: &mut Vec<(String, String)>) -> bool {
        let words: Vec<&str> = words.split_whitespace().collect();
        for length in (1..=words.len().min(LONGEST_NAME)).rev() {
            for start in 0..=words.len() - length {
                let some = &words[start..start + length];
                if length == 1 && words.len() > 1 && Language::any_has_common(some[0]) {
                    continue;
                }
                let text = some.join(" ");
                let Some((of, matched)) = self.find(field, &text) else { continue };
                let Some(mapped) = self.fields.get(&of) else { continue };
                match matched {
                    Match::One(place) => found.push((of.clone(), self.fields.name(mapped, place).to_owned())),
                    Match::Several(places) => {
                        let names: Vec<String> = places
                            .into_iter()
                            .map(|place| self.fields.name(mapped, place).to_owned())
                            .collect();
                        self.found.unclear.push(UnclearName { words: text, field: of.clone(), names });
                    }
                    Match::None => continue,
                }
                // What stands around a name may hold others.
                let before = self.scan(field, &words[..start].join(" "), found);
                let after = self.scan(field, &words[start + length..].join(" "), found);
                return before || after;
            }
        }
        words.iter().any(|word| word.chars().count() > 2 && !Language::any_has_common(word))
    }

    fn add(&mut self, field: &str, name: String, is_unwanted: bool) {
        let again = self.changed.iter().any(|changed| changed == field);
        let mut names = match self.found.criteria.fields.get(field) {
            Some(FieldFilter::OneOf(names)) if again && !is_unwanted => names.clone(),
            Some(FieldFilter::NoneOf(names)) if is_unwanted => names.clone(),
            _ => Vec::new(),
        };
        if !names.contains(&name) && names.len() < MOST_NAMES {
            names.push(name);
        }
        self.set(field, if is_unwanted { FieldFilter::NoneOf(names) } else { FieldFilter::OneOf(names) });
    }

    /// Makes what was said before fit what is said now: a make that is named leaves no model of another one, and a model names its
    /// make.
    fn settle(&mut self) {
        let criteria = &mut self.found.criteria.fields;
        for mapped in self.fields.named("") {
            let name = &mapped.field.name;
            let Some(FieldFilter::OneOf(names)) = criteria.get(name).cloned() else { continue };
            for other in self.fields.named("").into_iter().filter(|other| other.field.name != *name) {
                let over: Vec<Option<&str>> =
                    names.iter().map(|own| self.fields.within(mapped, own, other)).collect();
                if over.iter().all(Option::is_none) || !is_name_of_title(self.fields, &other.field.name) {
                    continue;
                }
                let over: Vec<String> = over.into_iter().flatten().map(str::to_owned).collect();
                let is_new = self.changed.contains(name);
                match criteria.get(&other.field.name) {
                    Some(FieldFilter::OneOf(wanted)) if !over.iter().any(|over| wanted.contains(over)) => {
                        match (is_new, self.changed.contains(&other.field.name)) {
                            (true, false) => drop(criteria.insert(other.field.name.clone(), unique(over))),
                            (false, _) => drop(criteria.remove(name)),
                            // Both were said, and do not fit: that is for the search to find out.
                            (true, true) => {}
                        }
                    }
                    Some(_) => {}
                    None if over.len() == names.len() => {
                        criteria.insert(other.field.name.clone(), unique(over));
                    }
                    None => {}
                }
            }
        }
    }
}

fn is_name_of_title(fields: &Fields<'_>, field: &str) -> bool {
    fields.settings.title.iter().any(|title| title == field)
}

fn unique(names: Vec<String>) -> FieldFilter {
    let mut unique: Vec<String> = Vec::new();
    for name in names {
        if !unique.contains(&name) {
            unique.push(name);
        }
    }
    FieldFilter::OneOf(unique)
}

/// Whether words say that something does not matter. "Any colour but red" is a wish.
pub(super) fn does_not_matter(words: &str) -> bool {
    let text = format!(" {} ", folded(words));
    let has = |list: fn(&Amounts) -> &Vec<String>| {
        let mut phrases = CATALOGUES.iter().flat_map(|language| list(&language.amounts));
        phrases.any(|phrase| text.contains(&format!(" {phrase} ")))
    };
    has(|amounts| &amounts.any) && !has(|amounts| &amounts.but)
}

/// Words without what says that they are not wanted, and whether it was there.
fn without_negation(words: &str) -> (bool, String) {
    let text = folded(words);
    let text = text.trim_matches(|letter: char| !letter.is_alphanumeric());
    let mut leads: Vec<&str> =
        CATALOGUES.iter().flat_map(|language| &language.amounts.not).map(String::as_str).collect();
    leads.sort_by_key(|lead| std::cmp::Reverse(lead.len()));
    let rest = leads.iter().find_map(|lead| text.strip_prefix(lead)?.strip_prefix(' '));
    (rest.is_some(), rest.unwrap_or(text).trim().to_owned())
}

/// The parts of words between which "or", "and" or a comma stands.
fn parts(words: &str) -> Vec<String> {
    let joins = |word: &str| {
        CATALOGUES.iter().any(|language| {
            let amounts = &language.amounts;
            amounts.or.iter().chain(&amounts.and).any(|known| known == word)
        })
    };
    let mut parts = vec![String::new()];
    for word in words.replace([',', '/', ';'], " , ").split_whitespace() {
        if word == "," || joins(word) {
            parts.push(String::new());
        } else if let Some(last) = parts.last_mut() {
            last.push(' ');
            last.push_str(word);
        }
    }
    parts.into_iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}
