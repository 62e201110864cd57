//! The log on the terminal, whose filter can be changed while it is written.

use std::io::IsTerminal;

use tracing_subscriber::filter::{EnvFilter, LevelFilter};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, fmt, reload};

use crate::Error;
use crate::settings::{LogFormat, LogSettings};

/// What the log is filtered by.
type Filter<S> = reload::Handle<EnvFilter, S>;

/// Changes what the log is filtered by.
pub(crate) struct LogFilter(Box<dyn Fn(EnvFilter) -> Result<(), reload::Error> + Send + Sync>);

impl LogFilter {
    /// From now on, by this.
    pub(crate) fn set(&self, filter: &str) -> Result<(), Error> {
        let reason =
            |error: reload::Error| Error::Filter { filter: filter.to_owned(), reason: error.to_string() };
        (self.0)(parsed(filter)?).map_err(reason)
    }
}

/// Writes the log as the settings say.
pub(crate) fn layer<S>(settings: &LogSettings) -> Result<(impl Layer<S>, LogFilter), Error>
where
    S: tracing::Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
{
    let (filter, handle): (_, Filter<S>) = reload::Layer::new(parsed(&settings.filter)?);
    let to_terminal = std::io::stderr().is_terminal();
    let layer = fmt::layer().with_writer(std::io::stderr).with_ansi(to_terminal);
    let layer = match settings.format {
        LogFormat::Text => layer.boxed(),
        LogFormat::Json => layer.json().flatten_event(true).with_current_span(false).boxed(),
    };
    Ok((layer.with_filter(filter), LogFilter(Box::new(move |filter| handle.reload(filter)))))
}

fn parsed(filter: &str) -> Result<EnvFilter, Error> {
    let builder = EnvFilter::builder().with_default_directive(LevelFilter::WARN.into());
    builder
        .parse(filter)
        .map_err(|error| Error::Filter { filter: filter.to_owned(), reason: error.to_string() })
}
