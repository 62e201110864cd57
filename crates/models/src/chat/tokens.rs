//! How many tokens a text takes: counted where the model's tokenizer is known, else estimated on the safe side.

use std::path::Path;
use std::sync::Arc;

use ibid_core::model::{Prompt, ToolSpec};

/// Counts tokens.
#[derive(Clone)]
pub enum Tokenizer {
    /// An estimate that is rather too high.
    Estimate,
    /// The model's own `tokenizer.json`.
    File(Arc<tokenizers::Tokenizer>),
    /// One of OpenAI's.
    OpenAi(&'static tiktoken_rs::CoreBPE),
}

/// There is no such tokenizer.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no tokenizer: use o200k, cl100k, estimate, or the path of a tokenizer.json ({1})")]
pub struct UnknownTokenizer(String, String);

impl Tokenizer {
    /// The tokenizer that a setting names.
    ///
    /// # Errors
    /// Fails when it names neither a known one nor a file that holds one.
    pub fn named(name: &str) -> Result<Self, UnknownTokenizer> {
        match name {
            "estimate" => Ok(Self::Estimate),
            "o200k" => Ok(Self::OpenAi(tiktoken_rs::o200k_base_singleton())),
            "cl100k" => Ok(Self::OpenAi(tiktoken_rs::cl100k_base_singleton())),
            path => match tokenizers::Tokenizer::from_file(Path::new(path)) {
                Ok(mut tokenizer) => {
                    // Everything is counted, also what an embedding model would leave out.
                    let _ = tokenizer.with_truncation(None);
                    tokenizer.with_padding(None);
                    Ok(Self::File(Arc::new(tokenizer)))
                }
                Err(error) => Err(UnknownTokenizer(path.to_owned(), error.to_string())),
            },
        }
    }

    /// The tokenizer of a model, by its name at the provider; an estimate where it is not known.
    pub fn of_model(model: &str) -> Self {
        let model = model.rsplit('/').next().unwrap_or(model);
        let begins = |names: &[&str]| names.iter().any(|name| model.starts_with(name));
        if begins(&["gpt-4o", "gpt-4.1", "gpt-5", "o1", "o3", "o4"]) {
            Self::OpenAi(tiktoken_rs::o200k_base_singleton())
        } else if begins(&["gpt-4", "gpt-3.5"]) {
            Self::OpenAi(tiktoken_rs::cl100k_base_singleton())
        } else {
            Self::Estimate
        }
    }

    /// How many tokens a text takes.
    pub fn count(&self, text: &str) -> usize {
        match self {
            Self::Estimate => estimate(text),
            Self::File(tokenizer) => {
                tokenizer.encode_fast(text, false).map_or_else(|_| estimate(text), |encoding| encoding.len())
            }
            Self::OpenAi(tokenizer) => pieces(text).map(|piece| tokenizer.encode_ordinary(piece).len()).sum(),
        }
    }

    /// How many tokens a prompt takes, with what stands around it.
    pub(super) fn count_prompt(&self, prompt: &Prompt) -> usize {
        const AROUND: usize = 5;
        let calls = match prompt {
            Prompt::Assistant { calls, .. } => calls
                .iter()
                .map(|call| self.count(&call.name) + self.count(&call.arguments.to_string()) + AROUND)
                .sum(),
            _ => 0,
        };
        self.count(prompt.text()) + calls + AROUND
    }

    /// How many tokens a tool takes.
    pub(super) fn count_tool(&self, tool: &ToolSpec) -> usize {
        const AROUND: usize = 10;
        self.count(&tool.name)
            + self.count(&tool.description)
            + self.count(&tool.parameters.to_string())
            + AROUND
    }
}

/// A text in pieces that the tokenizer can take: it gives up, and not gently, on a million blanks in a row.
fn pieces(mut text: &str) -> impl Iterator<Item = &str> {
    const LONGEST: usize = 100_000;
    std::iter::from_fn(move || {
        if text.is_empty() {
            return None;
        }
        let (piece, rest) = text.split_at(text.floor_char_boundary(LONGEST.min(text.len())));
        text = rest;
        Some(piece)
    })
}

/// A safe estimate: short pieces for words, one token for each digit and sign, more for letters of other
/// alphabets.
fn estimate(text: &str) -> usize {
    let (mut tokens, mut word) = (0, 0_usize);
    for letter in text.chars() {
        if letter.is_ascii_alphabetic() {
            word += 1;
            continue;
        }
        tokens += word.div_ceil(3);
        word = 0;
        tokens += match letter {
            ' ' => 0,
            _ if letter.is_ascii() => 1,
            _ => letter.len_utf8() - 1,
        };
    }
    tokens + word.div_ceil(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 6] = [
        "Light-emitting diode (LED) lamps of heading 8539 are dutiable at the general rate of 2 percent ad valorem.",
        "Las lámparas de diodos emisores de luz de la partida 8539 están sujetas a un arancel del 2 por ciento; \
         véanse las notas legales de la sección decimosexta y las disposiciones complementarias.",
        "8539.50.00 | LED lamps | 2% | Free (A, AU, BH, CL, CO) | 20%\n8539.52.00 | other | 3.2% | Free | 40%",
        "{\"hts_codes\": [\"8539.50.00\"], \"agencies\": [\"FDA\", \"FCC\"], \"risk_flags\": []}",
        "internationalization antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis",
        "发光二极管灯的一般税率为百分之二。 🙂🙂",
    ];

    #[test]
    fn the_estimate_is_never_too_low_and_not_absurdly_high() {
        for tokenizer in ["o200k", "cl100k"].map(|name| Tokenizer::named(name).unwrap()) {
            for text in TEXTS {
                let (counted, estimated) = (tokenizer.count(text), estimate(text));
                assert!(estimated >= counted, "{estimated} < {counted}: {text}");
                assert!(estimated <= counted * 3, "{estimated} > 3 * {counted}: {text}");
            }
        }
    }

    #[test]
    fn the_longest_texts_are_counted() {
        let tokenizer = Tokenizer::named("o200k").unwrap();
        let blanks = format!("{}é", " ".repeat(3_000_000));
        assert!(tokenizer.count(&blanks) > 0);
        let word = "lámpara ".repeat(50_000);
        assert!(tokenizer.count(&word) >= 50_000);
    }

    #[test]
    fn known_models_are_counted_and_unknown_names_are_refused() {
        assert!(matches!(Tokenizer::of_model("openai/gpt-4o-mini"), Tokenizer::OpenAi(_)));
        assert!(matches!(Tokenizer::of_model("llama3.2"), Tokenizer::Estimate));
        let error = Tokenizer::named("/nowhere/tokenizer.json").err().unwrap().to_string();
        assert!(error.contains("/nowhere/tokenizer.json"), "{error}");
    }
}
