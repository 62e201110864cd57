//! Waiting for what a run comes to.

use futures_util::StreamExt as _;
use ibid_core::{RunId, ThreadId, TurnEvent};
use ibid_engine::{RunStatus, turn_events};
use serde_json::{Value, json};

use crate::http::{Caller, Closing, Problem};
use crate::state::ServerState;
use crate::stream::{CancelOnDisconnect, is_open};
use crate::threads::interrupts;

/// A run whose end is waited for.
pub(super) struct Outcome {
    pub(super) app: ServerState,
    pub(super) caller: Caller,
    pub(super) thread: ThreadId,
    pub(super) run: RunId,
    /// What was before is not waited for again.
    pub(super) after: u64,
    /// Whether the thread is deleted afterwards.
    pub(super) temporary: bool,
    /// Whether the run ends with the connection.
    pub(super) cancel_on_disconnect: bool,
}

impl Outcome {
    /// What the thread holds when the run is over or asks something. Always an object.
    pub(super) async fn values(self) -> Result<Value, Closing> {
        let mut guard = CancelOnDisconnect::new(
            self.app.engine(),
            &self.caller.scope,
            self.run,
            self.cancel_on_disconnect,
        );
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
            let mut events = turn_events(self.app.engine(), scope, self.run, self.after).await?;
            while let Some(event) = events.next().await {
                let event = event?;
                match event.event {
                    TurnEvent::Ended { .. } => break,
                    TurnEvent::Interrupted { .. }
                        if is_open(self.app.engine(), scope, self.run, event.step).await? =>
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
        let mut values = json!({ "messages": said.iter().map(crate::messages::to_wire).collect::<Vec<_>>() });
        if run.status == RunStatus::Waiting {
            values["__interrupt__"] = interrupts(&run);
        }
        Ok(values)
    }
}

fn failed(kind: &str, message: &str) -> Value {
    json!({ "__error__": { "error": kind, "message": message } })
}
