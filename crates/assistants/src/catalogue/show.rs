//! Options and criteria in words.

use ibid_core::catalogue::{CatalogueValue, FieldFilter};
use ibid_core::value::Decimal;

use super::criteria::Criteria;
use super::search::{CatalogueOption, CatalogueResult};
use crate::definition::{CatalogueField, CatalogueSettings};
use crate::language::{Language, filled};

/// A number with its thousands parted.
pub(crate) fn grouped(number: Decimal) -> String {
    let text = number.to_string();
    let (sign, text) = text.strip_prefix('-').map_or(("", text.as_str()), |text| ("-", text));
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let mut parted = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            parted.push(',');
        }
        parted.push(digit);
    }
    match part.len() {
        0 => format!("{sign}{parted}"),
        // Cents have two digits.
        1 => format!("{sign}{parted}.{part}0"),
        _ => format!("{sign}{parted}.{part}"),
    }
}

/// An amount of money, with the sign of its currency where that is known.
pub(crate) fn money(amount: Decimal, currency: &str) -> String {
    let sign = match currency {
        "ARS" | "AUD" | "CAD" | "CLP" | "COP" | "MXN" | "USD" => "$",
        "BRL" => "R$",
        "EUR" => "\u{20ac}",
        "GBP" => "\u{a3}",
        _ => "",
    };
    format!("{sign}{} {currency}", grouped(amount))
}

/// A number of a field.
fn number(amount: Decimal, field: &CatalogueField, currency: &str) -> String {
    match &field.numbers {
        Some(numbers) if numbers.is_money => money(amount, currency),
        Some(numbers) if !numbers.unit.is_empty() => format!("{} {}", grouped(amount), numbers.unit),
        _ => amount.to_string(),
    }
}

fn value(value: &CatalogueValue, field: &CatalogueField, currency: &str) -> String {
    match value {
        CatalogueValue::Number(amount) => number(*amount, field, currency),
        CatalogueValue::Text(text) => text.clone(),
    }
}

/// Criteria in words, the most important first.
pub(crate) fn criteria(criteria: &Criteria, settings: &CatalogueSettings, language: Language) -> String {
    let texts = language.texts();
    let each = settings.fields.iter().filter_map(|field| {
        let own = |amount: &Decimal| number(*amount, field, &settings.currency);
        Some(match criteria.fields.get(&field.name)? {
            FieldFilter::OneOf(names) => names.join(" / "),
            FieldFilter::NoneOf(names) => {
                format!("{} \u{2260} {}", field.title(language.code()), names.join(", "))
            }
            FieldFilter::Between(Some(least), Some(most)) if least == most => own(least),
            FieldFilter::Between(least, most) => {
                let least = least.as_ref().map(|least| filled(&texts.at_least, &[("value", &own(least))]));
                let most = most.as_ref().map(|most| filled(&texts.at_most, &[("value", &own(most))]));
                let ends: Vec<String> = least.into_iter().chain(most).collect();
                format!("{} {}", field.title(language.code()).to_lowercase(), ends.join(" "))
            }
        })
    });
    each.collect::<Vec<_>>().join(", ")
}

/// The fields that gave way, in words.
pub(crate) fn relaxed(result: &CatalogueResult, settings: &CatalogueSettings, language: Language) -> String {
    let titles = settings
        .fields
        .iter()
        .filter(|field| result.relaxed.contains(&field.name))
        .map(|field| field.title(language.code()).to_lowercase());
    filled(&language.texts().without_field, &[("field", &titles.collect::<Vec<_>>().join(", "))])
}

/// Options as a list that any client can show.
pub(crate) fn list(options: &[CatalogueOption], settings: &CatalogueSettings) -> String {
    let line = |option: &CatalogueOption| {
        let facts = settings.fields.iter().filter(|field| !settings.title.contains(&field.name));
        let facts =
            facts.filter_map(|field| Some(value(option.values.get(&field.name)?, field, &settings.currency)));
        let facts: Vec<String> = facts.collect();
        format!("{}. **{}** \u{b7} {}", option.number, option.title, facts.join(" \u{b7} "))
    };
    options.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn thousands_are_parted_and_cents_are_two() {
        for (number, text) in
            [("1234567.5", "1,234,567.50"), ("999", "999"), ("-1000", "-1,000"), ("0.05", "0.05")]
        {
            assert_eq!(grouped(number.parse().unwrap()), text);
        }
    }
}
