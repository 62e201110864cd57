//! The port to catalogues: rows of things that are offered, with what their columns hold, and questions to them.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::Scope;
use crate::evidence::{DocumentId, EvidenceError};
use crate::value::Decimal;

/// The type of documents that are loaded as catalogues.
pub const CATALOGUE: &str = "catalogue";

/// Catalogues, and the rows in them.
#[async_trait]
pub trait Catalogues: Send + Sync {
    /// Those that a scope may see, as they are now.
    async fn list(&self, scope: &Scope) -> Result<Vec<Arc<CatalogueInfo>>, EvidenceError>;

    /// The rows of one of them that fulfil conditions. What a scope may not see has no rows.
    async fn rows(&self, scope: &Scope, query: &CatalogueQuery) -> Result<CatalogueRows, EvidenceError>;
}

/// What is known of a catalogue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CatalogueInfo {
    /// Its document.
    pub document: DocumentId,
    /// The SHA-256 of its content.
    pub version: String,
    /// Its title.
    pub title: String,
    /// How many rows it has.
    pub rows: u64,
    /// Its columns.
    pub columns: Vec<CatalogueColumn>,
}

impl CatalogueInfo {
    /// The place of a column of that name, as the file writes it.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }
}

/// A column of a catalogue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CatalogueColumn {
    /// Its name, as the file has it.
    pub name: String,
    /// What it holds.
    pub kind: CatalogueColumnKind,
    /// What its values are called, those that most rows have first, if they are names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<CatalogueName>,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CatalogueColumnKind {
    /// Numbers.
    Number,
    /// A few names that many rows share.
    Name,
    /// Anything else.
    Text,
}

/// A name that rows share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatalogueName {
    /// As it is written.
    pub name: String,
    /// How many rows have it.
    pub rows: u64,
    /// The name that nearly all of these rows have in another column, as the make that a model is of: the place of the column,
    /// and the place of the name there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<(usize, usize)>,
}

/// What is asked of a catalogue. It consists of values alone: columns by their places, names and numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CatalogueQuery {
    /// Which catalogue.
    pub document: DocumentId,
    /// What rows have to fulfil, all of it.
    pub conditions: Vec<CatalogueCondition>,
    /// By which columns rows are put in order, and whether the greatest comes first; rows without a value come last.
    pub order: Vec<(usize, bool)>,
    /// How many rows come along at most.
    pub top: usize,
}

/// What a row has to fulfil.
#[derive(Debug, Clone, PartialEq)]
pub struct CatalogueCondition {
    /// The place of the column.
    pub column: usize,
    /// What it has to hold.
    pub is: FieldFilter,
}

/// What a column has to hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldFilter {
    /// One of these names.
    OneOf(Vec<String>),
    /// None of these names.
    NoneOf(Vec<String>),
    /// A number in a range, both ends included.
    Between(Option<Decimal>, Option<Decimal>),
}

/// Rows of a catalogue.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CatalogueRows {
    /// How many fulfil the conditions.
    pub count: u64,
    /// The first of them.
    pub rows: Vec<CatalogueRow>,
}

/// A row of a catalogue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CatalogueRow {
    /// Its number in the file, from 1.
    pub number: u64,
    /// The value of each column; none where it has none.
    pub values: Vec<Option<CatalogueValue>>,
}

/// A value in a catalogue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CatalogueValue {
    /// A number.
    Number(Decimal),
    /// A text.
    Text(String),
}

impl std::fmt::Display for CatalogueValue {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(formatter),
            Self::Text(text) => text.fmt(formatter),
        }
    }
}
