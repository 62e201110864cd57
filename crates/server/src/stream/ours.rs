//! A run in our own words: one event of the stream for each of the engine's, under its number, so that the numbers have
//! no gaps.

use std::sync::Arc;

use ibid_core::{RunId, Scope};
use ibid_engine::{Engine, Event};
use ibid_graph::Kind;
use serde_json::{Map, Value, json};

use super::Place;
use crate::http::{Frame, Problem};

/// Tells a run in our own words.
pub(super) struct Ours {
    engine: Arc<dyn Engine>,
    scope: Scope,
    run: RunId,
}

impl Ours {
    pub(super) fn new(engine: &Arc<dyn Engine>, scope: &Scope, run: RunId) -> Self {
        Self { engine: engine.clone(), scope: scope.clone(), run }
    }

    /// One event.
    pub(super) async fn tell(&mut self, event: Event) -> Result<Vec<(Place, Frame)>, Problem> {
        let place = Place { seq: event.seq, slot: 0 };
        let (step, attempt) = (event.what.step, event.what.attempt);
        let (name, said) = match event.what.kind {
            Kind::Started { node } => ("step".to_owned(), json!({ "node": node, "state": "started" })),
            Kind::Finished { milliseconds } => {
                ("step".to_owned(), json!({ "state": "finished", "milliseconds": milliseconds }))
            }
            Kind::Status { text } => ("status".to_owned(), json!({ "text": text })),
            Kind::Token { text } => ("token".to_owned(), json!({ "text": text })),
            // One word for one finding or several, as for all others.
            Kind::Data { name, value } if name == "warnings" => {
                ("warning".to_owned(), json!({ "value": value }))
            }
            Kind::Data { name, value } => (name, json!({ "value": value })),
            Kind::Retrying { error, after_ms } => {
                ("retrying".to_owned(), json!({ "error": error, "after_ms": after_ms }))
            }
            Kind::Asked { question } => ("asked".to_owned(), json!({ "value": question })),
            Kind::Answered => ("answered".to_owned(), json!({})),
            Kind::Resumed => ("resumed".to_owned(), json!({})),
            Kind::Restarted { reason } => ("restarted".to_owned(), json!({ "reason": reason })),
            Kind::Ended { status, error } => {
                let message = self.answer().await?;
                ("end".to_owned(), json!({ "status": status, "error": error, "message": message }))
            }
            _ => ("other".to_owned(), json!({})),
        };
        let mut data = Map::from_iter([
            ("run".to_owned(), json!(self.run.to_string())),
            ("step".to_owned(), json!(step)),
            ("attempt".to_owned(), json!(attempt)),
        ]);
        if let Value::Object(said) = said {
            data.extend(said);
        }
        let frame =
            Frame { id: Some(event.seq.to_string()), ..Frame::new(Some(&name), &Value::Object(data)) };
        Ok(vec![(place, frame)])
    }

    /// What the run said in the end.
    async fn answer(&self) -> Result<Value, Problem> {
        let run = self.engine.run(&self.scope, self.run).await?;
        let own = crate::messages::answer_of(&self.engine, &self.scope, &run).await?;
        Ok(own.map(|said| json!(said.message)).unwrap_or_default())
    }
}
