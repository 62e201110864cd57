//! `get_weather`: how the weather is at a place, by Open-Meteo.

use async_trait::async_trait;
use ibid_core::Scope;
use ibid_core::model::ToolSpec;
use ibid_core::tool::{Tool, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::web::Service;
use super::{arguments, spec};

const NAME: &str = "Open-Meteo";

/// Tells the weather.
pub(super) struct Weather {
    spec: ToolSpec,
    places: Service,
    forecasts: Service,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The city, perhaps with its country.
    city: String,
}

impl Weather {
    /// Where places are looked up, unless configured.
    pub(super) const PLACES: &str = "https://geocoding-api.open-meteo.com/";
    /// Where forecasts are, unless configured.
    pub(super) const FORECASTS: &str = "https://api.open-meteo.com/";

    /// The weather by the services at these addresses.
    ///
    /// # Errors
    /// Fails when an address cannot be used.
    pub(super) fn new(places: &str, forecasts: &str) -> Result<Self, String> {
        let spec = spec::<Arguments>("get_weather", "Tells the weather in a city as it is now.");
        Ok(Self { spec, places: Service::at(NAME, places)?, forecasts: Service::at(NAME, forecasts)? })
    }
}

#[async_trait]
impl Tool for Weather {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, _scope: &Scope, given: Value) -> Result<ToolOutput, ToolError> {
        let Arguments { city } = arguments(given)?;
        let found = self.places.json("v1/search", &[("name", &city), ("count", "1")]).await?;
        let place = &found["results"][0];
        let (Some(latitude), Some(longitude)) = (place["latitude"].as_f64(), place["longitude"].as_f64())
        else {
            return Err(self.places.failed(&format!("it knows no place called {city}")));
        };
        let current = "temperature_2m,relative_humidity_2m,precipitation,wind_speed_10m";
        let (latitude, longitude) = (latitude.to_string(), longitude.to_string());
        let query =
            [("latitude", latitude.as_str()), ("longitude", longitude.as_str()), ("current", current)];
        let forecast = self.forecasts.json("v1/forecast", &query).await?;
        let (now, units) = (&forecast["current"], &forecast["current_units"]);
        let value = |name: &str| {
            let unit = units[name].as_str().unwrap_or_default();
            now[name].as_f64().map(|value| format!("{value} {unit}"))
        };
        let Some(temperature) = value("temperature_2m") else {
            return Err(self.forecasts.failed("its answer has no temperature"));
        };
        let or_unknown = |value: Option<String>| value.unwrap_or_else(|| "unknown".to_owned());
        let name = place["name"].as_str().unwrap_or(&city);
        let country = place["country"].as_str().unwrap_or_default();
        let text = format!(
            "Weather in {name}, {country} at {}: temperature {temperature}, humidity {}, precipitation {}, wind {}",
            now["time"].as_str().unwrap_or("an unknown time"),
            or_unknown(value("relative_humidity_2m")),
            or_unknown(value("precipitation")),
            or_unknown(value("wind_speed_10m")),
        );
        Ok(ToolOutput::Said { text, data: json!({ "place": name, "country": country, "current": now }) })
    }
}
