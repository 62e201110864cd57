//! What is written down of an evaluation: a page for people, results for programs, and what continuous integration reads.

mod html;
mod junit;

use serde::{Deserialize, Serialize};

use crate::comparison::{MetricComparison, compare};
use crate::dataset::DatasetItem;
use crate::metric::EvalMetric;
use crate::score::{EvalAnswer, Scores, Share, score};

/// A configuration that was evaluated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evaluated {
    /// What it is called in reports.
    pub name: String,
    /// The assistant that answered.
    pub assistant: String,
    /// The SHA-256 of its settings and of the files of the assistant.
    pub digest: String,
}

/// An evaluation: the questions, and how one or two configurations answered them.
pub struct EvalResults {
    /// What the dataset is called.
    pub dataset: String,
    /// The configurations: one, or a baseline and a candidate.
    pub configurations: Vec<Evaluated>,
    /// Each question with its answers, one for each configuration.
    pub answered: Vec<(DatasetItem, Vec<EvalAnswer>)>,
}

/// One answer, as it is written for programs: a line of JSON.
#[derive(Serialize)]
struct ResultLine<'a> {
    item: &'a DatasetItem,
    configuration: &'a str,
    answer: &'a EvalAnswer,
    scores: Scores,
}

impl EvalResults {
    /// The scores of each question, by configuration.
    pub fn scores(&self) -> Vec<Vec<Scores>> {
        let each = self.answered.iter();
        each.map(|(item, answers)| answers.iter().map(|answer| score(item, answer)).collect()).collect()
    }

    /// The mean of a metric over all questions, for one of the configurations.
    pub fn mean(&self, metric: EvalMetric, configuration: usize) -> Option<f64> {
        let mut all = Share::default();
        for scores in self.scores() {
            all +=
                scores.get(configuration).and_then(|scores| scores.get(&metric)).copied().unwrap_or_default();
        }
        all.mean()
    }

    /// How the candidate differs from the baseline; nothing if there is one configuration.
    pub fn comparison(&self) -> Vec<MetricComparison> {
        let pairs = self.scores().into_iter().filter_map(|mut both| {
            let candidate = both.pop()?;
            Some((both.pop()?, candidate))
        });
        compare(&pairs.collect::<Vec<_>>())
    }

    /// Every answer with its scores, one JSON object a line.
    pub fn jsonl(&self) -> String {
        let mut text = String::new();
        for ((item, answers), scores) in self.answered.iter().zip(self.scores()) {
            for ((answer, scores), of) in answers.iter().zip(scores).zip(&self.configurations) {
                let line = ResultLine { item, configuration: &of.name, answer, scores };
                text.extend(serde_json::to_string(&line).ok());
                text.push('\n');
            }
        }
        text
    }

    /// A page with the metrics, and the questions side by side. It needs nothing from elsewhere.
    pub fn html(&self) -> String {
        html::page(self)
    }

    /// As continuous integration reads it: one test for each metric, and one for each question.
    pub fn junit(&self) -> String {
        junit::suites(self)
    }
}

/// A text that can stand in HTML and in XML.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            letter if letter.is_control() && !"\n\t".contains(letter) => {}
            letter => safe.push(letter),
        }
    }
    safe
}

/// How much better the last answer to a question is than the first, in metrics of quality; less than 0 if it is worse.
fn gain(scores: &[Scores]) -> f64 {
    let [baseline, candidate] = scores else { return 0.0 };
    let each = EvalMetric::ALL.into_iter().filter(|metric| metric.is_quality());
    let differences = each.filter_map(|metric| {
        let (one, other) = (baseline.get(&metric)?.mean()?, candidate.get(&metric)?.mean()?);
        match metric.direction() {
            crate::metric::Direction::Up => Some(other - one),
            crate::metric::Direction::Down => Some(one - other),
            crate::metric::Direction::Neutral => None,
        }
    });
    differences.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ibid_core::AnswerMetadata;

    fn evaluation() -> EvalResults {
        let of = |name: &str| Evaluated {
            name: name.to_owned(),
            assistant: "default".to_owned(),
            digest: "0".to_owned(),
        };
        let item = DatasetItem {
            id: "a<b".to_owned(),
            question: "What is <b>the</b> rate?".to_owned(),
            values: vec!["2%".to_owned()],
            ..DatasetItem::default()
        };
        let said = |text: &str| EvalAnswer {
            text: text.to_owned(),
            metadata: AnswerMetadata::default(),
            ..EvalAnswer::default()
        };
        EvalResults {
            dataset: "rates".to_owned(),
            configurations: vec![of("old.toml"), of("new.toml")],
            answered: vec![(item, vec![said("It is 2%."), said("<script>alert(1)</script> \u{1b}[31m")])],
        }
    }

    #[test]
    fn a_page_shows_both_answers_and_runs_nothing_of_them() {
        let page = evaluation().html();
        assert!(page.contains("It is 2%.") && page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
        assert!(!page.contains("<script") && !page.contains('\u{1b}') && !page.contains("://"));
        assert!(page.contains("expected values said"));
    }

    #[test]
    fn programs_read_each_answer_and_each_loss() {
        let evaluation = evaluation();
        let lines: Vec<serde_json::Value> =
            evaluation.jsonl().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[1]["configuration"], "new.toml");
        assert_eq!(lines[1]["scores"]["values_right"]["sum"], 0.0);
        let suites = evaluation.junit();
        assert!(suites.contains("name=\"a&lt;b\"") && suites.contains("<failure"), "{suites}");
        assert_eq!(evaluation.mean(EvalMetric::ValuesRight, 0), Some(1.0));
    }
}
