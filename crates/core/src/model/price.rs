//! What tokens cost.

/// What a million tokens cost, in US dollars.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenPrices {
    /// Of those that a model reads.
    pub input: f64,
    /// Of those that it writes.
    pub output: f64,
}

impl TokenPrices {
    /// Both prices, if both are known.
    pub fn known(input: Option<f64>, output: Option<f64>) -> Option<Self> {
        Some(Self { input: input?, output: output? })
    }

    /// What so many tokens cost.
    pub fn cost(self, input_tokens: u64, output_tokens: u64) -> f64 {
        (input_tokens as f64 * self.input + output_tokens as f64 * self.output) / 1e6
    }
}
