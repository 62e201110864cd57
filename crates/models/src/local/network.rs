//! A network with its tokenizer: texts in, numbers out, in batches of texts of like length.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ibid_core::model::{Caller, ModelError};
use ort::session::{Session, SessionInputValue};
use ort::value::Tensor;
use tokenizers::{Encoding, Tokenizer, TruncationParams};

use super::card::{Card, unusable};
use super::runtime::Runtime;
use crate::governor::{Ask, Failure, Governor, GovernorSettings};

/// How many texts, and how many tokens with the padding, go through the network at once. Small enough that a
/// person's question never waits long behind a batch of documents, large enough that nothing is lost by it.
const BATCH_TEXTS: usize = 32;
const BATCH_TOKENS: usize = 2048;

/// A network that is loaded and ready.
pub(crate) struct Network {
    pub(crate) card: Card,
    inner: Arc<Inner>,
    governor: Arc<Governor>,
}

struct Inner {
    session: Mutex<Session>,
    tokenizer: Tokenizer,
    takes_types: bool,
    output: String,
}

/// Says to a batch that has not begun that nobody waits for it any more.
#[derive(Default)]
struct Wanted(Arc<AtomicBool>);

impl Drop for Wanted {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What came out of one batch: numbers of this shape, and which of them are no padding.
pub(crate) struct Output<'a> {
    pub(crate) shape: &'a [i64],
    pub(crate) values: &'a [f32],
    pub(crate) lengths: &'a [usize],
}

/// A text, or two that belong together.
pub(crate) enum Input {
    Text(String),
    Pair(String, String),
}

impl Network {
    /// Loads a model's folder.
    pub(crate) fn load(runtime: &Runtime, folder: &Path, threads: Option<usize>) -> Result<Self, ModelError> {
        let card = Card::read(folder)?;
        let failed = |reason: String| unusable(folder, reason);
        let mut tokenizer = Tokenizer::from_file(folder.join("tokenizer.json"))
            .map_err(|error| failed(format!("tokenizer.json: {error}")))?;
        let truncation = TruncationParams { max_length: card.max_tokens, ..TruncationParams::default() };
        tokenizer
            .with_truncation(Some(truncation))
            .map_err(|error| failed(format!("tokenizer.json: {error}")))?;
        tokenizer.with_padding(None);
        let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        let path = folder.join(&card.network);
        let session = runtime
            .session(&path, threads)
            .map_err(|reason| failed(format!("{}: {reason}", path.display())))?;
        let inputs: Vec<&str> = session.inputs().iter().map(|input| input.name()).collect();
        let known = ["input_ids", "attention_mask", "token_type_ids"];
        if !inputs.contains(&known[0]) || inputs.iter().any(|input| !known.contains(input)) {
            return Err(failed(format!(
                "it takes {}, where {} are known",
                inputs.join(", "),
                known.join(", ")
            )));
        }
        let takes_types = inputs.contains(&known[2]);
        let outputs: Vec<&str> = session.outputs().iter().map(|output| output.name()).collect();
        let pooled = outputs.iter().find(|output| **output == "sentence_embedding");
        let output = pooled.or(outputs.first()).ok_or_else(|| failed("it gives nothing out".to_owned()))?;
        let output = (*output).to_owned();
        let governor =
            Governor::new(&card.name, GovernorSettings { concurrent: 1, ..Default::default() }, None);
        let inner = Arc::new(Inner { session: Mutex::new(session), tokenizer, takes_types, output });
        Ok(Self { card, inner, governor })
    }

    pub(crate) fn governor(&self) -> &Arc<Governor> {
        &self.governor
    }

    /// Runs all inputs, and hands each batch's output to `take` with the places of its inputs.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        caller: &Caller,
        inputs: Vec<Input>,
        take: impl Fn(Output<'_>) -> Result<T, String> + Clone + Send + 'static,
    ) -> Result<Vec<(Vec<usize>, T)>, ModelError> {
        let inner = self.inner.clone();
        let encodings = self.blocking(move || inner.encode(inputs)).await?;
        let encodings = Arc::new(encodings);
        let lengths: Vec<usize> = encodings.iter().map(Encoding::len).collect();
        let mut done = Vec::new();
        for places in batches(&lengths) {
            let tokens = places.iter().map(|place| lengths[*place] as u64).sum();
            let ask = Ask { caller, tokens, has_fallback: false, progress: None };
            let places = Arc::new(places);
            let attempt = || {
                let (inner, encodings, places, take) =
                    (self.inner.clone(), encodings.clone(), places.clone(), take.clone());
                let wanted = Wanted::default();
                let unwanted = wanted.0.clone();
                let batch = self.blocking(move || inner.run(&encodings, &places, &unwanted, take));
                async move {
                    let outcome = batch.await.map_err(Failure::Final);
                    drop(wanted);
                    outcome
                }
            };
            let (output, permit) = self.governor.call(ask, attempt).await?;
            permit.done(tokens, false);
            done.push((Arc::unwrap_or_clone(places), output));
        }
        Ok(done)
    }

    /// Runs all inputs, of which each batch's output is one number for each, and gives these in the order of the inputs.
    pub(crate) async fn scores(
        &self,
        caller: &Caller,
        inputs: Vec<Input>,
        score: impl Fn(&Output<'_>) -> Result<Vec<f32>, String> + Clone + Send + 'static,
    ) -> Result<Vec<f32>, ModelError> {
        let mut all = vec![0.0; inputs.len()];
        for (places, batch) in self.run(caller, inputs, move |output| score(&output)).await? {
            for (place, score) in places.into_iter().zip(batch) {
                all[place] = score;
            }
        }
        Ok(all)
    }

    /// Numbers are crunched on threads that nobody waits on.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, String> + Send + 'static,
    ) -> Result<T, ModelError> {
        let outcome = tokio::task::spawn_blocking(work).await;
        let failed = |reason: String| unusable(Path::new(&self.card.name), reason);
        outcome.map_err(|error| failed(error.to_string()))?.map_err(failed)
    }
}

impl Inner {
    fn encode(&self, inputs: Vec<Input>) -> Result<Vec<Encoding>, String> {
        let inputs: Vec<tokenizers::EncodeInput<'_>> = inputs
            .into_iter()
            .map(|input| match input {
                Input::Text(text) => tokenizers::EncodeInput::Single(text.into()),
                Input::Pair(first, second) => tokenizers::EncodeInput::Dual(first.into(), second.into()),
            })
            .collect();
        self.tokenizer.encode_batch_fast(inputs, true).map_err(|error| error.to_string())
    }

    fn run<T>(
        &self,
        encodings: &[Encoding],
        places: &[usize],
        unwanted: &AtomicBool,
        take: impl Fn(Output<'_>) -> Result<T, String>,
    ) -> Result<T, String> {
        let rows: Vec<&Encoding> = places.iter().filter_map(|place| encodings.get(*place)).collect();
        let lengths: Vec<usize> = rows.iter().map(|row| row.len()).collect();
        let width = lengths.iter().copied().max().unwrap_or(0);
        let column = |of: fn(&Encoding) -> &[u32]| {
            let mut padded = vec![0_i64; rows.len() * width];
            for (row, line) in rows.iter().zip(padded.chunks_exact_mut(width.max(1))) {
                line.iter_mut().zip(of(row)).for_each(|(place, value)| *place = i64::from(*value));
            }
            Tensor::from_array(([rows.len(), width], padded)).map_err(|error| error.to_string())
        };
        let mut inputs: Vec<(&str, SessionInputValue<'_>)> = vec![
            ("input_ids", column(Encoding::get_ids)?.into()),
            ("attention_mask", column(Encoding::get_attention_mask)?.into()),
        ];
        if self.takes_types {
            inputs.push(("token_type_ids", column(Encoding::get_type_ids)?.into()));
        }
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        if unwanted.load(Ordering::Relaxed) {
            return Err("it was stopped".to_owned());
        }
        let outputs = session.run(inputs).map_err(|error| error.to_string())?;
        let (shape, values) =
            outputs[self.output.as_str()].try_extract_tensor::<f32>().map_err(|error| error.to_string())?;
        take(Output { shape, values, lengths: &lengths })
    }
}

/// Puts texts of like length together, the longest first, so that little is padded and the memory that the
/// network needs is known from the start.
fn batches(lengths: &[usize]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|place| std::cmp::Reverse(lengths[*place]));
    let mut batches: Vec<Vec<usize>> = Vec::new();
    for place in order {
        match batches.last_mut() {
            Some(batch)
                if batch.len() < BATCH_TEXTS && (batch.len() + 1) * lengths[batch[0]] <= BATCH_TOKENS =>
            {
                batch.push(place);
            }
            _ => batches.push(vec![place]),
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_hold_texts_of_like_length_within_the_limits() {
        let lengths: Vec<usize> = (0..200).map(|place| (place * 37) % 256 + 1).collect();
        let batches = batches(&lengths);
        let mut seen: Vec<usize> = batches.concat();
        for batch in &batches {
            let longest = batch.iter().map(|place| lengths[*place]).max().unwrap();
            assert!(batch.len() <= BATCH_TEXTS && batch.len() * longest <= BATCH_TOKENS);
        }
        seen.sort_unstable();
        assert_eq!(seen, (0..200).collect::<Vec<_>>(), "each text once");
        let padded: usize = batches.iter().map(|batch| batch.len() * lengths[batch[0]]).sum();
        assert!(padded as f64 <= lengths.iter().sum::<usize>() as f64 * 1.1, "little is padded");
        assert_eq!(super::batches(&[BATCH_TOKENS * 2]), [[0]], "a long text goes alone");
        assert!(super::batches(&[]).is_empty());
    }
}
