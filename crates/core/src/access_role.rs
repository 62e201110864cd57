//! What somebody may do, apart from what they may see.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What somebody may do. Each may do what those before it may.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AccessRole {
    /// Ask, and read documents.
    #[default]
    Reader,
    /// Load and delete documents.
    Editor,
    /// Make keys, and see the threads of all others at the tenant, what they cost and how they went.
    Admin,
}

/// A text that names no role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no role; there are reader, editor and admin")]
pub struct InvalidRole(String);

impl AccessRole {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Reader, Self::Editor, Self::Admin];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Editor => "editor",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for AccessRole {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for AccessRole {
    type Err = InvalidRole;

    fn from_str(text: &str) -> Result<Self, InvalidRole> {
        let found = Self::ALL.into_iter().find(|role| role.as_str() == text);
        found.ok_or_else(|| InvalidRole(text.to_owned()))
    }
}
