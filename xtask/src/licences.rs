//! What the program is made of: every crate and npm package in it, with its licence texts, as the packages carry them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, PackageId};
use serde::Deserialize;

/// What is taken for a licence text, by the beginning of its file name.
const TEXTS: [&str; 6] = ["license", "licence", "copying", "notice", "copyright", "unlicense"];

/// Writes the list and the texts to the file that is named. The npm packages have to be installed.
pub(crate) fn run(mut arguments: impl Iterator<Item = String>) -> Result<()> {
    let file = arguments.next().context("usage: cargo xtask licences FILE")?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    // Only what this machine links: crates for other platforms are not in its packages.
    let rustc = Command::new("rustc").arg("-vV").output().context("rustc cannot be run")?;
    let told = String::from_utf8(rustc.stdout)?;
    let host = told.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc names no host")?;
    let mut metadata = MetadataCommand::new();
    metadata.current_dir(&root).other_options(["--filter-platform".to_owned(), host.to_owned()]);
    let mut parts = crates(&metadata.exec()?)?;
    parts.extend(npm_packages(&root.join("web"))?);
    // Many parts have the same text: it is printed once, under all that have it.
    let mut having: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut page = String::from("ibid contains the following software, under these licences.\n\n");
    for part in &parts {
        writeln!(page, "{}: {}", part.name, part.licence)?;
        for text in &part.texts {
            having.entry(text.clone()).or_default().insert(part.name.clone());
        }
    }
    for (text, names) in &having {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        write!(page, "\n{}\n{}\n\n{text}\n", "-".repeat(80), names.join(", "))?;
    }
    std::fs::write(&file, page).with_context(|| format!("{file} cannot be written"))?;
    println!("{} parts, {} licence texts, in {file}", parts.len(), having.len());
    Ok(())
}

/// Something that is in the program.
struct Part {
    name: String,
    licence: String,
    texts: Vec<String>,
}

/// The crates that are linked into the binary.
fn crates(metadata: &Metadata) -> Result<Vec<Part>> {
    let graph = metadata.resolve.as_ref().context("cargo resolves no dependencies")?;
    let nodes: BTreeMap<&PackageId, _> = graph.nodes.iter().map(|node| (&node.id, node)).collect();
    let program =
        metadata.packages.iter().find(|package| package.name == "ibid").context("there is no ibid")?;
    let (mut found, mut open) = (BTreeSet::new(), vec![&program.id]);
    while let Some(id) = open.pop() {
        if !found.insert(id) {
            continue;
        }
        let dependencies = nodes.get(id).map(|node| node.deps.as_slice()).unwrap_or_default();
        let linked = dependencies
            .iter()
            .filter(|dependency| dependency.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal));
        open.extend(linked.map(|dependency| &dependency.pkg));
    }
    let mut parts = Vec::new();
    for package in &metadata.packages {
        // Ours have a licence of their own.
        if package.source.is_none() || !found.contains(&package.id) {
            continue;
        }
        let folder = package.manifest_path.parent().context("a manifest is in a folder")?;
        parts.push(Part {
            name: format!("{} {}", package.name, package.version),
            licence: package.license.clone().unwrap_or_else(|| "see its text".to_owned()),
            texts: texts(folder.as_std_path())?,
        });
    }
    Ok(parts)
}

#[derive(Deserialize)]
struct Lock {
    packages: BTreeMap<String, Locked>,
}

#[derive(Deserialize)]
struct Locked {
    version: Option<String>,
    #[serde(default)]
    dev: bool,
    license: Option<String>,
}

/// The npm packages that the web UI is built of.
fn npm_packages(web: &Path) -> Result<Vec<Part>> {
    let lock: Lock = serde_json::from_str(&std::fs::read_to_string(web.join("package-lock.json"))?)?;
    ensure!(web.join("node_modules").is_dir(), "the npm packages are not installed: run `npm ci` in web/");
    let mut parts = Vec::new();
    for (path, locked) in lock.packages {
        let folder = web.join(&path);
        let Some(name) = path.rsplit_once("node_modules/").map(|(_, name)| name) else { continue };
        // Some are for other platforms.
        if locked.dev || !folder.is_dir() {
            continue;
        }
        parts.push(Part {
            name: format!("{name} {}", locked.version.unwrap_or_default()),
            licence: locked.license.unwrap_or_else(|| "see its text".to_owned()),
            texts: texts(&folder)?,
        });
    }
    Ok(parts)
}

/// The licence texts in a folder.
fn texts(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_lowercase();
        if entry.file_type()?.is_file() && TEXTS.iter().any(|text| name.starts_with(text)) {
            found.push(String::from_utf8_lossy(&std::fs::read(entry.path())?).trim().to_owned());
        }
    }
    found.sort();
    Ok(found)
}
