//! What came of many turns: answers, costs, latencies, refusals, warnings and verdicts over time, by assistant and model.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use ibid_core::answer::{AnswerOutcome, WarningKind};
use ibid_core::model::TokenPrices;
use ibid_core::{RunStatus, Scope};
use ibid_engine::{FactsRange, TurnFacts};
use ibid_evals::{EvalMetric, MetricComparison, Scores, Share, compare_groups, is_about_a_value};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::App;
use crate::error::Error;

/// So many turns are looked at, the newest ones.
const MOST_TURNS: usize = 100_000;
/// So many turns of each are compared, the newest ones.
const MOST_COMPARED: usize = 2000;
/// A time is divided into about so many pieces.
const PIECES: u64 = 48;
/// And into pieces no shorter than this.
const SHORTEST: Duration = Duration::from_secs(300);

/// What came of the turns in some time.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Insights {
    /// How long each piece of the time is, in seconds.
    pub bucket_seconds: u64,
    /// Of everything together.
    pub total: TurnTotals,
    /// Of each piece of the time, by its beginning in seconds since 1970; pieces without turns are left out.
    pub over_time: BTreeMap<u64, TurnTotals>,
    /// Of each assistant.
    pub by_assistant: BTreeMap<String, TurnTotals>,
    /// What each model used.
    pub by_model: BTreeMap<String, ModelTotals>,
    /// How often the guard found each kind of fault.
    pub warnings: BTreeMap<String, u64>,
    /// Whether there were more turns than were looked at.
    pub truncated: bool,
}

/// What some turns come to.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct TurnTotals {
    /// How many there are.
    pub turns: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those that were answered with citations.
    pub cited: u64,
    /// Those that were answered without any.
    pub uncited: u64,
    /// Those that were given an earlier answer again.
    pub cached: u64,
    /// Those whose answer the documents did not hold.
    pub unanswered: u64,
    /// Those whose answer the guard withheld.
    pub withheld: u64,
    /// Those whose answer has warnings.
    pub warned: u64,
    /// Those that somebody found good.
    pub good: u64,
    /// Those that somebody found bad.
    pub bad: u64,
    /// Tokens that models read.
    pub input_tokens: u64,
    /// Tokens that models wrote.
    pub output_tokens: u64,
    /// What they cost in dollars, as far as prices are known.
    pub cost: f64,
    /// The median of how long they took, in milliseconds.
    pub median_ms: Option<u64>,
    /// What one in twenty took longer than.
    pub p95_ms: Option<u64>,
    /// The median of how long they took to the first word.
    pub first_word_ms: Option<u64>,
    #[serde(skip)]
    times: Vec<u64>,
    #[serde(skip)]
    first_words: Vec<u64>,
}

/// What a model used.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct ModelTotals {
    /// In how many turns it was asked.
    pub turns: u64,
    /// Tokens that it read.
    pub input_tokens: u64,
    /// Tokens that it wrote.
    pub output_tokens: u64,
    /// What they cost in dollars, if its prices are known.
    pub cost: Option<f64>,
}

/// What tokens cost, by the name of the model.
pub(crate) type Prices = BTreeMap<String, TokenPrices>;

impl App {
    /// What came of the turns of a tenant in some time, of one assistant or of all.
    ///
    /// # Errors
    /// Fails when the engine does.
    pub async fn insights(
        &self,
        scope: &Scope,
        from: SystemTime,
        to: SystemTime,
        assistant: Option<String>,
    ) -> Result<Insights, Error> {
        let range = FactsRange { assistant, at_most: MOST_TURNS, ..FactsRange::between(from, to) };
        let turns = self.engine()?.turn_facts(scope, range).await?;
        let piece = (to.duration_since(from).unwrap_or_default().as_secs() / PIECES).max(SHORTEST.as_secs());
        Ok(insights(&turns, piece, &self.prices()))
    }

    /// What tokens cost, by the name of the model; those whose prices are not known are left out.
    pub(crate) fn prices(&self) -> Prices {
        let models = self.info().models.iter();
        let priced = models.filter_map(|model| {
            Some((model.name.clone(), TokenPrices::known(model.input_price, model.output_price)?))
        });
        priced.collect()
    }

    /// How another assistant differs from one in the turns of some time: what was measured of every turn as it came, with the
    /// spread of each difference.
    ///
    /// # Errors
    /// Fails when the engine does.
    pub async fn compare_assistants(
        &self,
        scope: &Scope,
        range: FactsRange,
        with: &str,
    ) -> Result<Vec<MetricComparison>, Error> {
        let mut groups = Vec::new();
        for assistant in [range.assistant.clone().unwrap_or_default(), with.to_owned()] {
            let range = FactsRange { assistant: Some(assistant), at_most: MOST_COMPARED, ..range.clone() };
            let turns = self.engine()?.turn_facts(scope, range).await?;
            let prices = self.prices();
            groups.push(turns.iter().map(|turn| scores_of(turn, &prices)).collect::<Vec<Scores>>());
        }
        let compared = tokio::task::spawn_blocking(move || compare_groups(&groups[0], &groups[1])).await;
        compared.map_err(Error::other)
    }
}

fn insights(turns: &[TurnFacts], bucket_seconds: u64, prices: &Prices) -> Insights {
    let mut insights = Insights {
        bucket_seconds,
        total: TurnTotals::default(),
        over_time: BTreeMap::new(),
        by_assistant: BTreeMap::new(),
        by_model: BTreeMap::new(),
        warnings: BTreeMap::new(),
        truncated: turns.len() >= MOST_TURNS,
    };
    for turn in turns {
        let ended = turn.ended.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        insights.total.add(turn, prices);
        insights.over_time.entry(ended - ended % bucket_seconds).or_default().add(turn, prices);
        insights.by_assistant.entry(turn.assistant.clone()).or_default().add(turn, prices);
        for (model, (read, written)) in &turn.measures.usage {
            let totals = insights.by_model.entry(model.clone()).or_default();
            totals.turns += 1;
            totals.input_tokens += read;
            totals.output_tokens += written;
            totals.cost =
                prices.get(model).map(|prices| prices.cost(totals.input_tokens, totals.output_tokens));
        }
        for kind in &turn.measures.warnings {
            *insights.warnings.entry(WarningKind::as_str(*kind).to_owned()).or_default() += 1;
        }
    }
    insights.total.finish();
    insights.over_time.values_mut().chain(insights.by_assistant.values_mut()).for_each(TurnTotals::finish);
    insights
}

/// What a turn cost in dollars, if it asked models and the prices of all of them are known.
pub(crate) fn cost_of(turn: &TurnFacts, prices: &Prices) -> Option<f64> {
    let usage = &turn.measures.usage;
    let mut costs = usage
        .iter()
        .map(|(model, (read, written))| prices.get(model).map(|prices| prices.cost(*read, *written)));
    costs.try_fold(0.0, |all, cost| Some(all + cost?)).filter(|_| !usage.is_empty())
}

/// What was measured of a turn, as it is of an answer to a question of a dataset.
fn scores_of(turn: &TurnFacts, prices: &Prices) -> Scores {
    let mut scores = Scores::new();
    let mut add = |metric, share: Option<Share>| scores.extend(share.map(|share| (metric, share)));
    let measures = &turn.measures;
    let flag = |is: bool| Some(Share::one(f64::from(u8::from(is))));
    let seconds = |milliseconds: u64| Share::one(milliseconds as f64 / 1000.0);
    add(EvalMetric::Cost, cost_of(turn, prices).map(Share::one));
    add(EvalMetric::Failed, flag(turn.status == RunStatus::Failed));
    add(EvalMetric::Seconds, measures.took_ms.map(seconds));
    add(EvalMetric::FirstWord, measures.first_word_ms.map(seconds));
    if !measures.usage.is_empty() {
        let tokens: u64 = measures.usage.values().map(|(read, written)| read + written).sum();
        add(EvalMetric::Tokens, Some(Share::one(tokens as f64)));
    }
    let rated = turn.good + turn.bad;
    let liked = Share { sum: f64::from(turn.good), of: f64::from(rated) };
    add(EvalMetric::Liked, (rated > 0).then_some(liked));
    let Some(outcome) = measures.outcome else { return scores };
    add(EvalMetric::Refused, flag(outcome == AnswerOutcome::Unanswered));
    if matches!(outcome, AnswerOutcome::Cited | AnswerOutcome::Uncited) {
        let quoted = f64::from(measures.quotes.iter().sum::<u32>());
        let metrics = [EvalMetric::CitationsExact, EvalMetric::CitationsFuzzy, EvalMetric::CitationsNotFound];
        for (metric, count) in metrics.into_iter().zip(measures.quotes) {
            add(metric, (quoted > 0.0).then_some(Share { sum: f64::from(count), of: quoted }));
        }
        let warned = |is: fn(WarningKind) -> bool| {
            Some(Share::one(measures.warnings.iter().filter(|kind| is(**kind)).count() as f64))
        };
        add(EvalMetric::UnsupportedValues, warned(is_about_a_value));
        add(EvalMetric::UnsupportedSentences, warned(|kind| kind == WarningKind::Unsupported));
    }
    scores
}

impl TurnTotals {
    fn add(&mut self, turn: &TurnFacts, prices: &Prices) {
        let measures = &turn.measures;
        self.turns += 1;
        self.failed += u64::from(turn.status == RunStatus::Failed);
        match measures.outcome {
            Some(AnswerOutcome::Cited) => self.cited += 1,
            Some(AnswerOutcome::Uncited) => self.uncited += 1,
            Some(AnswerOutcome::Cached) => self.cached += 1,
            Some(AnswerOutcome::Unanswered) => self.unanswered += 1,
            Some(AnswerOutcome::Withheld) => self.withheld += 1,
            Some(AnswerOutcome::Partial) | None => {}
        }
        self.warned += u64::from(!measures.warnings.is_empty());
        self.good += u64::from(turn.good > 0);
        self.bad += u64::from(turn.bad > 0);
        for (model, (read, written)) in &measures.usage {
            self.input_tokens += read;
            self.output_tokens += written;
            self.cost += prices.get(model).map_or(0.0, |prices| prices.cost(*read, *written));
        }
        self.times.extend(measures.took_ms);
        self.first_words.extend(measures.first_word_ms);
    }

    fn finish(&mut self) {
        self.times.sort_unstable();
        self.first_words.sort_unstable();
        self.median_ms = quantile(&self.times, 50);
        self.p95_ms = quantile(&self.times, 95);
        self.first_word_ms = quantile(&self.first_words, 50);
    }
}

/// What so many of a hundred are not above, of sorted figures.
fn quantile(sorted: &[u64], percent: usize) -> Option<u64> {
    sorted.get((sorted.len() * percent).div_ceil(100).saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use ibid_core::{RunId, ThreadId};
    use ibid_engine::TurnMeasures;

    use super::*;

    fn turn(second: u64, assistant: &str, outcome: AnswerOutcome, took_ms: u64) -> TurnFacts {
        TurnFacts {
            run: Some(RunId::new()),
            thread: Some(ThreadId::new()),
            title: "a question".to_owned(),
            assistant: assistant.to_owned(),
            ended: SystemTime::UNIX_EPOCH + Duration::from_secs(second),
            status: RunStatus::Done,
            measures: TurnMeasures {
                outcome: Some(outcome),
                took_ms: Some(took_ms),
                first_word_ms: Some(took_ms / 2),
                warnings: vec![WarningKind::ValueNotFound; usize::from(outcome == AnswerOutcome::Withheld)],
                rounds: 0,
                quotes: [1, 0, 0],
                usage: [("strong".to_owned(), (1000, 100)), ("small".to_owned(), (10, 1))].into(),
            },
            good: u32::from(outcome == AnswerOutcome::Cited),
            bad: 0,
        }
    }

    #[test]
    fn turns_are_summed_over_time_by_assistant_and_by_model() {
        let turns = [
            turn(0, "a", AnswerOutcome::Cited, 100),
            turn(299, "a", AnswerOutcome::Unanswered, 200),
            turn(300, "b", AnswerOutcome::Withheld, 900),
        ];
        let prices = [("strong".to_owned(), TokenPrices { input: 1.0, output: 10.0 })].into();
        let found = insights(&turns, 300, &prices);
        assert_eq!((found.total.turns, found.total.cited, found.total.unanswered), (3, 1, 1));
        assert_eq!((found.total.warned, found.total.good, found.total.bad), (1, 1, 0));
        assert_eq!((found.total.median_ms, found.total.p95_ms), (Some(200), Some(900)));
        assert_eq!(found.total.first_word_ms, Some(100));
        assert!((found.total.cost - 3.0 * 0.002).abs() < 1e-9, "{}", found.total.cost);
        assert_eq!(
            found.over_time.iter().map(|(at, of)| (*at, of.turns)).collect::<Vec<_>>(),
            [(0, 2), (300, 1)]
        );
        assert_eq!(found.by_assistant["a"].turns, 2);
        assert_eq!((found.by_model["strong"].input_tokens, found.by_model["small"].cost), (3000, None));
        assert_eq!(found.warnings["value_not_found"], 1);
    }

    #[test]
    fn nothing_has_no_latency() {
        let none = insights(&[], 300, &Prices::new());
        assert_eq!((none.total.turns, none.total.median_ms), (0, None));
    }
}
