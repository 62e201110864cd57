//! In what a value is counted: currencies, weights, lengths, times and multiples; and what tells periods apart.

use std::collections::BTreeSet;
use std::ops::Range;

use ibid_core::value::is_year;

use super::clauses::Claim;

/// A unit: what it measures, and which it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unit {
    measures: &'static str,
    name: &'static str,
}

/// What each measure is counted in, by the words for it in lower case.
const UNITS: &[(&str, &str, &[&str])] = &[
    ("money", "USD", &["usd", "us$", "$", "dollar", "dollars", "d\u{f3}lar", "d\u{f3}lares", "dolares"]),
    ("money", "EUR", &["eur", "\u{20ac}", "euro", "euros"]),
    ("money", "GBP", &["gbp", "\u{a3}", "sterling"]),
    ("money", "JPY", &["jpy", "\u{a5}", "yen", "yenes"]),
    ("money", "UYU", &["uyu", "pesos"]),
    (
        "weight",
        "kg",
        &[
            "kg",
            "kilogram",
            "kilograms",
            "kilogramme",
            "kilogrammes",
            "kilo",
            "kilos",
            "kilogramo",
            "kilogramos",
        ],
    ),
    ("weight", "g", &["g", "gram", "grams", "gramme", "grammes", "gramo", "gramos"]),
    ("weight", "t", &["t", "ton", "tons", "tonne", "tonnes", "tonelada", "toneladas"]),
    ("weight", "lb", &["lb", "lbs", "pound", "pounds", "libra", "libras"]),
    (
        "length",
        "mm",
        &[
            "mm",
            "millimetre",
            "millimetres",
            "millimeter",
            "millimeters",
            "mil\u{ed}metro",
            "mil\u{ed}metros",
        ],
    ),
    (
        "length",
        "cm",
        &[
            "cm",
            "centimetre",
            "centimetres",
            "centimeter",
            "centimeters",
            "cent\u{ed}metro",
            "cent\u{ed}metros",
        ],
    ),
    ("length", "m", &["metre", "metres", "meter", "meters", "metro", "metros"]),
    (
        "length",
        "km",
        &["km", "kilometre", "kilometres", "kilometer", "kilometers", "kil\u{f3}metro", "kil\u{f3}metros"],
    ),
    ("length", "mile", &["mile", "miles"]),
    ("volume", "l", &["litre", "litres", "liter", "liters", "litro", "litros"]),
    ("volume", "ml", &["ml", "millilitre", "millilitres", "milliliter", "milliliters", "mililitros"]),
    ("time", "second", &["second", "seconds", "segundo", "segundos"]),
    ("time", "minute", &["minute", "minutes", "minuto", "minutos"]),
    ("time", "hour", &["hour", "hours", "hora", "horas"]),
    ("time", "day", &["day", "days", "d\u{ed}a", "d\u{ed}as", "dias"]),
    ("time", "week", &["week", "weeks", "semana", "semanas"]),
    ("time", "month", &["month", "months", "mes", "meses"]),
    ("time", "year", &["year", "years", "a\u{f1}o", "a\u{f1}os"]),
    ("multiple", "thousand", &["thousand", "thousands", "mil", "miles de"]),
    ("multiple", "million", &["million", "millions", "mill\u{f3}n", "millones", "mn"]),
    ("multiple", "billion", &["billion", "billions", "bn"]),
    ("power", "W", &["w", "watt", "watts", "vatios"]),
    ("power", "kW", &["kw", "kilowatt", "kilowatts", "kilovatios"]),
    ("power", "MW", &["mw", "megawatt", "megawatts", "megavatios"]),
    ("energy", "kWh", &["kwh"]),
    ("energy", "MWh", &["mwh"]),
    ("energy", "GWh", &["gwh"]),
];

/// How far beside a value its unit stands, in words.
const BESIDE: usize = 2;

/// What a unit is called, whichever of its names or signs this is.
pub(crate) fn unit_name(word: &str) -> Option<&'static str> {
    unit(word).map(|unit| unit.name)
}

fn unit(word: &str) -> Option<Unit> {
    let word = word.to_lowercase();
    let found = UNITS.iter().find(|(_, _, words)| words.contains(&word.as_str()))?;
    Some(Unit { measures: found.0, name: found.1 })
}

/// The words of a text, with signs of currencies as words of their own.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut open = false;
    for letter in text.chars() {
        if "$\u{20ac}\u{a3}\u{a5}".contains(letter) {
            match words.last_mut().filter(|last| open && last.eq_ignore_ascii_case("us")) {
                Some(last) => last.push(letter),
                None => words.push(letter.to_string()),
            }
            open = false;
        } else if letter.is_alphabetic() {
            match words.last_mut().filter(|_| open) {
                Some(last) => last.push(letter),
                None => words.push(letter.to_string()),
            }
            open = true;
        } else {
            open = false;
        }
    }
    words
}

/// The units of the first of these texts for each measure.
pub(super) fn first_known<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<Unit> {
    let mut found: Vec<Unit> = Vec::new();
    for text in texts {
        let own: Vec<Unit> = words(text).iter().filter_map(|word| unit(word)).collect();
        for unit in own {
            if !found.iter().any(|known| known.measures == unit.measures) {
                found.push(unit);
            }
        }
    }
    found
}

/// The unit that a clause gives a value and the one that it has, if they are not the same: both as they are called.
pub(super) fn conflict(clause: &str, claim: &Claim, own: &[Unit]) -> Option<(String, String)> {
    let Range { start, end } = claim.stands.clone();
    let after: Vec<String> = words(&clause[end..]).into_iter().take(BESIDE + 1).collect();
    let before: Vec<String> = words(&clause[..start]).into_iter().rev().take(1).collect();
    let said = after.iter().chain(&before).filter_map(|word| unit(word));
    for said in said {
        if let Some(own) = own.iter().find(|own| own.measures == said.measures && own.name != said.name) {
            return Some((said.name.to_owned(), own.name.to_owned()));
        }
    }
    None
}

/// Whether a column is one of shares of a hundred.
pub(in crate::guard) fn is_share(name: &str) -> bool {
    let lower = name.to_lowercase();
    lower.contains('%')
        || ["percent", "per cent", "porcentaje", "por ciento"].iter().any(|word| lower.contains(word))
}

/// Whether two names differ only in a year, quarter or month.
pub(super) fn differ_in_period(one: &str, other: &str) -> bool {
    let words = |name: &str| -> BTreeSet<String> {
        let parts = name.split(|letter: char| !letter.is_alphanumeric()).filter(|part| !part.is_empty());
        parts.map(str::to_lowercase).collect()
    };
    let (one, other) = (words(one), words(other));
    let differing: Vec<&String> = one.symmetric_difference(&other).collect();
    !differing.is_empty() && differing.iter().all(|word| is_period(word))
}

const MONTHS: [&str; 36] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "enero",
    "febrero",
    "marzo",
    "abril",
    "mayo",
    "junio",
    "julio",
    "agosto",
    "septiembre",
    "octubre",
    "noviembre",
    "diciembre",
    "jan",
    "feb",
    "mar",
    "apr",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
    "sept",
];

fn is_period(word: &str) -> bool {
    let is_quarter = word.len() == 2
        && word.starts_with(['q', 't', 'h'])
        && word.ends_with(|digit: char| digit.is_ascii_digit());
    is_year(word) || is_quarter || MONTHS.contains(&word)
}
