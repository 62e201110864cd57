//! What is counted and measured, under the names that Prometheus and the dashboards know. Everything here does nothing until
//! `ibid-telemetry` counts.

use std::time::Duration;

use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};

use crate::model::Usage;
use crate::{AnswerMetadata, Tenant};

/// The label of tenants. Only so many are told apart; the others share a value.
pub const TENANT: &str = "tenant";

/// Where the buckets of histograms end, by their names or by how those end, which begins with an underscore.
pub const BUCKETS: [(&str, &[f64]); 4] = [
    (
        "ibid_commit_seconds",
        &[0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.0],
    ),
    ("_per_second", &[1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0]),
    ("_rounds", &[1.0, 2.0, 3.0, 4.0, 5.0, 8.0]),
    ("_seconds", &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0]),
];

/// Says what each name means.
pub fn describe() {
    for (name, meaning) in COUNTERS {
        describe_counter!(*name, *meaning);
    }
    for (name, meaning) in GAUGES {
        describe_gauge!(*name, *meaning);
    }
    for (name, meaning) in HISTOGRAMS {
        describe_histogram!(*name, *meaning);
    }
}

const COUNTERS: &[(&str, &str)] = &[
    ("ibid_http_requests_total", "Requests that were answered, by method, route and status"),
    ("ibid_turns_total", "Turns that ended, by assistant, tenant and outcome"),
    (
        "ibid_answers_total",
        "Answers, by assistant and outcome: cited, uncited, unanswered, withheld, cached, partial",
    ),
    ("ibid_guard_findings_total", "What the guard found wrong with answers, by kind"),
    ("ibid_citations_total", "Citations of answers, by whether their quotation was found"),
    ("ibid_grades_total", "Grades of passages, by grade"),
    ("ibid_web_searches_total", "Searches of the web for want of documents, by outcome"),
    ("ibid_cache_lookups_total", "Look-ups of answers that may be given again, by outcome"),
    ("ibid_tool_calls_total", "Calls of tools, by tool and outcome"),
    ("ibid_feedback_total", "What people thought of answers, by assistant and verdict"),
    ("ibid_model_calls_total", "Calls of chat models, by model and outcome"),
    ("ibid_tokens_total", "Tokens, by model, tenant and kind: input, output, cached"),
    ("ibid_cost_microdollars_total", "What tokens cost in millionths of a dollar, by model and tenant"),
    ("ibid_provider_requests_total", "Requests to providers, by provider and outcome"),
    ("ibid_provider_retries_total", "Attempts after the first, by provider"),
    ("ibid_provider_breaker_opened_total", "How often a provider was left alone for failing"),
    ("ibid_jobs_total", "Jobs that ended, such as loads of documents, by graph and outcome"),
    ("ibid_pages_read_total", "Pages that were read, by how"),
    ("ibid_chunks_embedded_total", "Chunks that were embedded"),
];

const GAUGES: &[(&str, &str)] = &[
    ("ibid_build_info", "The version that runs"),
    ("ibid_connections", "Open connections of clients"),
    ("ibid_runs_unfinished", "Turns and loads that have not ended, by kind"),
    ("ibid_provider_in_flight", "Requests to providers under way, by provider"),
    ("ibid_provider_waiting", "Calls that wait for their turn, by provider and class"),
    (
        "ibid_provider_longest_wait_seconds",
        "The longest that a call has waited for its turn, by provider and class",
    ),
    ("ibid_provider_breaker_open", "Whether a provider is left alone now for failing"),
    ("ibid_chunks", "Chunks of documents that can be searched"),
    ("ibid_documents", "Documents in the ledger"),
    ("process_resident_memory_bytes", "Memory that the process holds"),
    ("process_open_fds", "Files and connections that the process holds open"),
    ("process_start_time_seconds", "When the process began, in seconds since 1970"),
];

const HISTOGRAMS: &[(&str, &str)] = &[
    ("ibid_http_request_seconds", "How long requests took until their answer began, by route"),
    ("ibid_turn_seconds", "How long turns took, by assistant"),
    ("ibid_turn_first_word_seconds", "How long turns took to the first word of the answer, by assistant"),
    ("ibid_step_seconds", "How long steps took, by assistant or graph and node"),
    ("ibid_commit_seconds", "How long commits of the engine took"),
    ("ibid_retrieval_seconds", "How long searches in documents took"),
    ("ibid_tool_seconds", "How long calls of tools took, by tool"),
    ("ibid_answer_rounds", "How many rounds of research an answer took"),
    ("ibid_model_first_token_seconds", "How long models took to their first token, by model"),
    ("ibid_model_tokens_per_second", "How fast models wrote, by model"),
];

/// A request was answered.
pub fn request_answered(method: &'static str, route: &str, status: u16, took: Duration) {
    let route = route.to_owned();
    counter!("ibid_http_requests_total", "method" => method, "route" => route.clone(), "status" => status.to_string())
        .increment(1);
    histogram!("ibid_http_request_seconds", "route" => route).record(took.as_secs_f64());
}

/// A connection of a client was opened; it is closed when this is dropped.
#[must_use]
pub fn connection_opened() -> OpenConnection {
    gauge!("ibid_connections").increment(1.0);
    OpenConnection(())
}

/// An open connection.
#[derive(Debug)]
pub struct OpenConnection(());

impl Drop for OpenConnection {
    fn drop(&mut self) {
        gauge!("ibid_connections").decrement(1.0);
    }
}

/// A turn ended; how long it took, if that says something.
pub fn turn_ended(assistant: &str, tenant: &Tenant, outcome: &'static str, took: Option<Duration>) {
    let assistant = assistant.to_owned();
    counter!("ibid_turns_total", "assistant" => assistant.clone(), TENANT => tenant.to_string(), "outcome" => outcome)
        .increment(1);
    if let Some(took) = took {
        histogram!("ibid_turn_seconds", "assistant" => assistant).record(took.as_secs_f64());
    }
}

/// The first word of an answer was told.
pub fn first_word(assistant: &str, took: Duration) {
    histogram!("ibid_turn_first_word_seconds", "assistant" => assistant.to_owned())
        .record(took.as_secs_f64());
}

/// A step ended.
pub fn step_ended(graph: &str, node: &str, took: Duration) {
    histogram!("ibid_step_seconds", "assistant" => graph.to_owned(), "node" => node.to_owned())
        .record(took.as_secs_f64());
}

/// The engine wrote something down.
pub fn committed(took: Duration) {
    histogram!("ibid_commit_seconds").record(took.as_secs_f64());
}

/// How many turns, or loads, have not ended.
pub fn unfinished_runs(kind: &'static str, number: usize) {
    gauge!("ibid_runs_unfinished", "kind" => kind).set(number as f64);
}

/// An answer was given.
pub fn answered(assistant: &str, answer: &AnswerMetadata) {
    let outcome = answer.outcome().as_str();
    counter!("ibid_answers_total", "assistant" => assistant.to_owned(), "outcome" => outcome).increment(1);
    for warning in &answer.warnings {
        counter!("ibid_guard_findings_total", "kind" => warning.kind.as_str()).increment(1);
    }
    for citation in &answer.citations {
        counter!("ibid_citations_total", "found" => citation.found.as_str()).increment(1);
    }
    for grade in answer.research.iter().flat_map(|round| &round.grades) {
        counter!("ibid_grades_total", "grade" => grade.relevance.as_str()).increment(1);
    }
    if !answer.research.is_empty() {
        let rounds = answer.research.len() as f64;
        histogram!("ibid_answer_rounds", "assistant" => assistant.to_owned()).record(rounds);
    }
}

/// The web was searched, or was to be.
pub fn web_searched(outcome: &'static str) {
    counter!("ibid_web_searches_total", "outcome" => outcome).increment(1);
}

/// It was looked whether an answer may be given again.
pub fn cache_looked_up(outcome: &'static str) {
    counter!("ibid_cache_lookups_total", "outcome" => outcome).increment(1);
}

/// A search in documents ended.
pub fn retrieval_ended(took: Duration) {
    histogram!("ibid_retrieval_seconds").record(took.as_secs_f64());
}

/// A call of a tool ended.
pub fn tool_called(tool: &str, outcome: &'static str, took: Duration) {
    counter!("ibid_tool_calls_total", "tool" => tool.to_owned(), "outcome" => outcome).increment(1);
    histogram!("ibid_tool_seconds", "tool" => tool.to_owned()).record(took.as_secs_f64());
}

/// Somebody thought something of an answer.
pub fn feedback(assistant: &str, verdict: &'static str) {
    counter!("ibid_feedback_total", "assistant" => assistant.to_owned(), "verdict" => verdict).increment(1);
}

/// What a call of a chat model took.
#[derive(Debug, Clone, Copy)]
pub struct ModelCall<'a> {
    /// The name of the model in the configuration.
    pub model: &'a str,
    /// On whose behalf.
    pub tenant: &'a Tenant,
    /// How it ended.
    pub outcome: &'static str,
    /// What it used.
    pub usage: Usage,
    /// What that cost, in dollars, if that is known.
    pub dollars: Option<f64>,
    /// How long it took to the first token, if there was one.
    pub first_token: Option<Duration>,
    /// How long it wrote after that.
    pub writing: Duration,
}

/// A call of a chat model ended.
pub fn model_called(call: &ModelCall<'_>) {
    let model = call.model.to_owned();
    counter!("ibid_model_calls_total", "model" => model.clone(), "outcome" => call.outcome).increment(1);
    let usage = call.usage;
    let kinds =
        [("input", usage.input_tokens), ("output", usage.output_tokens), ("cached", usage.cached_tokens)];
    for (kind, tokens) in kinds {
        let labels = [("model", model.clone()), (TENANT, call.tenant.to_string()), ("kind", kind.to_owned())];
        counter!("ibid_tokens_total", &labels).increment(tokens);
    }
    if let Some(dollars) = call.dollars {
        let labels = [("model", model.clone()), (TENANT, call.tenant.to_string())];
        counter!("ibid_cost_microdollars_total", &labels).increment((dollars * 1e6).round() as u64);
    }
    if let Some(first) = call.first_token {
        histogram!("ibid_model_first_token_seconds", "model" => model.clone()).record(first.as_secs_f64());
    }
    let seconds = call.writing.as_secs_f64();
    if seconds > 0.0 && usage.output_tokens > 1 {
        let pace = (usage.output_tokens - 1) as f64 / seconds;
        histogram!("ibid_model_tokens_per_second", "model" => model).record(pace);
    }
}

/// A call of a chat model failed before its answer began.
pub fn model_failed(model: &str) {
    counter!("ibid_model_calls_total", "model" => model.to_owned(), "outcome" => "failed").increment(1);
}

/// How a provider stands.
#[derive(Debug, Clone)]
pub struct ProviderState<'a> {
    /// Which provider.
    pub provider: &'a str,
    /// How many requests ended how, since the process began.
    pub requests: &'a [(&'static str, u64)],
    /// Attempts after the first.
    pub retries: u64,
    /// How often it was left alone for failing.
    pub breaker_opened: u64,
    /// Whether it is left alone now.
    pub breaker_open: bool,
    /// Requests under way.
    pub in_flight: usize,
    /// How many calls of each class wait, and the longest wait so far.
    pub waiting: &'a [(&'static str, usize, Duration)],
}

/// Tells how a provider stands.
pub fn provider_state(state: &ProviderState<'_>) {
    let provider = state.provider.to_owned();
    for (outcome, number) in state.requests {
        counter!("ibid_provider_requests_total", "provider" => provider.clone(), "outcome" => *outcome)
            .absolute(*number);
    }
    counter!("ibid_provider_retries_total", "provider" => provider.clone()).absolute(state.retries);
    counter!("ibid_provider_breaker_opened_total", "provider" => provider.clone())
        .absolute(state.breaker_opened);
    let open = f64::from(u8::from(state.breaker_open));
    gauge!("ibid_provider_breaker_open", "provider" => provider.clone()).set(open);
    gauge!("ibid_provider_in_flight", "provider" => provider.clone()).set(state.in_flight as f64);
    for (class, waiting, longest) in state.waiting {
        gauge!("ibid_provider_waiting", "provider" => provider.clone(), "class" => *class)
            .set(*waiting as f64);
        gauge!("ibid_provider_longest_wait_seconds", "provider" => provider.clone(), "class" => *class)
            .set(longest.as_secs_f64());
    }
}

/// A job ended.
pub fn job_ended(graph: &str, outcome: &'static str) {
    counter!("ibid_jobs_total", "graph" => graph.to_owned(), "outcome" => outcome).increment(1);
}

/// A page was read.
pub fn page_read(kind: &'static str) {
    counter!("ibid_pages_read_total", "kind" => kind).increment(1);
}

/// Chunks were embedded.
pub fn chunks_embedded(number: u64) {
    counter!("ibid_chunks_embedded_total").increment(number);
}

/// What the store holds, of all tenants.
pub fn stored(chunks: u64, documents: u64) {
    gauge!("ibid_chunks").set(chunks as f64);
    gauge!("ibid_documents").set(documents as f64);
}

/// What the process holds.
pub fn process(memory_bytes: u64, open_files: u64, began_seconds: f64) {
    gauge!("ibid_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    gauge!("process_resident_memory_bytes").set(memory_bytes as f64);
    gauge!("process_open_fds").set(open_files as f64);
    gauge!("process_start_time_seconds").set(began_seconds);
}
