//! The assistants that ship with ibid, as files.

use std::collections::BTreeMap;
use std::path::Path;

use crate::folder::{Assistant, InvalidAssistant};

/// An assistant that ships with ibid.
pub struct Shipped {
    /// Its name.
    pub name: &'static str,
    /// Its files, by their path in its folder.
    pub files: &'static [(&'static str, &'static str)],
}

macro_rules! shipped {
    ($name:literal: $($file:literal),*) => {
        Shipped {
            name: $name,
            files: &[$(($file, include_str!(concat!("../../../assistants/", $name, "/", $file)))),*],
        }
    };
}

/// All of them.
pub const SHIPPED: [Shipped; 6] = [
    shipped!("default": "assistant.toml"),
    shipped!("trade-compliance": "assistant.toml", "prompts/persona.md", "prompts/persona.es.md"),
    shipped!("fintech": "assistant.toml", "prompts/persona.md", "prompts/persona.es.md"),
    shipped!("research": "assistant.toml"),
    shipped!(
        "car-sales": "assistant.toml",
        "prompts/persona.md",
        "prompts/persona.es.md",
        "prompts/chat.md",
        "prompts/chat.es.md",
        "faq/locations.md",
        "faq/financing.md",
        "faq/buying_selling.md",
        "faq/warranty.md"
    ),
    shipped!("policy-desk": "assistant.toml", "prompts/persona.md", "prompts/persona.es.md"),
];

impl Shipped {
    /// Reads it.
    ///
    /// # Errors
    /// Names everything that is wrong.
    pub fn read(&self) -> Result<Assistant, InvalidAssistant> {
        let files: BTreeMap<String, String> =
            self.files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        Assistant::read(self.name, &files, &[])
    }

    /// Whether a folder has just what ships, as that of ibid's own sources does.
    pub fn is_in(&self, folder: &Path) -> bool {
        self.files
            .iter()
            .all(|(path, text)| std::fs::read_to_string(folder.join(path)).is_ok_and(|own| own == *text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ships_is_in_order() {
        for shipped in &SHIPPED {
            let assistant = shipped.read().unwrap();
            assert!(!assistant.definition.title.is_empty() && !assistant.definition.description.is_empty());
            assert!(assistant.definition.examples.len() >= 4, "{}", shipped.name);
        }
    }
}
