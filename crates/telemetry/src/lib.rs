//! What ibid tells of itself: logs on the terminal, traces to whoever reads them, metrics for Prometheus.
//!
//! The other crates speak through `tracing`, [`ibid_core::trace`] and [`ibid_core::metric`], and do not know who listens. This crate is who
//! listens, and the only one that knows OpenTelemetry and Prometheus.

mod logs;
mod metrics;
mod settings;
mod traces;

use std::time::Duration;

use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

pub use metrics::MetricsRegistry;
pub use settings::{LogFormat, LogSettings, TraceProtocol, TraceSettings};

/// What cannot be set up as the settings say.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A filter of the log cannot be read.
    #[error("the log filter `{filter}` cannot be read: {reason}; write one such as warn,ibid_models=debug")]
    Filter {
        /// The filter.
        filter: String,
        /// Why not.
        reason: String,
    },
    /// Traces cannot be sent to where they should go.
    #[error("traces cannot be sent to `{endpoint}`: {reason}")]
    Endpoint {
        /// Where they should go.
        endpoint: String,
        /// Why not.
        reason: String,
    },
    /// The share of traces is none.
    #[error("`traces.sample` is {0}, and must be from 0 (none) to 1 (all)")]
    Sample(f64),
    /// Somebody installed logs or metrics before.
    #[error("logs or metrics are installed already")]
    Installed,
}

/// What was set up. Dropping it sends the traces that have not been sent.
pub struct Telemetry {
    logs: logs::LogFilter,
    traces: Option<traces::Traces>,
}

/// So long the last traces may take when the program ends.
const FAREWELL: Duration = Duration::from_secs(3);

impl Telemetry {
    /// Sets up logs and traces for the whole process.
    ///
    /// # Errors
    /// Fails when a setting cannot be used, or when it was done before.
    pub fn install(log: &LogSettings, trace: &TraceSettings) -> Result<Self, Error> {
        let (log_layer, logs) = logs::layer(log)?;
        let traces = traces::Traces::new(trace)?;
        let trace_layer = traces.as_ref().map(traces::Traces::layer);
        let registry = tracing_subscriber::registry().with(trace_layer).with(log_layer);
        registry.try_init().map_err(|_| Error::Installed)?;
        if traces.is_some() {
            traces::install_tracer(trace.texts);
        }
        Ok(Self { logs, traces })
    }

    /// Changes which messages are logged, from now on.
    ///
    /// # Errors
    /// Fails when the filter cannot be read.
    pub fn set_log_filter(&self, filter: &str) -> Result<(), Error> {
        self.logs.set(filter)
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        if let Some(traces) = self.traces.take() {
            traces.finish(FAREWELL);
        }
    }
}
