//! How well a chat model answers here: questions that ship with ibid, each with the texts that a search would bring, through the
//! same graph and the same check as any other turn; and how fast it reads and writes.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use ibid_assistants::definition::{GraphKind, Mode};
use ibid_assistants::{Ports, SHIPPED, assistant_graph};
use ibid_core::answer::QuoteMatch;
use ibid_core::evidence::{DocumentId, DocumentName, Evidence, EvidenceError, Index, Passage, Question};
use ibid_core::model::ChatModel;
use ibid_core::{Message, RunId, Scope, Tenant, ThreadId, TurnInput, TurnOptions};
use ibid_graph::{NoJournal, RunHost, run};
use ibid_models::Chat;
use serde::Deserialize;

use crate::error::Error;

/// Answers need not be longer.
const ANSWER: usize = 200;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bench {
    texts: Vec<Text>,
    questions: Vec<BenchQuestion>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    name: String,
    title: String,
    page: u32,
    text: String,
}

/// A question that ships with ibid.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BenchQuestion {
    /// The question.
    pub question: String,
    /// The texts that a search brings, the one that answers first.
    texts: Vec<String>,
    /// What a right answer says, in one of these ways.
    #[serde(default)]
    right: Vec<String>,
    /// What it does not say before that.
    #[serde(default)]
    wrong: Vec<String>,
    /// Whether the texts do not hold the answer.
    #[serde(default)]
    unknown: bool,
}

static BENCH: LazyLock<Bench> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "the file is compiled in and tested")]
    toml::from_str(include_str!("../questions/bench.toml")).expect("questions that can be read")
});

/// What became of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BenchOutcome {
    /// Right, with a citation that was found.
    Cited,
    /// Right, without one.
    Right,
    /// Wrong, and the check has flagged it.
    Flagged,
    /// Wrong, and nothing was flagged.
    Wrong,
    /// "I don't know", although the texts hold the answer.
    Refused,
}

impl BenchOutcome {
    /// Whether it is right.
    pub fn is_right(self) -> bool {
        matches!(self, Self::Cited | Self::Right)
    }
}

/// A question that was answered.
pub struct BenchAnswer {
    /// What became of it.
    pub outcome: BenchOutcome,
    /// What the model said.
    pub text: String,
    /// How long it took.
    pub took: Duration,
    /// How many tokens the model read.
    pub tokens: u64,
}

/// The questions.
pub fn bench_questions() -> &'static [BenchQuestion] {
    &BENCH.questions
}

/// Asks a model one of them.
///
/// # Errors
/// Fails when the model does not answer.
pub async fn bench_question(chat: &Arc<Chat>, asked: &BenchQuestion) -> Result<BenchAnswer, Error> {
    let shipped = SHIPPED.iter().find(|shipped| shipped.name == "default");
    let shipped = shipped.ok_or_else(|| Error::Missing("the assistant `default`".to_owned()))?;
    let mut assistant = shipped.read().map_err(Error::other)?;
    assistant.definition.modes =
        vec![Mode { name: "bench".to_owned(), graph: GraphKind::Conversational, intent: None }];
    assistant.definition.corpora = Vec::new();
    assistant.definition.limits.answer_tokens = Some(ANSWER);
    let index = Arc::new(Texts::of(asked));
    let (answer, small): (Arc<dyn ChatModel>, Arc<dyn ChatModel>) = (chat.clone(), chat.clone());
    let ports = Ports { answer, small, index, ..Ports::absent() };
    let graph = assistant_graph(assistant, ports).map_err(Error::other)?;
    let input = TurnInput {
        thread: ThreadId::new(),
        run: RunId::new(),
        scope: Scope::of(Tenant::local()),
        history: Vec::new(),
        messages: vec![Message::user(&asked.question)],
        options: TurnOptions::default(),
    };
    let began = Instant::now();
    let mut cursor = graph.start(input).map_err(Error::other)?;
    run(cursor.as_mut(), &mut NoJournal, &RunHost::default()).await.map_err(Error::other)?;
    let answer = cursor.output().pop();
    let answer = answer.ok_or_else(|| Error::Missing("an answer of the model".to_owned()))?;
    let metadata = answer.metadata.map(|metadata| *metadata).unwrap_or_default();
    let cited = metadata.citations.iter().any(|citation| citation.found != QuoteMatch::NotFound);
    let outcome = if asked.is_right(&answer.text, metadata.unanswered) {
        if cited || asked.unknown { BenchOutcome::Cited } else { BenchOutcome::Right }
    } else if metadata.unanswered {
        BenchOutcome::Refused
    } else if metadata.warnings.is_empty() {
        BenchOutcome::Wrong
    } else {
        BenchOutcome::Flagged
    };
    Ok(BenchAnswer { outcome, text: answer.text, took: began.elapsed(), tokens: metadata.usage.input_tokens })
}

impl BenchQuestion {
    fn is_right(&self, answer: &str, unanswered: bool) -> bool {
        if self.unknown {
            return unanswered;
        }
        let answer = plain(answer);
        let place = |text: &String| answer.find(&plain(text));
        let Some(right) = self.right.iter().filter_map(place).min() else { return false };
        self.wrong.iter().filter_map(place).all(|wrong| right < wrong)
    }
}

/// A text by its words, with a space around each: 2% is not in 12%.
fn plain(text: &str) -> String {
    let words = text.to_lowercase().replace(" %", "%");
    let words = words
        .split(|letter: char| !letter.is_alphanumeric() && !"%.".contains(letter))
        .map(|word| word.trim_matches('.'))
        .filter(|word| !word.is_empty());
    // The digits of a code are no value.
    let words = words.filter(|word| !word.contains('.') || word.contains('%'));
    format!(" {} ", words.collect::<Vec<_>>().join(" "))
}

/// The texts of one question, which any search brings.
struct Texts(Vec<Passage>);

impl Texts {
    fn of(asked: &BenchQuestion) -> Self {
        let named = asked.texts.iter().filter_map(|name| BENCH.texts.iter().find(|text| text.name == *name));
        let passages = named.enumerate().filter_map(|(rank, text)| {
            Some(Passage {
                document: DocumentId(text.name.clone()),
                version: String::new(),
                corpus: "bench".parse().ok()?,
                title: text.title.clone(),
                source: text.title.clone(),
                kind: "general".to_owned(),
                language: String::new(),
                page: text.page,
                location: None,
                chunks: (0, 0),
                path: Vec::new(),
                text: text.text.trim().to_owned(),
                places: Vec::new(),
                tables: Vec::new(),
                score: 1.0 / (rank as f32 + 1.0),
                relevance: None,
            })
        });
        Self(passages.collect())
    }
}

#[async_trait]
impl Index for Texts {
    async fn retrieve(&self, _: &Scope, _: &Question) -> Result<Evidence, EvidenceError> {
        Ok(Evidence { passages: self.0.clone() })
    }

    async fn page(&self, _: &Scope, document: &DocumentId, page: u32) -> Result<Vec<Passage>, EvidenceError> {
        let on_page = |passage: &&Passage| passage.document == *document && passage.page == page;
        Ok(self.0.iter().filter(on_page).cloned().collect())
    }

    async fn relevance(&self, _: &Scope, _: &str) -> Result<Option<f32>, EvidenceError> {
        Ok(Some(1.0))
    }

    async fn documents(&self, _: &Scope, _: usize) -> Result<Vec<DocumentName>, EvidenceError> {
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_has_its_texts_and_an_answer_in_the_first() {
        for asked in bench_questions() {
            let texts = Texts::of(asked).0;
            assert_eq!(texts.len(), asked.texts.len(), "{}", asked.question);
            assert_ne!(
                asked.unknown,
                asked.right.iter().any(|right| plain(&texts[0].text).contains(&plain(right)))
            );
        }
    }

    #[test]
    fn the_first_value_counts() {
        let asked = &bench_questions()[1];
        assert!(asked.is_right("The column 2 rate for 8539.52.00 is 20% [1].", false));
        assert!(!asked.is_right("It is 2% in general, and 20% in column 2.", false));
        assert!(bench_questions()[0].is_right("The rate is 2 %.", false));
        assert!(!bench_questions()[10].is_right("It is 100 dollars.", false));
    }
}
