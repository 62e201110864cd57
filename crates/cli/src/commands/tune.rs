//! `ibid tune`: tries other thresholds of an assistant on the questions of a dataset, and proposes those that are better. It
//! changes nothing.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use ibid_app::{AssistantRegistry, EvalCandidate, EvalPlan, EvalProgress, Settings, evaluate};
use ibid_assistants::definition::{Definition, GraphKind};
use ibid_assistants::{FILE, SHIPPED};
use ibid_evals::{ComparisonVerdict, DatasetItem, MetricComparison};
use toml::{Table, Value};

use super::eval::{Bar, FOLDER, questions, write_reports};
use super::{counted, runtime};
use crate::arguments::Tune;

/// So far from where a threshold stands, others are tried.
const STEPS: [f64; 2] = [-0.1, 0.1];

/// Tries, and says what is better.
pub(super) fn run(config: &Settings, tune: &Tune) -> anyhow::Result<ExitCode> {
    let items = questions(&tune.dataset)?;
    let definition = AssistantRegistry::find(config, &tune.assistant)?.definition;
    let tries = match tune.tries.as_slice() {
        [] => thresholds(&definition),
        given => given.iter().map(|one| parse(one)).collect::<anyhow::Result<_>>()?,
    };
    let name = tune.dataset.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let out = tune.out.clone().unwrap_or_else(|| Path::new(FOLDER).join(format!("{name}-tune")));
    eprintln!(
        "{}, each to {} and to it unchanged",
        counted(items.len(), "question"),
        counted(tries.len(), "change")
    );
    let mut proposed = 0;
    for (key, value) in tries {
        let change = format!("{key} = {value}");
        let folder = out.join(format!("{key}={value}"));
        let compared = compare(config, tune, &items, &folder, (&key, &value))?;
        let mut out = std::io::stdout().lock();
        match evidence(&compared) {
            Some(evidence) => {
                proposed += 1;
                writeln!(out, "propose {change}: {evidence} ({})", folder.join("report.html").display())?;
            }
            None => writeln!(out, "keep    {change} does not help")?,
        }
    }
    let end = if proposed == 0 {
        "Nothing is proposed."
    } else {
        "Nothing was changed: proposals are yours to make."
    };
    writeln!(std::io::stdout(), "\n{end}")?;
    Ok(ExitCode::SUCCESS)
}

/// What speaks for a change: a better quality, and nothing that is worse.
fn evidence(compared: &[MetricComparison]) -> Option<String> {
    let quality = || compared.iter().filter(|one| one.metric.is_quality());
    if quality().any(|one| one.verdict == ComparisonVerdict::Worse) {
        return None;
    }
    let better: Vec<String> = quality()
        .filter(|one| one.verdict == ComparisonVerdict::Better)
        .filter_map(|one| {
            let (from, to) = (one.metric.shown(one.baseline?), one.metric.shown(one.candidate?));
            Some(format!("{} from {from} to {to}", one.metric.title()))
        })
        .collect();
    (!better.is_empty()).then(|| better.join(", "))
}

/// The thresholds that decide something in the graphs of an assistant, a step lower and a step higher than they stand.
fn thresholds(definition: &Definition) -> Vec<(String, Value)> {
    let mut known = vec![("retrieval.floor", definition.retrieval.floor)];
    for graph in definition.graphs() {
        match graph {
            GraphKind::Adaptive => known.push(("routing.relevance", definition.routing.relevance)),
            GraphKind::Corrective => {
                known.push(("corrective.sure", definition.corrective.sure));
                known.push(("corrective.clearly_relevant", definition.corrective.clearly_relevant));
            }
            _ => {}
        }
    }
    let moved = known.into_iter().flat_map(|(key, now)| {
        let near = STEPS.map(|step| ((f64::from(now) + step) * 100.0).round() / 100.0);
        near.map(|value| (key.to_owned(), value))
    });
    let usable = |key: &str, value: f64| {
        (if key == "corrective.sure" { 0.5..=1.0 } else { 0.0..=1.0 }).contains(&value)
    };
    moved.filter(|(key, value)| usable(key, *value)).map(|(key, value)| (key, Value::Float(value))).collect()
}

fn parse(given: &str) -> anyhow::Result<(String, Value)> {
    let Some((key, value)) = given.split_once('=') else {
        bail!("`{given}` is no change; write it as retrieval.floor=0.2");
    };
    let table: Table =
        format!("value = {}", value.trim()).parse().with_context(|| format!("`{value}` is no value"))?;
    let value = table.get("value").cloned().with_context(|| format!("`{value}` is no value"))?;
    Ok((key.trim().to_owned(), value))
}

/// Compares an assistant with itself after a change.
fn compare(
    config: &Settings,
    tune: &Tune,
    items: &[DatasetItem],
    folder: &Path,
    change: (&str, &Value),
) -> anyhow::Result<Vec<MetricComparison>> {
    let assistants = changed(config, &tune.assistant, &folder.join("assistants"), change)?;
    let of = |name: String, settings: Settings| EvalCandidate {
        name,
        settings,
        assistant: tune.assistant.clone(),
    };
    let changed = Settings { assistants, ..config.clone() };
    let plan = EvalPlan {
        dataset: tune.dataset.display().to_string(),
        items: items.to_vec(),
        candidates: vec![
            of("as it is".to_owned(), config.clone()),
            of(format!("{} = {}", change.0, change.1), changed),
        ],
        folder: folder.to_owned(),
        judge: None,
        at_once: tune.at_once,
    };
    let bar = Bar::new();
    let tell = |progress: EvalProgress| bar.tell(progress);
    let results = runtime()?.block_on(evaluate(&plan, &tell))?;
    bar.clear();
    write_reports(&results, folder)?;
    Ok(results.comparison())
}

/// Writes an assistant with one thing changed into a folder of assistants.
fn changed(
    config: &Settings,
    assistant: &str,
    folder: &Path,
    (key, value): (&str, &Value),
) -> anyhow::Result<PathBuf> {
    let to = folder.join(assistant);
    let unwritten = || format!("{} cannot be written", to.display());
    let own = config.assistants.join(assistant);
    if own.is_dir() {
        copy(&own, &to).with_context(unwritten)?;
    } else if let Some(shipped) = SHIPPED.iter().find(|shipped| shipped.name == assistant) {
        for (path, text) in shipped.files {
            let file = to.join(path);
            fs::create_dir_all(file.parent().unwrap_or(&to)).with_context(unwritten)?;
            fs::write(file, text).with_context(unwritten)?;
        }
    }
    let file = to.join(FILE);
    let mut definition: Table = fs::read_to_string(&file).with_context(unwritten)?.parse()?;
    let mut table = &mut definition;
    let (parents, last) = key.rsplit_once('.').map_or((None, key), |(parents, last)| (Some(parents), last));
    for parent in parents.into_iter().flat_map(|parents| parents.split('.')) {
        let entry = table.entry(parent).or_insert_with(|| Value::Table(Table::new()));
        table = entry.as_table_mut().with_context(|| format!("`{key}` is no setting of an assistant"))?;
    }
    table.insert(last.to_owned(), value.clone());
    fs::write(&file, toml::to_string(&definition)?).with_context(unwritten)?;
    Ok(folder.to_owned())
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let to = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy(&path, &to)?;
        } else {
            fs::copy(&path, to)?;
        }
    }
    Ok(())
}
