//! Questions to tables: which rows, which columns, and what comes of their values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::evidence::{DocumentId, Passage};
use crate::table::TableColumn;

/// What is asked of a table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TableQuery {
    /// What the table is about, in words: the one that fits best and has the columns is asked.
    pub about: String,
    /// What rows have to fulfil, all of it.
    pub conditions: Vec<Condition>,
    /// Which columns are wanted; all if none is named.
    pub columns: Vec<String>,
    /// What to compute; rows alone if nothing.
    pub aggregate: Option<Aggregate>,
    /// By which column rows are put in order; as they stand in the table if by none.
    pub order: Option<Order>,
    /// How many rows come along at most.
    pub top: usize,
    /// Only documents of these types; empty means all.
    pub kinds: Vec<String>,
    /// Only these documents; empty means all.
    pub documents: Vec<DocumentId>,
    /// Other names of columns, by those that the tables give them.
    pub names: BTreeMap<String, String>,
}

/// What a row has to fulfil.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// The name of the column.
    pub column: String,
    /// How its cell is compared.
    pub is: Comparison,
    /// With what.
    pub value: String,
}

/// How a cell is compared. Codes are compared by their digits, rates and amounts as numbers, dates as days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    /// It is the same.
    Equal,
    /// It says something else.
    NotEqual,
    /// It has these words in it.
    Contains,
    /// It begins so, as the codes under a heading do.
    StartsWith,
    /// It is less, or earlier.
    Less,
    /// It is less, earlier, or the same.
    AtMost,
    /// It is greater, or later.
    Greater,
    /// It is greater, later, or the same.
    AtLeast,
}

/// What is computed of the rows that fit. Rows that only inherit a value are not counted beside the one that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aggregate {
    /// What.
    pub function: AggregateFunction,
    /// Of which column; rows can be counted without one.
    pub column: Option<String>,
}

/// A way to make one number of many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AggregateFunction {
    /// How many there are.
    Count,
    /// Their sum.
    Sum,
    /// The smallest.
    Min,
    /// The greatest.
    Max,
    /// Their mean.
    Mean,
}

/// By what rows are put in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The name of the column.
    pub column: String,
    /// Whether the greatest comes first.
    pub is_descending: bool,
}

/// What a table says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TableAnswer {
    /// The table that was asked; none if none fits.
    pub table: Option<AskedTable>,
    /// Why it could not be asked, and what to ask instead.
    pub problem: Option<String>,
    /// How many rows fit.
    pub rows: usize,
    /// What was computed.
    pub value: Option<String>,
    /// How many of those rows have no value that can be computed with.
    pub left_out: usize,
    /// The first of the rows that fit, page by page, with the columns that are wanted.
    pub passages: Vec<Passage>,
}

/// A table that was asked.
#[derive(Debug, Clone, PartialEq)]
pub struct AskedTable {
    /// The title of its document.
    pub title: String,
    /// Its first and its last page.
    pub pages: (u32, u32),
    /// Its columns, by names that a person understands.
    pub columns: Vec<TableColumn>,
    /// How many rows it has.
    pub rows: usize,
}
