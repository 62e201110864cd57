//! The part of a turn that belongs to the graph `corrective`: its rounds, and the answers that they came to.

use ibid_core::evidence::Passage;
use ibid_core::research::{Answered, Grade, Relevance, ResearchRound, RoundVerdict};
use serde::{Deserialize, Serialize};

use crate::guard::sentences;
use crate::source::{Source, is_same_passage};
use crate::turn::Answer;

/// The rounds of a turn.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct ResearchState {
    /// The rounds so far.
    pub(crate) rounds: Vec<ResearchRound>,
    /// What each round with a verdict came to.
    answers: Vec<(u32, Answer)>,
    /// What was found and is not relevant.
    irrelevant: Vec<Source>,
    /// The search of the web.
    pub(crate) web: WebUse,
    /// What the check of the last draft against its sources came to.
    pub(crate) grounding: GroundingReport,
}

/// What has become of the search of the web.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct WebUse {
    /// Whether a person agrees, if one was asked.
    pub(crate) agreed: Option<bool>,
    /// Whether it was made, or tried.
    pub(crate) is_searched: bool,
}

/// The sentences of a draft that sources do not support, or may not.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct GroundingReport {
    pub(crate) unsupported: Vec<String>,
    pub(crate) not_sure: Vec<String>,
}

/// Whether no sentence of an answer has support.
pub(crate) fn is_unsupported(answer: &Answer, verdict: &RoundVerdict) -> bool {
    let unsupported = verdict.unsupported.len();
    unsupported > 0 && unsupported >= sentences(&answer.checked.answer).count()
}

impl ResearchState {
    /// Whether nothing was researched.
    pub(crate) fn is_empty(&self) -> bool {
        self.rounds.is_empty()
    }

    /// A search begins a round.
    pub(crate) fn begin_round(&mut self, searched: &[String]) {
        let round = u32::try_from(self.rounds.len()).unwrap_or(u32::MAX).saturating_add(1);
        self.rounds.push(ResearchRound { round, searched: searched.to_vec(), ..ResearchRound::default() });
    }

    /// What was found and is of no use.
    pub(crate) fn left_out(&self) -> &[Source] {
        &self.irrelevant
    }

    /// Whether a passage was found to be of no use before.
    pub(crate) fn is_left_out(&self, passage: &Passage) -> bool {
        self.irrelevant.iter().any(|source| is_same_passage(source, passage))
    }

    /// The last number of what was left out: no other source gets it.
    pub(crate) fn last_left_out(&self) -> u32 {
        self.irrelevant.iter().map(|source| source.number).max().unwrap_or_default()
    }

    /// The sources that have no grade yet.
    pub(crate) fn ungraded<'a>(&self, sources: &'a [Source]) -> Vec<&'a Source> {
        let graded = |source: &&Source| self.all_grades().any(|grade| grade.source == source.number);
        sources.iter().filter(|source| !graded(source)).collect()
    }

    fn all_grades(&self) -> impl Iterator<Item = &Grade> {
        self.rounds.iter().flat_map(|round| &round.grades)
    }

    /// Takes the grades of a round, and what is irrelevant out of the sources.
    pub(crate) fn grade(&mut self, sources: &mut Vec<Source>, grades: Vec<Grade>) {
        let is_irrelevant = |source: &Source| {
            let of = |grade: &&Grade| grade.source == source.number;
            grades.iter().find(of).is_some_and(|grade| grade.relevance == Relevance::Irrelevant)
        };
        self.irrelevant.extend(sources.extract_if(.., |source| is_irrelevant(source)));
        if let Some(round) = self.rounds.last_mut() {
            round.grades.extend(grades);
        }
    }

    /// Whether the last search has found something of use.
    pub(crate) fn found_something(&self) -> bool {
        let grades = self.rounds.last().map(|round| round.grades.as_slice()).unwrap_or_default();
        grades.iter().any(|grade| grade.relevance != Relevance::Irrelevant)
    }

    /// The round that ends, with what the checks made of its draft.
    pub(crate) fn judged(&self, answer: &Answer, answered: Answered, missing: String) -> ResearchRound {
        let GroundingReport { unsupported, not_sure } = self.grounding.clone();
        let verdict = RoundVerdict { unsupported, not_sure, answered, missing };
        let draft = if verdict.is_accepted() { String::new() } else { answer.text.clone() };
        ResearchRound { draft, verdict: Some(verdict), ..self.rounds.last().cloned().unwrap_or_default() }
    }

    /// Takes the verdict on a draft.
    pub(crate) fn end_round(&mut self, round: ResearchRound, answer: Option<&Answer>) {
        self.answers.extend(answer.map(|answer| (round.round, answer.clone())));
        self.grounding = GroundingReport::default();
        if let Some(last) = self.rounds.last_mut() {
            *last = round;
        }
    }

    /// Whether the last draft can be given as it is.
    pub(crate) fn is_accepted(&self) -> bool {
        let verdict = self.rounds.last().and_then(|round| round.verdict.as_ref());
        verdict.is_some_and(RoundVerdict::is_accepted)
    }

    /// The answer that is best by its verdict, with that; the later one of two that are as good.
    pub(crate) fn best(&self) -> Option<(&Answer, &RoundVerdict)> {
        let judged = self.answers.iter().filter_map(|(number, answer)| {
            let round = self.rounds.iter().find(|round| round.round == *number)?;
            Some((answer, round.verdict.as_ref()?))
        });
        judged.max_by_key(|(answer, verdict)| {
            let answers = !answer.unanswered && verdict.answered != Answered::No;
            let faults = verdict.unsupported.len() * 2 + verdict.not_sure.len();
            let holds_in_part = !is_unsupported(answer, verdict);
            (verdict.is_accepted(), holds_in_part, answers, std::cmp::Reverse(faults))
        })
    }

    /// What was wrong with the drafts so far, for whoever searches again.
    pub(crate) fn faults(&self) -> Vec<String> {
        let verdicts = self.rounds.iter().filter_map(|round| round.verdict.as_ref());
        let mut faults = Vec::new();
        for verdict in verdicts {
            faults.extend(Some(verdict.missing.clone()).filter(|missing| !missing.is_empty()));
            faults.extend(verdict.unsupported.iter().cloned());
        }
        faults
    }
}
