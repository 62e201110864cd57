//! 200 questions over tables through `query_tables`: look-ups, filters and aggregates over chapters of the tariff schedule, whose
//! right answers come from the schedule's own data, and look-ups in tables of ICDAR 2013, from their transcriptions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use anyhow::Context;
use ibid_assistants::Definition;
use ibid_assistants::tools::{ToolContext, ToolEntry, ToolSettings};
use ibid_core::evidence::{Index, Passage};
use ibid_core::tool::{Tool, ToolOutput};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use regex::Regex;
use serde::Deserialize;
use serde_json::{Value, json};

use super::library::{Library, chapter, icdar};
use super::table_caller::TableCaller;
use crate::knowledge::scope;

const SEED: u64 = 20_261_118;
const CHAPTERS: [u32; 3] = [85, 90, 94];
const MOST_ROWS: usize = 50;

/// Measures, and prints a table.
pub(crate) fn measure(data: &Path) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(run(data))
}

/// A question, as a model would call the tool, and what is right.
struct Asked {
    kind: &'static str,
    /// In words.
    question: String,
    arguments: Value,
    right: Right,
}

enum Right {
    /// The rows, by their first cell, with the last cell that is asked for.
    Rows(BTreeSet<(String, String)>),
    Value(String),
}

async fn run(data: &Path) -> anyhow::Result<()> {
    let library = Library::open().await?;
    let mut random = StdRng::seed_from_u64(SEED);
    let mut questions = Vec::new();
    for number in CHAPTERS {
        library.load(&chapter(data, number)).await?;
        let lines = std::fs::read(data.join(format!("trade_compliance/hts/json/{number}.json")))?;
        let lines: Vec<Line> = serde_json::from_slice(&lines)?;
        questions.extend(of_schedule(&lines, &mut random));
    }
    let names = ["eu", "us"].into_iter().flat_map(|set| (1..=40).map(move |number| (set, number)));
    for (set, number) in names {
        let pdf = icdar(data, set).join(format!("{set}-{number:03}.pdf"));
        let truth = icdar(data, set).join(format!("{set}-{number:03}-str.xml"));
        if pdf.exists() && truth.exists() {
            let read = read(&library.load(&pdf).await?);
            questions.extend(of_icdar(&std::fs::read_to_string(&truth)?, &read));
        }
    }
    library.store.maintain().await?;
    let index: Arc<dyn Index> = Arc::new(library.search);
    let (definition, settings) = (Definition::default(), ToolSettings::default());
    let context =
        ToolContext { index: &index, catalogues: None, definition: &definition, settings: &settings };
    let tool = ToolEntry::find("query_tables").context("there is no such tool")?;
    let tool = tool.build(&context).map_err(anyhow::Error::msg)?.context("it is switched off")?;
    let mut counts: BTreeMap<&str, (usize, usize, Vec<Duration>)> = BTreeMap::new();
    questions.shuffle(&mut random);
    for (kind, most) in KINDS {
        for asked in questions.iter().filter(|asked| asked.kind == kind).take(most) {
            let began = Instant::now();
            let told = answer(tool.as_ref(), &asked.arguments, &asked.right).await;
            let counted = counts.entry(asked.kind).or_default();
            counted.0 += 1;
            counted.1 += usize::from(told.is_ok());
            counted.2.push(began.elapsed());
            if let Err(wrong) = told {
                eprintln!("{}: {} {wrong}", asked.kind, asked.arguments);
            }
        }
    }
    println!("| questions | how many | exact | median ms |");
    println!("|---|---:|---:|---:|");
    for (kind, (all, right, mut took)) in counts {
        took.sort();
        println!("| {kind} | {all} | {right} | {:.0} |", took[took.len() / 2].as_secs_f64() * 1000.0);
    }
    match std::env::var("IBID_ASK_MODEL").ok().and_then(|most| most.parse().ok()) {
        Some(most) => ask_model(tool.as_ref(), &questions, most).await,
        None => Ok(()),
    }
}

/// Has a real small model make the calls, for so many questions of each kind.
async fn ask_model(tool: &dyn Tool, questions: &[Asked], most: usize) -> anyhow::Result<()> {
    let caller = TableCaller::start(tool.spec().clone())?;
    println!(
        "| questions to the 1.5B model | how many | answered by its call | calls that could not be read |"
    );
    println!("|---|---:|---:|---:|");
    for (kind, _) in KINDS {
        let (mut all, mut right, mut unread) = (0, 0, 0);
        for asked in questions.iter().filter(|asked| asked.kind == kind).take(most) {
            all += 1;
            let Some(arguments) = caller.call(&asked.question).await? else {
                unread += 1;
                continue;
            };
            let told = answers(tool, &arguments, &asked.right).await;
            right += usize::from(told.is_ok());
            eprintln!("{} {arguments} {told:?}", asked.question);
        }
        println!("| {kind} | {all} | {right} | {unread} |");
    }
    Ok(())
}

const KINDS: [(&str, usize); 4] = [
    ("look-up, tariff schedule", 60),
    ("filter, tariff schedule", 50),
    ("aggregate, tariff schedule", 60),
    ("look-up, ICDAR", 30),
];

/// What was read of tables: the name of the row, that of the column, and the cell.
fn read(passages: &[Passage]) -> BTreeSet<[String; 3]> {
    let mut all = BTreeSet::new();
    for record in passages.iter().flat_map(Passage::records) {
        let row = record.cells.first().map(|cell| plain(&cell.text)).unwrap_or_default();
        let columns = record.table.columns.iter().map(|column| plain(&column.name));
        let cells = columns.zip(&record.cells);
        all.extend(cells.map(|(column, cell)| [row.clone(), column, plain(&cell.text)]));
    }
    all
}

/// Whether the tool gives what is right, and nothing else; else what it gives.
async fn answer(tool: &dyn Tool, arguments: &Value, right: &Right) -> Result<(), String> {
    let (value, passages) = call(tool, arguments).await?;
    match right {
        Right::Value(right) if *right == value && !passages.is_empty() => Ok(()),
        Right::Value(right) => Err(format!("{value} in place of {right}")),
        Right::Rows(right) => {
            let rows = rows(&passages);
            if rows == *right { Ok(()) } else { Err(format!("{rows:?} in place of {right:?}")) }
        }
    }
}

/// Whether what the tool gives holds what is right: a model that is shown more may still answer.
async fn answers(tool: &dyn Tool, arguments: &Value, right: &Right) -> Result<(), String> {
    let (value, passages) = call(tool, arguments).await?;
    match right {
        Right::Value(right) if *right == value => Ok(()),
        Right::Value(right) => Err(format!("{value} in place of {right}")),
        Right::Rows(right) => {
            let records: Vec<Vec<String>> = passages
                .iter()
                .flat_map(Passage::records)
                .map(|record| record.cells.iter().map(|cell| plain(&cell.text)).collect())
                .collect();
            let is_given = |(row, cell): &(String, String)| {
                records.iter().any(|cells| cells.first() == Some(row) && cells.contains(cell))
            };
            if right.iter().all(is_given) { Ok(()) } else { Err(format!("{} rows", records.len())) }
        }
    }
}

/// The value that the tool computes, and the rows that it gives.
async fn call(tool: &dyn Tool, arguments: &Value) -> Result<(String, Vec<Passage>), String> {
    let output = tool.call(&scope(), arguments.clone()).await.map_err(|error| error.to_string())?;
    let value = match &output {
        ToolOutput::Computed { data, .. } => data["value"].as_str().unwrap_or_default().to_owned(),
        _ => String::new(),
    };
    let (ToolOutput::Found { passages, .. } | ToolOutput::Computed { passages, .. }) = output else {
        return Err("neither rows nor a value".to_owned());
    };
    Ok((value, passages))
}

fn rows(passages: &[Passage]) -> BTreeSet<(String, String)> {
    let records = passages.iter().flat_map(Passage::records);
    let ends = records
        .filter_map(|record| Some((plain(&record.cells.first()?.text), plain(&record.cells.last()?.text))));
    ends.collect()
}

/// A text without space, and without the marks of notes, which the data of the schedule keep apart.
fn plain(text: &str) -> String {
    static MARK: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\[?\d{1,2}/\]?").ok());
    let text = MARK.as_ref().map_or(text.into(), |mark| mark.replace_all(text, ""));
    text.chars().filter(|letter| !letter.is_whitespace()).collect()
}

/// A line of the schedule's data.
#[derive(Deserialize)]
struct Line {
    htsno: String,
    indent: String,
    general: String,
    other: String,
}

/// A row as the schedule has it.
struct Row<'a> {
    code: &'a str,
    line: &'a Line,
    /// Its general rate, its own or that of the row over it.
    general: &'a str,
}

fn rows_of(lines: &[Line]) -> Vec<Row<'_>> {
    let mut over: Vec<(usize, &str)> = Vec::new();
    let mut rows = Vec::new();
    for line in lines {
        let indent: usize = line.indent.parse().unwrap_or_default();
        over.retain(|(above, _)| *above < indent);
        let general = match line.general.as_str() {
            "" => over.last().map_or("", |(_, general)| *general),
            own => {
                over.push((indent, own));
                own
            }
        };
        if !line.htsno.is_empty() {
            rows.push(Row { code: &line.htsno, line, general });
        }
    }
    rows
}

/// A rate as hundredths of a hundredth, if it is one.
fn rate(text: &str) -> Option<i64> {
    if text == "Free" {
        return Some(0);
    }
    let number = text.strip_suffix('%')?;
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    (part.len() <= 2).then(|| format!("{whole}{part:0<2}").parse().ok()).flatten()
}

fn of_schedule(lines: &[Line], random: &mut StdRng) -> Vec<Asked> {
    let rows = rows_of(lines);
    let mut all = Vec::new();
    let headings: BTreeSet<&str> = rows.iter().filter_map(|row| row.code.get(..4)).collect();
    let mut headings: Vec<&str> = headings.into_iter().collect();
    headings.shuffle(random);
    for row in rows.iter().filter(|row| row.code.len() >= 10 && !row.line.general.is_empty()) {
        for (column, right) in
            [("general rate", row.line.general.as_str()), ("rates of duty 2", row.line.other.as_str())]
        {
            if !right.is_empty() {
                let arguments = json!({
                    "about": "rates of duty",
                    "conditions": [{ "column": "subheading", "is": "equal", "value": row.code }],
                    "columns": [column],
                });
                let right = Right::Rows(BTreeSet::from([(plain(row.code), plain(right))]));
                let question = format!("What is the {column} of subheading {}?", row.code);
                all.push(Asked { kind: KINDS[0].0, question, arguments, right });
            }
        }
    }
    for heading in headings {
        let of_heading: Vec<&Row<'_>> = rows.iter().filter(|row| row.code.starts_with(heading)).collect();
        let starts = json!({ "column": "subheading", "is": "starts_with", "value": heading });
        filters(heading, &of_heading, &starts, &mut all);
        aggregates(heading, &of_heading, &starts, &mut all);
    }
    all
}

fn filters(heading: &str, rows: &[&Row<'_>], starts: &Value, all: &mut Vec<Asked>) {
    for (is, value, fits) in [
        ("equal", "Free", (|rate| rate == 0) as fn(i64) -> bool),
        ("at_least", "2.5%", |rate| rate >= 250),
        ("less", "3", |rate| rate < 300),
        ("greater", "4.2 %", |rate| rate > 420),
    ] {
        let right: BTreeSet<(String, String)> = rows
            .iter()
            .filter(|row| rate(row.general).is_some_and(fits))
            .map(|row| (plain(row.code), plain(row.general)))
            .collect();
        // What is not a single rate is compared with none.
        if (1..=MOST_ROWS).contains(&right.len()) {
            let arguments = json!({
                "about": format!("rates of duty of heading {heading}"),
                "conditions": [starts, { "column": "general rate", "is": is, "value": value }],
                "columns": ["general rate"],
                "max_rows": MOST_ROWS,
            });
            let is = is.replace('_', " ");
            let question =
                format!("Which subheadings of heading {heading} have a general rate that is {is} {value}?");
            all.push(Asked { kind: KINDS[1].0, question, arguments, right: Right::Rows(right) });
        }
    }
}

fn aggregates(heading: &str, rows: &[&Row<'_>], starts: &Value, all: &mut Vec<Asked>) {
    let own: Vec<i64> = rows.iter().filter_map(|row| rate(&row.line.general)).collect();
    let (Some(least), Some(most)) = (own.iter().min(), own.iter().max()) else { return };
    let sum: i64 = own.iter().sum();
    let percent = |hundredths: i64| {
        let (whole, part) = (hundredths / 100, hundredths % 100);
        format!("{}%", format!("{whole}.{part:02}").trim_end_matches('0').trim_end_matches('.'))
    };
    let dutiable = own.iter().filter(|rate| **rate > 0).count();
    let mut ask = |function: &str, column: Option<&str>, more: Option<Value>, right: String| {
        let conditions: Vec<Value> = [starts.clone()].into_iter().chain(more).collect();
        let arguments = json!({
            "about": "rates of duty",
            "conditions": conditions,
            "aggregate": function,
            "aggregate_column": column,
        });
        let question = match (function, arguments["conditions"].as_array().map(Vec::len)) {
            ("count", Some(1)) => format!("How many subheadings does heading {heading} have?"),
            ("count", _) => format!("How many subheadings of heading {heading} have a general rate above 0?"),
            _ => format!("What is the {function} of the general rates of heading {heading}?"),
        };
        all.push(Asked { kind: KINDS[2].0, question, arguments, right: Right::Value(right) });
    };
    ask("min", Some("general rate"), None, percent(*least));
    ask("max", Some("general rate"), None, percent(*most));
    ask("sum", Some("general rate"), None, percent(sum));
    if sum % own.len() as i64 == 0 {
        ask("mean", Some("general rate"), None, percent(sum / own.len() as i64));
    }
    ask("count", None, None, rows.len().to_string());
    if dutiable > 0 {
        let more = json!({ "column": "general rate", "is": "greater", "value": "0" });
        ask("count", None, Some(more), dutiable.to_string());
    }
}

/// Look-ups in tables with one row of names of columns and one column of names of rows, if they were read as they are: how well
/// tables are read is measured elsewhere.
fn of_icdar(truth: &str, read: &BTreeSet<[String; 3]>) -> Vec<Asked> {
    let mut all = Vec::new();
    for table in truth.split("<table ").skip(1) {
        let Some(cells) = cells_of(table) else { continue };
        let name = |row: u32, column: u32| cells.get(&(row, column)).map(String::as_str).unwrap_or_default();
        let last = cells.keys().map(|(_, column)| *column).max().unwrap_or_default();
        let columns: Vec<&str> = (0..=last).map(|column| name(0, column)).collect();
        let rows: Vec<u32> =
            cells.keys().map(|(row, _)| *row).collect::<BTreeSet<_>>().into_iter().skip(1).collect();
        let is_told = |names: &[&str]| {
            names.iter().collect::<BTreeSet<_>>().len() == names.len()
                && names.iter().all(|name| name.len() > 2)
        };
        let named: Vec<&str> = rows.iter().map(|row| name(*row, 0)).collect();
        if last < 2 || !is_told(&columns[1..]) || !is_told(&named) || rows.len() < 3 {
            continue;
        }
        let is_read = |((row, column), cell): (&(u32, u32), &String)| {
            *row == 0 || read.contains(&[plain(name(*row, 0)), plain(columns[*column as usize]), plain(cell)])
        };
        if !cells.iter().all(is_read) {
            continue;
        }
        let first = if columns[0].is_empty() { "Column 1" } else { columns[0] };
        for row in rows {
            for column in 1..=last {
                let right = name(row, column);
                if right.contains(|digit: char| digit.is_ascii_digit()) {
                    let arguments = json!({
                        "about": columns.join(" "),
                        "conditions": [{ "column": first, "is": "equal", "value": name(row, 0) }],
                        "columns": [columns[column as usize]],
                    });
                    let right = Right::Rows(BTreeSet::from([(plain(name(row, 0)), plain(right))]));
                    let question = format!("What is the {} of {}?", columns[column as usize], name(row, 0));
                    all.push(Asked { kind: KINDS[3].0, question, arguments, right });
                }
            }
        }
    }
    all
}

/// The cells of a transcribed table by row and column; none if one goes over several.
fn cells_of(table: &str) -> Option<BTreeMap<(u32, u32), String>> {
    let mut cells = BTreeMap::new();
    for cell in table.split("<cell ").skip(1) {
        let (head, rest) = cell.split_once('>')?;
        if head.contains("end-col") || head.contains("end-row") {
            return None;
        }
        let number = |name: &str| -> Option<u32> {
            head.split_once(&format!("{name}=\""))?.1.split('"').next()?.parse().ok()
        };
        let content = rest.split_once("<content>").and_then(|(_, rest)| rest.split_once("</content>"));
        let content = content.map_or("", |(content, _)| content).replace("&amp;", "&");
        let content = content.split_whitespace().collect::<Vec<_>>().join(" ");
        cells.insert((number("start-row")?, number("start-col")?), content);
    }
    Some(cells)
}
