//! What can be set about logs and traces.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The log on the terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LogSettings {
    /// Which messages are logged: a level (`error`, `warn`, `info`, `debug`, `trace`), or levels by module such as
    /// `warn,ibid_models=debug`. The variable `IBID_LOG` outweighs it. A server reads it again on SIGHUP.
    pub filter: String,
    /// How messages are written: text for people, json for programs.
    pub format: LogFormat,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self { filter: "warn".to_owned(), format: LogFormat::default() }
    }
}

/// How log messages are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For programs, an object a line.
    Json,
}

/// Traces by OpenTelemetry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TraceSettings {
    /// Where traces are sent, such as `http://127.0.0.1:4318`; nowhere if not set. Keys for it are read from the variable
    /// `OTEL_EXPORTER_OTLP_HEADERS`, as `name=value`.
    pub endpoint: Option<String>,
    /// How they are sent: OTLP over http (usually port 4318) or grpc (usually port 4317).
    pub protocol: TraceProtocol,
    /// The share of turns that are traced, from 0 to 1. A caller who sends a `traceparent` decides it for its own.
    pub sample: f64,
    /// Whether questions, answers and passages are sent along.
    pub texts: bool,
}

impl Default for TraceSettings {
    fn default() -> Self {
        Self { endpoint: None, protocol: TraceProtocol::default(), sample: 1.0, texts: false }
    }
}

/// How traces are sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TraceProtocol {
    /// OTLP over HTTP.
    #[default]
    Http,
    /// OTLP over gRPC.
    Grpc,
}
