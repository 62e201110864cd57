//! How well the guard tells true citations from altered ones: 1,000 citations from the real chapters of the tariff
//! schedule, of which every other one is altered in a digit, a word, a negation or the page.
//!
//! Prose is cited from what poppler's `pdftotext` makes of the same pages, so that reading is not measured by itself.
//! Rows are cited as models do: cells left out, other signs between them.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, bail};
use ibid_assistants::guard::check;
use ibid_assistants::{CitationDraft, Language, Origin, ParsedAnswer, Source};
use ibid_core::answer::{QuoteMatch, WarningKind};
use ibid_core::evidence::{Index, Passage};
use ibid_knowledge::{Ingestion, Search, Store};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::json;

use crate::knowledge::{local, reader, schedule, scope};

const CITATIONS: usize = 1000;
const SEED: u64 = 20_260_101;
const CHAPTERS: [u32; 4] = [84, 85, 90, 94];

/// How a citation is altered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Not,
    Digit,
    Word,
    Negation,
    Page,
}

impl Kind {
    const ALTERED: [Self; 4] = [Self::Digit, Self::Word, Self::Negation, Self::Page];

    fn name(self) -> &'static str {
        match self {
            Self::Not => "true",
            Self::Digit => "a digit altered",
            Self::Word => "a word altered",
            Self::Negation => "a negation put in or taken out",
            Self::Page => "another page",
        }
    }
}

/// A passage with a page, and words of that page.
struct Sample {
    passage: Passage,
    quote: String,
}

/// Measures, and prints a table.
pub(crate) fn measure(data: &Path) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(run(data))
}

async fn run(data: &Path) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let embedder = local("use-multilingual")?;
    let place = folder.path().to_string_lossy().into_owned();
    let store = Arc::new(Store::open(&place, HashMap::new(), embedder.name(), embedder.dimensions()).await?);
    let ingestion = Ingestion::new(store.clone(), embedder.clone(), reader()?);
    let mut samples = Vec::new();
    let mut random = StdRng::seed_from_u64(SEED);
    let search = Search::new(store.clone(), embedder);
    let mut pages: HashMap<(String, u32), Vec<Passage>> = HashMap::new();
    for chapter in CHAPTERS {
        let source = format!("hts/pdf/chapter/Chapter_{chapter}.pdf");
        let path = data.join("trade_compliance").join(&source);
        let bytes = std::fs::read(&path).with_context(|| source.clone())?;
        let job = schedule(source, ingestion.keep(&bytes).await?)?;
        let document = job.document();
        let summary = ingestion.load(job).await?;
        eprintln!("chapter {chapter}: {} pages, {} chunks", summary.pages, summary.chunks);
        for page in 1..=summary.pages {
            let chunks = search.page(&scope(), &document, page).await?;
            if chunks.is_empty() {
                continue;
            }
            let raw = raw_text(&path, page)?;
            samples.extend(rows(&chunks, &mut random));
            samples.extend(prose(&chunks, &raw, &mut random));
            pages.insert((document.to_string(), page), chunks);
        }
    }
    let vocabulary: Vec<String> =
        samples.iter().flat_map(|sample| words(&sample.quote)).filter(|word| is_content(word)).collect();
    let mut counts: HashMap<Kind, (usize, usize)> = HashMap::new();
    let mut made = 0;
    let began = std::time::Instant::now();
    while made < CITATIONS {
        let Some(sample) = samples.choose(&mut random) else { bail!("there is nothing to cite") };
        let kind = if made % 2 == 0 { Kind::Not } else { Kind::ALTERED[made / 2 % 4] };
        let Some((page, quote)) = altered(sample, kind, &vocabulary, &pages, &mut random) else { continue };
        made += 1;
        let flagged = flagged(&search, sample, page, &quote).await?;
        let (all, caught) = counts.entry(kind).or_default();
        *all += 1;
        *caught += usize::from(flagged);
        if flagged == (kind == Kind::Not) {
            eprintln!(
                "{}: page {page} of {}: {quote}\n    as it was: {}",
                kind.name(),
                sample.passage.page,
                sample.quote
            );
        }
    }
    println!("| citations | how many | flagged | share |\n|---|---:|---:|---:|");
    for kind in [Kind::Not].into_iter().chain(Kind::ALTERED) {
        let (all, caught) = counts.get(&kind).copied().unwrap_or_default();
        println!(
            "| {} | {all} | {caught} | {:.1} % |",
            kind.name(),
            100.0 * caught as f64 / all.max(1) as f64
        );
    }
    eprintln!("{:.2} ms for each", began.elapsed().as_secs_f64());
    Ok(())
}

/// Whether the guard finds something wrong with a citation.
async fn flagged(search: &Search, sample: &Sample, page: u32, quote: &str) -> anyhow::Result<bool> {
    let source = Source { number: 1, origin: Origin::Passage(Box::new(sample.passage.clone())) };
    let cited = vec![CitationDraft { source: 1, page: Some(page), quote: quote.to_owned() }];
    let answer = "So it is [1].".to_owned();
    let written =
        ParsedAnswer { claims: answer.clone(), answer, cited, fields: json!({}), unanswered: false };
    let checked = check(search, &scope(), &[source], &written, "", Language::english()).await?;
    let found = checked.citations.iter().any(|citation| citation.found == QuoteMatch::NotFound);
    let told = checked.warnings.iter().any(|warning| warning.kind != WarningKind::NothingCited);
    Ok(found || told)
}

/// Rows as models cite them.
fn rows(chunks: &[Passage], random: &mut StdRng) -> Vec<Sample> {
    let mut samples = Vec::new();
    for passage in chunks {
        for row in passage.text.lines().skip(1).filter(|line| line.contains(" | ")) {
            let cells: Vec<&str> = row.split(" | ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
            if cells.len() < 3 || !cells[0].contains('.') || words(row).len() < 5 {
                continue;
            }
            let kept: Vec<&str> = cells
                .iter()
                .enumerate()
                .filter(|(index, _)| *index < 2 || random.random_bool(0.6))
                .map(|(_, cell)| *cell)
                .collect();
            let sign = [" | ", ", ", " ", ": ", "\t"].choose(random).copied().unwrap_or(" ");
            samples.push(Sample { passage: passage.clone(), quote: kept.join(sign) });
        }
    }
    samples
}

/// Sentences as another program reads them off the page.
fn prose(chunks: &[Passage], raw: &str, random: &mut StdRng) -> Vec<Sample> {
    let mut samples = Vec::new();
    let Some(passage) = chunks.iter().find(|chunk| !chunk.text.contains(" | ")) else { return samples };
    for paragraph in raw.split("\n\n") {
        let text: Vec<&str> = paragraph.split_whitespace().collect();
        // Rows of dots and columns are not prose.
        if text.len() < 14 || paragraph.contains("..") || paragraph.contains("   ") {
            continue;
        }
        let length = random.random_range(8..=text.len().min(28));
        let from = random.random_range(0..=text.len() - length);
        // Who begins after a "not" has altered what is said.
        if from > 0 && is_negation(text[from - 1]) {
            continue;
        }
        let mut quote = text[from..from + length].join(" ");
        if random.random_bool(0.2) {
            quote = quote.replace(['\u{201c}', '\u{201d}'], "\"").to_uppercase();
        }
        samples.push(Sample { passage: passage.clone(), quote });
    }
    samples
}

/// A page as poppler reads it.
fn raw_text(path: &Path, page: u32) -> anyhow::Result<String> {
    let page = page.to_string();
    let output = Command::new("pdftotext").args(["-f", &page, "-l", &page]).arg(path).arg("-").output();
    let output = output.context("pdftotext, of the package poppler-utils, does not run")?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn is_negation(word: &str) -> bool {
    let negations = ["not", "no", "non", "nor", "never", "without", "except", "excluding"];
    negations.contains(&word.trim_matches(|letter: char| !letter.is_alphabetic()).to_lowercase().as_str())
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// A word that says something.
fn is_content(word: &str) -> bool {
    word.len() >= 5 && word.chars().all(char::is_alphabetic)
}

/// A citation altered in one way, and its page; none where there is nothing to alter.
fn altered(
    sample: &Sample,
    kind: Kind,
    vocabulary: &[String],
    pages: &HashMap<(String, u32), Vec<Passage>>,
    random: &mut StdRng,
) -> Option<(u32, String)> {
    let (page, quote) = (sample.passage.page, sample.quote.clone());
    match kind {
        Kind::Not => Some((page, quote)),
        Kind::Digit => {
            let digits: Vec<usize> = quote
                .char_indices()
                .filter(|(_, letter)| letter.is_ascii_digit())
                .map(|(at, _)| at)
                .collect();
            let at = *digits.choose(random)?;
            let old = quote[at..].chars().next()?.to_digit(10)?;
            let new = (old + random.random_range(1..10)) % 10;
            Some((page, format!("{}{new}{}", &quote[..at], &quote[at + 1..])))
        }
        Kind::Word => {
            let mut words = words(&quote);
            let places: Vec<usize> = (0..words.len()).filter(|at| is_content(&words[*at])).collect();
            let at = *places.choose(random)?;
            let new = vocabulary.choose(random)?;
            if new.eq_ignore_ascii_case(&words[at]) {
                return None;
            }
            words[at] = new.clone();
            Some((page, words.join(" ")))
        }
        Kind::Negation => {
            let mut words = words(&quote);
            if let Some(at) = words.iter().position(|word| is_negation(word)) {
                words.remove(at);
                return Some((page, words.join(" ")));
            }
            let at = random.random_range(1..words.len().max(2));
            words.insert(at.min(words.len()), "not".to_owned());
            Some((page, words.join(" ")))
        }
        Kind::Page => {
            let others: Vec<u32> = pages
                .iter()
                .filter(|((document, other), chunks)| {
                    *document == sample.passage.document.0 && *other != page && !says(chunks, &quote)
                })
                .map(|((_, other), _)| *other)
                .collect();
            // In an order that is the same in every run.
            let mut others = others;
            others.sort_unstable();
            Some((*others.choose(random)?, quote))
        }
    }
}

/// Whether all words of a quotation are on a page, in whatever order: then it may be there as well.
fn says(chunks: &[Passage], quote: &str) -> bool {
    let on_page: String =
        chunks.iter().map(|chunk| format!("{} {} ", chunk.path.join(" "), chunk.text)).collect();
    let on_page = on_page.to_lowercase();
    let parts = quote.split(|letter: char| !letter.is_alphanumeric() && letter != '.');
    parts.filter(|word| !word.is_empty()).all(|word| on_page.contains(&word.to_lowercase()))
}
