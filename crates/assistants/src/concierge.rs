//! What the graph `concierge` adds to a turn: the category of a question, what is looked for and found, what is financed.

use ibid_core::evidence::Passage;
use ibid_core::value::Decimal;
use serde::{Deserialize, Serialize};

use crate::catalogue::{CatalogueOption, CatalogueResult, CriteriaChange, UnderstoodCriteria};
use crate::turn::TurnCost;

/// As far as it has come.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct ConciergeState {
    /// What the message changes about what is looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) change: Option<CriteriaChange>,
    /// What is looked for, and what was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) found: Option<FoundOptions>,
    /// What is to be paid in instalments, and how.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) payment: Option<PaymentWish>,
    /// What the person said when it was not clear what is meant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) replies: Vec<String>,
}

impl ConciergeState {
    /// Whether nothing is known yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.change.is_none() && self.found.is_none() && self.payment.is_none() && self.replies.is_empty()
    }

    /// Applies what a step changed.
    pub(crate) fn apply(&mut self, update: ConciergeUpdate) {
        match update {
            // Passages become sources of the turn.
            ConciergeUpdate::CategoryFound { .. } => {}
            ConciergeUpdate::Extracted { change, .. } => self.change = Some(change),
            ConciergeUpdate::CatalogueSearched { found } => self.found = Some(*found),
            ConciergeUpdate::PaymentRead { payment, .. } => self.payment = Some(payment),
            ConciergeUpdate::Replied { text } => self.replies.push(text),
        }
    }
}

/// What is looked for, and what was found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct FoundOptions {
    /// What is looked for.
    pub(crate) understood: UnderstoodCriteria,
    /// What was found.
    pub(crate) result: CatalogueResult,
    /// Whether there is a catalogue at all.
    pub(crate) has_catalogue: bool,
    /// What it is called.
    #[serde(default)]
    pub(crate) title: String,
}

/// What is to be paid in instalments, and how.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PaymentWish {
    /// The option, if it is one that was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) option: Option<Box<CatalogueOption>>,
    /// The price; none if it is not clear what is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) price: Option<Decimal>,
    /// What is paid at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) down_payment: Option<DownPayment>,
    /// The terms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) months: Vec<u32>,
}

/// What is paid at once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DownPayment {
    /// An amount.
    Amount(Decimal),
    /// A share of the price, in percent.
    Percent(Decimal),
}

/// What one step changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ConciergeUpdate {
    /// The category of the question, if one fits, and what it says.
    CategoryFound { category: Option<String>, passages: Vec<Passage>, searched: Vec<String> },
    /// What the message changes about what is looked for.
    Extracted { change: CriteriaChange, spent: TurnCost },
    /// What was found in the catalogue.
    CatalogueSearched { found: Box<FoundOptions> },
    /// What is to be paid, and how.
    PaymentRead { payment: PaymentWish, spent: TurnCost },
    /// What the person said when asked.
    Replied { text: String },
}
