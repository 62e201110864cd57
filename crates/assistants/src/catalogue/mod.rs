//! Catalogues in a conversation: what a person says becomes criteria, criteria find options, and options are shown.

mod criteria;
mod fields;
mod form;
mod grounded;
mod names;
mod numbers;
mod search;
mod show;

pub use criteria::{Criteria, CriteriaChange, CriterionWords, Sort, UnclearName, UnderstoodCriteria};
pub(crate) use criteria::{LIMIT, understand};
pub(crate) use fields::Fields;
pub use form::InstalmentsForm;
pub(crate) use form::{INSTALMENTS, OPTIONS, OptionsForm, formats, last_instalments, last_options};
pub(crate) use grounded::grounded;
pub(crate) use numbers::{number_in, numbers_of, whole_numbers_in};
pub use search::{CatalogueOption, CatalogueResult};
pub(crate) use search::{naming, search};
pub(crate) use show::{criteria as criteria_in_words, list, money, relaxed};

use ibid_core::catalogue::CatalogueInfo;

use crate::definition::CatalogueSettings;

/// What words of a person mean to a catalogue, alone: without what was said before, and without what was shown.
pub fn understand_alone(
    settings: &CatalogueSettings,
    catalogue: &CatalogueInfo,
    change: &CriteriaChange,
) -> UnderstoodCriteria {
    understand(&Fields::of(settings, catalogue), change, None, &std::collections::BTreeMap::new())
}
