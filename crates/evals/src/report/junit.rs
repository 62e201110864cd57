//! JUnit's XML: one test for each metric, which fails if the candidate is worse in it, and one for each question, which fails if
//! its turn failed or if the candidate lost what the baseline had.

use super::{EvalResults, escaped, gain};
use crate::comparison::ComparisonVerdict;

/// The suites of an evaluation.
pub(super) fn suites(evaluation: &EvalResults) -> String {
    let compared = evaluation.comparison();
    let metrics: Vec<(String, Option<String>)> = compared
        .iter()
        .map(|one| {
            let shown =
                |figure: Option<f64>| figure.map(|figure| one.metric.shown(figure)).unwrap_or_default();
            let failure = (one.verdict == ComparisonVerdict::Worse)
                .then(|| format!("{} became {}", shown(one.baseline), shown(one.candidate)));
            (one.metric.title().to_owned(), failure)
        })
        .collect();
    let questions: Vec<(String, Option<String>)> = evaluation
        .answered
        .iter()
        .zip(evaluation.scores())
        .map(|((item, answers), scores)| {
            let error = answers.last().and_then(|answer| answer.error.clone());
            let lost = (gain(&scores) < 0.0).then(|| "the baseline answered it better".to_owned());
            (item.id.clone(), error.or(lost))
        })
        .collect();
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n".to_owned();
    text += &suite("metrics", &evaluation.dataset, &metrics);
    text += &suite("questions", &evaluation.dataset, &questions);
    text + "</testsuites>\n"
}

fn suite(name: &str, dataset: &str, tests: &[(String, Option<String>)]) -> String {
    let failures = tests.iter().filter(|(_, failure)| failure.is_some()).count();
    let class = escaped(&format!("{dataset}.{name}"));
    let mut text =
        format!("  <testsuite name=\"{class}\" tests=\"{}\" failures=\"{failures}\">\n", tests.len());
    for (test, failure) in tests {
        let test = escaped(test);
        text += &match failure {
            None => format!("    <testcase classname=\"{class}\" name=\"{test}\"/>\n"),
            Some(failure) => format!(
                "    <testcase classname=\"{class}\" name=\"{test}\"><failure message=\"{}\"/></testcase>\n",
                escaped(failure)
            ),
        };
    }
    text + "  </testsuite>\n"
}
