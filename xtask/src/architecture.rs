//! The architecture test: a crate uses only those below it, heavy dependencies have one owner, and
//! every file says what lives in it and stays short.

use std::path::Path;

use anyhow::{Context, bail};
use cargo_metadata::{DependencyKind, MetadataCommand};

/// On which floor each crate stands. A crate may use only those on lower floors. What is not listed
/// must be added here, with thought.
const FLOORS: [(&str, u8); 16] = [
    ("ibid-core", 0),
    ("ibid-graph", 0),
    ("ibid-egress", 0),
    ("ibid-reading", 0),
    ("ibid-page", 0),
    (TEST_KIT, 0),
    ("ibid-engine", 1),
    ("ibid-models", 1),
    ("ibid-knowledge", 1),
    ("ibid-assistants", 1),
    ("ibid-server", 2),
    ("ibid-evals", 2),
    ("ibid", 3),
    // Tools: they may use everything, and nothing uses them.
    ("ibid-bench", 9),
    ("ibid-tests", 9),
    ("xtask", 9),
];

/// Heavy dependencies and the crate that may use each; where a protocol has two ends, one crate for each end. Tools and
/// tests are free.
const OWNERS: [(&str, &str); 23] = [
    ("async-nats", "ibid-engine"),
    ("axum", "ibid-server"),
    ("clap", "ibid"),
    ("indicatif", "ibid"),
    ("jsonschema", "ibid-models"),
    ("jsonwebtoken", "ibid-server"),
    ("minijinja", "ibid-assistants"),
    ("lance", "ibid-knowledge"),
    ("lance-index", "ibid-knowledge"),
    ("lance-linalg", "ibid-knowledge"),
    ("ort", "ibid-models"),
    ("pdfium-render", "ibid-reading"),
    ("pdfplumber-core", "ibid-reading"),
    ("reqwest", "ibid-egress"),
    ("restate-sdk", "ibid-engine"),
    ("rmcp", "ibid-assistants"),
    ("rmcp", "ibid-server"),
    ("rusqlite", "ibid-engine"),
    ("scraper", "ibid-reading"),
    ("tiktoken-rs", "ibid-models"),
    ("tokenizers", "ibid-models"),
    ("tower-http", "ibid-server"),
    ("anyhow", "ibid"),
];

/// What tests share. Nothing that is shipped may use it.
const TEST_KIT: &str = "ibid-testkit";
const TOOLS: u8 = 9;
const LONGEST_FILE: usize = 500;

/// One package uses another.
struct Edge {
    from: String,
    to: String,
    in_tests_only: bool,
}

/// One source file.
struct SourceFile {
    path: String,
    text: String,
}

/// Checks the whole workspace.
pub(crate) fn run() -> anyhow::Result<()> {
    let problems = check(&packages()?, &edges()?, &files()?);
    if problems.is_empty() {
        println!("the architecture holds");
        return Ok(());
    }
    bail!("the architecture does not hold:\n  {}", problems.join("\n  "))
}

fn check(packages: &[String], edges: &[Edge], files: &[SourceFile]) -> Vec<String> {
    let mut problems = Vec::new();
    for package in packages.iter().filter(|package| floor(package).is_none()) {
        problems.push(format!("{package} has no floor; give it one in xtask/src/architecture.rs"));
    }
    for Edge { from, to, in_tests_only } in edges {
        let Some(from_floor) = floor(from) else { continue };
        if let Some(to_floor) = floor(to)
            && to_floor >= from_floor
            && from != to
            && to != TEST_KIT
        {
            problems.push(format!(
                "{from} (floor {from_floor}) uses {to} (floor {to_floor}), which is not below it"
            ));
        }
        let owners: Vec<&str> =
            OWNERS.iter().filter(|(heavy, _)| heavy == to).map(|(_, owner)| *owner).collect();
        if !owners.is_empty()
            && !owners.contains(&from.as_str())
            && from_floor != TOOLS
            && from != TEST_KIT
            && !in_tests_only
        {
            problems.push(format!("{from} uses {to}, which only {} may use", owners.join(" and ")));
        }
        if to == TEST_KIT && from_floor != TOOLS && !in_tests_only {
            problems.push(format!("{from} uses {to}, which is for tests only"));
        }
    }
    for SourceFile { path, text } in files {
        if !text.starts_with("//!") {
            problems.push(format!("{path} does not open with `//!` and what lives there"));
        }
        let lines = text.lines().count();
        if lines > LONGEST_FILE {
            problems.push(format!("{path} has {lines} lines; split what has more than {LONGEST_FILE}"));
        }
    }
    problems
}

fn floor(package: &str) -> Option<u8> {
    FLOORS.iter().find(|(name, _)| *name == package).map(|(_, floor)| *floor)
}

fn packages() -> anyhow::Result<Vec<String>> {
    let metadata = MetadataCommand::new().no_deps().exec()?;
    Ok(metadata.workspace_packages().iter().map(|package| package.name.to_string()).collect())
}

fn edges() -> anyhow::Result<Vec<Edge>> {
    let metadata = MetadataCommand::new().no_deps().exec()?;
    let packages = metadata.workspace_packages();
    let edges = packages.iter().flat_map(|package| {
        package.dependencies.iter().map(|dependency| Edge {
            from: package.name.to_string(),
            to: dependency.name.clone(),
            in_tests_only: dependency.kind == DependencyKind::Development,
        })
    });
    Ok(edges.collect())
}

fn files() -> anyhow::Result<Vec<SourceFile>> {
    let root = MetadataCommand::new().no_deps().exec()?.workspace_root;
    let mut found = Vec::new();
    for folder in ["bench", "crates", "xtask"] {
        collect(root.join(folder).as_std_path(), &mut found)?;
    }
    anyhow::ensure!(!found.is_empty(), "there is no source file to check");
    Ok(found)
}

fn collect(folder: &Path, found: &mut Vec<SourceFile>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target" && name != "node_modules") {
                collect(&path, found)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path)?;
            found.push(SourceFile { path: path.display().to_string(), text });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: &str, to: &str, in_tests_only: bool) -> Edge {
        Edge { from: from.to_owned(), to: to.to_owned(), in_tests_only }
    }

    fn file(text: &str) -> SourceFile {
        SourceFile { path: "a.rs".to_owned(), text: text.to_owned() }
    }

    #[test]
    fn this_workspace_holds() {
        run().unwrap();
    }

    #[test]
    fn a_forbidden_edge_is_found() {
        for (from, to) in [("ibid-engine", "ibid-models"), ("ibid-graph", "ibid-core"), ("ibid-core", "ibid")]
        {
            assert_eq!(check(&[], &[edge(from, to, false)], &[]).len(), 1, "{from} -> {to}");
            assert_eq!(check(&[], &[edge(from, to, true)], &[]).len(), 1, "{from} -> {to} in tests");
        }
        assert!(check(&[], &[edge("ibid-engine", "ibid-graph", false)], &[]).is_empty());
    }

    #[test]
    fn a_heavy_dependency_outside_its_crate_is_found() {
        assert_eq!(check(&[], &[edge("ibid-server", "rusqlite", false)], &[]).len(), 1);
        assert!(check(&[], &[edge("ibid-engine", "rusqlite", false)], &[]).is_empty());
        assert!(check(&[], &[edge("ibid-bench", "rusqlite", false)], &[]).is_empty());
    }

    #[test]
    fn what_is_for_tests_only_is_used_by_tests_only() {
        assert_eq!(check(&[], &[edge("ibid-models", TEST_KIT, false)], &[]).len(), 1);
        assert!(check(&[], &[edge("ibid-models", TEST_KIT, true)], &[]).is_empty());
    }

    #[test]
    fn an_unknown_crate_a_silent_file_and_a_long_file_are_found() {
        assert_eq!(check(&["ibid-new".to_owned()], &[], &[]).len(), 1);
        assert_eq!(check(&[], &[], &[file("fn main() {}")]).len(), 1);
        assert_eq!(check(&[], &[], &[file(&format!("//! long\n{}", "\n".repeat(500)))]).len(), 1);
        assert!(check(&[], &[], &[file("//! Says what lives here.\n")]).is_empty());
    }
}
