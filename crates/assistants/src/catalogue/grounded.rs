//! Which of the criteria that a model extracted are grounded in the message: a small model fills fields that nobody spoke of.

use super::criteria::{CriteriaChange, CriterionWords, LIMIT, does_not_matter};
use super::numbers::numbers_of;
use crate::definition::{CatalogueField, CatalogueSettings};
use crate::language::{Language, folded};

/// Two words are one if they share so many letters at the beginning, and all but so many at the end.
const LEAST_SHARED: usize = 3;
const MOST_ENDING: usize = 2;

/// Only what the message says.
pub(crate) fn grounded(
    change: CriteriaChange,
    message: &str,
    settings: &CatalogueSettings,
) -> CriteriaChange {
    let told = words_of(message);
    let field = |name: &str| settings.fields.iter().find(|field| field.name == name);
    let indifferent = change.criteria.iter().filter(|said| does_not_matter(&said.words)).count();
    let criteria = change.criteria.into_iter().filter_map(|said| {
        if does_not_matter(&said.words) {
            // Of several fields that are said not to matter, those are meant that the message names.
            let is_meant = indifferent == 1 || field(&said.field).is_some_and(|field| is_named(field, &told));
            return (is_meant && does_not_matter(message)).then_some(said);
        }
        if is_said(&said.words, &told) {
            return Some(said);
        }
        // Words that were changed on the way: where the message has a number, it is read itself.
        let numbers = field(&said.field).and_then(|field| field.numbers.as_ref())?;
        let own = numbers_of(&said.words, numbers);
        let is_number =
            !own.is_empty() && own.iter().all(|number| numbers_of(message, numbers).contains(number));
        is_number.then(|| CriterionWords { field: said.field, words: message.to_owned() })
    });
    let mut kept: Vec<CriterionWords> = criteria.collect();
    kept.retain(|said| {
        said.field != LIMIT || !numbers_of(&said.words, &crate::definition::NumberField::default()).is_empty()
    });
    CriteriaChange { criteria: kept, ..change }
}

fn words_of(text: &str) -> Vec<String> {
    let text = folded(text);
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

/// Whether a message has all words that say something.
fn is_said(words: &str, told: &[String]) -> bool {
    let own = words_of(words);
    let mut telling = own.iter().filter(|word| !Language::any_has_common(word)).peekable();
    telling.peek().is_some() && telling.all(|word| told.iter().any(|other| is_same(word, other)))
}

/// Whether two words are one but for their endings.
fn is_same(one: &str, other: &str) -> bool {
    let shared = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    let shortest = one.chars().count().min(other.chars().count());
    let is_number = [one, other].iter().any(|word| word.starts_with(|letter: char| letter.is_ascii_digit()));
    one == other || (!is_number && shared >= LEAST_SHARED.max(shortest.saturating_sub(MOST_ENDING)))
}

/// Whether a message names a field, in any language.
fn is_named(field: &CatalogueField, told: &[String]) -> bool {
    let names = field.titles.values().chain([&field.name]).map(|name| folded(name));
    names.into_iter().any(|name| told.iter().any(|word| is_same(word, &name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shipped::SHIPPED;

    fn grounded_of(message: &str, said: &[(&str, &str)]) -> Vec<(String, String)> {
        let car_sales = SHIPPED.iter().find(|shipped| shipped.name == "car-sales").unwrap().read().unwrap();
        let criteria = said
            .iter()
            .map(|(field, words)| CriterionWords { field: (*field).to_owned(), words: (*words).to_owned() });
        let change = CriteriaChange { criteria: criteria.collect(), start_over: false };
        let grounded = grounded(change, message, &car_sales.definition.catalogue);
        grounded.criteria.into_iter().map(|said| (said.field, said.words)).collect()
    }

    fn pairs(said: &[(&str, &str)]) -> Vec<(String, String)> {
        said.iter().map(|(field, words)| ((*field).to_owned(), (*words).to_owned())).collect()
    }

    #[test]
    fn what_nobody_said_is_left_out() {
        let said =
            [("make", "Nissan"), ("model", "Jetta"), ("price", "under 200 thousand"), ("city", "no importa")];
        assert_eq!(grounded_of("Busco un Jetta", &said), pairs(&[("model", "Jetta")]));
        assert_eq!(grounded_of("una roja", &[("colour", "rojo")]).len(), 1);
        assert_eq!(grounded_of("una azul", &[("colour", "rojo")]).len(), 0);
        assert_eq!(grounded_of("quiero un automatico", &[("transmission", "autom\u{e1}tico")]).len(), 1);
    }

    #[test]
    fn a_number_that_was_said_otherwise_is_read_from_the_message() {
        let message = "pickup de m\u{e1}s de 600 mil";
        assert_eq!(grounded_of(message, &[("price", "menos de 600 mil")]), pairs(&[("price", message)]));
        assert_eq!(grounded_of(message, &[("price", "menos de 700 mil")]), []);
    }

    #[test]
    fn of_fields_that_do_not_matter_those_are_meant_that_are_named() {
        let said = [("make", "no importa"), ("colour", "no importa"), ("year", "no importa")];
        assert_eq!(grounded_of("el color ya no importa", &said), pairs(&[("colour", "no importa")]));
    }
}
