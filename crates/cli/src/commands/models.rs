//! `ibid models`: which there are, how to get more, and whether one answers.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use ibid_core::model::{ChatModel, ChatPart, ChatRequest, Prompt};
use ibid_models::ModelKind;
use ibid_models::pull::{Progress, RECOMMENDED, Recommended};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{caller, printable, runtime};
use crate::arguments::ModelsCommand;
use crate::machine::Machine;
use ibid_app::{
    BenchOutcome, ModelCatalog, Pulled, Settings, bench_question, bench_questions, open_search, pull_models,
    pulled_models,
};
use ibid_knowledge::Calibration;

/// Runs one of the commands about models.
pub(super) fn run(config: &Settings, command: &ModelsCommand) -> anyhow::Result<ExitCode> {
    match command {
        ModelsCommand::List => list(config),
        ModelsCommand::Pull { name } => runtime()?.block_on(fetch(config, name)),
        ModelsCommand::Calibrate => runtime()?.block_on(calibrate(config)),
        ModelsCommand::Bench { name } => runtime()?.block_on(bench(config, name.as_deref())),
        ModelsCommand::Try { name, message } => runtime()?.block_on(attempt(config, name, message)),
    }
}

async fn calibrate(config: &Settings) -> anyhow::Result<ExitCode> {
    let search = open_search(config).await?;
    eprintln!("comparing sentences and remarks with what is loaded");
    let Calibration { before, now, passages } = search.calibrate().await?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{:<48}before    now", format!("{passages} passages"))?;
    writeln!(
        out,
        "similarity of remarks to the nearest passage    {:.3}     {:.3}",
        before.unrelated, now.unrelated
    )?;
    writeln!(
        out,
        "similarity of sentences to their own passage    {:.3}     {:.3}",
        before.related, now.related
    )?;
    writeln!(
        out,
        "`routing.relevance` and `retrieval.floor` of assistants count from 0 at the first to 1 at the second."
    )?;
    Ok(ExitCode::SUCCESS)
}

/// Asks a model the questions that ship, and says what to expect of it.
async fn bench(config: &Settings, name: Option<&str>) -> anyhow::Result<ExitCode> {
    let models = ModelCatalog::new(Arc::new(config.clone()))?;
    let chat = Arc::new(models.chat_of("answer", name).await?);
    let model = chat.first().model().to_owned();
    eprintln!("{}\nasking {model} {} questions", Machine::here(), bench_questions().len());
    let mut answers = Vec::new();
    for (number, asked) in (1..).zip(bench_questions()) {
        let answer = bench_question(&chat, asked).await?;
        let outcome = match answer.outcome {
            BenchOutcome::Cited => "right",
            BenchOutcome::Right => "right, not cited",
            BenchOutcome::Flagged => "wrong, and flagged",
            BenchOutcome::Wrong => "WRONG, not flagged",
            BenchOutcome::Refused => "\"I don't know\"",
        };
        let (seconds, said) = (answer.took.as_secs_f64(), printable(&answer.text.replace('\n', " ")));
        eprintln!("{number:>3} {seconds:>6.1} s  {outcome:<18}  {}", asked.question);
        eprintln!("                {}", said.chars().take(100).collect::<String>());
        answers.push(answer);
    }
    let count =
        |wanted: &[BenchOutcome]| answers.iter().filter(|answer| wanted.contains(&answer.outcome)).count();
    let right = count(&[BenchOutcome::Cited, BenchOutcome::Right]);
    let speed = chat.first().speed();
    let figure = |speed: Option<f64>| speed.map_or("unknown".to_owned(), |speed| format!("{speed:.0}"));
    let seconds = answers.iter().map(|answer| answer.took.as_secs_f64()).sum::<f64>() / answers.len() as f64;
    let tokens = answers.iter().map(|answer| answer.tokens).sum::<u64>() / answers.len() as u64;
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "| model | machine | reads, tokens/s | writes, tokens/s | right | cited | wrong, flagged | wrong, not flagged | refused | tokens read | seconds each |"
    )?;
    writeln!(out, "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")?;
    writeln!(
        out,
        "| {model} | {} | {} | {} | {right} of {} | {} | {} | {} | {} | {tokens} | {seconds:.0} |",
        Machine::here(),
        figure(speed.reading),
        figure(speed.writing),
        answers.len(),
        count(&[BenchOutcome::Cited]),
        count(&[BenchOutcome::Flagged]),
        count(&[BenchOutcome::Wrong]),
        count(&[BenchOutcome::Refused]),
    )?;
    drop(out);
    eprintln!("{}", expectation(right, answers.len(), seconds));
    Ok(ExitCode::SUCCESS)
}

/// What to expect of a model, in a sentence.
fn expectation(right: usize, of: usize, seconds: f64) -> &'static str {
    match right * 100 / of.max(1) {
        90.. if seconds < 30.0 => "It answers well and soon.",
        90.. => "It answers well, and takes its time.",
        60.. => "It answers simple questions; look at what it cites. A larger model gets more right.",
        _ => "It gets too many of these wrong to be trusted: take a larger model.",
    }
}

fn list(config: &Settings) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "Chat models (in ibid.toml)")?;
    for (name, model) in &config.models {
        let chain = if model.fallback.is_empty() {
            String::new()
        } else {
            format!(", then {}", model.fallback.join(", then "))
        };
        let window = model.context.map_or(String::new(), |tokens| format!(", {tokens} tokens"));
        writeln!(out, "  {name}: {} of {}{window}{chain}", model.model, model.provider)?;
    }
    if config.models.is_empty() {
        writeln!(
            out,
            "  none yet; for instance:\n    [models.strong]\n    provider = \"openai\"\n    model = \"gpt-4o\"\n    context = 128000"
        )?;
    }
    writeln!(out, "\nModels that run here (in {})", config.models_folder().display())?;
    let here = pulled_models(config);
    for (_, card) in &here {
        match card.kind {
            ModelKind::Embedding => {
                writeln!(out, "  {}: embedding, {} dimensions", card.name, card.dimensions)?;
            }
            kind => writeln!(out, "  {}: {}", card.name, kind.name())?,
        }
    }
    if here.is_empty() {
        writeln!(out, "  none yet; `ibid models pull` brings the recommended one")?;
    }
    let machine = Machine::here();
    writeln!(out, "\nThis machine: {machine}\n  {}", machine.advice())?;
    writeln!(out, "\nRecommended (`ibid models pull NAME`)")?;
    for model in &RECOMMENDED {
        let kind = model.kind.name();
        let default = if model.by_default { "; without a name, this one" } else { "" };
        let Recommended { name, megabytes, good_for, licence, .. } = model;
        writeln!(out, "  {name}: {kind}, {megabytes} MB, {licence}: {good_for}{default}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Fetches ONNX Runtime and the named models; or, without names, the recommended ones and what reads PDFs.
async fn fetch(config: &Settings, names: &[String]) -> anyhow::Result<ExitCode> {
    let bars = Bars::new();
    let progress = |progress: Progress<'_>| bars.tell(&progress);
    let pulled = |Pulled { name, path, kind }: Pulled| {
        bars.done();
        eprintln!("{name}: {}", path.display());
        if kind == Some(ModelKind::Rerank) {
            eprintln!("  to use it, set rerank.path = \"{}\"", path.display());
        }
    };
    pull_models(config, names, &progress, &pulled).await?;
    eprintln!("`ibid doctor` checks that they run");
    Ok(ExitCode::SUCCESS)
}

/// One bar for the file that is being fetched; lines where there is no terminal.
struct Bars {
    bar: Mutex<Option<(String, ProgressBar)>>,
}

impl Bars {
    fn new() -> Self {
        Self { bar: Mutex::new(None) }
    }

    fn tell(&self, progress: &Progress<'_>) {
        let Ok(mut current) = self.bar.lock() else { return };
        if current.as_ref().is_none_or(|(file, _)| file != progress.file) {
            if let Some((_, bar)) = current.take() {
                bar.finish_and_clear();
            }
            if !std::io::stderr().is_terminal() {
                eprintln!("fetching {}", progress.file);
            }
            *current = Some((progress.file.to_owned(), bar_of(progress)));
        }
        if let Some((_, bar)) = &*current {
            bar.set_position(progress.bytes);
        }
    }

    fn done(&self) {
        if let Ok(mut current) = self.bar.lock()
            && let Some((_, bar)) = current.take()
        {
            bar.finish_and_clear();
        }
    }
}

fn bar_of(progress: &Progress<'_>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(progress.total, ProgressDrawTarget::stderr());
    let form = "{msg} {bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left";
    if let Ok(style) = ProgressStyle::with_template(form) {
        bar.set_style(style);
    }
    bar.with_message(progress.file.to_owned())
}

/// Asks a model something, so that its settings are seen to work.
async fn attempt(config: &Settings, name: &str, message: &str) -> anyhow::Result<ExitCode> {
    let parts = ModelCatalog::new(Arc::new(config.clone()))?;
    let model = parts.chat(name)?;
    let request = ChatRequest::new(caller(), vec![Prompt::User(message.to_owned())]);
    let mut reply = model.chat(request).await?;
    let mut thinking = false;
    loop {
        let part = tokio::select! {
            part = reply.next() => part,
            _ = tokio::signal::ctrl_c() => {
                eprintln!("\nstopped");
                return Ok(ExitCode::SUCCESS);
            }
        };
        match part {
            None => return Ok(ExitCode::SUCCESS),
            Some(Err(error)) => return Err(error.into()),
            Some(Ok(ChatPart::Text(text))) => {
                if std::mem::take(&mut thinking) {
                    eprintln!();
                }
                let mut out = std::io::stdout().lock();
                write!(out, "{}", printable(&text))?;
                out.flush()?;
            }
            Some(Ok(ChatPart::Reasoning(text))) => {
                thinking = true;
                eprint!("{}", printable(&text));
            }
            Some(Ok(ChatPart::End { usage, model, .. })) => {
                writeln!(std::io::stdout())?;
                let estimated = if usage.estimated { "about " } else { "" };
                let cost = cost(config, &model, usage.input_tokens, usage.output_tokens);
                eprintln!(
                    "· {model}: {estimated}{} tokens read, {} written{cost}",
                    usage.input_tokens, usage.output_tokens
                );
            }
            Some(Ok(_)) => {}
        }
    }
}

/// What a call cost, where the prices are known.
fn cost(config: &Settings, model: &str, input: u64, output: u64) -> String {
    let prices = config.models.get(model).and_then(|model| Some((model.input_price?, model.output_price?)));
    prices.map_or_else(String::new, |(input_price, output_price)| {
        let cost = (input as f64 * input_price + output as f64 * output_price) / 1e6;
        format!(", {cost:.6} in the currency of its price")
    })
}
