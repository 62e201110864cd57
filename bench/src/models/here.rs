//! Models that run here beside a bare loop around ONNX Runtime with the same network, tokenizer, threads and
//! batches.

use std::path::Path;
use std::time::Instant;

use anyhow::anyhow;
use ibid_core::Tenant;
use ibid_core::model::{Caller, Embedder, Purpose, Reranker};
use ibid_models::{LocalEmbedder, LocalReranker, Runtime};
use ibid_testkit::RealModels;
use ort::environment::Environment;
use ort::session::{Session, SessionInputValue};
use ort::value::Tensor;
use serde_json::{Value, json};
use tokenizers::{Encoding, Tokenizer, TruncationParams};

use super::percentile;
use crate::figure::{Figure, Goal};
use crate::{middle, part};

/// How often each side runs, in a process of its own each time, and how often it measures there.
const PROCESSES: usize = 4;
const ROUNDS: usize = 3;
/// As many texts as go through the network at once, by hand as in ibid.
const BATCH: usize = 16;
const TEXTS: usize = 96;
const QUESTION: &str = "What is the duty rate for LED lamps?";

/// Holds both sides against each other. They run in turn, so that a noisy moment meets both.
pub(super) fn measure() -> anyhow::Result<()> {
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..PROCESSES {
        ours.push(part("models-here")?);
        bare.push(part("models-bare")?);
    }
    for (name, own, reference) in [
        (
            "texts embedded per second, against a bare loop with texts sorted by length",
            "embed",
            "embed_sorted",
        ),
        ("texts embedded per second, against a bare loop with texts as they come", "embed", "embed_plain"),
        (
            "pairs reranked per second, against a bare loop with pairs sorted by length",
            "rerank",
            "rerank_sorted",
        ),
    ] {
        let (ours, reference) = (middle(&ours, own)?, middle(&bare, reference)?);
        Figure::compare(name, ours, reference, Goal::AtLeastTimes(0.95)).print()?;
    }
    Ok(())
}

/// One process with ibid.
pub(crate) async fn ours() -> anyhow::Result<Value> {
    let models = RealModels::find();
    let runtime = Runtime::load(&models.runtime())?;
    let passages = passages(TEXTS);
    let texts: Vec<&str> = passages.iter().map(String::as_str).collect();
    let caller = Caller::ingestion(Tenant::local());
    let embedder = LocalEmbedder::load(&runtime, &models.path("minilm"), None)?;
    let reranker = LocalReranker::load(&runtime, &models.path("reranker"), None)?;
    let (mut embed, mut rerank) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let began = Instant::now();
        embedder.embed(&caller, Purpose::Passage, &texts).await?;
        let embedded = began.elapsed();
        reranker.rerank(&caller, QUESTION, &texts).await?;
        if round > 0 {
            embed.push(TEXTS as f64 / embedded.as_secs_f64());
            rerank.push(TEXTS as f64 / (began.elapsed() - embedded).as_secs_f64());
        }
    }
    Ok(json!({ "embed": percentile(&mut embed, 0.5), "rerank": percentile(&mut rerank, 0.5) }))
}

/// One process with the bare loop.
pub(crate) fn bare() -> anyhow::Result<Value> {
    let models = RealModels::find();
    let environment = ort::init_from(models.runtime()).map_err(|error| anyhow!("{error}"))?;
    let environment = environment.build().map_err(|error| anyhow!("{error}"))?;
    let passages = passages(TEXTS);
    let texts: Vec<&str> = passages.iter().map(String::as_str).collect();
    let pairs: Vec<String> =
        texts.iter().map(|text| format!("Query: {QUESTION}\nSentence: {text}")).collect();
    let pairs: Vec<&str> = pairs.iter().map(String::as_str).collect();
    let mut embedder = Bare::load(&environment, &models.path("minilm"), 256)?;
    let mut reranker = Bare::load(&environment, &models.path("reranker"), 512)?;
    let (mut sorted, mut plain, mut rerank) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let rates = [embedder.run(&texts, true)?, embedder.run(&texts, false)?, reranker.run(&pairs, true)?];
        let rates = rates.map(|seconds| TEXTS as f64 / seconds);
        if round > 0 {
            sorted.push(rates[0]);
            plain.push(rates[1]);
            rerank.push(rates[2]);
        }
    }
    Ok(json!({
        "embed_sorted": percentile(&mut sorted, 0.5),
        "embed_plain": percentile(&mut plain, 0.5),
        "rerank_sorted": percentile(&mut rerank, 0.5),
    }))
}

/// Texts of the lengths that chunks have, in no order.
fn passages(count: usize) -> Vec<String> {
    let sentences = [
        "Light-emitting diode lamps of heading 8539 are dutiable at the general rate of two percent ad valorem.",
        "The importer of record must keep the entry summary and all supporting documents for five years.",
        "Articles that are the product of the countries named in the note are free of duty.",
        "An additional duty applies to the goods listed in the annex from the date of its publication.",
        "Samples of negligible value may be entered without a bond if they are marked or torn.",
    ];
    (0..count)
        .map(|place| {
            let length = 3 + (place * 7) % 10;
            (0..length).map(|part| sentences[(place + part) % sentences.len()]).collect::<Vec<_>>().join(" ")
        })
        .collect()
}

/// What one would write by hand.
struct Bare {
    session: Session,
    tokenizer: Tokenizer,
}

impl Bare {
    fn load(environment: &Environment, folder: &Path, max_length: usize) -> anyhow::Result<Self> {
        let threads = std::thread::available_parallelism()?.get();
        let session = Session::builder(environment)
            .map_err(|error| anyhow!("{error}"))?
            .with_intra_threads(threads)
            .map_err(|error| anyhow!("{error}"))?
            .commit_from_file(folder.join("model.onnx"))
            .map_err(|error| anyhow!("{error}"))?;
        let mut tokenizer =
            Tokenizer::from_file(folder.join("tokenizer.json")).map_err(|error| anyhow!("{error}"))?;
        let truncation = TruncationParams { max_length, ..TruncationParams::default() };
        tokenizer.with_truncation(Some(truncation)).map_err(|error| anyhow!("{error}"))?;
        tokenizer.with_padding(None);
        Ok(Self { session, tokenizer })
    }

    /// Seconds for all texts.
    fn run(&mut self, texts: &[&str], sorted: bool) -> anyhow::Result<f64> {
        let began = Instant::now();
        let mut encodings =
            self.tokenizer.encode_batch_fast(texts.to_vec(), true).map_err(|error| anyhow!("{error}"))?;
        if sorted {
            encodings.sort_by_key(|encoding| std::cmp::Reverse(encoding.len()));
        }
        let mut sum = 0.0;
        for batch in encodings.chunks(BATCH) {
            let width = batch.iter().map(Encoding::len).max().unwrap_or(0);
            let column = |of: fn(&Encoding) -> &[u32]| {
                let mut padded = vec![0_i64; batch.len() * width];
                for (row, line) in batch.iter().zip(padded.chunks_exact_mut(width)) {
                    line.iter_mut().zip(of(row)).for_each(|(place, value)| *place = i64::from(*value));
                }
                Tensor::from_array(([batch.len(), width], padded)).map_err(|error| anyhow!("{error}"))
            };
            let inputs: Vec<(&str, SessionInputValue<'_>)> = vec![
                ("input_ids", column(Encoding::get_ids)?.into()),
                ("attention_mask", column(Encoding::get_attention_mask)?.into()),
                ("token_type_ids", column(Encoding::get_type_ids)?.into()),
            ];
            let outputs = self.session.run(inputs).map_err(|error| anyhow!("{error}"))?;
            let (_, values) = outputs[0].try_extract_tensor::<f32>().map_err(|error| anyhow!("{error}"))?;
            sum += values.iter().sum::<f32>();
        }
        anyhow::ensure!(sum.is_finite(), "the network gives nonsense");
        Ok(began.elapsed().as_secs_f64())
    }
}
