//! `get_stock_price`: the last price of a share, by Stooq.

use async_trait::async_trait;
use ibid_core::Scope;
use ibid_core::model::ToolSpec;
use ibid_core::tool::{Tool, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::web::Service;
use super::{arguments, spec};

/// Tells prices of shares.
pub(super) struct Stocks {
    spec: ToolSpec,
    quotes: Service,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The symbol, such as AAPL; with a point and a market if it is not a share of the United States.
    symbol: String,
}

impl Stocks {
    /// Where prices are looked up, unless configured.
    pub(super) const QUOTES: &str = "https://stooq.com/";

    /// Prices by the service at this address.
    ///
    /// # Errors
    /// Fails when the address cannot be used.
    pub(super) fn new(quotes: &str) -> Result<Self, String> {
        let spec = spec::<Arguments>("get_stock_price", "Tells the last price of a share by its symbol.");
        Ok(Self { spec, quotes: Service::at("Stooq", quotes)? })
    }
}

#[async_trait]
impl Tool for Stocks {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, _scope: &Scope, given: Value) -> Result<ToolOutput, ToolError> {
        let Arguments { symbol } = arguments(given)?;
        let plain = symbol.trim().to_lowercase();
        let fits = |letter: char| letter.is_ascii_alphanumeric() || ".-^".contains(letter);
        if plain.is_empty() || plain.len() > 16 || !plain.chars().all(fits) {
            return Err(ToolError::Arguments(format!("`{symbol}` is no symbol of a share")));
        }
        let full = if plain.contains('.') { plain } else { format!("{plain}.us") };
        let table =
            self.quotes.get("q/l/", &[("s", &full), ("f", "sd2t2ohlcv"), ("h", ""), ("e", "csv")]).await?;
        let mut lines = table.lines();
        let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
        let cells: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
        let cell = |name: &str| {
            let at = names.iter().position(|own| own.eq_ignore_ascii_case(name))?;
            cells.get(at).copied().filter(|cell| !cell.is_empty() && *cell != "N/D")
        };
        let Some(close) = cell("Close") else {
            return Err(self.quotes.failed(&format!("it knows no price of {symbol}")));
        };
        let date = cell("Date").unwrap_or("an unknown day");
        let text = format!("{}: last price {close} on {date}", full.to_uppercase());
        let data = json!({ "symbol": full, "price": close, "date": date, "open": cell("Open"), "volume": cell("Volume") });
        Ok(ToolOutput::Said { text, data })
    }
}
