//! Names that users give: of tenants, corpora, labels, keys and sources. Plain enough to stand in a path or a filter.

use std::fmt;

/// The text cannot be a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` cannot name a {noun}: use 1 to 64 letters, digits, hyphens, underscores or dots")]
pub struct InvalidName {
    noun: &'static str,
    text: String,
}

/// Whether a text can be a name; `noun` says of what.
pub(crate) fn checked(noun: &'static str, text: &str) -> Result<String, InvalidName> {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    // In an address, a dot or two lead elsewhere.
    if (1..=64).contains(&text.len()) && text.chars().all(allowed) && ![".", ".."].contains(&text) {
        Ok(text.to_owned())
    } else {
        Err(InvalidName { noun, text: text.to_owned() })
    }
}

/// Defines a type for one kind of name.
macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $noun:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The name.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = InvalidName;

            fn from_str(text: &str) -> Result<Self, InvalidName> {
                $crate::name::checked($noun, text).map(Self)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidName;

            fn try_from(text: String) -> Result<Self, InvalidName> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                String::json_schema(generator)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.pad(&self.0)
            }
        }
    };
}

name! {
    /// A party whose conversations and documents are kept apart from everybody else's.
    Tenant, "tenant"
}

name! {
    /// A set of documents that belong together.
    Corpus, "corpus"
}

name! {
    /// A permission: a document that has labels is seen only by those who hold one of them.
    Label, "label"
}

name! {
    /// What a key for a server is called.
    KeyName, "key"
}

name! {
    /// A place whose documents are kept in step, as the settings call it.
    SourceName, "source"
}

impl Tenant {
    /// The only tenant of a server that serves one party.
    pub fn local() -> Self {
        Self("local".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_plain() {
        assert!("acme-eu.1".parse::<Tenant>().is_ok());
        for name in ["", "a b", "a'b", &"x".repeat(65)] {
            assert!(name.parse::<Corpus>().is_err(), "{name:?} must be refused");
        }
    }
}
