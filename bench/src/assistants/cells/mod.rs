//! How well the guard tells values of the right cell from those of another: 2,000 statements from the tariff schedule, the
//! tables of ICDAR 2013, tables in Spanish law and prose with numbers, in five ways and two languages, half of them false.

mod statements;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use ibid_assistants::guard::check;
use ibid_assistants::{Language, Origin, ParsedAnswer, Source};
use ibid_core::answer::Warning;
use ibid_core::evidence::Passage;
use ibid_core::value::{Value, agree, claimed, values};
use ibid_knowledge::Search;
use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::json;

use super::library::{Library, chapter, icdar};
use crate::knowledge::scope;
use statements::{Falsehood, Statement, statements};

const SEED: u64 = 20_261_117;
const CHAPTERS: [u32; 4] = [84, 85, 90, 94];

/// Measures, and prints a table.
pub(crate) fn measure(data: &Path) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(run(data))
}

async fn run(data: &Path) -> anyhow::Result<()> {
    let library = Library::open().await?;
    let sets = match kept() {
        Some(sets) => sets,
        None => {
            let sets = loaded(data, &library).await?;
            if let Some(file) = std::env::var_os(KEPT) {
                std::fs::write(file, serde_json::to_vec(&sets)?)?;
            }
            sets
        }
    };
    let search = &library.search;
    let mut random = StdRng::seed_from_u64(SEED);
    let statements = statements(&sets, &mut random)?;
    let mut counts: BTreeMap<(String, Falsehood), Counted> = BTreeMap::new();
    let mut took = Duration::ZERO;
    for statement in &statements {
        let began = Instant::now();
        let found = warnings(search, statement).await?;
        took += began.elapsed();
        let counted = counts.entry((statement.of.clone(), statement.falsehood)).or_default();
        let is_right = found.iter().any(|warning| statement.falsehood.is(warning.kind));
        counted.all += 1;
        counted.flagged += usize::from(!found.is_empty());
        counted.rightly += usize::from(is_right);
        counted.before += usize::from(is_unborne(statement));
        if (statement.falsehood == Falsehood::None) != found.is_empty() || !is_right && !found.is_empty() {
            let told: Vec<_> = found.iter().map(|warning| (warning.kind, &warning.text)).collect();
            eprintln!("{} ({}): {} {told:?}", statement.falsehood.name(), statement.of, statement.text);
        }
    }
    println!(
        "| set | statements | how many | flagged | for the right reason | flagged by the check of values alone |"
    );
    println!("|---|---|---:|---:|---:|---:|");
    let mut whole: BTreeMap<Falsehood, Counted> = BTreeMap::new();
    for ((of, falsehood), counted) in &counts {
        counted.print(of, *falsehood);
        whole.entry(*falsehood).or_default().add(counted);
    }
    for falsehood in Falsehood::ALL {
        if let Some(counted) = whole.get(&falsehood) {
            counted.print("all", falsehood);
        }
    }
    println!("\n{:.1} ms for each statement", took.as_secs_f64() * 1000.0 / statements.len() as f64);
    println!(
        "{:.1} ms for an answer with ten of them, at the median",
        ten_claims(search, &statements).await?
    );
    let stored = sizes(&sets);
    println!(
        "{:.1} MB of text and {:.1} MB of what is kept of tables beside it",
        stored.0 as f64 / 1e6,
        stored.1 as f64 / 1e6
    );
    Ok(())
}

/// So many answers are timed.
const ANSWERS: usize = 41;
/// Each with so many statements, and no more sources than a turn has.
const CLAIMS: usize = 10;
const SOURCES: usize = 10;

/// How many milliseconds the check of an answer with ten statements takes, at the median.
async fn ten_claims(search: &Search, statements: &[Statement]) -> anyhow::Result<f64> {
    let mut took = Vec::new();
    for answer in statements.chunks(CLAIMS).step_by(statements.len() / CLAIMS / ANSWERS) {
        let mut passages: Vec<Passage> =
            answer.iter().flat_map(|one| one.passages.first().cloned()).collect();
        passages.truncate(SOURCES);
        let text: Vec<&str> = answer.iter().map(|one| one.text.as_str()).collect();
        let began = Instant::now();
        checked(search, &text.join(" "), &passages).await?;
        took.push(began.elapsed().as_secs_f64() * 1000.0);
    }
    took.sort_by(f64::total_cmp);
    Ok(took[took.len() / 2])
}

/// How many bytes the texts of passages have, and what is kept of their tables.
fn sizes(sets: &Sets) -> (usize, usize) {
    let passages = || sets.values().flatten().flatten();
    let tables = passages().filter_map(|passage| serde_json::to_string(&passage.tables).ok());
    (passages().map(|passage| passage.text.len()).sum(), tables.map(|table| table.len()).sum())
}

/// The file that keeps what was read, for whoever works on the check alone.
const KEPT: &str = "IBID_PASSAGES";

/// The passages of each document, by set.
type Sets = BTreeMap<String, Vec<Vec<Passage>>>;

fn kept() -> Option<Sets> {
    serde_json::from_slice(&std::fs::read(std::env::var_os(KEPT)?).ok()?).ok()
}

async fn loaded(data: &Path, library: &Library) -> anyhow::Result<Sets> {
    let mut sets = Sets::new();
    for (set, file) in files(data)? {
        sets.entry(set.to_owned()).or_default().push(library.load(&file).await?);
    }
    Ok(sets)
}

#[derive(Default)]
struct Counted {
    all: usize,
    flagged: usize,
    rightly: usize,
    before: usize,
}

impl Counted {
    fn add(&mut self, other: &Self) {
        self.all += other.all;
        self.flagged += other.flagged;
        self.rightly += other.rightly;
        self.before += other.before;
    }

    fn print(&self, of: &str, falsehood: Falsehood) {
        let share = |count: usize| 100.0 * count as f64 / self.all.max(1) as f64;
        println!(
            "| {of} | {} | {} | {:.1} % | {:.1} % | {:.1} % |",
            falsehood.name(),
            self.all,
            share(self.flagged),
            share(self.rightly),
            share(self.before)
        );
    }
}

/// The documents, by set.
fn files(data: &Path) -> anyhow::Result<Vec<(&'static str, PathBuf)>> {
    let mut files = Vec::new();
    files.extend(CHAPTERS.map(|number| ("tariff schedule", chapter(data, number))));
    let mut of = |set: &'static str, folder: PathBuf, ending: &str| -> anyhow::Result<()> {
        let mut found: Vec<PathBuf> = std::fs::read_dir(&folder)
            .with_context(|| folder.display().to_string())?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == ending))
            .collect();
        found.sort();
        files.extend(found.into_iter().map(|file| (set, file)));
        Ok(())
    };
    of("ICDAR tables", icdar(data, "eu"), "pdf")?;
    of("ICDAR tables", icdar(data, "us"), "pdf")?;
    of("Spanish law", data.join("spanish_regulation/es_boe"), "md")?;
    Ok(files)
}

async fn warnings(search: &Search, statement: &Statement) -> anyhow::Result<Vec<Warning>> {
    checked(search, &statement.text, &statement.passages).await
}

/// What the guard finds in a text that cites all of some passages.
async fn checked(search: &Search, text: &str, passages: &[Passage]) -> anyhow::Result<Vec<Warning>> {
    let sources: Vec<Source> = (1..)
        .zip(passages)
        .map(|(number, passage)| Source { number, origin: Origin::from(passage.clone()) })
        .collect();
    let marks: Vec<String> = sources.iter().map(|source| format!("[{}]", source.number)).collect();
    let answer = format!("{text} {}", marks.concat());
    let written = ParsedAnswer {
        claims: answer.clone(),
        answer,
        cited: Vec::new(),
        fields: json!({}),
        unanswered: false,
    };
    let checked = check(search, &scope(), &sources, &written, "", Language::english()).await?;
    Ok(checked.warnings)
}

/// Whether a value of a statement is in none of its passages: what the guard knew before it knew cells.
fn is_unborne(statement: &Statement) -> bool {
    let own: Vec<Value> = statement.passages.iter().flat_map(|passage| values(&passage.text)).collect();
    claimed(&statement.text).iter().any(|value| !own.iter().any(|other| agree(value, other)))
}
