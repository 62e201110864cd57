//! Tells two configurations apart by what was measured of their answers, with the spread of each difference.
//!
//! Questions are drawn again and again with replacement, and the difference is taken each time; where the questions are the
//! same for both, both answers to a question are drawn together. The interval holds for all metrics at once: it is wider
//! the more of them there are, so that among many figures that do not differ, none seems to.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use schemars::JsonSchema;
use serde::Serialize;

use crate::metric::{Direction, EvalMetric};
use crate::score::{Scores, Share};

/// So often questions are drawn.
const DRAWS: usize = 10_000;
/// Of fewer answers nothing is said: they are too few for their spread to be known.
const LEAST_ANSWERS: usize = 20;
/// How often, of all comparisons of two that are alike, any metric may seem to differ.
const FALSE_ALARMS: f64 = 0.05;
/// The same answers give the same figures.
const SEED: u64 = 0x1b1d;

/// What a difference says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonVerdict {
    /// The candidate is better, by more than the spread.
    Better,
    /// It is worse, by more than the spread.
    Worse,
    /// The interval of the difference holds 0.
    Same,
    /// It is only told, or was measured of one of them alone or of too few answers.
    Inconclusive,
}

impl ComparisonVerdict {
    /// As it is shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "same",
            Self::Inconclusive => "",
        }
    }
}

/// One metric of two configurations.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MetricComparison {
    /// What was measured.
    pub metric: EvalMetric,
    /// Of the first configuration.
    pub baseline: Option<f64>,
    /// Of the second.
    pub candidate: Option<f64>,
    /// The second less the first.
    pub difference: Option<f64>,
    /// Where that lies, with its spread.
    pub interval: Option<(f64, f64)>,
    /// What it says.
    pub verdict: ComparisonVerdict,
}

/// Whether the candidate is worse in any metric, by more than its spread.
pub fn is_worse(compared: &[MetricComparison]) -> bool {
    compared.iter().any(|one| one.verdict == ComparisonVerdict::Worse)
}

/// Compares two configurations that were asked the same questions: the scores of both for each question.
pub fn compare(pairs: &[(Scores, Scores)]) -> Vec<MetricComparison> {
    let (baseline, candidate): (Vec<&Scores>, Vec<&Scores>) =
        pairs.iter().map(|(one, other)| (one, other)).unzip();
    compared(&baseline, &candidate, |random| {
        let drawn: Vec<usize> = (0..pairs.len()).map(|_| random.random_range(0..pairs.len())).collect();
        (drawn.clone(), drawn)
    })
}

/// Compares two that were asked different questions, as two parts of the same traffic.
pub fn compare_groups(baseline: &[Scores], candidate: &[Scores]) -> Vec<MetricComparison> {
    let draw = |random: &mut StdRng, count: usize| -> Vec<usize> {
        (0..count).map(|_| random.random_range(0..count)).collect()
    };
    compared(&baseline.iter().collect::<Vec<_>>(), &candidate.iter().collect::<Vec<_>>(), |random| {
        (draw(random, baseline.len()), draw(random, candidate.len()))
    })
}

fn compared(
    baseline: &[&Scores],
    candidate: &[&Scores],
    mut draw: impl FnMut(&mut StdRng) -> (Vec<usize>, Vec<usize>),
) -> Vec<MetricComparison> {
    let (baseline, candidate) = (Table::of(baseline), Table::of(candidate));
    let measured = |metric: &EvalMetric| baseline.has(*metric) || candidate.has(*metric);
    let metrics: Vec<EvalMetric> = EvalMetric::ALL.into_iter().filter(measured).collect();
    let both = |metric: EvalMetric| {
        baseline.answers(metric) >= LEAST_ANSWERS && candidate.answers(metric) >= LEAST_ANSWERS
    };
    let judged =
        metrics.iter().filter(|metric| metric.direction() != Direction::Neutral && both(**metric)).count();
    let mut drawn: Vec<Vec<f64>> = vec![Vec::new(); metrics.len()];
    if judged > 0 {
        let mut random = StdRng::seed_from_u64(SEED);
        for _ in 0..DRAWS {
            let (first, second) = draw(&mut random);
            for (metric, differences) in metrics.iter().zip(&mut drawn) {
                let means = (baseline.mean(*metric, &first), candidate.mean(*metric, &second));
                differences.extend(means.0.zip(means.1).map(|(one, other)| other - one));
            }
        }
    }
    let tail = FALSE_ALARMS / 2.0 / judged.max(1) as f64;
    let each = metrics.into_iter().zip(drawn);
    each.map(|(metric, mut differences)| {
        let means = (baseline.total(metric), candidate.total(metric));
        differences.sort_by(f64::total_cmp);
        let interval = both(metric).then(|| between(&differences, tail)).flatten();
        MetricComparison {
            metric,
            baseline: means.0,
            candidate: means.1,
            difference: means.0.zip(means.1).map(|(one, other)| other - one),
            interval,
            verdict: interval
                .map_or(ComparisonVerdict::Inconclusive, |interval| verdict(metric.direction(), interval)),
        }
    })
    .collect()
}

/// Where all but a part at each end of sorted figures lie.
fn between(sorted: &[f64], tail: f64) -> Option<(f64, f64)> {
    let at = (sorted.len() as f64 * tail).floor() as usize;
    Some((*sorted.get(at)?, *sorted.get(sorted.len().checked_sub(at + 1)?)?))
}

fn verdict(direction: Direction, (low, high): (f64, f64)) -> ComparisonVerdict {
    let is_more = low > 0.0;
    if low <= 0.0 && high >= 0.0 {
        return if direction == Direction::Neutral {
            ComparisonVerdict::Inconclusive
        } else {
            ComparisonVerdict::Same
        };
    }
    match direction {
        Direction::Up if is_more => ComparisonVerdict::Better,
        Direction::Down if !is_more => ComparisonVerdict::Better,
        Direction::Neutral => ComparisonVerdict::Inconclusive,
        Direction::Up | Direction::Down => ComparisonVerdict::Worse,
    }
}

/// The scores of many answers, by metric, so that they can be summed quickly.
struct Table(Vec<Vec<Share>>);

impl Table {
    fn of(scores: &[&Scores]) -> Self {
        let column = |metric: EvalMetric| {
            scores.iter().map(|one| one.get(&metric).copied().unwrap_or_default()).collect::<Vec<Share>>()
        };
        Self(EvalMetric::ALL.into_iter().map(column).collect())
    }

    fn column(&self, metric: EvalMetric) -> &[Share] {
        let at = EvalMetric::ALL.iter().position(|one| *one == metric);
        at.map_or(&[], |at| self.0[at].as_slice())
    }

    fn has(&self, metric: EvalMetric) -> bool {
        self.answers(metric) > 0
    }

    /// Of how many answers it was measured.
    fn answers(&self, metric: EvalMetric) -> usize {
        self.column(metric).iter().filter(|share| share.of > 0.0).count()
    }

    fn total(&self, metric: EvalMetric) -> Option<f64> {
        sum(self.column(metric).iter()).mean()
    }

    fn mean(&self, metric: EvalMetric, drawn: &[usize]) -> Option<f64> {
        let column = self.column(metric);
        sum(drawn.iter().map(|at| &column[*at])).mean()
    }
}

fn sum<'a>(shares: impl Iterator<Item = &'a Share>) -> Share {
    shares.fold(Share::default(), |mut all, one| {
        all += *one;
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(right: bool, took: f64) -> Scores {
        [
            (EvalMetric::ValuesRight, Share::one(f64::from(u8::from(right)))),
            (EvalMetric::Seconds, Share::one(took)),
        ]
        .into()
    }

    fn of(compared: &[MetricComparison], metric: EvalMetric) -> &MetricComparison {
        compared.iter().find(|one| one.metric == metric).unwrap()
    }

    #[test]
    fn a_loss_is_told_and_a_single_slip_is_not() {
        let pairs = |lost: usize| -> Vec<(Scores, Scores)> {
            (0..100)
                .map(|at| (scores(at % 5 != 0, 1.0), scores(at % 5 != 0 && at % 10 >= lost, 1.0)))
                .collect()
        };
        let worse = compare(&pairs(3));
        let values = of(&worse, EvalMetric::ValuesRight);
        assert_eq!((values.baseline, values.candidate), (Some(0.8), Some(0.6)));
        assert_eq!(values.verdict, ComparisonVerdict::Worse);
        assert!(is_worse(&worse));
        assert_eq!(of(&worse, EvalMetric::Seconds).verdict, ComparisonVerdict::Same);
        let mut one = pairs(0);
        one[1].1 = scores(false, 1.0);
        assert!(!is_worse(&compare(&one)));
        assert_eq!(compare(&pairs(3)), worse, "the same answers give the same figures");
    }

    #[test]
    fn two_that_are_alike_are_rarely_told_apart() {
        let mut random = StdRng::seed_from_u64(7);
        let mut alarms = 0;
        for _ in 0..20 {
            let mut any = || scores(random.random_bool(0.8), random.random_range(1.0..3.0));
            let pairs: Vec<(Scores, Scores)> = (0..60).map(|_| (any(), any())).collect();
            alarms += usize::from(compare(&pairs).iter().any(|one| one.verdict != ComparisonVerdict::Same));
        }
        assert!(alarms <= 2, "{alarms} of 20");
    }

    #[test]
    fn groups_of_different_questions_are_compared_too() {
        let group = |count: usize, took: f64| -> Vec<Scores> {
            (0..count).map(|at| scores(true, took + (at % 7) as f64 / 10.0)).collect()
        };
        let compared = compare_groups(&group(80, 1.0), &group(20, 2.0));
        assert_eq!(of(&compared, EvalMetric::Seconds).verdict, ComparisonVerdict::Worse);
        assert_eq!(of(&compared, EvalMetric::ValuesRight).verdict, ComparisonVerdict::Same);
    }

    #[test]
    fn nothing_is_said_of_few_answers_or_of_what_only_one_of_them_has() {
        let mut with = scores(true, 1.0);
        with.insert(EvalMetric::Judged, Share::one(1.0));
        let compared = compare(&[(scores(true, 1.0), with)]);
        assert_eq!(of(&compared, EvalMetric::Judged).verdict, ComparisonVerdict::Inconclusive);
        let few: Vec<(Scores, Scores)> = (0..19).map(|_| (scores(true, 1.0), scores(false, 9.0))).collect();
        assert!(
            compare(&few)
                .iter()
                .all(|one| one.verdict == ComparisonVerdict::Inconclusive && one.interval.is_none())
        );
        assert_eq!(compare(&[]), Vec::new());
    }
}
