//! `ibid eval`: asks one or two configurations the questions of a dataset, and tells them apart.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use ibid_app::{EvalCandidate, EvalPlan, EvalProgress, evaluate};
use ibid_evals::report::EvalResults;
use ibid_evals::{ComparisonVerdict, DatasetItem, EvalMetric, MetricComparison, is_worse, read_dataset};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{counted, printable, runtime};
use crate::arguments::{Eval, Global};
use crate::config as settings;

/// The second configuration is worse.
const WORSE: u8 = 3;
/// The folder in which evaluations are kept.
pub(super) const FOLDER: &str = "ibid-evals";
/// So often progress is told where there is no terminal.
const TOLD_EVERY: usize = 10;

/// Evaluates, and writes down what came of it.
pub(super) fn run(global: &Global, eval: &Eval) -> anyhow::Result<ExitCode> {
    let candidates = candidates(global, eval)?;
    let mut items = questions(&eval.dataset)?;
    items.truncate(eval.limit.unwrap_or(usize::MAX));
    let name = eval.dataset.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let folder = eval.out.clone().unwrap_or_else(|| Path::new(FOLDER).join(&name));
    let plan = EvalPlan {
        dataset: name,
        items,
        candidates,
        folder,
        judge: eval.judge.clone(),
        at_once: eval.at_once,
    };
    let names: Vec<&str> = plan.candidates.iter().map(|one| one.name.as_str()).collect();
    eprintln!("{} to {}", counted(plan.items.len(), "question"), names.join(" and "));
    let bar = Bar::new();
    let tell = |progress: EvalProgress| bar.tell(progress);
    let evaluation = runtime()?.block_on(async {
        tokio::select! {
            evaluation = evaluate(&plan, &tell) => evaluation.map(Some),
            _ = tokio::signal::ctrl_c() => Ok(None),
        }
    })?;
    bar.clear();
    let Some(evaluation) = evaluation else {
        bail!("stopped; the same command goes on where it was");
    };
    write_reports(&evaluation, &plan.folder)?;
    let compared = evaluation.comparison();
    let mut out = std::io::stdout().lock();
    if eval.json {
        serde_json::to_writer(&mut out, &compared)?;
        writeln!(out)?;
    } else {
        print_table(&mut out, &evaluation, &compared)?;
        writeln!(out, "\n{}", plan.folder.join("report.html").display())?;
    }
    Ok(if is_worse(&compared) { ExitCode::from(WORSE) } else { ExitCode::SUCCESS })
}

/// The configurations that are named: settings and assistants, each once for both or once for each.
fn candidates(global: &Global, eval: &Eval) -> anyhow::Result<Vec<EvalCandidate>> {
    let files: Vec<Option<&PathBuf>> =
        if global.config.is_empty() { vec![None] } else { global.config.iter().map(Some).collect() };
    let assistants = &eval.assistant;
    let count = files.len().max(assistants.len());
    if count > 2 || files.len() > 2 {
        bail!("two configurations can be compared at most");
    }
    let mut found = Vec::new();
    for at in 0..count {
        let file = files[at.min(files.len() - 1)];
        let assistant =
            assistants.get(at).or_else(|| assistants.last()).cloned().unwrap_or_else(|| "default".to_owned());
        let loaded = settings::load(file.map(PathBuf::as_path), std::env::vars(), &global.set)?;
        let file =
            loaded.file.as_ref().map_or_else(|| "defaults".to_owned(), |file| file.display().to_string());
        let name = match (files.len(), assistants.len()) {
            (_, 0 | 1) => file,
            (1, _) => assistant.clone(),
            _ => format!("{file}, {assistant}"),
        };
        found.push(EvalCandidate { name, settings: loaded.config, assistant });
    }
    if let [one, other] = found.as_slice()
        && one.name == other.name
    {
        found = found.into_iter().enumerate().map(numbered).collect();
    }
    Ok(found)
}

/// Two of the same are told apart by their number.
fn numbered((at, one): (usize, EvalCandidate)) -> EvalCandidate {
    EvalCandidate { name: format!("{} ({})", one.name, at + 1), ..one }
}

pub(super) fn questions(path: &Path) -> anyhow::Result<Vec<DatasetItem>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let items = read_dataset(&text).with_context(|| format!("{} cannot be used", path.display()))?;
    if items.is_empty() {
        bail!("{} has no questions", path.display());
    }
    Ok(items)
}

pub(super) fn write_reports(evaluation: &EvalResults, folder: &Path) -> anyhow::Result<()> {
    for (name, text) in [
        ("results.jsonl", evaluation.jsonl()),
        ("report.html", evaluation.html()),
        ("junit.xml", evaluation.junit()),
        ("comparison.json", serde_json::to_string_pretty(&evaluation.comparison())?),
    ] {
        let path = folder.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn print_table(
    out: &mut impl Write,
    evaluation: &EvalResults,
    compared: &[MetricComparison],
) -> anyhow::Result<()> {
    let names: Vec<String> = evaluation.configurations.iter().map(|one| printable(&one.name)).collect();
    let mut rows: Vec<Vec<String>> = Vec::new();
    if let [one] = names.as_slice() {
        rows.push(vec!["metric".to_owned(), one.clone()]);
        for metric in EvalMetric::ALL {
            rows.extend(
                evaluation.mean(metric, 0).map(|mean| vec![metric.title().to_owned(), metric.shown(mean)]),
            );
        }
    } else {
        let mut head = vec!["metric".to_owned()];
        head.extend(names);
        head.extend(["difference", "interval", ""].map(str::to_owned));
        rows.push(head);
        rows.extend(compared.iter().map(row));
    }
    let columns = rows.first().map_or(0, Vec::len);
    let widths: Vec<usize> = (0..columns)
        .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default())
        .collect();
    for row in &rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, width))| match at {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    if evaluation.configurations.len() > 1 {
        let worse: Vec<&str> = compared
            .iter()
            .filter(|one| one.verdict == ComparisonVerdict::Worse)
            .map(|one| one.metric.title())
            .collect();
        match worse.as_slice() {
            [] => writeln!(out, "\nNothing is worse by more than its spread.")?,
            worse => writeln!(out, "\nWorse by more than its spread: {}.", worse.join(", "))?,
        }
    }
    Ok(())
}

fn row(one: &MetricComparison) -> Vec<String> {
    let shown = |figure: Option<f64>| figure.map(|figure| one.metric.shown(figure)).unwrap_or_default();
    let interval = one.interval.map_or_else(String::new, |(low, high)| {
        format!("{} to {}", one.metric.shown(low), one.metric.shown(high))
    });
    vec![
        one.metric.title().to_owned(),
        shown(one.baseline),
        shown(one.candidate),
        shown(one.difference),
        interval,
        one.verdict.as_str().to_owned(),
    ]
}

/// A bar; lines where there is no terminal.
pub(super) struct Bar(ProgressBar);

impl Bar {
    pub(super) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos} of {len} answers, {eta} left") {
            bar.set_style(style);
        }
        Self(bar)
    }

    pub(super) fn clear(&self) {
        self.0.finish_and_clear();
    }

    pub(super) fn tell(&self, EvalProgress { done, total }: EvalProgress) {
        self.0.set_length(total as u64);
        self.0.set_position(done as u64);
        if !std::io::stderr().is_terminal() && (done == total || done % TOLD_EVERY == 0) && done > 0 {
            eprintln!("{done} of {total} answers");
        }
    }
}
