//! Asks one or two configurations the questions of a dataset. Each question is a turn on an engine of the evaluation's own, so
//! that nothing of it is among the conversations of people, and whatever was answered is not asked again when the evaluation
//! is taken up after an interruption.

mod judge;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use futures_util::{StreamExt, TryStreamExt, stream};
use ibid_core::model::Caller;
use ibid_core::{Message, RunId, Scope, Tenant, ThreadId, TurnEvent};
use ibid_engine::{Engine, FactsRange, Lifetime, MessageWindow, Stop, Turn, TurnFacts, turn_events};
use ibid_evals::report::{EvalResults, Evaluated};
use ibid_evals::{DatasetItem, EvalAnswer, write_dataset};
use serde_json::Map;
use sha2::{Digest, Sha256};

use crate::app::App;
use crate::assistants::AssistantRegistry;
use crate::error::{DoingExt, Error};
use crate::insights::{Prices, cost_of};
use crate::settings::Settings;
use judge::Judge;

/// What is kept of an evaluation in its folder: what was compared.
const PLAN: &str = "plan.json";

/// A configuration that is evaluated.
pub struct EvalCandidate {
    /// What it is called in reports.
    pub name: String,
    /// Its settings.
    pub settings: Settings,
    /// The assistant that is asked.
    pub assistant: String,
}

/// What is evaluated, and where it is kept.
pub struct EvalPlan {
    /// What the dataset is called.
    pub dataset: String,
    /// Its questions.
    pub items: Vec<DatasetItem>,
    /// The configurations: one, or a baseline and a candidate.
    pub candidates: Vec<EvalCandidate>,
    /// The folder in which the evaluation is kept.
    pub folder: PathBuf,
    /// The chat model of the first configuration that judges the answers, if one does.
    pub judge: Option<String>,
    /// How many questions are asked at once.
    pub at_once: usize,
}

/// How far an evaluation is.
#[derive(Debug, Clone, Copy)]
pub struct EvalProgress {
    /// Answers that are there.
    pub done: usize,
    /// All of them.
    pub total: usize,
}

/// One configuration while it is evaluated.
struct OpenCandidate {
    app: App,
    assistant: String,
    scope: Scope,
    digest: String,
    prices: Prices,
}

/// Asks every configuration every question that it has not answered yet, and measures the answers. Both answer a question one
/// after the other, and take turns in being first, so that neither gains from how busy the machine is or from what a model
/// server remembers.
///
/// # Errors
/// Fails when a configuration cannot be opened, or when the folder holds another evaluation. A turn that fails is an answer.
pub async fn evaluate(
    plan: &EvalPlan,
    progress: &(dyn Fn(EvalProgress) + Sync),
) -> Result<EvalResults, Error> {
    let digests: Result<Vec<String>, Error> = plan.candidates.iter().map(digest).collect();
    let configurations: Vec<Evaluated> = (plan.candidates.iter().zip(digests?))
        .map(|(of, digest)| Evaluated { name: of.name.clone(), assistant: of.assistant.clone(), digest })
        .collect();
    claim(plan, &configurations)?;
    let mut candidates = Vec::new();
    for (at, (of, known)) in plan.candidates.iter().zip(&configurations).enumerate() {
        let file = plan.folder.join(format!("turns-{}.db", at + 1));
        match OpenCandidate::open(of, &file, &known.digest).await {
            Ok(candidate) => candidates.push(candidate),
            Err(error) => {
                close(&candidates).await;
                return Err(error).doing(|| format!("{} cannot be evaluated", of.name));
            }
        }
    }
    let answered = answer_all(plan, &candidates, progress).await;
    close(&candidates).await;
    Ok(EvalResults { dataset: plan.dataset.clone(), configurations, answered: answered? })
}

async fn close(candidates: &[OpenCandidate]) {
    for candidate in candidates {
        candidate.app.close().await;
    }
}

async fn answer_all(
    plan: &EvalPlan,
    candidates: &[OpenCandidate],
    progress: &(dyn Fn(EvalProgress) + Sync),
) -> Result<Vec<(DatasetItem, Vec<EvalAnswer>)>, Error> {
    let (done, total) = (AtomicUsize::new(0), plan.items.len() * candidates.len());
    progress(EvalProgress { done: 0, total });
    let ask = |(at, item)| {
        let done = &done;
        async move {
            let mut said: BTreeMap<usize, (RunId, EvalAnswer)> = BTreeMap::new();
            for turn in 0..candidates.len() {
                let of = (at + turn) % candidates.len();
                said.insert(of, candidates[of].answer(item).await?);
                progress(EvalProgress { done: done.fetch_add(1, Ordering::Relaxed) + 1, total });
            }
            Ok::<_, Error>((item.clone(), said.into_values().collect::<Vec<_>>()))
        }
    };
    let asked = stream::iter(plan.items.iter().enumerate()).map(ask).buffered(plan.at_once.max(1));
    let asked: Vec<(DatasetItem, Vec<(RunId, EvalAnswer)>)> = asked.try_collect().await?;
    let mut facts = Vec::new();
    for candidate in candidates {
        facts.push(candidate.facts().await?);
    }
    let first = candidates.first();
    let judge = match (&plan.judge, first) {
        (Some(model), Some(candidate)) => Some(Judge::open(&candidate.app, model, &plan.folder)?),
        _ => None,
    };
    let mut answered = Vec::new();
    for (item, answers) in asked {
        let mut measured = Vec::new();
        for ((run, mut answer), (candidate, facts)) in answers.into_iter().zip(candidates.iter().zip(&facts))
        {
            if let Some(turn) = facts.get(&run) {
                candidate.measure(&mut answer, turn);
            }
            if let Some(first) = first {
                answer.facts = facts_said(first, &item, &answer).await?;
            }
            if let Some(judge) = &judge {
                answer.judgement = judge.judge(&candidate.digest, &item, &answer).await?;
            }
            measured.push(answer);
        }
        answered.push((item, measured));
    }
    Ok(answered)
}

/// How sure the model for grounding is that an answer says each of the expected facts; nothing if there is no such model.
async fn facts_said(
    candidate: &OpenCandidate,
    item: &DatasetItem,
    answer: &EvalAnswer,
) -> Result<Vec<f32>, Error> {
    let Some(grounding) = candidate.app.models().grounding()?.filter(|_| !item.facts.is_empty()) else {
        return Ok(Vec::new());
    };
    if answer.text.is_empty() {
        return Ok(vec![0.0; item.facts.len()]);
    }
    let pairs: Vec<(&str, &str)> =
        item.facts.iter().map(|fact| (answer.text.as_str(), fact.as_str())).collect();
    grounding.support(&Caller::chat(Tenant::local()), &pairs).await.map_err(Error::other)
}

impl OpenCandidate {
    async fn open(of: &EvalCandidate, turns: &Path, digest: &str) -> Result<Self, Error> {
        AssistantRegistry::find(&of.settings, &of.assistant)?;
        let app = App::builder(of.settings.clone()).only(&of.assistant).without_loads().turns_in(turns);
        let app = app.open().await?;
        if let Some(error) = app.assistants().left_out().get(&of.assistant).cloned() {
            app.close().await;
            return Err(Error::Missing(error));
        }
        let (scope, prices) = (app.local_scope().clone(), app.prices());
        Ok(Self { app, assistant: of.assistant.clone(), scope, digest: digest.to_owned(), prices })
    }

    /// The answer to a question: that of an earlier process, if there is one.
    async fn answer(&self, item: &DatasetItem) -> Result<(RunId, EvalAnswer), Error> {
        let (engine, scope) = (self.app.engine()?, &self.scope);
        let thread = thread_of(item);
        engine.create_thread(scope, thread, Map::new(), Lifetime::Kept).await?;
        let earlier = item.earlier_messages();
        let window = MessageWindow { before: None, limit: 1 };
        if !earlier.is_empty() && engine.messages(scope, thread, window).await?.is_empty() {
            engine.add_messages(scope, thread, earlier).await?;
        }
        let turn = Turn {
            options: item.options(),
            idempotency_key: Some("eval".to_owned()),
            ..Turn::new(thread, &self.assistant, Message::user(&item.question))
        };
        let run = engine.submit(scope, turn).await?.run;
        Ok((run, self.follow(engine, run).await?))
    }

    async fn follow(&self, engine: &Arc<dyn Engine>, run: RunId) -> Result<EvalAnswer, Error> {
        let mut events = turn_events(engine, &self.scope, run, 0).await?;
        while let Some(event) = events.next().await {
            match event?.event {
                TurnEvent::Ended { error: Some(error), .. } => {
                    return Ok(EvalAnswer { error: Some(error), ..EvalAnswer::default() });
                }
                TurnEvent::Ended { message: Some(message), .. } => {
                    let metadata = message.metadata.map(|metadata| *metadata).unwrap_or_default();
                    return Ok(EvalAnswer { text: message.text, metadata, ..EvalAnswer::default() });
                }
                // Nobody is here to answer it: what it asks is what it says.
                TurnEvent::Interrupted { value } => {
                    engine.stop(&self.scope, run, Stop::Keep).await?;
                    return Ok(EvalAnswer { text: value.to_string(), ..EvalAnswer::default() });
                }
                _ => {}
            }
        }
        Ok(EvalAnswer { error: Some("the assistant said nothing".to_owned()), ..EvalAnswer::default() })
    }

    /// What was measured of each turn.
    async fn facts(&self) -> Result<BTreeMap<RunId, TurnFacts>, Error> {
        let range = FactsRange::between(SystemTime::UNIX_EPOCH, SystemTime::now() + Duration::from_secs(1));
        let turns = self.app.engine()?.turn_facts(&self.scope, range).await?;
        Ok(turns.into_iter().filter_map(|turn| Some((turn.run?, turn))).collect())
    }

    fn measure(&self, answer: &mut EvalAnswer, turn: &TurnFacts) {
        answer.took_ms = turn.measures.took_ms;
        answer.first_word_ms = turn.measures.first_word_ms;
        answer.cost = cost_of(turn, &self.prices);
    }
}

/// The conversation in which a question is asked: the same whenever the evaluation is taken up again.
fn thread_of(item: &DatasetItem) -> ThreadId {
    let hash = Sha256::digest(item.id.as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash[..16]);
    ThreadId::from_bytes(bytes)
}

/// Everything that decides how a configuration answers, as one short text.
fn digest(of: &EvalCandidate) -> Result<String, Error> {
    let mut hash = Sha256::new();
    hash.update(serde_json::to_vec(&of.settings).map_err(Error::other)?);
    hash.update(of.assistant.as_bytes());
    let folder = of.settings.assistants.join(&of.assistant);
    if folder.is_dir() {
        hash_folder(&folder, &mut hash).doing(|| format!("{} cannot be read", folder.display()))?;
    }
    Ok(hex(&hash.finalize()))
}

fn hash_folder(folder: &Path, hash: &mut Sha256) -> std::io::Result<()> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    entries.sort();
    for path in entries {
        hash.update(path.to_string_lossy().as_bytes());
        if path.is_dir() {
            hash_folder(&path, hash)?;
        } else {
            hash.update(std::fs::read(&path)?);
        }
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Makes the folder of an evaluation, unless it holds another one.
fn claim(plan: &EvalPlan, configurations: &[Evaluated]) -> Result<(), Error> {
    let unwritten = || format!("{} cannot be written", plan.folder.display());
    std::fs::create_dir_all(&plan.folder).doing(unwritten)?;
    let questions = hex(&Sha256::digest(write_dataset(&plan.items).as_bytes()));
    let now = serde_json::json!({ "questions": questions, "configurations": configurations });
    let path = plan.folder.join(PLAN);
    match std::fs::read(&path) {
        Ok(before)
            if serde_json::from_slice::<serde_json::Value>(&before).is_ok_and(|before| before == now) =>
        {
            Ok(())
        }
        Ok(_) => Err(Error::Settings(format!(
            "{} holds another evaluation: its questions, settings or assistants were others. Delete it to ask anew, or give \
             another folder with --out",
            plan.folder.display()
        ))),
        Err(_) => std::fs::write(&path, now.to_string()).doing(unwritten),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(folder: &Path, question: &str) -> EvalPlan {
        let item =
            DatasetItem { id: "a".to_owned(), question: question.to_owned(), ..DatasetItem::default() };
        EvalPlan {
            dataset: "questions".to_owned(),
            items: vec![item],
            candidates: Vec::new(),
            folder: folder.to_owned(),
            judge: None,
            at_once: 1,
        }
    }

    #[test]
    fn a_folder_holds_one_evaluation() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/er");
        claim(&plan(&path, "one?"), &[]).unwrap();
        claim(&plan(&path, "one?"), &[]).unwrap();
        let told = claim(&plan(&path, "another?"), &[]).unwrap_err().to_string();
        assert!(told.contains("holds another evaluation"), "{told}");
    }

    #[test]
    fn another_prompt_is_another_configuration() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("desk/prompts")).unwrap();
        let of = EvalCandidate {
            name: "a".to_owned(),
            settings: Settings { assistants: folder.path().to_owned(), ..Settings::default() },
            assistant: "desk".to_owned(),
        };
        let before = digest(&of).unwrap();
        std::fs::write(folder.path().join("desk/prompts/persona.md"), "Be brief.").unwrap();
        assert_ne!(digest(&of).unwrap(), before);
    }
}
