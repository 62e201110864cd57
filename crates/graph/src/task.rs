//! The work of one step, and how it is attempted: time limit, retries, stop, and a panic caught.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::context::{Context, RunHost};
use crate::error::{NodeError, Retryable, StepError, Terminal};
use crate::event::EventKind;
use crate::record::{StepRef, Update};
use crate::retry::RetryPolicy;

type Call = Box<dyn Fn(Context) -> BoxFuture<'static, Result<Update, NodeError>> + Send + Sync>;

/// Counts the attempts at one step over all processes that tried, so that no number appears twice.
#[derive(Debug, Clone, Default)]
pub struct Attempts(Arc<AtomicU32>);

impl Attempts {
    /// Goes on counting after `made` attempts.
    pub fn after(made: u32) -> Self {
        Self(Arc::new(AtomicU32::new(made)))
    }

    fn next(&self) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// An update, and the attempt that made it.
#[derive(Debug)]
pub struct Performed {
    /// What the step changed.
    pub update: Update,
    /// Which attempt succeeded, from 1.
    pub attempt: u32,
    /// How long it took, with all attempts.
    pub milliseconds: u64,
}

/// The work of one step, ready to be attempted.
pub struct Task {
    pub(crate) step: StepRef,
    pub(crate) time_limit: Option<Duration>,
    pub(crate) retry: RetryPolicy,
    pub(crate) call: Call,
}

impl Task {
    /// Which step this is.
    pub fn step(&self) -> &StepRef {
        &self.step
    }

    /// Does the work, with as many attempts as the node allows.
    ///
    /// # Errors
    /// Fails when the node fails for good, has used up its attempts, or was stopped and gave nothing back.
    pub async fn perform(self, host: RunHost, attempts: Attempts) -> Result<Performed, StepError> {
        let mut tried = 0;
        let began = Instant::now();
        loop {
            tried += 1;
            let attempt = attempts.next();
            let context = Context::new(self.step.clone(), attempt, &host);
            context.emit(EventKind::StepStarted { node: self.step.node.clone() });
            let error = match self.attempt(context.clone(), &host).await {
                Some(Ok(update)) => {
                    let milliseconds = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
                    return Ok(Performed { update, attempt, milliseconds });
                }
                Some(Err(error)) => error,
                None => return Err(StepError::Stopped),
            };
            if host.cancel.is_cancelled() {
                return Err(StepError::Stopped);
            }
            let delay = match &error {
                NodeError::Retryable(passing) => self.retry.delay_after(tried, passing.delay()),
                NodeError::Terminal(_) => None,
            };
            let Some(delay) = delay else {
                return Err(StepError::Failed { node: self.step.node.to_string(), attempts: tried, error });
            };
            context.emit(EventKind::retrying(&error, delay));
            if host.cancel.run_until_cancelled(tokio::time::sleep(delay)).await.is_none() {
                return Err(StepError::Stopped);
            }
        }
    }

    /// One attempt; `None` when it was stopped and did not come back within the grace.
    async fn attempt(&self, context: Context, host: &RunHost) -> Option<Result<Update, NodeError>> {
        let work = async { (self.call)(context).await };
        let work = AssertUnwindSafe(work).catch_unwind().map(|caught| {
            caught.unwrap_or_else(|panic| {
                Err(Terminal::new(format!("it panicked: {}", panic_text(&*panic))).into())
            })
        });
        let work = async {
            let Some(limit) = self.time_limit else { return work.await };
            tokio::time::timeout(limit, work).await.unwrap_or_else(|_| {
                let limit = limit.as_secs_f64();
                Err(Retryable::new(format!("it took longer than its time limit of {limit} s")).into())
            })
        };
        let stopped = async {
            host.cancel.cancelled().await;
            tokio::time::sleep(host.grace).await;
        };
        tokio::select! {
            biased;
            done = work => Some(done),
            () = stopped => None,
        }
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message")
}
