//! What an assistant offers from catalogues, how it finances it, and which categories of questions it answers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is offered, and how people speak of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CatalogueSettings {
    /// What a person can ask for, the most important first: where nothing is found, the last ones give way first.
    pub fields: Vec<CatalogueField>,
    /// The fields that name an option, in their order.
    pub title: Vec<String>,
    /// The column of pictures.
    pub picture: Option<String>,
    /// The currency of prices, as ISO 4217 has it.
    pub currency: String,
    /// How many options are shown unless the person says how many.
    pub shown: usize,
}

impl Default for CatalogueSettings {
    fn default() -> Self {
        Self { fields: Vec::new(), title: Vec::new(), picture: None, currency: "USD".to_owned(), shown: 5 }
    }
}

impl CatalogueSettings {
    /// What is wrong with it, in words.
    pub(super) fn problems(&self, is_needed: bool, financing: &FinancingSettings) -> Vec<String> {
        let mut problems = Vec::new();
        if is_needed && self.fields.is_empty() {
            problems.push("a mode is `concierge`, but `catalogue` has no `fields`".to_owned());
        }
        let has = |name: &str| self.fields.iter().any(|field| field.name == name);
        for (at, field) in self.fields.iter().enumerate() {
            if field.name.is_empty() || self.fields[..at].iter().any(|other| other.name == field.name) {
                problems.push(format!("`catalogue.fields`: `{}` is empty or there twice", field.name));
            }
        }
        for name in self.title.iter().filter(|name| !has(name)) {
            problems.push(format!("`catalogue.title`: there is no field `{name}`"));
        }
        if is_needed && !has(&financing.price) {
            problems.push(format!("`financing.price`: there is no field `{}`", financing.price));
        }
        if financing.least_months == 0 || financing.least_months > financing.most_months {
            problems.push("`financing`: `least_months` must be from 1 to `most_months`".to_owned());
        }
        if financing
            .months
            .iter()
            .any(|months| !(financing.least_months..=financing.most_months).contains(months))
        {
            problems.push("`financing.months`: a term is shorter or longer than allowed".to_owned());
        }
        problems
    }
}

/// Something that a person can ask for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CatalogueField {
    /// What it is called in criteria and in data.
    pub name: String,
    /// What its column may be called in a file, besides its own name.
    pub columns: Vec<String>,
    /// What it is, for the model.
    pub about: String,
    /// What it is called, by language.
    pub titles: BTreeMap<String, String>,
    /// What else people call its names: "Volkswagen" = ["vw"].
    pub aliases: BTreeMap<String, Vec<String>>,
    /// How numbers are read, if it holds numbers.
    pub numbers: Option<NumberField>,
}

impl CatalogueField {
    /// What it is called in a language.
    pub(crate) fn title(&self, language: &str) -> &str {
        self.titles.get(language).or_else(|| self.titles.get("en")).unwrap_or(&self.name)
    }
}

/// How people speak of the numbers of a field.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NumberField {
    /// A number below this counts thousands, as 200 does where a car costs 200 thousand; 0 means that none does.
    pub thousands_below: u32,
    /// What a number alone means.
    pub alone: NumberAlone,
    /// How many percent "around" goes up and down.
    pub around_percent: u32,
    /// What stands after a number of it, such as km.
    pub unit: String,
    /// Whether it is an amount of money.
    pub is_money: bool,
    /// Words for less than what was shown, such as cheaper.
    pub lower: Vec<String>,
    /// Words for more than what was shown.
    pub higher: Vec<String>,
    /// Words for the least, such as cheapest.
    pub lowest: Vec<String>,
    /// Words for the most.
    pub highest: Vec<String>,
}

/// What a number alone means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NumberAlone {
    /// That number.
    #[default]
    Exactly,
    /// That number or less.
    AtMost,
    /// That number or more.
    AtLeast,
    /// About that number.
    Around,
}

/// On which terms something is paid in instalments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FinancingSettings {
    /// The field of the price.
    pub price: String,
    /// The yearly rate, in percent.
    pub yearly_rate_percent: f64,
    /// The least down payment, in percent of the price.
    pub least_down_payment_percent: f64,
    /// The shortest term, in months.
    pub least_months: u32,
    /// The longest.
    pub most_months: u32,
    /// The terms that are compared unless the person names some.
    pub months: Vec<u32>,
}

impl Default for FinancingSettings {
    fn default() -> Self {
        Self {
            price: "price".to_owned(),
            yearly_rate_percent: 14.9,
            least_down_payment_percent: 20.0,
            least_months: 36,
            most_months: 72,
            months: vec![36, 48, 60, 72],
        }
    }
}

/// How questions find their category among those of the folder `faq`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FaqSettings {
    /// A question that fits every category less than this is not answered: from 0, as texts that have nothing to do with each
    /// other, to 1, as a passage that answers.
    pub relevance: f32,
}

impl Default for FaqSettings {
    fn default() -> Self {
        Self { relevance: 0.35 }
    }
}
