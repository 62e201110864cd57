//! What one answer comes to. Nobody is asked: it is measured from what the answer carries.

use std::collections::BTreeMap;

use ibid_core::AnswerMetadata;
use ibid_core::answer::{Citation, QuoteMatch, WarningKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::dataset::{DatasetItem, ExpectedPage};
use crate::metric::EvalMetric;

/// From here on, a model for grounding is taken to say that a text supports a statement.
const SUPPORTED: f32 = 0.5;

/// An answer to a question of a dataset.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct EvalAnswer {
    /// The answer in words.
    pub text: String,
    /// Everything that it carries.
    pub metadata: AnswerMetadata,
    /// Why there is none, if the turn failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long the turn took; not known if a process left it.
    pub took_ms: Option<u64>,
    /// How long it took to the first word.
    pub first_word_ms: Option<u64>,
    /// What it cost in dollars, if prices are known.
    pub cost: Option<f64>,
    /// How sure a model is that the answer says each of the expected facts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<f32>,
    /// What a judge thinks of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judgement: Option<Judgement>,
}

/// What a judge thinks of an answer, and which judge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// What it thinks.
    pub verdict: JudgeVerdict,
    /// Why, in its words.
    pub reason: String,
    /// The name of its model.
    pub model: String,
    /// The SHA-256 of what it was told.
    pub prompt: String,
}

/// What a judge thinks of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JudgeVerdict {
    /// It is right.
    Right,
    /// It is right in part.
    Partly,
    /// It is wrong.
    Wrong,
}

/// A sum, and of how many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// The sum.
    pub sum: f64,
    /// Of how many.
    pub of: f64,
}

impl Share {
    /// One figure.
    pub const fn one(figure: f64) -> Self {
        Self { sum: figure, of: 1.0 }
    }

    /// So many of so many; nothing if there are none.
    fn part(part: usize, whole: usize) -> Option<Self> {
        (whole > 0).then_some(Self { sum: part as f64, of: whole as f64 })
    }

    /// The mean.
    pub fn mean(self) -> Option<f64> {
        (self.of > 0.0).then(|| self.sum / self.of)
    }
}

impl std::ops::AddAssign for Share {
    fn add_assign(&mut self, other: Self) {
        self.sum += other.sum;
        self.of += other.of;
    }
}

/// What was measured of an answer. What could not be measured is left out.
pub type Scores = BTreeMap<EvalMetric, Share>;

/// Measures an answer to a question of a dataset.
pub fn score(item: &DatasetItem, answer: &EvalAnswer) -> Scores {
    let mut scores = Scores::new();
    let mut add = |metric, share: Option<Share>| scores.extend(share.map(|share| (metric, share)));
    let metadata = &answer.metadata;
    let refused = metadata.unanswered || metadata.withheld;
    let sources =
        || metadata.sources.iter().map(|source| (&source.document_id, source.title.as_deref(), source.page));
    let cited = |citation: &Citation, page: &ExpectedPage| {
        citation.found != QuoteMatch::NotFound
            && is_page(page, &citation.document_id, Some(&citation.title), citation.page)
    };
    let is_found =
        |page: &&ExpectedPage| sources().any(|(id, title, number)| is_page(page, id, title, number));
    let is_cited = |page: &&ExpectedPage| metadata.citations.iter().any(|citation| cited(citation, page));
    add(EvalMetric::PageRecall, Share::part(item.pages.iter().filter(is_found).count(), item.pages.len()));
    add(EvalMetric::PagesCited, Share::part(item.pages.iter().filter(is_cited).count(), item.pages.len()));
    if !item.pages.is_empty() {
        let first = sources()
            .position(|(id, title, number)| item.pages.iter().any(|page| is_page(page, id, title, number)));
        add(EvalMetric::PageRank, Some(Share::one(first.map_or(0.0, |rank| 1.0 / (rank as f64 + 1.0)))));
    }
    let said = plain(&answer.text);
    let is_said = |value: &&String| !refused && said.contains(&plain(value));
    add(EvalMetric::ValuesRight, Share::part(item.values.iter().filter(is_said).count(), item.values.len()));
    let held = answer.facts.iter().filter(|sure| !refused && **sure >= SUPPORTED).count();
    add(EvalMetric::FactsRight, Share::part(held, answer.facts.len()));
    if let (Some(should), None) = (item.should_refuse(), &answer.error) {
        let right = usize::from(should && metadata.unanswered);
        add(EvalMetric::RefusalPrecision, Share::part(right, usize::from(metadata.unanswered)));
        add(EvalMetric::RefusalRecall, Share::part(right, usize::from(should)));
    }
    let judged = answer.judgement.as_ref().map(|judgement| match judgement.verdict {
        JudgeVerdict::Right => 1.0,
        JudgeVerdict::Partly => 0.5,
        JudgeVerdict::Wrong => 0.0,
    });
    add(EvalMetric::Judged, judged.map(Share::one));
    let wants_fields = item.format.as_deref().is_some_and(|format| format != "text");
    if wants_fields && !refused {
        add(EvalMetric::FormsValid, Share::part(usize::from(metadata.structured.is_some()), 1));
    }
    scores.extend(score_live(answer));
    scores
}

/// Measures an answer of which nothing is known but what it carries: what can be measured of every turn as it comes.
fn score_live(answer: &EvalAnswer) -> Scores {
    let mut scores = Scores::new();
    let mut add = |metric, share: Option<Share>| scores.extend(share.map(|share| (metric, share)));
    let metadata = &answer.metadata;
    add(EvalMetric::Failed, Share::part(usize::from(answer.error.is_some()), 1));
    add(EvalMetric::Seconds, answer.took_ms.map(seconds));
    add(EvalMetric::FirstWord, answer.first_word_ms.map(seconds));
    add(EvalMetric::Cost, answer.cost.map(Share::one));
    if answer.error.is_some() {
        return scores;
    }
    let tokens = metadata.usage.input_tokens + metadata.usage.output_tokens;
    add(EvalMetric::Tokens, Some(Share::one(tokens as f64)));
    if metadata.unanswered || metadata.withheld {
        return scores;
    }
    let quoted: Vec<QuoteMatch> = metadata
        .citations
        .iter()
        .map(|one| one.found)
        .filter(|found| *found != QuoteMatch::Unquoted)
        .collect();
    for (metric, found) in [
        (EvalMetric::CitationsExact, QuoteMatch::Exact),
        (EvalMetric::CitationsFuzzy, QuoteMatch::Fuzzy),
        (EvalMetric::CitationsNotFound, QuoteMatch::NotFound),
    ] {
        add(metric, Share::part(quoted.iter().filter(|one| **one == found).count(), quoted.len()));
    }
    // What was said without looking anything up needs no citation.
    if !metadata.sources.is_empty() {
        add(EvalMetric::Uncited, Share::part(usize::from(metadata.citations.is_empty()), 1));
    }
    let warned = |is: fn(WarningKind) -> bool| {
        Share::one(metadata.warnings.iter().filter(|warning| is(warning.kind)).count() as f64)
    };
    add(EvalMetric::UnsupportedValues, Some(warned(is_about_a_value)));
    add(EvalMetric::UnsupportedSentences, Some(warned(|kind| kind == WarningKind::Unsupported)));
    scores
}

fn seconds(milliseconds: u64) -> Share {
    Share::one(milliseconds as f64 / 1000.0)
}

/// Whether a warning is about a value that its sources do not support.
pub fn is_about_a_value(kind: WarningKind) -> bool {
    use WarningKind as Kind;
    matches!(
        kind,
        Kind::ValueNotFound
            | Kind::WrongColumn
            | Kind::WrongRow
            | Kind::WrongPeriod
            | Kind::WrongUnit
            | Kind::WrongArithmetic
    )
}

fn is_page(expected: &ExpectedPage, id: &str, title: Option<&str>, page: Option<u32>) -> bool {
    let is_document = id == expected.document || title.is_some_and(|title| title == expected.document);
    is_document && page == Some(expected.page)
}

/// A text by its words, with a space around each: 2% is not in 12%.
fn plain(text: &str) -> String {
    let text = text.to_lowercase().replace(" %", "%");
    let words = text
        .split(|letter: char| !letter.is_alphanumeric() && !"%.,".contains(letter))
        .map(|word| word.trim_matches(['.', ',']))
        .filter(|word| !word.is_empty());
    format!(" {} ", words.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use ibid_core::answer::{SourceInfo, Warning};

    use super::*;

    fn source(number: u32, page: u32) -> SourceInfo {
        SourceInfo {
            number,
            document_id: "chapter-85".to_owned(),
            document_type: "tariff".to_owned(),
            title: Some("Chapter 85".to_owned()),
            page: Some(page),
            location: None,
            section: None,
            score: None,
        }
    }

    fn citation(page: u32, found: QuoteMatch) -> Citation {
        let text = String::new;
        Citation {
            source: 1,
            document_id: "chapter-85".to_owned(),
            document_type: text(),
            title: "Chapter 85".to_owned(),
            page: Some(page),
            location: None,
            snippet: text(),
            found,
            boxes: Vec::new(),
            content_hash: text(),
            attributed: false,
            retrieved_at: None,
            quoted: text(),
        }
    }

    fn asked() -> DatasetItem {
        DatasetItem {
            question: "What is the rate?".to_owned(),
            pages: vec![
                ExpectedPage { document: "Chapter 85".to_owned(), page: 7 },
                ExpectedPage { document: "chapter-85".to_owned(), page: 9 },
            ],
            values: vec!["2%".to_owned(), "8539.52.00".to_owned()],
            ..DatasetItem::default()
        }
    }

    fn mean(scores: &Scores, metric: EvalMetric) -> Option<f64> {
        scores.get(&metric).and_then(|share| share.mean())
    }

    #[test]
    fn an_answer_is_measured_by_pages_values_and_citations() {
        let mut metadata = AnswerMetadata {
            sources: vec![source(1, 3), source(2, 7)],
            citations: vec![citation(7, QuoteMatch::Exact), citation(9, QuoteMatch::NotFound)],
            warnings: vec![Warning {
                kind: WarningKind::WrongRow,
                text: String::new(),
                about: None,
                cells: Vec::new(),
            }],
            ..AnswerMetadata::default()
        };
        let mut answer = EvalAnswer {
            text: "The rate of 8539.52.00 is 12 %, not 2.".to_owned(),
            metadata: metadata.clone(),
            took_ms: Some(1500),
            ..EvalAnswer::default()
        };
        let scores = score(&asked(), &answer);
        for (metric, expected) in [
            (EvalMetric::PageRecall, Some(0.5)),
            (EvalMetric::PageRank, Some(0.5)),
            (EvalMetric::PagesCited, Some(0.5)),
            (EvalMetric::ValuesRight, Some(0.5)),
            (EvalMetric::CitationsExact, Some(0.5)),
            (EvalMetric::CitationsNotFound, Some(0.5)),
            (EvalMetric::UnsupportedValues, Some(1.0)),
            (EvalMetric::RefusalPrecision, None),
            (EvalMetric::RefusalRecall, None),
            (EvalMetric::Seconds, Some(1.5)),
            (EvalMetric::Uncited, Some(0.0)),
            (EvalMetric::FormsValid, None),
        ] {
            assert_eq!(mean(&scores, metric), expected, "{metric:?}");
        }
        metadata.unanswered = true;
        answer.metadata = metadata;
        let refused = score(&asked(), &answer);
        assert_eq!(mean(&refused, EvalMetric::RefusalPrecision), Some(0.0));
        assert_eq!(mean(&refused, EvalMetric::ValuesRight), Some(0.0));
        assert_eq!(mean(&refused, EvalMetric::CitationsExact), None);
        let unknown = DatasetItem { refusal: Some(true), ..DatasetItem::default() };
        assert_eq!(mean(&score(&unknown, &answer), EvalMetric::RefusalRecall), Some(1.0));
    }

    #[test]
    fn a_turn_that_failed_is_measured_by_what_is_expected() {
        let answer = EvalAnswer { error: Some("no model".to_owned()), ..EvalAnswer::default() };
        let scores = score(&asked(), &answer);
        assert_eq!(mean(&scores, EvalMetric::Failed), Some(1.0));
        assert_eq!(mean(&scores, EvalMetric::ValuesRight), Some(0.0));
        assert_eq!(mean(&scores, EvalMetric::Tokens), None);
    }
}
