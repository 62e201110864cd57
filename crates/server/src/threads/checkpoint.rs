//! Points in the life of a thread that one can go back to: after the input of a run, after each of its steps, and at its
//! end. Their names sort by time.

use std::fmt;
use std::str::FromStr;

use ibid_core::{RunId, ThreadId};
use serde_json::{Value, json};

use crate::http::{Problem, run_id};

/// How far a run had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CheckpointStep {
    /// After a step; 0 is after the input.
    Step(u32),
    /// At its end.
    End,
}

/// A point in the life of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CheckpointRef {
    /// In which run.
    pub(crate) run: RunId,
    /// How far it had come.
    pub(crate) point: CheckpointStep,
}

impl CheckpointRef {
    /// As clients know it.
    pub(crate) fn to_wire(self, thread: ThreadId) -> Value {
        json!({ "thread_id": thread.to_string(), "checkpoint_ns": "", "checkpoint_id": self.to_string() })
    }

    /// As clients write it: its name, an object with the name, or a configuration with that.
    pub(crate) fn read(value: &Value) -> Result<Option<Self>, Problem> {
        let text = match value {
            Value::Null => None,
            Value::String(text) => Some(text.as_str()),
            object => [&object["checkpoint_id"], &object["configurable"]["checkpoint_id"]]
                .into_iter()
                .find_map(Value::as_str),
        };
        text.map(str::parse).transpose()
    }
}

impl fmt::Display for CheckpointRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.point {
            CheckpointStep::Step(step) => write!(formatter, "{}:{step:06}", self.run),
            CheckpointStep::End => write!(formatter, "{}:end", self.run),
        }
    }
}

impl FromStr for CheckpointRef {
    type Err = Problem;

    fn from_str(text: &str) -> Result<Self, Problem> {
        let unknown = || Problem::not_found(format!("there is no checkpoint `{text}`"));
        let (run, point) = text.rsplit_once(':').ok_or_else(unknown)?;
        let run = run_id(run).map_err(|_| unknown())?;
        let point = match point {
            "end" => CheckpointStep::End,
            number => CheckpointStep::Step(number.parse().map_err(|_| unknown())?),
        };
        Ok(Self { run, point })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_by_time_and_can_be_read_again() {
        let run = RunId::new();
        let points =
            [CheckpointStep::Step(0), CheckpointStep::Step(9), CheckpointStep::Step(10), CheckpointStep::End];
        let names: Vec<String> =
            points.iter().map(|point| CheckpointRef { run, point: *point }.to_string()).collect();
        assert!(names.is_sorted(), "{names:?}");
        for (name, point) in names.iter().zip(points) {
            assert_eq!(name.parse::<CheckpointRef>().unwrap(), CheckpointRef { run, point });
        }
        assert!("nonsense".parse::<CheckpointRef>().is_err());
    }
}
