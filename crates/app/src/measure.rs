//! How things stand, for metrics: what is not counted where it happens is looked up when somebody asks.

use std::time::{Duration, SystemTime};

use futures_util::future::try_join_all;
use ibid_core::metric::{self, ProviderState};
use ibid_models::Stats;

use crate::cells::Cells;

impl Cells {
    /// Tells metrics how providers, turns and loads stand now. Cheap enough for every request.
    pub fn measure(&self) {
        // All cells use the same models.
        for provider in self.first().models().providers() {
            tell(&provider.governor().stats());
        }
        let engines = self.all().filter_map(|(_, app)| app.engine().ok());
        metric::unfinished_runs("turn", engines.map(|engine| engine.unfinished_runs()).sum());
        let documents = self.all().filter_map(|(_, app)| app.documents().ok());
        metric::unfinished_runs("load", documents.map(|all| all.engine().unfinished_runs()).sum());
        let began = self.first().began().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        metric::process(memory(), open_files(), began.as_secs_f64());
    }

    /// Tells metrics what the stores hold, which takes a look into each.
    pub async fn measure_stores(&self) {
        let looks = self.all().map(|(_, app)| async {
            let Ok(documents) = app.documents() else { return Ok((0, 0)) };
            documents.store().count().await
        });
        match try_join_all(looks).await {
            Ok(counts) => {
                let (chunks, documents): (Vec<u64>, Vec<u64>) = counts.into_iter().unzip();
                metric::stored(chunks.iter().sum(), documents.iter().sum());
            }
            Err(error) => tracing::debug!(%error, "the stores cannot be counted"),
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
