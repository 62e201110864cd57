//! Statements on cells and sentences, true and false.

use std::collections::BTreeMap;

use anyhow::bail;
use ibid_core::answer::WarningKind;
use ibid_core::evidence::Passage;
use ibid_core::table::{CellKind, TableRecord};
use ibid_core::value::{Decimal, Value, Worth, agree, claimed, is_year, values};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};

use super::Sets;

const STATEMENTS: usize = 2000;
/// A cell with more letters is no value.
const LONGEST_VALUE: usize = 24;
/// So many other chunks are cited beside the one that a statement is about.
const BESIDE: usize = 2;
const LONGEST_LABEL: usize = 90;

/// How a statement is false.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Falsehood {
    None,
    Row,
    Column,
    Period,
    Unit,
    Arithmetic,
}

impl Falsehood {
    pub(super) const ALL: [Self; 6] =
        [Self::None, Self::Row, Self::Column, Self::Period, Self::Unit, Self::Arithmetic];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "true",
            Self::Row => "another row",
            Self::Column => "another column",
            Self::Period => "another period",
            Self::Unit => "another unit",
            Self::Arithmetic => "wrong arithmetic",
        }
    }

    /// What the guard should say. A sentence of prose is a row.
    pub(super) fn is(self, kind: WarningKind) -> bool {
        match self {
            Self::None => false,
            Self::Row => kind == WarningKind::WrongRow,
            Self::Column => kind == WarningKind::WrongColumn,
            Self::Period => kind == WarningKind::WrongPeriod,
            Self::Unit => kind == WarningKind::WrongUnit,
            Self::Arithmetic => kind == WarningKind::WrongArithmetic,
        }
    }
}

/// What is said, of which passages.
pub(super) struct Statement {
    pub(super) of: String,
    pub(super) falsehood: Falsehood,
    pub(super) text: String,
    pub(super) passages: Vec<Passage>,
}

/// The statements, half of them false.
pub(super) fn statements(sets: &Sets, random: &mut StdRng) -> anyhow::Result<Vec<Statement>> {
    let mut all: BTreeMap<(String, Falsehood), Vec<Statement>> = BTreeMap::new();
    for (set, documents) in sets {
        for passages in documents {
            for (at, passage) in passages.iter().enumerate() {
                let beside = |random: &mut StdRng| {
                    let others: Vec<usize> = (0..passages.len()).filter(|other| *other != at).collect();
                    let mut chosen: Vec<Passage> = vec![passage.clone()];
                    chosen
                        .extend(others.choose_multiple(random, BESIDE).map(|other| passages[*other].clone()));
                    chosen.shuffle(random);
                    chosen
                };
                for (falsehood, text) in of_table(passage, random) {
                    let passages = beside(random);
                    let of = set.clone();
                    let made = all.entry((of.clone(), falsehood)).or_default();
                    made.push(Statement { of, falsehood, text, passages });
                }
                for (falsehood, text) in of_prose(passage, random) {
                    let passages = beside(random);
                    let of = "prose".to_owned();
                    all.entry((of.clone(), falsehood)).or_default().push(Statement {
                        of,
                        falsehood,
                        text,
                        passages,
                    });
                }
            }
        }
    }
    for found in all.values_mut() {
        found.shuffle(random);
    }
    // In turns from each set and falsehood, a true one for each false one.
    let mut chosen = Vec::new();
    let kinds: Vec<(String, Falsehood)> =
        all.keys().filter(|(_, falsehood)| *falsehood != Falsehood::None).cloned().collect();
    while chosen.len() < STATEMENTS {
        let before = chosen.len();
        for (set, falsehood) in &kinds {
            let Some(wrong) = all.get_mut(&(set.clone(), *falsehood)).and_then(Vec::pop) else { continue };
            let Some(right) = all.get_mut(&(set.clone(), Falsehood::None)).and_then(Vec::pop) else {
                continue;
            };
            chosen.extend([wrong, right]);
        }
        if chosen.len() == before {
            bail!("there are only {before} statements");
        }
    }
    chosen.truncate(STATEMENTS);
    Ok(chosen)
}

/// What is said of a cell, in five ways and two languages.
fn said(row: &str, column: &str, value: &str, random: &mut StdRng) -> String {
    let ways = [
        "The {column} of {row} is {value}.",
        "For {row}, the {column} is {value}.",
        "{row}: {column} {value}.",
        "According to the table, {value} is the {column} for {row}.",
        "{row} has {value} as its {column}.",
        "{column} de {row}: {value}.",
        "Para {row}, {column} es {value}.",
        "Seg\u{fa}n la tabla, {value} es {column} de {row}.",
        "{row} tiene {value} en {column}.",
        "En {row}, el valor de {column} es {value}.",
    ];
    let way = ways.choose(random).copied().unwrap_or_default();
    way.replace("{row}", row).replace("{column}", column).replace("{value}", value)
}

/// The name of a column as people say it.
fn column_name(name: &str, random: &mut StdRng) -> String {
    let known: &[(&str, [&str; 2])] = &[
        ("Rates of Duty 1 General", ["general rate of duty", "tasa general"]),
        ("Rates of Duty 1 Special", ["special rate of duty", "tasa especial"]),
        ("Rates of Duty 2", ["column 2 rate of duty", "tasa de la columna 2"]),
        ("Unit of Quantity", ["unit of quantity", "unidad de cantidad"]),
    ];
    match known.iter().find(|(own, _)| *own == name) {
        Some((_, said)) => said.choose(random).copied().unwrap_or(said[0]).to_owned(),
        None => name.to_owned(),
    }
}

/// What a row is called: its code, else its first cell, if no other row has it.
fn label(record: &TableRecord<'_>, records: &[TableRecord<'_>]) -> Option<String> {
    let first = record.cells.first()?.text.trim();
    let letters = first.chars().filter(|letter| letter.is_alphanumeric()).count();
    let is_code = matches!(values(first).as_slice(), [value] if matches!(value.worth, Worth::Code(_)));
    let is_named = first.chars().any(char::is_alphabetic) || is_code || is_year(first);
    let same = records
        .iter()
        .filter(|other| other.cells.first().is_some_and(|cell| cell.text.trim() == first))
        .count();
    (letters >= 3 && first.len() <= LONGEST_LABEL && is_named && same == 1).then(|| first.to_owned())
}

/// Whether a cell is a value that something can be said of.
fn is_value(text: &str) -> bool {
    let found = values(text);
    let is_free = text.trim() == "Free";
    text.len() <= LONGEST_VALUE
        && (is_free || found.len() == 1 && found[0].written.len() * 2 >= text.trim().len())
}

fn differ(one: &str, other: &str) -> bool {
    let (one_values, other_values) = (values(one), values(other));
    let agrees = one_values.iter().any(|value| other_values.iter().any(|own| agree(value, own)));
    !agrees && one.trim() != other.trim() && !other.starts_with("Free") | !one.starts_with("Free")
}

fn of_table(passage: &Passage, random: &mut StdRng) -> Vec<(Falsehood, String)> {
    let records: Vec<TableRecord<'_>> = passage.records().collect();
    let mut made = Vec::new();
    for record in &records {
        let Some(row) = label(record, &records) else { continue };
        let columns = record.table.columns.iter().enumerate().skip(1);
        let named: Vec<(usize, &str)> = columns
            .filter(|(_, column)| !column.name.trim().is_empty() && column.name.len() <= LONGEST_LABEL)
            .filter(|(_, column)| {
                matches!(column.kind, CellKind::Rate | CellKind::Amount) && is_named(&column.name)
            })
            .map(|(number, column)| (number, column.name.as_str()))
            .collect();
        // Columns of one name cannot be told apart by whoever reads.
        let is_alone = |name: &str| named.iter().filter(|(_, other)| *other == name).count() == 1;
        let cell = |record: &TableRecord<'_>, column: usize| {
            record.cells.get(column).map(|cell| cell.text.to_string())
        };
        for (column, name) in &named {
            let Some(right) = cell(record, *column).filter(|text| is_value(text)) else { continue };
            if !is_alone(name) {
                continue;
            }
            let told = column_name(name, random);
            made.push((Falsehood::None, said(&row, &told, &right, random)));
            let others: Vec<(&str, String)> = named
                .iter()
                .filter(|(other, _)| other != column)
                .filter_map(|(other, name)| {
                    Some((*name, cell(record, *other).filter(|text| is_value(text))?))
                })
                .filter(|(_, value)| differ(value, &right))
                .collect();
            if let Some((other, value)) = others.choose(random) {
                let falsehood =
                    if differ_in_year(other, name) { Falsehood::Period } else { Falsehood::Column };
                made.push((falsehood, said(&row, &told, value, random)));
            }
            let in_row: Vec<String> =
                (0..record.cells.len()).filter_map(|column| cell(record, column)).collect();
            let rows: Vec<String> = records
                .iter()
                .filter(|other| other.span != record.span && other.table.table == record.table.table)
                .filter_map(|other| cell(other, *column).filter(|text| is_value(text)))
                .filter(|value| in_row.iter().all(|own| differ(value, own)))
                .collect();
            if let Some(value) = rows.choose(random).filter(|_| !is_year(&row)) {
                made.push((Falsehood::Row, said(&row, &told, value, random)));
            }
            made.extend(of_units(&row, name, &told, &right, random));
        }
        made.extend(of_sums(record, &row, &named, &records, random));
    }
    made
}

/// Whether a column has a name that people can say: a word, or a year, and not many numbers.
fn is_named(name: &str) -> bool {
    let words: Vec<&str> =
        name.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let has_word = words
        .iter()
        .any(|word| word.chars().filter(|letter| letter.is_alphabetic()).count() >= 4 || is_year(word));
    let numbers = words.iter().filter(|word| word.chars().all(|digit| digit.is_ascii_digit())).count();
    has_word && numbers <= 2 && !name.contains("Suf-fix")
}

fn differ_in_year(one: &str, other: &str) -> bool {
    let words = |name: &str| {
        let parts = name.split(|letter: char| !letter.is_alphanumeric()).filter(|part| !part.is_empty());
        parts.map(str::to_lowercase).collect::<std::collections::BTreeSet<_>>()
    };
    let (one, other) = (words(one), words(other));
    let mut differing = one.symmetric_difference(&other).peekable();
    differing.peek().is_some() && differing.all(|word| is_year(word))
}

const UNITS: [(&str, &[&str], &[&str]); 5] = [
    ("EUR", &["eur", "euro", "euros", "\u{20ac}"], &["USD", "GBP"]),
    ("USD", &["usd", "$", "dollars"], &["EUR", "GBP"]),
    ("million", &["million", "millions", "mn"], &["billion", "thousand"]),
    ("kg", &["kg", "kilograms"], &["tonnes", "grams"]),
    ("km", &["km", "kilometres"], &["miles", "metres"]),
];

/// The same with its unit, and with another one, where the column says in what it counts.
fn of_units(row: &str, name: &str, told: &str, right: &str, random: &mut StdRng) -> Vec<(Falsehood, String)> {
    let lower = name.to_lowercase();
    let words: Vec<&str> =
        lower.split(|letter: char| !letter.is_alphabetic() && !"$\u{20ac}".contains(letter)).collect();
    let known = UNITS.iter().find(|(_, own, _)| own.iter().any(|unit| words.contains(unit)));
    let Some((unit, _, others)) = known else { return Vec::new() };
    let other = others.choose(random).copied().unwrap_or_default();
    vec![
        (Falsehood::None, said(row, told, &format!("{right} {unit}"), random)),
        (Falsehood::Unit, said(row, told, &format!("{right} {other}"), random)),
    ]
}

/// Sums and differences of two rows, made rightly and wrongly.
fn of_sums(
    record: &TableRecord<'_>,
    row: &str,
    named: &[(usize, &str)],
    records: &[TableRecord<'_>],
    random: &mut StdRng,
) -> Vec<(Falsehood, String)> {
    let amounts: Vec<&(usize, &str)> =
        named.iter().filter(|(column, _)| record.table.columns[*column].kind == CellKind::Amount).collect();
    let Some((column, name)) = amounts.choose(random).copied() else { return Vec::new() };
    let number = |record: &TableRecord<'_>| {
        let text = record.cells.get(*column)?.text.to_string();
        let found = values(&text);
        let [Value { worth: Worth::Number(readings), .. }] = found.as_slice() else { return None };
        Some((text.trim().to_owned(), *readings.first().filter(|_| readings.len() == 1)?))
    };
    let others: Vec<(String, String, Decimal)> = records
        .iter()
        .filter(|other| other.span != record.span && other.table.table == record.table.table)
        .filter_map(|other| {
            let (text, value) = number(other)?;
            Some((label(other, records)?, text, value))
        })
        .collect();
    let (Some((own_text, own)), Some((other, text, value))) = (number(record), others.choose(random)) else {
        return Vec::new();
    };
    let (Some(sum), Some(apart)) = (own.plus(*value), own.apart(*value)) else { return Vec::new() };
    let ways = [
        ("In {column}, {row} ({a}) and {other} ({b}) together come to {result}.", sum),
        ("The sum of {a} ({row}) and {b} ({other}) is {result}.", sum),
        ("The difference between {row} ({a}) and {other} ({b}) in {column} is {result}.", apart),
        ("La suma de {row} ({a}) y {other} ({b}) es {result}.", sum),
        ("La diferencia entre {a} y {b} es {result}.", apart),
    ];
    let Some((way, right)) = ways.choose(random).copied() else { return Vec::new() };
    let wrong = right.plus(Decimal::from(random.random_range(1..90))).unwrap_or(right);
    let all: Vec<Value> =
        records.iter().flat_map(|record| record.cells.iter()).flat_map(|cell| values(&cell.text)).collect();
    let fill = |result: Decimal| {
        way.replace("{column}", name)
            .replace("{row}", row)
            .replace("{other}", other)
            .replace("{a}", &own_text)
            .replace("{b}", text)
            .replace("{result}", &result.to_string())
    };
    // A result that stands in the table as well is not for the check of sums.
    let stands = |result: Decimal| {
        values(&result.to_string()).iter().any(|value| all.iter().any(|own| agree(value, own)))
    };
    let mut made = Vec::new();
    if !stands(right) && !stands(wrong) {
        made.extend([(Falsehood::None, fill(right)), (Falsehood::Arithmetic, fill(wrong))]);
    }
    made
}

/// Sentences with a value, as they are, with a value of another sentence, another unit or another year.
fn of_prose(passage: &Passage, random: &mut StdRng) -> Vec<(Falsehood, String)> {
    let sentences: Vec<&str> = passage
        .text
        .lines()
        .filter(|line| !line.contains(" | "))
        .flat_map(|line| line.split_inclusive(". "))
        .map(str::trim)
        .filter(|sentence| (40..300).contains(&sentence.len()) && sentence.ends_with('.'))
        .collect();
    let mut made = Vec::new();
    for sentence in &sentences {
        let own: Vec<Value> = claimed(sentence)
            .into_iter()
            .filter(|value| matches!(value.worth, Worth::Number(_) | Worth::Percent(_)))
            .collect();
        let [value] = own.as_slice() else { continue };
        let is_counted = TIMES.iter().copied().flatten().any(|unit| follows(sentence, value, unit));
        if !is_counted && !value.is_year() && !matches!(value.worth, Worth::Percent(_)) {
            continue;
        }
        made.push((Falsehood::None, (*sentence).to_owned()));
        let replaced = |with: &str| {
            format!("{}{with}{}", &sentence[..value.stands.start], &sentence[value.stands.end..])
        };
        if value.is_year() {
            let years = sentences.iter().flat_map(|other| values(other)).filter(Value::is_year);
            let years: Vec<Value> = years.filter(|other| !agree(other, value)).collect();
            made.extend(years.choose(random).map(|year| (Falsehood::Period, replaced(year.written.trim()))));
            continue;
        }
        for times in TIMES {
            let Some(unit) = times.iter().find(|unit| follows(sentence, value, unit)) else { continue };
            let others: Vec<&&str> = times.iter().filter(|other| *other != unit).collect();
            if let Some(other) = others.choose(random) {
                let after = &sentence[value.stands.end..];
                let text = format!("{}{}", &sentence[..value.stands.end], after.replacen(unit, other, 1));
                made.push((Falsehood::Unit, text));
            }
        }
        let same_kind =
            |other: &Value| std::mem::discriminant(&other.worth) == std::mem::discriminant(&value.worth);
        let others = sentences.iter().filter(|other| *other != sentence).flat_map(|other| claimed(other));
        let others: Vec<Value> =
            others.filter(|other| same_kind(other) && !other.is_year() && !agree(other, value)).collect();
        made.extend(others.choose(random).map(|other| (Falsehood::Row, replaced(other.written.trim()))));
    }
    made
}

const TIMES: [&[&str]; 2] = [
    &["days", "months", "years", "hours", "weeks"],
    &["d\u{ed}as", "meses", "a\u{f1}os", "horas", "semanas"],
];

/// Whether a unit comes just behind a value.
fn follows(sentence: &str, value: &Value, unit: &str) -> bool {
    sentence[value.stands.end..]
        .trim_start()
        .strip_prefix(unit)
        .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}
