//! On whose behalf something is read or written. There is no default: whoever reads must say for whom.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A party whose conversations and documents are kept apart from everybody else's.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Tenant(String);

/// The text cannot name a tenant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` cannot name a tenant: use 1 to 64 letters, digits, hyphens, underscores or dots")]
pub struct InvalidTenant(String);

impl Tenant {
    /// The only tenant of a server that serves one party.
    pub fn local() -> Self {
        Self("local".to_owned())
    }

    /// Its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Tenant {
    type Err = InvalidTenant;

    fn from_str(text: &str) -> Result<Self, InvalidTenant> {
        let allowed = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if (1..=64).contains(&text.len()) && text.chars().all(allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidTenant(text.to_owned()))
        }
    }
}

impl TryFrom<String> for Tenant {
    type Error = InvalidTenant;

    fn try_from(text: String) -> Result<Self, InvalidTenant> {
        text.parse()
    }
}

impl From<Tenant> for String {
    fn from(tenant: Tenant) -> Self {
        tenant.0
    }
}

impl fmt::Display for Tenant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// What a caller may see. An argument of every read, and the filter that it becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    tenant: Tenant,
}

impl Scope {
    /// Everything of one tenant, and nothing of any other.
    pub fn of(tenant: Tenant) -> Self {
        Self { tenant }
    }

    /// Whose it is.
    pub fn tenant(&self) -> &Tenant {
        &self.tenant
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_has_a_plain_name() {
        assert!("acme-eu.1".parse::<Tenant>().is_ok());
        for name in ["", "a b", "a'b", &"x".repeat(65)] {
            assert!(name.parse::<Tenant>().is_err(), "{name:?} must be refused");
        }
    }
}
