//! How an engine runs turns and jobs, whichever store keeps them.

use std::collections::BTreeMap;
use std::time::Duration;

use ibid_core::Tenant;
use ibid_graph::RunHost;

/// How an engine behaves.
#[derive(Debug, Clone)]
pub struct RunSettings {
    /// How long the steps and events of an ended run are kept.
    pub retention: Duration,
    /// How long those of a turn are kept after that, packed: the whole time since it ended. Nothing is if it is not longer.
    pub trace_retention: Duration,
    /// How long a thread is kept after it was last used; none means for good.
    pub thread_retention: Option<Duration>,
    /// The same for single tenants.
    pub tenant_retention: BTreeMap<Tenant, Duration>,
    /// How long a stopped node may take to give back what it has.
    pub stop_grace: Duration,
    /// How long an event may wait for others before it is written and told.
    pub event_delay: Duration,
    /// How many runs are worked on at once; none means all that there are. The others wait, and are safe.
    pub at_once: Option<usize>,
    /// Whether what an earlier process left is taken up when the engine opens; else by [`Engine::recover`](crate::Engine::recover).
    pub recover_on_open: bool,
    /// How many processes may end without a word at the same step of a run, before it is set aside.
    pub crashes: i64,
}

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            retention: Duration::from_secs(24 * 60 * 60),
            trace_retention: Duration::from_secs(30 * 24 * 60 * 60),
            thread_retention: None,
            tenant_retention: BTreeMap::new(),
            stop_grace: RunHost::GRACE,
            event_delay: Duration::from_millis(10),
            at_once: None,
            recover_on_open: true,
            crashes: 3,
        }
    }
}
