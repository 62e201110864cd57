//! Searches catalogues for what fulfils criteria; where nothing does, for what comes nearest.

use std::collections::BTreeMap;
use std::sync::Arc;

use ibid_core::Scope;
use ibid_core::catalogue::{
    CatalogueCondition, CatalogueInfo, CatalogueQuery, CatalogueRow, CatalogueValue, Catalogues, FieldFilter,
};
use ibid_core::evidence::{DocumentId, EvidenceError};
use serde::{Deserialize, Serialize};

use super::criteria::{Criteria, Sort};
use super::fields::Fields;
use crate::definition::CatalogueSettings;

/// Something that is offered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CatalogueOption {
    /// Its place in the list, from 1.
    pub number: usize,
    /// What it is called.
    pub title: String,
    /// Its picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<String>,
    /// The catalogue.
    pub catalogue: DocumentId,
    /// The number of its row in the file, from 1.
    pub row: u64,
    /// What its fields hold.
    pub values: BTreeMap<String, CatalogueValue>,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CatalogueResult {
    /// How many fulfil the criteria, without those that gave way.
    pub count: u64,
    /// The first of them.
    pub options: Vec<CatalogueOption>,
    /// The fields that gave way, since nothing fulfils all criteria.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relaxed: Vec<String>,
}

/// The catalogue whose names are those that people are taken to mean: the largest. The others are searched for the same ones.
pub(crate) fn naming(catalogues: &[Arc<CatalogueInfo>]) -> Option<&CatalogueInfo> {
    catalogues.iter().max_by_key(|catalogue| catalogue.rows).map(Arc::as_ref)
}

/// Searches all catalogues of a scope.
pub(crate) async fn search(
    port: &dyn Catalogues,
    scope: &Scope,
    catalogues: &[Arc<CatalogueInfo>],
    settings: &CatalogueSettings,
    criteria: &Criteria,
) -> Result<CatalogueResult, EvidenceError> {
    let found = exactly(port, scope, catalogues, settings, criteria).await?;
    if found.count > 0 || criteria.fields.is_empty() {
        return Ok(found);
    }
    // What matters least gives way first: one field alone, then one after the other.
    let last_first: Vec<&str> = settings
        .fields
        .iter()
        .rev()
        .map(|field| field.name.as_str())
        .filter(|name| criteria.fields.contains_key(*name))
        .collect();
    let alone = last_first.iter().map(|field| vec![*field]);
    let together = (2..last_first.len()).map(|count| last_first[..count].to_vec());
    for relaxed in alone.chain(together) {
        let mut less = criteria.clone();
        for field in &relaxed {
            let wanted = less.fields.remove(*field);
            if less.sort.is_none() {
                less.sort = nearest(field, wanted.as_ref());
            }
        }
        if less.fields.is_empty() {
            break;
        }
        let mut found = exactly(port, scope, catalogues, settings, &less).await?;
        if found.count > 0 {
            found.relaxed = relaxed.into_iter().map(str::to_owned).collect();
            return Ok(found);
        }
    }
    Ok(CatalogueResult::default())
}

/// The order that brings what is nearest to a bound to the front.
fn nearest(field: &str, wanted: Option<&FieldFilter>) -> Option<Sort> {
    let descending = match wanted? {
        FieldFilter::Between(_, Some(_)) => false,
        FieldFilter::Between(Some(_), None) => true,
        _ => return None,
    };
    Some(Sort { field: field.to_owned(), descending })
}

async fn exactly(
    port: &dyn Catalogues,
    scope: &Scope,
    catalogues: &[Arc<CatalogueInfo>],
    settings: &CatalogueSettings,
    criteria: &Criteria,
) -> Result<CatalogueResult, EvidenceError> {
    let mut result = CatalogueResult::default();
    let top = criteria.limit.unwrap_or(settings.shown);
    for catalogue in catalogues {
        let fields = Fields::of(settings, catalogue);
        let Some(query) = query(&fields, criteria, top) else { continue };
        let found = port.rows(scope, &query).await?;
        result.count += found.count;
        result.options.extend(found.rows.iter().map(|row| option(&fields, row)));
    }
    if let (Some(sort), true) = (&criteria.sort, catalogues.len() > 1) {
        result.options.sort_by(|one, other| {
            let value = |option: &CatalogueOption| match option.values.get(&sort.field) {
                Some(CatalogueValue::Number(number)) => Some(*number),
                _ => None,
            };
            let order = value(one).cmp(&value(other));
            if sort.descending { order.reverse() } else { order }
        });
    }
    result.options.truncate(top);
    for (number, option) in (1..).zip(&mut result.options) {
        option.number = number;
    }
    Ok(result)
}

/// Criteria as a question to a catalogue; none if it lacks a field.
fn query(fields: &Fields<'_>, criteria: &Criteria, top: usize) -> Option<CatalogueQuery> {
    let mut conditions = Vec::new();
    for (field, wanted) in &criteria.fields {
        conditions.push(CatalogueCondition { column: fields.get(field)?.column, is: wanted.clone() });
    }
    let order = match &criteria.sort {
        Some(sort) => vec![(fields.get(&sort.field)?.column, sort.descending)],
        None => Vec::new(),
    };
    Some(CatalogueQuery { document: fields.catalogue.document.clone(), conditions, order, top })
}

fn option(fields: &Fields<'_>, row: &CatalogueRow) -> CatalogueOption {
    let value = |column: usize| row.values.get(column).cloned().flatten();
    let values: BTreeMap<String, CatalogueValue> = fields
        .all()
        .iter()
        .filter_map(|mapped| Some((mapped.field.name.clone(), value(mapped.column)?)))
        .collect();
    let title = fields.settings.title.iter().filter_map(|field| values.get(field)).map(ToString::to_string);
    let picture =
        fields.settings.picture.as_ref().and_then(|name| fields.catalogue.column(name)).and_then(value);
    CatalogueOption {
        number: 0,
        title: title.collect::<Vec<_>>().join(" "),
        picture: picture.map(|picture| picture.to_string()),
        catalogue: fields.catalogue.document.clone(),
        row: row.number,
        values,
    }
}
