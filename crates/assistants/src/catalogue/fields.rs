//! The fields of an assistant and the columns of a catalogue that hold them.

use std::sync::OnceLock;

use ibid_core::catalogue::{CatalogueColumnKind, CatalogueInfo};

use super::names::NameIndex;
use crate::definition::{CatalogueField, CatalogueSettings, NumberField};
use crate::language::folded;

/// The fields that a catalogue has.
pub(crate) struct Fields<'a> {
    pub(crate) settings: &'a CatalogueSettings,
    pub(crate) catalogue: &'a CatalogueInfo,
    fields: Vec<MappedField<'a>>,
}

/// A field and its column.
pub(crate) struct MappedField<'a> {
    pub(crate) field: &'a CatalogueField,
    /// The place of the column.
    pub(crate) column: usize,
    names: OnceLock<NameIndex>,
}

impl<'a> Fields<'a> {
    /// Finds the column of each field, by its name or what else it may be called.
    pub(crate) fn of(settings: &'a CatalogueSettings, catalogue: &'a CatalogueInfo) -> Self {
        let column_of = |field: &CatalogueField| {
            let called = |name: &str| {
                let name = folded(name);
                catalogue.columns.iter().position(|column| folded(&column.name) == name)
            };
            called(&field.name).or_else(|| field.columns.iter().find_map(|name| called(name)))
        };
        let fields = settings.fields.iter().filter_map(|field| {
            let column = column_of(field)?;
            let known = &catalogue.columns[column];
            let fits = match known.kind {
                CatalogueColumnKind::Number => field.numbers.is_some(),
                CatalogueColumnKind::Name => field.numbers.is_none(),
                CatalogueColumnKind::Text => false,
            };
            fits.then_some(MappedField { field, column, names: OnceLock::new() })
        });
        Self { settings, catalogue, fields: fields.collect() }
    }

    /// All of them, the most important first.
    pub(crate) fn all(&self) -> &[MappedField<'a>] {
        &self.fields
    }

    /// One of them.
    pub(crate) fn get(&self, name: &str) -> Option<&MappedField<'a>> {
        self.fields.iter().find(|mapped| mapped.field.name == name)
    }

    /// Those that hold names, one of them first.
    pub(crate) fn named(&self, first: &str) -> Vec<&MappedField<'a>> {
        let mut named: Vec<&MappedField<'a>> =
            self.fields.iter().filter(|mapped| mapped.numbers().is_none()).collect();
        named.sort_by_key(|mapped| mapped.field.name != first);
        named
    }

    /// The names of a field with everything that they are called. Only who looks for a name has them put in order.
    pub(crate) fn index<'m>(&self, mapped: &'m MappedField<'_>) -> &'m NameIndex {
        mapped.names.get_or_init(|| NameIndex::of(&self.catalogue.columns[mapped.column], mapped.field))
    }

    /// A name of a field by its place.
    pub(crate) fn name(&self, mapped: &MappedField<'_>, place: usize) -> &'a str {
        self.catalogue.columns[mapped.column]
            .names
            .get(place)
            .map(|name| name.name.as_str())
            .unwrap_or_default()
    }

    /// The name of another field that a name is within, as the make that a model is of.
    pub(crate) fn within(
        &self,
        mapped: &MappedField<'_>,
        name: &str,
        other: &MappedField<'_>,
    ) -> Option<&'a str> {
        let known = self.catalogue.columns[mapped.column].names.iter().find(|known| known.name == name)?;
        let (_, place) = known.within.iter().find(|(column, _)| *column == other.column)?;
        Some(self.name(other, *place))
    }
}

impl MappedField<'_> {
    /// How its numbers are read, if it holds numbers.
    pub(crate) fn numbers(&self) -> Option<&NumberField> {
        self.field.numbers.as_ref()
    }
}
