//! Time as a test has it, on a machine that others use too.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

const BEAT: Duration = Duration::from_millis(1);

/// A beat each millisecond while the runtime goes on. A wait that is counted in beats leaves out the time in which
/// the machine let nothing of the test move, and nothing else.
pub struct Pulse {
    beats: Arc<Mutex<Vec<Instant>>>,
    beating: JoinHandle<()>,
}

impl Pulse {
    /// Begins to beat, on the runtime of the test.
    pub fn start() -> Self {
        let beats = Arc::new(Mutex::new(Vec::new()));
        let beating = tokio::spawn(beat(beats.clone()));
        Self { beats, beating }
    }

    /// How long it was between two moments.
    pub fn between(&self, from: Instant, to: Instant) -> Duration {
        let beats = self.beats.lock().unwrap_or_else(PoisonError::into_inner);
        let before = |moment: Instant| beats.partition_point(|beat| *beat < moment);
        let passed = before(to).saturating_sub(before(from));
        BEAT * u32::try_from(passed).unwrap_or(u32::MAX)
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.beating.abort();
    }
}

async fn beat(beats: Arc<Mutex<Vec<Instant>>>) {
    let mut clock = interval(BEAT);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        clock.tick().await;
        beats.lock().unwrap_or_else(PoisonError::into_inner).push(Instant::now());
    }
}
