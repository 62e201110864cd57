//! What of a run is streamed.

use crate::http::Problem;

/// LangGraph's names for what can be streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The whole state after each step.
    Values,
    /// What each step changed.
    Updates,
    /// The answer so far, at each piece.
    Messages,
    /// Each piece of the answer.
    MessagesTuple,
    /// All that happens, in LangChain's words.
    Events,
    /// Status, tool calls, sources and the like.
    Custom,
    /// Steps as they begin and end.
    Tasks,
    /// Points that one can go back to.
    Checkpoints,
    /// Steps and points together.
    Debug,
}

impl Mode {
    const ALL: [(Self, &str); 9] = [
        (Self::Values, "values"),
        (Self::Updates, "updates"),
        (Self::Messages, "messages"),
        (Self::MessagesTuple, "messages-tuple"),
        (Self::Events, "events"),
        (Self::Custom, "custom"),
        (Self::Tasks, "tasks"),
        (Self::Checkpoints, "checkpoints"),
        (Self::Debug, "debug"),
    ];
}

/// What is wanted.
#[derive(Debug, Clone)]
pub(crate) struct Modes(Vec<Mode>);

impl Default for Modes {
    fn default() -> Self {
        Self(vec![Mode::Values])
    }
}

impl Modes {
    /// By their names; none means the whole state.
    pub(crate) fn read(names: &[String]) -> Result<Self, Problem> {
        let read = |name: &String| {
            let found = Mode::ALL.into_iter().find(|(_, known)| known == name);
            found.map(|(mode, _)| mode).ok_or_else(|| {
                let known: Vec<&str> = Mode::ALL.iter().map(|(_, name)| *name).collect();
                Problem::invalid(format!("`{name}` is no stream mode; there are {}", known.join(", ")))
            })
        };
        if names.is_empty() {
            return Ok(Self::default());
        }
        names.iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// Whether a mode is wanted. Pieces of the answer are told in one way only.
    pub(crate) fn wants(&self, mode: Mode) -> bool {
        let has = |mode| self.0.contains(&mode);
        if mode == Mode::Messages { has(mode) && !has(Mode::MessagesTuple) } else { has(mode) }
    }
}
