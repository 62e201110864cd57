//! The architecture test: a crate uses only those below it, heavy dependencies have one owner, and
//! every file says what lives in it and stays short.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};
use cargo_metadata::{DependencyKind, MetadataCommand};

/// The layer of each crate. A crate may use only those on lower layers. What is not listed
/// must be added here, with thought.
const LAYERS: [(&str, u8); 20] = [
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
    ("ibid-sources", 1),
    ("ibid-telemetry", 1),
    ("ibid-evals", 1),
    ("ibid-app", 2),
    ("ibid-server", 3),
    ("ibid", 4),
    // Tools: they may use everything, and nothing uses them.
    ("ibid-bench", 9),
    ("ibid-fuzz", 9),
    ("ibid-tests", 9),
    ("xtask", 9),
];

/// Heavy dependencies and the crate that may use each; where a protocol has two ends, one crate for each end. Tools and
/// tests are free.
const OWNERS: [(&str, &str); 36] = [
    ("axum", "ibid-server"),
    ("clap", "ibid"),
    ("deadpool-postgres", "ibid-engine"),
    ("globset", "ibid-sources"),
    ("indicatif", "ibid"),
    ("jsonschema", "ibid-models"),
    ("jsonwebtoken", "ibid-server"),
    ("metrics-exporter-prometheus", "ibid-telemetry"),
    ("minijinja", "ibid-assistants"),
    ("lance", "ibid-knowledge"),
    ("lance-index", "ibid-knowledge"),
    ("lance-linalg", "ibid-knowledge"),
    ("notify", "ibid-sources"),
    ("opendal-core", "ibid-sources"),
    ("opendal-service-s3", "ibid-sources"),
    ("opendal-service-webdav", "ibid-sources"),
    ("opentelemetry", "ibid-telemetry"),
    ("opentelemetry-http", "ibid-telemetry"),
    ("opentelemetry-otlp", "ibid-telemetry"),
    ("opentelemetry_sdk", "ibid-telemetry"),
    ("ort", "ibid-models"),
    ("parquet", "ibid-reading"),
    ("pdfium-render", "ibid-reading"),
    ("pdfplumber-core", "ibid-reading"),
    ("reqwest", "ibid-egress"),
    ("rmcp", "ibid-assistants"),
    ("rmcp", "ibid-server"),
    ("rusqlite", "ibid-engine"),
    ("scraper", "ibid-reading"),
    ("tiktoken-rs", "ibid-models"),
    ("tokenizers", "ibid-models"),
    ("tokio-postgres", "ibid-engine"),
    ("tower-http", "ibid-server"),
    ("tracing-opentelemetry", "ibid-telemetry"),
    ("tracing-subscriber", "ibid-telemetry"),
    ("anyhow", "ibid"),
];

/// What tests share. Nothing that is shipped may use it.
const TEST_KIT: &str = "ibid-testkit";
const TOOLS: u8 = 9;
const LONGEST_FILE: usize = 500;

/// Something that stands in a few places only, so that it can be changed there.
struct Seam {
    /// What is looked for.
    pattern: &'static str,
    /// Where it may stand: parts of paths.
    allowed: &'static [&'static str],
    /// What holds.
    rule: &'static str,
}

/// The seams between the crates that ship. Tests, examples and tools are free.
const SEAMS: [Seam; 5] = [
    Seam {
        pattern: "LocalEngine",
        allowed: &["crates/engine/", "crates/app/"],
        rule: "only `ibid-app` opens a local engine; use the port `Engine`",
    },
    Seam {
        pattern: "PostgresEngine",
        allowed: &["crates/engine/", "crates/app/"],
        rule: "only `ibid-app` opens an engine on Postgres; use the port `Engine`",
    },
    Seam {
        pattern: "EngineFile",
        allowed: &["crates/engine/", "crates/app/"],
        rule: "only `ibid-app` looks into an engine's file",
    },
    Seam {
        pattern: "EventKind",
        allowed: &["crates/engine/", "crates/graph/"],
        rule: "events are matched as `TurnEvent` or `LoadEvent`, not as what a graph emits",
    },
    Seam {
        pattern: "Custom { name",
        allowed: &["crates/engine/", "crates/graph/", "crates/core/"],
        rule: "no event is matched by its name; `ibid_core::event` knows the names",
    },
];

impl Seam {
    fn is_broken_by(&self, path: &str, text: &str) -> bool {
        let ships = path.contains("crates/") && path.contains("/src/");
        ships && text.contains(self.pattern) && !self.allowed.iter().any(|part| path.contains(part))
    }
}

/// Public types that may share a name, and why.
const SHARED_NAMES: [(&str, &str); 1] = [("Error", "every crate has one, and callers name the crate")];

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
    for package in packages.iter().filter(|package| layer(package).is_none()) {
        problems.push(format!("{package} has no layer; give it one in xtask/src/architecture.rs"));
    }
    for Edge { from, to, in_tests_only } in edges {
        let Some(from_layer) = layer(from) else { continue };
        if let Some(to_layer) = layer(to)
            && to_layer >= from_layer
            && from != to
            && to != TEST_KIT
        {
            problems.push(format!(
                "{from} (layer {from_layer}) uses {to} (layer {to_layer}), which is not below it"
            ));
        }
        let owners: Vec<&str> =
            OWNERS.iter().filter(|(heavy, _)| heavy == to).map(|(_, owner)| *owner).collect();
        if !owners.is_empty()
            && !owners.contains(&from.as_str())
            && from_layer != TOOLS
            && from != TEST_KIT
            && !in_tests_only
        {
            problems.push(format!("{from} uses {to}, which only {} may use", owners.join(" and ")));
        }
        if to == TEST_KIT && from_layer != TOOLS && !in_tests_only {
            problems.push(format!("{from} uses {to}, which is for tests only"));
        }
    }
    problems.extend(names_used_twice(files));
    for SourceFile { path, text } in files {
        problems.extend(
            SEAMS
                .iter()
                .filter(|seam| seam.is_broken_by(path, text))
                .map(|seam| format!("{path}: {}", seam.rule)),
        );
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

/// Public types of the crates that ship whose name another one has.
fn names_used_twice(files: &[SourceFile]) -> Vec<String> {
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    let mut problems = Vec::new();
    for SourceFile { path, text } in files.iter().filter(|file| file.path.contains("/src/")) {
        if !path.contains("crates/") || path.contains("crates/testkit/") {
            continue;
        }
        let shipped = text.split("#[cfg(test)]").next().unwrap_or_default();
        for name in shipped.lines().filter_map(public_type) {
            match seen.insert(name, path) {
                Some(other) if !SHARED_NAMES.iter().any(|(shared, _)| *shared == name) => {
                    problems.push(format!("{path} and {other} both have a public type `{name}`; rename one"));
                }
                _ => {}
            }
        }
    }
    problems
}

/// The public type that a line declares.
fn public_type(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub ")?;
    let name =
        ["struct ", "enum ", "trait ", "type "].iter().find_map(|keyword| rest.strip_prefix(keyword))?;
    // A macro has no name here.
    name.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .next()
        .filter(|name| !name.is_empty())
}

fn layer(package: &str) -> Option<u8> {
    LAYERS.iter().find(|(name, _)| *name == package).map(|(_, layer)| *layer)
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
    fn a_broken_seam_and_a_name_that_is_used_twice_are_found() {
        let at =
            |path: &str, text: &str| SourceFile { path: path.to_owned(), text: format!("//! x\n{text}\n") };
        let opened = "use ibid_engine::LocalEngine;";
        assert_eq!(check(&[], &[], &[at("crates/server/src/a.rs", opened)]).len(), 1);
        assert!(check(&[], &[], &[at("crates/app/src/a.rs", opened)]).is_empty());
        let matched = "if let TurnEvent::Custom { name, .. } = event {}";
        assert_eq!(check(&[], &[], &[at("crates/server/src/a.rs", matched)]).len(), 1);
        let twice =
            [at("crates/app/src/a.rs", "pub struct Place;"), at("crates/core/src/b.rs", "pub enum Place {}")];
        assert_eq!(check(&[], &[], &twice).len(), 1);
        let errors =
            [at("crates/app/src/a.rs", "pub enum Error {}"), at("crates/core/src/b.rs", "pub enum Error {}")];
        assert!(check(&[], &[], &errors).is_empty());
    }

    #[test]
    fn an_unknown_crate_a_silent_file_and_a_long_file_are_found() {
        assert_eq!(check(&["ibid-new".to_owned()], &[], &[]).len(), 1);
        assert_eq!(check(&[], &[], &[file("fn main() {}")]).len(), 1);
        assert_eq!(check(&[], &[], &[file(&format!("//! long\n{}", "\n".repeat(500)))]).len(), 1);
        assert!(check(&[], &[], &[file("//! Says what lives here.\n")]).is_empty());
    }
}
