//! Questions that differ from another one in one thing that matters, none of which may be answered with the other's answer; and
//! questions that differ in nothing that does.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use anyhow::Context;
use ibid_core::evidence::DocumentId;
use ibid_core::{Focus, Scope};
use regex::Regex;
use serde_json::Value;

use super::Cached;
use crate::knowledge::scope;

/// So many of each kind.
const EACH: usize = 72;

#[expect(clippy::expect_used, reason = "the patterns are written here")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern that can be read")
}

static NUMBER: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b\d{1,3}\b"));
static YEAR: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b(?:1[5-9]|20)\d\d\b"));
static CODE: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b\d{4}\.\d\d(?:\.\d\d)?\b"));
static NAME: LazyLock<Regex> = LazyLock::new(|| pattern(r"[a-z] ([A-Z][a-z]{3,})\b"));
static VERB: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\b(is|are|was|were|does|did|can|could|must|has)\b"));
static ES_VERB: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\b(es|son|fue|era|tiene|puede|hay|est\u{e1})\b"));

const UNITS: [(&str, &str); 6] = [
    ("in kilograms", "in pounds"),
    ("in kilometers", "in miles"),
    ("in dollars", "in euros"),
    ("in days", "in weeks"),
    ("per year", "per month"),
    ("in litres", "in gallons"),
];

struct Twin {
    kind: &'static str,
    kept: String,
    asked: String,
}

fn questions(data: &Path, set: &str) -> anyhow::Result<Vec<String>> {
    let file = data.join(set);
    let text = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let texts = text.lines().map(|line| {
        let row: Value = serde_json::from_str(line)?;
        let text = row["text"].as_str().or(row["question"].as_str()).unwrap_or_default().trim().to_owned();
        anyhow::Ok(text)
    });
    texts.collect()
}

fn replaced(text: &str, found: Option<regex::Match<'_>>, with: &str) -> Option<String> {
    let found = found?;
    Some(format!("{}{with}{}", &text[..found.start()], &text[found.end()..]))
}

fn next(number: &str) -> String {
    number.parse::<u64>().map_or_else(|_| number.to_owned(), |number| (number + 1).to_string())
}

/// A code with another last digit.
fn other_code(code: &str) -> String {
    let last = code.chars().last().and_then(|digit| digit.to_digit(10)).unwrap_or_default();
    format!("{}{}", &code[..code.len() - 1], (last + 1) % 10)
}

fn ending(question: &str, more: &str) -> String {
    format!("{} {more}?", question.trim_end_matches('?'))
}

fn twins(data: &Path) -> anyhow::Result<Vec<Twin>> {
    let english = questions(data, "retrieval/xquad-en/queries.jsonl")?;
    let spanish = questions(data, "retrieval/xquad-es/queries.jsonl")?;
    let trade = questions(data, "trade_compliance/gold/hts_gold.jsonl")?;
    let names: Vec<String> =
        english.iter().filter_map(|text| Some(NAME.captures(text)?[1].to_owned())).collect();
    let mut twins = Vec::new();
    let mut add = |kind: &'static str, pairs: &mut dyn Iterator<Item = (String, Option<String>)>| {
        let told = pairs.filter_map(|(kept, asked)| Some(Twin { kind, kept, asked: asked? }));
        twins.extend(told.filter(|twin| twin.kept != twin.asked).take(EACH));
    };
    let both = || english.iter().zip(&spanish).flat_map(|(one, other)| [one, other]);
    add(
        "number",
        &mut both().map(|text| {
            let number = NUMBER.find(text);
            (
                text.clone(),
                replaced(text, number, &number.map(|number| next(number.as_str())).unwrap_or_default()),
            )
        }),
    );
    add(
        "date",
        &mut both().enumerate().map(|(at, text)| match YEAR.find(text) {
            Some(year) => (text.clone(), replaced(text, Some(year), &next(year.as_str()))),
            None if at % 9 == 0 => (ending(text, "on March 5, 2015"), Some(ending(text, "on March 6, 2015"))),
            None => (text.clone(), None),
        }),
    );
    add(
        "code",
        &mut trade.iter().map(|text| {
            let code = CODE.find(text);
            (
                text.clone(),
                replaced(text, code, &code.map(|code| other_code(code.as_str())).unwrap_or_default()),
            )
        }),
    );
    add(
        "name",
        &mut english.iter().enumerate().map(|(at, text)| {
            let own = NAME.captures(text).and_then(|found| found.get(1));
            let is_other = |name: &&String| {
                own.is_some_and(|own| !name.contains(own.as_str())) && !text.contains(name.as_str())
            };
            let other = names.iter().cycle().skip(at + 1).take(names.len()).find(is_other);
            let asked = replaced(text, own, other.map_or("", String::as_str));
            // Half of them as people write in a hurry.
            if at % 2 == 0 {
                (text.clone(), asked)
            } else {
                (text.to_lowercase(), asked.map(|asked| asked.to_lowercase()))
            }
        }),
    );
    add(
        "negation",
        &mut both().map(|text| {
            let verb = VERB.find(text);
            match (verb, ES_VERB.find(text)) {
                (Some(verb), _) => {
                    (text.clone(), replaced(text, Some(verb), &format!("{} not", verb.as_str())))
                }
                (None, Some(verb)) => {
                    (text.clone(), replaced(text, Some(verb), &format!("no {}", verb.as_str())))
                }
                (None, None) => (text.clone(), None),
            }
        }),
    );
    add(
        "unit",
        &mut english.iter().enumerate().map(|(at, text)| {
            let (one, other) = UNITS[at % UNITS.len()];
            (ending(text, one), Some(ending(text, other)))
        }),
    );
    Ok(twins)
}

/// Scopes that are not the usual one.
fn other_scopes() -> anyhow::Result<Vec<Scope>> {
    let document = Some([DocumentId("another".to_owned())].into());
    Ok(vec![
        Scope::of("another".parse()?),
        scope().within(["another".parse()?]),
        scope().holding(["board".parse()?]),
        scope().focused(Focus { documents: document, ..Focus::default() }),
        scope().focused(Focus { types: Some(["law".to_owned()].into()), ..Focus::default() }),
        scope().focused(Focus { languages: Some(["es".to_owned()].into()), ..Focus::default() }),
    ])
}

/// The same question as somebody else would type it.
fn again(question: &str) -> Vec<(&'static str, String)> {
    let begin = question.chars().next().map(|first| first.to_lowercase().to_string()).unwrap_or_default();
    let small = begin + &question.chars().skip(1).collect::<String>();
    vec![
        ("word for word", question.to_owned()),
        ("in small letters, without a mark", question.to_lowercase().trim_end_matches('?').to_owned()),
        ("after \"Could you tell me\"", format!("Could you tell me {small}")),
        ("before \"please\"", format!("{}, please?", question.trim_end_matches('?'))),
        ("without articles", question.replace(" the ", " ").replace(" a ", " ")),
        ("contracted", question.replace("What is", "What's").replace(" did not", " didn't")),
    ]
}

/// Measures, and prints tables.
pub(super) async fn measure(data: &Path) -> anyhow::Result<()> {
    let cached = Cached::open(data).await?;
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut false_hits = Vec::new();
    for twin in twins(data)? {
        cached.keep(&scope(), &twin.kept).await?;
        anyhow::ensure!(cached.is_hit(&scope(), &twin.kept).await?, "not found again: {}", twin.kept);
        let count = counts.entry(twin.kind).or_default();
        count.0 += 1;
        if cached.is_hit(&scope(), &twin.asked).await? {
            count.1 += 1;
            false_hits.push(format!("{}: {} / {}", twin.kind, twin.kept, twin.asked));
        }
    }
    let english = questions(data, "retrieval/xquad-en/queries.jsonl")?;
    for (scope, question) in other_scopes()?.iter().cycle().zip(&english).take(EACH) {
        cached.keep(&crate::knowledge::scope(), question).await?;
        let count = counts.entry("scope").or_default();
        count.0 += 1;
        if cached.is_hit(scope, question).await? {
            count.1 += 1;
            false_hits.push(format!("scope: {question} / {scope:?}"));
        }
    }
    println!("\n## Near-twins\n\n| they differ in | pairs | false hits |\n|---|---|---|");
    for (kind, (all, wrong)) in &counts {
        println!("| {kind} | {all} | {wrong} |");
    }
    let (all, wrong) =
        counts.values().fold((0, 0), |(all, wrong), (more, false_hits)| (all + more, wrong + false_hits));
    println!("| all | {all} | {wrong} |");
    false_hits.iter().for_each(|pair| println!("\n{pair}"));
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for question in english.iter().take(EACH) {
        for (how, again) in again(question) {
            let count = counts.entry(how).or_default();
            count.0 += 1;
            count.1 += usize::from(cached.is_hit(&scope(), &again).await?);
        }
    }
    println!("\n## The same question again\n\n| how | asked | hits |\n|---|---|---|");
    for (how, (all, hits)) in counts {
        println!("| {how} | {all} | {hits} |");
    }
    Ok(())
}
