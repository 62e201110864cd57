//! What is to be paid in instalments, and how: which option of those that were shown, from what a person says of it, and the
//! instalments that come of it.

use ibid_core::Message;
use ibid_core::catalogue::CatalogueValue;
use ibid_core::value::Decimal;

use crate::catalogue::{
    CatalogueOption, INSTALMENTS, InstalmentsForm, OPTIONS, last_instalments, last_options, money, number_in,
    whole_numbers_in,
};
use crate::concierge::{DownPayment, PaymentWish};
use crate::definition::{Definition, FinancingSettings, NumberField};
use crate::financing::{InstalmentPlan, plan};
use crate::language::{CATALOGUES, Language, folded};

/// So many terms are compared at most.
const MOST_TERMS: usize = 8;
const MONTHS_OF_A_YEAR: u32 = 12;

/// What the conversation is about, for whoever wants to know the instalments of it.
pub(crate) struct PaymentContext {
    /// What was shown last, if options were.
    pub(crate) options: Vec<CatalogueOption>,
    /// What was financed last, if it was shown after them.
    pub(crate) financed: Option<InstalmentsForm>,
}

impl PaymentContext {
    /// From the messages before.
    pub(crate) fn of(history: &[Message]) -> Self {
        let format = |message: &Message| message.metadata.as_ref().map(|metadata| metadata.format.clone());
        let last = history
            .iter()
            .rev()
            .filter_map(format)
            .find(|format| [OPTIONS, INSTALMENTS].contains(&format.as_str()));
        let financed = last_instalments(history).filter(|_| last.as_deref() == Some(INSTALMENTS));
        Self { options: last_options(history).map(|form| form.options).unwrap_or_default(), financed }
    }

    /// The option that words mean; none if that is not clear. Words that say nothing mean what was spoken of last.
    pub(crate) fn option(&self, words: &str) -> Option<&CatalogueOption> {
        let text = folded(words);
        let said: Vec<&str> =
            text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let place = said
            .iter()
            .find_map(|word| CATALOGUES.iter().find_map(|language| language.amounts.places.get(*word)));
        match place {
            Some(0) => return self.options.last(),
            Some(place) => return self.options.get(*place as usize - 1),
            None => {}
        }
        if let Some(option) = self.described(&said) {
            return Some(option);
        }
        if let [number] =
            said.iter().filter_map(|word| word.parse::<usize>().ok()).collect::<Vec<_>>().as_slice()
            && (1..=self.options.len()).contains(number)
        {
            return self.options.get(number - 1);
        }
        // Whoever names something else does not mean what was shown.
        let is_pointing = said.iter().all(|word| {
            CATALOGUES.iter().any(|language| language.amounts.that.iter().any(|that| that == word))
                || Language::any_has_common(word)
        });
        if !is_pointing {
            return None;
        }
        match (&self.financed, self.options.as_slice()) {
            (Some(financed), _) => financed.option.as_deref(),
            (None, [only]) => Some(only),
            (None, _) => None,
        }
    }

    /// The one option that has more of some words than any other.
    fn described(&self, said: &[&str]) -> Option<&CatalogueOption> {
        let fits = |option: &CatalogueOption| {
            let values = option.values.values().map(ToString::to_string).collect::<Vec<_>>().join(" ");
            let own = folded(&format!("{} {values}", option.title));
            let own: Vec<&str> = own.split(|letter: char| !letter.is_alphanumeric()).collect();
            let long = |word: &&&str| {
                word.chars().count() > 2 || word.parse::<u32>().is_ok_and(|number| number > 20)
            };
            said.iter().filter(long).filter(|word| own.contains(*word)).count()
        };
        let best = self.options.iter().map(fits).max().filter(|best| *best > 0)?;
        let mut found = self.options.iter().filter(|option| fits(option) == best);
        found.next().filter(|_| found.next().is_none())
    }
}

/// What a person says of a payment, in words.
#[derive(Debug, Clone, Default)]
pub(crate) struct SaidPayment {
    pub(crate) option: String,
    pub(crate) price: String,
    pub(crate) down_payment: String,
    pub(crate) months: String,
}

/// Reads what is to be paid, and how. `said` is everything that the person said: numbers that are not in it are not the person's.
pub(crate) fn read(
    definition: &Definition,
    context: &PaymentContext,
    words: &SaidPayment,
    said: &str,
) -> PaymentWish {
    let prices = price_field(definition);
    let mut wish = PaymentWish { months: months_in(&words.months, said), ..PaymentWish::default() };
    wish.down_payment = down_payment(&words.down_payment, &prices).filter(|payment| match payment {
        DownPayment::Amount(amount) => is_said(*amount, said, &prices),
        DownPayment::Percent(percent) => is_said(*percent, said, &NumberField::default()),
    });
    let given = number_in(&words.price, &prices).filter(|price| is_said(*price, said, &prices));
    let price_of = |option: &CatalogueOption| match option.values.get(&definition.financing.price) {
        Some(CatalogueValue::Number(price)) => Some(*price),
        _ => None,
    };
    if let Some(option) = context.option(&words.option).filter(|_| given.is_none()) {
        wish.price = price_of(option);
        wish.option = Some(Box::new(option.clone()));
    } else {
        wish.price = given;
    }
    // "And over 48 months?" is about what was worked out before.
    if let Some(before) = &context.financed
        && given.is_none()
        && (wish.price == Some(before.price) || (wish.price.is_none() && words.option.trim().is_empty()))
    {
        wish.price = Some(before.price);
        wish.option = wish.option.or_else(|| before.option.clone());
        wish.down_payment = wish.down_payment.or(Some(DownPayment::Amount(before.down_payment)));
        if wish.months.is_empty() {
            wish.months = before.plans.iter().map(|plan| plan.months).collect();
        }
    }
    wish
}

/// How the numbers of prices are read.
pub(crate) fn price_field(definition: &Definition) -> NumberField {
    let fields = &definition.catalogue.fields;
    let price = fields.iter().find(|field| field.name == definition.financing.price);
    price.and_then(|field| field.numbers.clone()).unwrap_or_default()
}

/// Whether a person said a number.
fn is_said(number: Decimal, said: &str, field: &NumberField) -> bool {
    crate::catalogue::numbers_of(said, field).contains(&number)
}

fn down_payment(words: &str, prices: &NumberField) -> Option<DownPayment> {
    let text = folded(words);
    let has = |sign: &String| text.contains(sign.as_str());
    let is_percent = CATALOGUES.iter().any(|language| language.amounts.percent.iter().any(has));
    if is_percent {
        return number_in(words, &NumberField::default()).map(DownPayment::Percent);
    }
    number_in(words, prices).map(DownPayment::Amount)
}

/// The terms that words name and the person said; years are twelve months.
fn months_in(words: &str, said: &str) -> Vec<u32> {
    let text = folded(words);
    let is_year =
        |word: &str| CATALOGUES.iter().any(|language| language.amounts.years.iter().any(|year| year == word));
    let are_years = text.split_whitespace().any(is_year);
    let said = whole_numbers_in(said);
    let mut months: Vec<u32> = Vec::new();
    for number in whole_numbers_in(words).into_iter().filter(|number| said.contains(number)) {
        let number = if are_years && number <= 10 { number * MONTHS_OF_A_YEAR } else { number };
        if !months.contains(&number) && months.len() < MOST_TERMS {
            months.push(number);
        }
    }
    months
}

/// A decimal that a setting has as a number.
pub(crate) fn setting(number: f64) -> Decimal {
    number.to_string().parse().unwrap_or(Decimal::from(0))
}

/// A percentage of an amount, to the cent.
fn share(amount: Decimal, percent: Decimal) -> Option<Decimal> {
    Some(amount.times(percent)?.over(Decimal::from(100), 2)?.rounded(2))
}

/// The instalments for what is to be paid; none if the price is not known. The least down payment holds, and terms that are too
/// short or too long are left out.
pub(crate) fn instalments(
    settings: &FinancingSettings,
    currency: &str,
    wish: &PaymentWish,
) -> Option<InstalmentsForm> {
    let price = wish.price?.rounded(2);
    let least = share(price, setting(settings.least_down_payment_percent))?;
    let wanted = match wish.down_payment {
        Some(DownPayment::Amount(amount)) => amount.rounded(2),
        Some(DownPayment::Percent(percent)) => share(price, percent)?,
        None => least,
    };
    let down_payment = wanted.max(least).min(price);
    let financed = price.plus(down_payment.negated())?;
    let rate = setting(settings.yearly_rate_percent);
    let allowed = |months: &u32| (settings.least_months..=settings.most_months).contains(months);
    let mut months: Vec<u32> = wish.months.iter().copied().filter(allowed).collect();
    if months.is_empty() {
        months.clone_from(&settings.months);
    }
    let plans: Option<Vec<InstalmentPlan>> =
        months.into_iter().map(|months| plan(financed, rate, months)).collect();
    let title = wish.option.as_ref().map(|option| option.title.clone());
    Some(InstalmentsForm {
        title: title.unwrap_or_else(|| money(price, currency)),
        option: wish.option.clone(),
        price,
        currency: currency.to_owned(),
        down_payment,
        least_down_payment: least,
        financed,
        yearly_rate_percent: rate,
        month_range: (settings.least_months, settings.most_months),
        plans: plans?,
    })
}
