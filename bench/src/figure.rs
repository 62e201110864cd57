//! One measured figure beside its reference, and whether its goal holds.

use serde::Serialize;

/// What a figure is to reach.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal {
    /// This many times less than the reference.
    TimesLess(f64),
    /// At most this many times the reference.
    AtMostTimes(f64),
    /// At least this many times the reference.
    AtLeastTimes(f64),
    /// At most this much more than the reference.
    AtMostMore(f64),
    /// Nothing: it is to be known.
    Reported,
}

/// One figure as it is printed.
#[derive(Debug, Serialize)]
pub(crate) struct Figure {
    figure: &'static str,
    ours: f64,
    reference: f64,
    ratio: f64,
    goal: String,
    holds: bool,
}

impl Figure {
    /// Holds a figure against its reference.
    pub(crate) fn compare(figure: &'static str, ours: f64, reference: f64, goal: Goal) -> Self {
        let (ratio, goal, holds) = match goal {
            Goal::TimesLess(times) => {
                let ratio = reference / ours;
                (ratio, format!("reference / ours >= {times}"), ratio >= times)
            }
            Goal::AtMostTimes(times) => {
                let ratio = ours / reference;
                (ratio, format!("ours / reference <= {times}"), ratio <= times)
            }
            Goal::AtLeastTimes(times) => {
                let ratio = ours / reference;
                (ratio, format!("ours / reference >= {times}"), ratio >= times)
            }
            Goal::Reported => (ours / reference, "reported".to_owned(), true),
            Goal::AtMostMore(more) => {
                (ours / reference, format!("ours - reference <= {more}"), ours - reference <= more)
            }
        };
        Self { figure, ours, reference, ratio: (ratio * 100.0).round() / 100.0, goal, holds }
    }

    /// Prints the figure as one line of JSON.
    #[expect(clippy::print_stdout, reason = "the figures are the output")]
    pub(crate) fn print(&self) -> anyhow::Result<()> {
        println!("{}", serde_json::to_string(self)?);
        Ok(())
    }
}
