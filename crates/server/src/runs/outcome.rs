//! Waiting for what a run comes to.

use futures_util::StreamExt as _;
use ibid_core::{RunId, ThreadId};
use ibid_engine::RunStatus;
use ibid_graph::Kind;
use serde_json::{Value, json};

use crate::app::App;
use crate::http::{Caller, Closing, Problem};
use crate::stream::{StopWhenGone, is_open};
use crate::threads::interrupts;

/// A run whose end is waited for.
pub(super) struct Outcome {
    pub(super) app: App,
    pub(super) caller: Caller,
    pub(super) thread: ThreadId,
    pub(super) run: RunId,
    /// What was before is not waited for again.
    pub(super) after: u64,
    /// Whether the thread is deleted afterwards.
    pub(super) temporary: bool,
    /// Whether the run ends with the connection.
    pub(super) stop_when_gone: bool,
}

impl Outcome {
    /// What the thread holds when the run is over or asks something. Always an object.
    pub(super) async fn values(self) -> Result<Value, Closing> {
        let mut guard =
            StopWhenGone::new(self.app.engine(), &self.caller.scope, self.run, self.stop_when_gone);
        let values = self.awaited().await;
        guard.is_over();
        if values.as_ref().is_err_and(Problem::is_closing) {
            return Err(Closing);
        }
        if self.temporary
            && let Err(error) = self.app.engine().delete_thread(&self.caller.scope, self.thread).await
        {
            tracing::warn!(%error, "a thread for one run could not be deleted");
        }
        Ok(values.unwrap_or_else(|problem| failed("RunLost", problem.detail())))
    }

    async fn awaited(&self) -> Result<Value, Problem> {
        let scope = &self.caller.scope;
        let mut run = self.app.engine().run(scope, self.run).await?;
        let waits_anew = run.status == RunStatus::Waiting && self.after == 0;
        if !run.status.is_final() && !waits_anew {
            let mut events = self.app.engine().events(scope, self.run, self.after).await?;
            while let Some(event) = events.next().await {
                let event = event?;
                match event.what.kind {
                    Kind::Ended { .. } => break,
                    Kind::Asked { .. }
                        if is_open(self.app.engine(), scope, self.run, event.what.step).await? =>
                    {
                        break;
                    }
                    _ => {}
                }
            }
            run = self.app.engine().run(scope, self.run).await?;
        }
        if let Some(error) = &run.error {
            return Ok(failed("RunFailed", error));
        }
        if run.status == RunStatus::RolledBack {
            return Ok(json!({}));
        }
        let said = crate::messages::of_thread(self.app.engine(), &self.caller.scope, self.thread).await?;
        let mut values = json!({ "messages": said.iter().map(crate::messages::told).collect::<Vec<_>>() });
        if run.status == RunStatus::Waiting {
            values["__interrupt__"] = interrupts(&run);
        }
        Ok(values)
    }
}

fn failed(kind: &str, message: &str) -> Value {
    json!({ "__error__": { "error": kind, "message": message } })
}
