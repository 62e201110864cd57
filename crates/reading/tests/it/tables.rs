//! Ordinary tables, against the truth of ICDAR-2013 and against pdfplumber in the same run.

use std::process::Command;

use ibid_reading::FileFormat;
use ibid_testkit::{RealModels, test_set};
use serde_json::{Value, json};

use crate::stage::{read_with, reader, tables};

#[tokio::test]
#[ignore = "needs the test sets beside the project; `.ci/run` runs it by name"]
async fn cells_are_found_at_least_as_well_as_by_pdfplumber_on_test_sets() {
    let data = test_set("pdf_robustness/tabula_icdar2013");
    let mut files = Vec::new();
    find(&data, &mut files);
    let folder = tempfile::tempdir().unwrap();
    let ours = folder.path().join("ours.jsonl");
    let mut lines = String::new();
    for file in files {
        // Some files beside the truth are locked: they have no tables to find.
        let Ok(reading) = read_with(&reader(), &file, FileFormat::Pdf).await else { continue };
        let tables: Vec<Value> = reading
            .pages
            .iter()
            .flat_map(|page| tables(page).map(move |table| (page.number, table)))
            .map(|(page, table)| json!({ "page": page, "rows": table.rows.iter().map(|row| &row.cells).collect::<Vec<_>>() }))
            .collect();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        lines.push_str(&format!("{}\n", json!({ "file": name, "tables": tables })));
    }
    std::fs::write(&ours, lines).unwrap();
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/icdar.py");
    let output = Command::new(RealModels::find().python())
        .arg(script)
        .arg("--data")
        .arg(&data)
        .arg("--ours")
        .arg(&ours)
        .arg("--pdfplumber")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let scores: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    let score = |who: &str, what: &str| scores[who][what].as_f64().unwrap();
    for what in ["f1", "mean_f1"] {
        assert!(score("ours", what) >= score("pdfplumber", what), "{said}");
    }
}

fn find(folder: &std::path::Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "pdf") {
            files.push(path);
        }
    }
    files.sort();
}
