//! What is to be loaded: files, the files of folders, and URLs.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use ibid_app::DocumentFields;
use ibid_assistants::Assistant;
use ibid_assistants::definition::RemoteDocument;
use ibid_reading::format_of_name;

/// What is to be loaded.
pub(super) struct Source {
    /// Its path or URL.
    pub(super) place: String,
    /// Its URL, or its path in the folder that was given, or its file name.
    pub(super) key: String,
    /// What an assistant knows of it.
    pub(super) known: Option<RemoteDocument>,
}

impl Source {
    fn at(place: String, key: String) -> Self {
        Self { place, key, known: None }
    }

    /// The categories of common questions of an assistant, as files in a folder: those that ship are none.
    pub(super) fn categories(assistant: &Assistant, folder: &Path) -> anyhow::Result<Vec<Self>> {
        let mut categories = Vec::new();
        for (name, text) in &assistant.faq {
            let (key, _) = DocumentFields::category(assistant, name);
            let path = folder.join(name);
            std::fs::write(&path, text).with_context(|| format!("{} cannot be written", path.display()))?;
            categories.push(Self::at(path.to_string_lossy().into_owned(), key));
        }
        Ok(categories)
    }

    pub(super) fn named(document: &RemoteDocument) -> Self {
        Self { place: document.url.clone(), key: document.key.clone(), known: Some(document.clone()) }
    }
}

/// Files to load, and those that are left out.
pub(super) struct Found {
    pub(super) sources: Vec<Source>,
    pub(super) left_out: Vec<PathBuf>,
}

/// Files and URLs, folders opened.
pub(super) fn sources(given: &[String]) -> anyhow::Result<Found> {
    let (mut sources, mut left_out): (Vec<Source>, _) = (Vec::new(), Vec::new());
    for place in given {
        if is_url(place) {
            sources.push(Source::at(place.clone(), place.clone()));
            continue;
        }
        let path = Path::new(place);
        let kind = path.metadata().with_context(|| format!("{place} cannot be read"))?;
        let (root, mut files) = if kind.is_dir() {
            (path, Vec::new())
        } else {
            (path.parent().unwrap_or(path), vec![path.to_owned()])
        };
        if kind.is_dir() {
            walk(path, &mut files, &mut left_out)?;
            files.sort();
        }
        for file in files {
            let key = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().into_owned();
            sources.push(Source::at(file.to_string_lossy().into_owned(), key));
        }
    }
    let mut seen = HashSet::new();
    if let Some(twice) = sources.iter().find(|source| !seen.insert(source.key.as_str())) {
        bail!(
            "two files are called {}; load them into two corpora, or from the folder above both",
            twice.key
        );
    }
    left_out.sort();
    Ok(Found { sources, left_out })
}

pub(super) fn is_url(source: &str) -> bool {
    source.starts_with("http://") || source.starts_with("https://")
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>, left_out: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in folder.read_dir().with_context(|| format!("{} cannot be read", folder.display()))? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let name = entry.file_name().to_string_lossy().into_owned();
        // Links are not followed: they may lead in circles, or out of the folder.
        if name.starts_with('.') || kind.is_symlink() {
            continue;
        }
        if kind.is_dir() {
            walk(&path, files, left_out)?;
        } else if format_of_name(&name).is_some() {
            files.push(path);
        } else {
            left_out.push(path);
        }
    }
    Ok(())
}
