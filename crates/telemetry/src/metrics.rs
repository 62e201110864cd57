//! Metrics for Prometheus, with a bound on how many tenants are told apart.

use std::collections::HashSet;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use ibid_core::metric;
use metrics::{
    Counter, Gauge, Histogram, Key, KeyName, Label, Metadata, Recorder, SharedString, Unit,
    set_global_recorder,
};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder};

use crate::Error;

/// So many tenants have figures of their own; the others share theirs.
const TENANTS: usize = 100;
/// What they share them under.
const OTHERS: &str = "other";

/// How often figures that came in are put into their buckets.
const MAINTENANCE_INTERVAL: Duration = Duration::from_secs(5);

/// The metrics of this process. Cheap to clone.
#[derive(Clone)]
pub struct MetricsRegistry(PrometheusHandle);

impl MetricsRegistry {
    /// Counts from now on, for the whole process.
    ///
    /// # Errors
    /// Fails when somebody counts already.
    pub fn install() -> Result<Self, Error> {
        let mut builder = PrometheusBuilder::new();
        for (name, buckets) in metric::BUCKETS {
            let is_end = name.starts_with('_');
            let matcher =
                if is_end { Matcher::Suffix(name.to_owned()) } else { Matcher::Full(name.to_owned()) };
            builder = builder.set_buckets_for_metric(matcher, buckets).map_err(|_| Error::Installed)?;
        }
        let recorder = builder.build_recorder();
        let handle = recorder.handle();
        set_global_recorder(Bounded { inner: recorder, tenants: RwLock::default() })
            .map_err(|_| Error::Installed)?;
        metric::describe();
        let own = handle.clone();
        let maintenance = std::thread::Builder::new().name("metrics".to_owned());
        let maintenance = maintenance.spawn(move || {
            loop {
                std::thread::sleep(MAINTENANCE_INTERVAL);
                own.run_upkeep();
            }
        });
        maintenance.map_err(|_| Error::Installed)?;
        Ok(Self(handle))
    }

    /// Everything as Prometheus reads it.
    pub fn render(&self) -> String {
        self.0.render()
    }
}

/// A recorder that knows only so many tenants.
struct Bounded {
    inner: PrometheusRecorder,
    tenants: RwLock<HashSet<String>>,
}

impl Bounded {
    fn is_known(&self, tenant: &str) -> bool {
        let tenants = self.tenants.read().unwrap_or_else(PoisonError::into_inner);
        if tenants.contains(tenant) {
            return true;
        }
        if tenants.len() >= TENANTS {
            return false;
        }
        drop(tenants);
        let mut tenants = self.tenants.write().unwrap_or_else(PoisonError::into_inner);
        tenants.len() < TENANTS && tenants.insert(tenant.to_owned()) || tenants.contains(tenant)
    }

    /// The key, with a tenant that is one too many among the others; none if it may stay as it is.
    fn bounded(&self, key: &Key) -> Option<Key> {
        let tenant = key.labels().find(|label| label.key() == metric::TENANT)?;
        if self.is_known(tenant.value()) {
            return None;
        }
        let labels = key.labels().map(|label| {
            if label.key() == metric::TENANT { Label::new(metric::TENANT, OTHERS) } else { label.clone() }
        });
        Some(Key::from_parts(key.name().to_owned(), labels.collect::<Vec<_>>()))
    }
}

impl Recorder for Bounded {
    fn describe_counter(&self, key: KeyName, unit: Option<Unit>, description: SharedString) {
        self.inner.describe_counter(key, unit, description);
    }

    fn describe_gauge(&self, key: KeyName, unit: Option<Unit>, description: SharedString) {
        self.inner.describe_gauge(key, unit, description);
    }

    fn describe_histogram(&self, key: KeyName, unit: Option<Unit>, description: SharedString) {
        self.inner.describe_histogram(key, unit, description);
    }

    fn register_counter(&self, key: &Key, metadata: &Metadata<'_>) -> Counter {
        self.inner.register_counter(self.bounded(key).as_ref().unwrap_or(key), metadata)
    }

    fn register_gauge(&self, key: &Key, metadata: &Metadata<'_>) -> Gauge {
        self.inner.register_gauge(self.bounded(key).as_ref().unwrap_or(key), metadata)
    }

    fn register_histogram(&self, key: &Key, metadata: &Metadata<'_>) -> Histogram {
        self.inner.register_histogram(self.bounded(key).as_ref().unwrap_or(key), metadata)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_beyond_the_bound_share_their_figures() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let handle = recorder.handle();
        let bounded = Bounded { inner: recorder, tenants: RwLock::default() };
        metrics::with_local_recorder(&bounded, || {
            for number in 0..TENANTS + 50 {
                metrics::counter!("ibid_test_total", metric::TENANT => format!("tenant-{number}"))
                    .increment(1);
                metrics::counter!("ibid_test_total", metric::TENANT => format!("tenant-{number}"))
                    .increment(1);
            }
        });
        let text = handle.render();
        let lines = text.lines().filter(|line| line.starts_with("ibid_test_total{")).count();
        assert_eq!(lines, TENANTS + 1);
        assert!(text.contains("ibid_test_total{tenant=\"tenant-7\"} 2"), "{text}");
        assert!(text.contains("ibid_test_total{tenant=\"other\"} 100"), "{text}");
    }
}
