//! The settings of tools that ask services elsewhere. Each is off until it is asked for.

use ibid_assistants::tools::{Stocks, Weather};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tools that ask services elsewhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ToolsConfig {
    /// Whether assistants may ask Open-Meteo for the weather.
    pub(crate) weather: bool,
    /// Where places are looked up for it.
    pub(crate) weather_places: String,
    /// Where its forecasts are.
    pub(crate) weather_forecasts: String,
    /// Whether assistants may ask Stooq for prices of shares.
    pub(crate) stocks: bool,
    /// Where its prices are.
    pub(crate) stocks_quotes: String,
}

impl Default for ToolsConfig {
    fn default() -> Self {
        Self {
            weather: false,
            weather_places: Weather::PLACES.to_owned(),
            weather_forecasts: Weather::FORECASTS.to_owned(),
            stocks: false,
            stocks_quotes: Stocks::QUOTES.to_owned(),
        }
    }
}
