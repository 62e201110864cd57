//! The fields of an assistant and the columns of a catalogue that hold them.

use std::sync::Arc;

use ibid_core::catalogue::{CatalogueColumnKind, CatalogueInfo};

use super::names::NameIndex;
use crate::definition::{CatalogueField, CatalogueSettings, NumberField};
use crate::language::folded;

/// The fields that a catalogue has.
pub(crate) struct Fields<'a> {
    pub(crate) settings: &'a CatalogueSettings,
    pub(crate) catalogue: &'a CatalogueInfo,
    fields: Vec<Mapped<'a>>,
}

/// A field and its column.
pub(crate) struct Mapped<'a> {
    pub(crate) field: &'a CatalogueField,
    /// The place of the column.
    pub(crate) column: usize,
    /// Its names, if it holds names.
    pub(crate) names: Option<Arc<NameIndex>>,
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
            let names =
                (known.kind == CatalogueColumnKind::Name).then(|| Arc::new(NameIndex::of(known, field)));
            fits.then_some(Mapped { field, column, names })
        });
        Self { settings, catalogue, fields: fields.collect() }
    }

    /// All of them, the most important first.
    pub(crate) fn all(&self) -> &[Mapped<'a>] {
        &self.fields
    }

    /// One of them.
    pub(crate) fn get(&self, name: &str) -> Option<&Mapped<'a>> {
        self.fields.iter().find(|mapped| mapped.field.name == name)
    }

    /// Those that hold names, one of them first.
    pub(crate) fn named(&self, first: &str) -> Vec<&Mapped<'a>> {
        let mut named: Vec<&Mapped<'a>> =
            self.fields.iter().filter(|mapped| mapped.names.is_some()).collect();
        named.sort_by_key(|mapped| mapped.field.name != first);
        named
    }

    /// A name of a field by its place.
    pub(crate) fn name(&self, mapped: &Mapped<'_>, place: usize) -> &'a str {
        self.catalogue.columns[mapped.column]
            .names
            .get(place)
            .map(|name| name.name.as_str())
            .unwrap_or_default()
    }

    /// The name of another field that a name is within, as the make that a model is of.
    pub(crate) fn within(&self, mapped: &Mapped<'_>, name: &str, other: &Mapped<'_>) -> Option<&'a str> {
        let known = self.catalogue.columns[mapped.column].names.iter().find(|known| known.name == name)?;
        let (_, place) = known.within.iter().find(|(column, _)| *column == other.column)?;
        Some(self.name(other, *place))
    }
}

impl Mapped<'_> {
    /// How its numbers are read, if it holds numbers.
    pub(crate) fn numbers(&self) -> Option<&NumberField> {
        self.field.numbers.as_ref()
    }
}
