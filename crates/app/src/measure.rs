//! How things stand, for metrics: what is not counted where it happens is looked up when somebody asks.

use std::time::{Duration, SystemTime};

use ibid_core::metric::{self, ProviderState};
use ibid_models::Stats;

use crate::app::App;

impl App {
    /// Tells metrics how providers, turns and loads stand now. Cheap enough for every request.
    pub fn measure(&self) {
        for provider in self.models().providers() {
            tell(&provider.governor().stats());
        }
        if let Ok(engine) = self.engine() {
            metric::unfinished_runs("turn", engine.unfinished_runs());
        }
        if let Ok(documents) = self.documents() {
            metric::unfinished_runs("load", documents.engine().unfinished_runs());
        }
        let began = self.began().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        metric::process(memory(), open_files(), began.as_secs_f64());
    }

    /// Tells metrics what the store holds, which takes a look into it.
    pub async fn measure_store(&self) {
        let Ok(documents) = self.documents() else { return };
        match documents.store().count().await {
            Ok((chunks, documents)) => metric::stored(chunks, documents),
            Err(error) => tracing::debug!(%error, "the store cannot be counted"),
        }
    }
}

fn tell(stats: &Stats) {
    let waiting: Vec<(&'static str, usize, Duration)> = stats
        .waited
        .iter()
        .map(|waited| (waited.class, waited.waiting, Duration::from_secs_f64(waited.longest_seconds)))
        .collect();
    metric::provider_state(&ProviderState {
        provider: &stats.provider,
        requests: &[
            ("answered", stats.answered),
            ("refused", stats.refused),
            ("failed", stats.failed),
            ("stopped", stats.stopped),
            ("given_up", stats.given_up),
            ("over_budget", stats.over_budget),
        ],
        retries: stats.retried,
        breaker_opened: stats.opened,
        breaker_open: stats.is_open,
        in_flight: stats.in_flight,
        waiting: &waiting,
    });
}

/// How much memory the process holds, in bytes, as the system tells; 0 where it does not.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or_default() * 1024
}

/// How many files and connections it holds open.
fn open_files() -> u64 {
    std::fs::read_dir("/proc/self/fd").map_or(0, |files| files.count() as u64)
}
