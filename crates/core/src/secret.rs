//! Keys and passwords, which must never be printed.

use std::fmt;
use std::sync::Arc;

use uuid::Uuid;

/// A key or a password. It has no `Display` and cannot be serialised; its `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// What is shown in its place.
    pub const HIDDEN: &str = "[secret]";

    /// Takes a secret in. White space around it, as files and shells add it, does not belong to it.
    pub fn new(text: &str) -> Self {
        Self(text.trim().into())
    }

    /// A new one that nobody can guess. The prefix tells what it is, wherever it turns up.
    pub fn random(prefix: &str) -> Self {
        // Two of them have more than 240 random bits.
        Self::new(&format!("{prefix}{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple()))
    }

    /// The secret itself, for the one place that sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// A text from elsewhere with the secret taken out, wherever it is repeated there.
    pub fn hide_in(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&*self.0, Self::HIDDEN) }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(Self::HIDDEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_hidden_in_prints_and_in_texts_that_repeat_it() {
        let secret = Secret::new("sk-1234\n");
        assert_eq!(format!("{secret:?}"), "[secret]");
        assert_eq!(secret.hide_in("wrong key sk-1234 given"), "wrong key [secret] given");
        assert_eq!(Secret::new(" ").hide_in("as it is"), "as it is");
    }
}
