//! Traces to whoever reads them, by OpenTelemetry's protocol.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use ibid_core::trace::{TraceParent, TraceValue, Tracer};
use ibid_egress::{Egress, EgressLimits, Host, Rules};
use opentelemetry::trace::{
    SpanContext, SpanId, Status, TraceContextExt, TraceFlags, TraceId, TraceState, TracerProvider,
};
use opentelemetry::{Context, InstrumentationScope, KeyValue, Value};
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator, Sampler, SdkTracerProvider};
use tokio::runtime::{Builder, Runtime};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;
use url::Url;

use crate::Error;
use crate::settings::{TraceProtocol, TraceSettings};

/// The version of the conventions that spans are named by.
const CONVENTIONS: &str = "https://opentelemetry.io/schemas/1.41.0";

/// What sends traces.
pub(crate) struct Traces {
    provider: SdkTracerProvider,
    /// What sending runs on: the program's own may not be there yet, or no more.
    runtime: Runtime,
}

impl Traces {
    /// Sends traces as the settings say; nothing if they name nobody.
    pub(crate) fn new(settings: &TraceSettings) -> Result<Option<Self>, Error> {
        let Some(endpoint) = settings.endpoint.as_deref().filter(|endpoint| !endpoint.is_empty()) else {
            return Ok(None);
        };
        if !(0.0..=1.0).contains(&settings.sample) {
            return Err(Error::Sample(settings.sample));
        }
        let failed = |reason: String| Error::Endpoint { endpoint: endpoint.to_owned(), reason };
        let url = Url::parse(endpoint).map_err(|error| failed(error.to_string()))?;
        let runtime =
            Builder::new_multi_thread().worker_threads(1).thread_name("traces").enable_all().build();
        let runtime = runtime.map_err(|error| failed(error.to_string()))?;
        let exporter = match settings.protocol {
            TraceProtocol::Http => {
                let client = Client::new(&url, &runtime).map_err(|error| failed(error.to_string()))?;
                over_http(&url, client)
            }
            TraceProtocol::Grpc => {
                let _inside = runtime.enter();
                SpanExporter::builder().with_tonic().with_endpoint(endpoint).build()
            }
        };
        let exporter = exporter.map_err(|error| failed(error.to_string()))?;
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(settings.sample))))
            .with_id_generator(PromisedIds(RandomIdGenerator::default()))
            .with_max_attributes_per_span(256)
            .with_resource(resource())
            .build();
        Ok(Some(Self { provider, runtime }))
    }

    /// Takes the spans of ibid's own crates. What is logged inside them stays in the log.
    pub(crate) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: tracing::Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
    {
        let scope = InstrumentationScope::builder("ibid")
            .with_version(env!("CARGO_PKG_VERSION"))
            .with_schema_url(CONVENTIONS)
            .build();
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer_with_scope(scope))
            .with_location(false)
            .with_threads(false)
            .with_level(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_filter(filter_fn(|metadata| metadata.is_span() && metadata.target().starts_with("ibid")))
    }

    /// Sends what has not been sent.
    pub(crate) fn finish(self, patience: Duration) {
        if let Err(error) = self.provider.shutdown_with_timeout(patience) {
            tracing::warn!(%error, "the last traces were not sent");
        }
        self.runtime.shutdown_background();
    }
}

/// Who tells the traces: named as the environment says, or by its own name.
fn resource() -> Resource {
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let builder = Resource::builder().with_attribute(version);
    match std::env::var_os("OTEL_SERVICE_NAME") {
        Some(_) => builder.build(),
        None => builder.with_service_name("ibid").build(),
    }
}

fn over_http(url: &Url, client: Client) -> Result<SpanExporter, ExporterBuildError> {
    let mut url = url.clone();
    if !url.path().ends_with("/v1/traces") {
        let path = format!("{}/v1/traces", url.path().trim_end_matches('/'));
        url.set_path(&path);
    }
    SpanExporter::builder().with_http().with_http_client(client).with_endpoint(url).build()
}

/// The way out for traces: to the one host that the settings name.
struct Client {
    egress: Egress,
    runtime: tokio::runtime::Handle,
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Client")
    }
}

impl Client {
    fn new(url: &Url, runtime: &Runtime) -> Result<Self, Box<dyn std::error::Error>> {
        let limits = EgressLimits {
            connect: Duration::from_secs(5),
            silence: Duration::from_secs(10),
            body_bytes: 1 << 20,
            redirects: 0,
        };
        let egress = Egress::new(Rules::only([Host::of_service(url)?]), limits)?.untraced();
        Ok(Self { egress, runtime: runtime.handle().clone() })
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let egress = self.egress.clone();
        // Whoever sends traces has a thread of its own, where nothing of tokio's works.
        let sent = self.runtime.spawn(async move {
            let response = egress.send(request).await?;
            let (status, headers) = (response.status(), response.headers().clone());
            let mut answer = Response::new(response.bytes().await?);
            (*answer.status_mut(), *answer.headers_mut()) = (status, headers);
            Ok::<_, ibid_egress::Error>(answer)
        });
        Ok(sent.await??)
    }
}

thread_local! {
    /// The id that the next trace of this thread gets.
    static NEXT_TRACE: Cell<Option<u128>> = const { Cell::new(None) };
}

/// Gives new traces the ids that they were promised, and all others random ones.
#[derive(Debug)]
struct PromisedIds(RandomIdGenerator);

impl IdGenerator for PromisedIds {
    fn new_trace_id(&self) -> TraceId {
        NEXT_TRACE.take().map_or_else(|| self.0.new_trace_id(), TraceId::from)
    }

    fn new_span_id(&self) -> SpanId {
        self.0.new_span_id()
    }
}

/// Begins a trace with a span, under an id that was told already.
fn begin_with(span: &Span, trace: u128) {
    NEXT_TRACE.set(Some(trace));
    // The span gets its ids when it is asked for them.
    drop(span.context());
    NEXT_TRACE.take();
}

/// Tells spans what the rest of ibid has to say of them.
struct OpenTelemetryTracer {
    texts: bool,
}

/// From now on, spans are told everything, and requests to elsewhere say which trace they belong to.
pub(crate) fn install_tracer(texts: bool) {
    ibid_core::trace::install(Box::new(OpenTelemetryTracer { texts }));
    ibid_egress::trace_requests(|| ibid_core::trace::current().map(|place| place.to_string()));
}

fn value(value: TraceValue) -> Value {
    match value {
        TraceValue::Text(Cow::Borrowed(text)) => text.into(),
        TraceValue::Text(Cow::Owned(text)) => text.into(),
        TraceValue::Integer(number) => number.into(),
        TraceValue::Number(number) => number.into(),
    }
}

impl Tracer for OpenTelemetryTracer {
    fn continue_trace(&self, span: &Span, parent: &TraceParent) {
        let Some(above) = parent.span_number() else { return begin_with(span, parent.trace_number()) };
        let flags = if parent.is_sampled() { TraceFlags::SAMPLED } else { TraceFlags::NOT_SAMPLED };
        let trace = TraceId::from(parent.trace_number());
        let place = SpanContext::new(trace, SpanId::from(above), flags, true, TraceState::NONE);
        // Fails only for a span that has begun, and this is called for those that are new.
        let _ = span.set_parent(Context::new().with_remote_span_context(place));
    }

    fn position(&self, span: &Span) -> Option<TraceParent> {
        let context = span.context();
        let place = context.span().span_context().clone();
        let (trace, own) = (u128::from_be_bytes(place.trace_id().to_bytes()), place.span_id().to_bytes());
        TraceParent::new(trace, u64::from_be_bytes(own), place.is_sampled())
    }

    fn name(&self, span: &Span, name: String) {
        span.context().span().update_name(name);
    }

    fn set(&self, span: &Span, attribute: Cow<'static, str>, told: TraceValue) {
        span.set_attribute(attribute, value(told));
    }

    fn event(&self, span: &Span, name: &'static str, attributes: Vec<(&'static str, TraceValue)>) {
        let attributes = attributes.into_iter().map(|(name, told)| KeyValue::new(name, value(told)));
        span.add_event(name, attributes.collect());
    }

    fn fail(&self, span: &Span, error: String) {
        span.set_status(Status::error(error));
    }

    fn exports_texts(&self) -> bool {
        self.texts
    }
}
