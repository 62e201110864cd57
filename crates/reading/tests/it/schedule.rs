//! Tariff schedules: rules between columns, none between rows, no spaces in the file.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use ibid_reading::codes;
use ibid_testkit::test_set;
use serde_json::Value;

use crate::stage::{read, sample, tables};

/// A line of the schedule as the truth has it, or as it was read.
type Cells = [String; 5];

/// Without spaces, footnote marks, and dots or colons at the end: a row of dots leads from the description to
/// the unit and from the unit to the rate, and hides a full stop before it.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut depth = 0;
    for char in text.chars() {
        match char {
            '[' => depth += 1,
            ']' => depth -= 1,
            '²' => plain.push('2'),
            '³' => plain.push('3'),
            _ if depth > 0 || char.is_whitespace() => {}
            _ => plain.extend(char.to_lowercase()),
        }
    }
    plain.trim_end_matches(['.', ':']).to_owned()
}

/// Every line with 8 or 10 digits in the truth.
fn truth(file: &Path) -> Vec<(String, Cells)> {
    let lines: Vec<Value> = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let units = |value: &Value| value.as_array().into_iter().flatten().map(text).collect::<String>();
    let line = |line: &Value| {
        let cells = [
            text(&line["description"]),
            units(&line["units"]),
            text(&line["general"]),
            text(&line["special"]),
            text(&line["other"]),
        ];
        (text(&line["htsno"]), cells)
    };
    lines.iter().map(line).filter(|(code, _)| code.replace('.', "").len() >= 8).collect()
}

/// Reads a chapter, and says which lines of the truth came out wrong.
async fn wrong(chapter: &Path, truth: &[(String, Cells)]) -> Vec<String> {
    let reading = read(chapter).await;
    let mut rows: HashMap<String, Vec<Cells>> = HashMap::new();
    for page in &reading.pages {
        assert!(page.remarks.is_empty(), "page {}: {:?}", page.number, page.remarks);
        let mut in_rows: BTreeSet<String> = BTreeSet::new();
        for row in tables(page).flat_map(|table| &table.rows) {
            in_rows.extend(row.cells.iter().flatten().flat_map(|cell| codes::dotted(cell)));
            if let (Some(code), 7, false) = (&row.code, row.cells.len(), row.repeated) {
                rows.entry(code.clone())
                    .or_default()
                    .push([2, 3, 4, 5, 6].map(|column| row.cell(column).to_owned()));
            }
        }
    }
    let mut wrong = Vec::new();
    for (code, cells) in truth {
        let same = |read: &Cells| read.iter().zip(cells).all(|(read, cell)| plain(read) == plain(cell));
        match rows.get(code) {
            None => wrong.push(format!("{code} is missing")),
            Some(read) if !read.iter().any(same) => {
                wrong.push(format!("{code} is {read:?} and should be {cells:?}"));
            }
            _ => {}
        }
    }
    wrong
}

#[tokio::test]
async fn pages_of_a_schedule_come_out_row_by_row() {
    let wrong =
        wrong(&sample("hts-chapter-85-pages-70-71.pdf"), &truth(&sample("hts-chapter-85-pages-70-71.json")))
            .await;
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn a_row_knows_its_whole_code_and_what_governs_it() {
    let reading = read(&sample("hts-chapter-85-pages-70-71.pdf")).await;
    let rows: Vec<_> = reading.pages.iter().flat_map(tables).flat_map(|table| &table.rows).collect();
    let row = rows.iter().find(|row| row.code.as_deref() == Some("8539.22.80.40")).expect("the row is there");
    assert_eq!(row.cell(2), "Of a power 15 W or more but not exceeding 150 W");
    let path: Vec<&str> = row.path.iter().map(|name| name.split(' ').next().unwrap_or_default()).collect();
    assert_eq!(path, ["8539", "Other", "8539.22", "8539.22.80", "Of", "Other,"]);
    // The second page goes on with the table of the first, and repeats what still governs.
    let second = tables(&reading.pages[1]).next().expect("a table");
    assert!(second.continues);
    assert!(second.rows.iter().any(|row| row.repeated));
    assert_eq!(second.columns[4], "Rates of Duty 1 General");
}

#[tokio::test]
#[ignore = "needs the test sets beside the project; `.ci/run` runs it by name"]
async fn whole_chapters_come_out_right_to_99_in_100_lines_on_test_sets() {
    let data = test_set("trade_compliance/hts");
    let (mut all, mut failed) = (0, Vec::new());
    for chapter in [84, 85, 90, 94] {
        let truth = truth(&data.join(format!("json/{chapter}.json")));
        all += truth.len();
        failed.extend(wrong(&data.join(format!("pdf/chapter/Chapter_{chapter}.pdf")), &truth).await);
    }
    let right = 1.0 - failed.len() as f64 / all as f64;
    assert!(right >= 0.99, "only {:.2} % of {all} lines are right:\n{}", right * 100.0, failed.join("\n"));
}
