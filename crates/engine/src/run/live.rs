//! The runs of this process that have not ended.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ibid_core::{RunId, Tenant};
use ibid_graph::{EventKind, StepEvent};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::log::RunLog;
use super::rows::Stopping;
use crate::facts::TurnMeasures;

/// What this process holds of a run that has not ended.
#[derive(Clone)]
pub(crate) struct LiveRun {
    /// Whose it is.
    pub(crate) tenant: Tenant,
    /// Its journal.
    pub(crate) log: Arc<RunLog>,
    /// Stops its node.
    pub(crate) cancel: CancellationToken,
    began: Instant,
    /// Whether how long it takes says something: not if it waited for a person, or was left by an earlier process.
    timed: Arc<AtomicBool>,
    /// What was measured of it so far.
    measures: Arc<Mutex<TurnMeasures>>,
    stopping: Arc<Mutex<Option<Stopping>>>,
    working: Arc<AtomicBool>,
    /// Until it is past this step, others that may have ended the process wait.
    lane: Arc<Mutex<Option<(i64, OwnedSemaphorePermit)>>>,
}

impl LiveRun {
    /// A run that is about to be followed, run or waited for.
    pub(crate) fn new(tenant: Tenant, log: Arc<RunLog>) -> Self {
        Self {
            tenant,
            log,
            cancel: CancellationToken::new(),
            began: Instant::now(),
            timed: Arc::new(AtomicBool::new(true)),
            measures: Arc::default(),
            stopping: Arc::default(),
            working: Arc::default(),
            lane: Arc::default(),
        }
    }

    /// Lets others wait until it is past a step.
    pub(crate) fn take_lane(&self, step: i64, lane: OwnedSemaphorePermit) {
        *self.lane.lock().unwrap_or_else(PoisonError::into_inner) = Some((step, lane));
    }

    /// Lets others go on, if it is past the step that they waited for.
    pub(crate) fn passed(&self, step: u32) {
        let mut lane = self.lane.lock().unwrap_or_else(PoisonError::into_inner);
        lane.take_if(|(suspect, _)| i64::from(step) > *suspect);
    }

    /// Lets others go on.
    pub(crate) fn leave_lane(&self) {
        self.lane.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Stops the run's node and says how the run is to end. To forget it outweighs to keep it.
    pub(crate) fn stop(&self, how: Stopping) {
        let mut stopping = self.stopping.lock().unwrap_or_else(PoisonError::into_inner);
        if *stopping != Some(Stopping::Rollback) {
            *stopping = Some(how);
        }
        drop(stopping);
        self.cancel.cancel();
    }

    /// How long ago it was submitted, if that says something.
    pub(crate) fn elapsed(&self) -> Option<Duration> {
        self.timed.load(Ordering::Relaxed).then(|| self.began.elapsed())
    }

    /// From now on, how long it takes says nothing.
    pub(crate) fn stop_clock(&self) {
        self.timed.store(false, Ordering::Relaxed);
    }

    /// What was measured of it so far.
    pub(crate) fn measures(&self) -> MutexGuard<'_, TurnMeasures> {
        self.measures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over what was measured in an earlier process, if nothing was in this one.
    pub(crate) fn measured_before(&self, before: TurnMeasures) {
        let mut measures = self.measures();
        if *measures == TurnMeasures::default() {
            *measures = before;
        }
    }

    /// Tells that the run goes on after the process that ran it had ended.
    pub(crate) fn tell_recovered(&self) {
        self.log.add(StepEvent::of_run(EventKind::RunRecovered));
    }

    /// Claims the work on the run; false if a task is at it already.
    pub(crate) fn claim(&self) -> bool {
        !self.working.swap(true, Ordering::AcqRel)
    }

    /// Whether a task is at it.
    pub(crate) fn is_working(&self) -> bool {
        self.working.load(Ordering::Acquire)
    }

    /// Gives the work back while the run waits for a person.
    pub(crate) fn release(&self) {
        self.working.store(false, Ordering::Release);
    }

    /// How the run is to end, if it was stopped.
    pub(crate) fn stopping(&self) -> Option<Stopping> {
        *self.stopping.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The runs of this process that have not ended, by name.
#[derive(Default)]
pub(crate) struct Live(Mutex<HashMap<RunId, LiveRun>>);

impl Live {
    pub(crate) fn add(&self, run: RunId, live: LiveRun) {
        self.runs().insert(run, live);
    }

    pub(crate) fn get(&self, run: RunId) -> Option<LiveRun> {
        self.runs().get(&run).cloned()
    }

    pub(crate) fn remove(&self, run: RunId) -> Option<LiveRun> {
        self.runs().remove(&run)
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.runs().len()
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<(RunId, LiveRun)> {
        self.runs().iter().map(|(run, live)| (*run, live.clone())).collect()
    }

    /// The journals of all of them.
    pub(crate) fn logs(&self) -> Vec<Arc<RunLog>> {
        self.runs().values().map(|live| live.log.clone()).collect()
    }

    fn runs(&self) -> MutexGuard<'_, HashMap<RunId, LiveRun>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
