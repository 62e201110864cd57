//! Whether one configuration answers better than another.
//!
//! A [`DatasetItem`] is a question with what is known of its answer. [`score`] measures an [`EvalAnswer`] to it without asking
//! anybody; [`compare`] tells two configurations apart that were asked the same questions, with the spread of each
//! difference; [`report`] writes it down. Nothing here asks a model: `ibid_app` does.

mod comparison;
mod dataset;
mod metric;
pub mod report;
mod score;

pub use comparison::{ComparisonVerdict, MetricComparison, compare, compare_groups, is_worse};
pub use dataset::{
    DatasetError, DatasetItem, DatasetMessage, ExpectedPage, check_dataset_name, read_dataset, write_dataset,
};
pub use metric::{Direction, EvalMetric, Unit};
pub use score::{EvalAnswer, JudgeVerdict, Judgement, Scores, Share, is_about_a_value, score};
