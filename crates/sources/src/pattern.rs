//! Which paths of a source are taken: patterns as in `.gitignore`, of names and of paths.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// A pattern cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` is no pattern of paths, such as *.pdf or hr/**: {why}")]
pub struct InvalidPattern {
    pattern: String,
    why: String,
}

/// What programs leave beside the files that they write: nothing that somebody wants to find.
const NEVER: [&str; 12] = [
    "~$*",
    "*.tmp",
    "*.temp",
    "*.part",
    "*.partial",
    "*.crdownload",
    "*.download",
    "*.swp",
    "*.bak",
    "*~",
    "Thumbs.db",
    "desktop.ini",
];

/// Patterns of paths that are taken and left out.
#[derive(Clone, Debug)]
pub struct PathPatterns {
    include: Option<GlobSet>,
    exclude: GlobSet,
    never: GlobSet,
}

impl PathPatterns {
    /// Paths that one of the first patterns fits, unless one of the second does. Without any of the first, all.
    ///
    /// # Errors
    /// Fails when one cannot be read.
    pub fn new(include: &[String], exclude: &[String]) -> Result<Self, InvalidPattern> {
        Ok(Self {
            include: (!include.is_empty()).then(|| set(include.iter().map(String::as_str))).transpose()?,
            exclude: set(exclude.iter().map(String::as_str))?,
            never: set(NEVER.into_iter())?,
        })
    }

    /// Whether a path is taken. A name that begins with a dot is hidden, and so is what is below it.
    pub fn lets_through(&self, path: &str) -> bool {
        let hidden = path.split('/').any(|part| part.starts_with('.'));
        !hidden
            && !self.never.is_match(path)
            && self.include.as_ref().is_none_or(|include| include.is_match(path))
            && !self.exclude.is_match(path)
    }
}

/// One pattern of paths.
#[derive(Clone, Debug)]
pub struct PathPattern(GlobSet);

impl PathPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// Fails when it cannot be read.
    pub fn new(pattern: &str) -> Result<Self, InvalidPattern> {
        set(std::iter::once(pattern)).map(Self)
    }

    /// Whether it fits a path.
    pub fn fits(&self, path: &str) -> bool {
        self.0.is_match(path)
    }
}

/// A pattern without a slash is of names, in whatever folder; with one, of paths from the top. One that ends with a slash is of
/// everything below.
fn set<'a>(patterns: impl Iterator<Item = &'a str>) -> Result<GlobSet, InvalidPattern> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let invalid = |error: globset::Error| InvalidPattern {
            pattern: pattern.to_owned(),
            why: error.kind().to_string(),
        };
        let from_top = pattern.strip_prefix('/');
        let mut whole = match from_top {
            Some(rest) => rest.to_owned(),
            None if pattern.trim_end_matches('/').contains('/') => pattern.to_owned(),
            None => format!("**/{pattern}"),
        };
        if whole.ends_with('/') {
            whole.push_str("**");
        }
        let glob = GlobBuilder::new(&whole).literal_separator(true).case_insensitive(true).build();
        set.add(glob.map_err(invalid)?);
    }
    let invalid = |error: globset::Error| InvalidPattern { pattern: String::new(), why: error.to_string() };
    set.build().map_err(invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(include: &[&str], exclude: &[&str], path: &str) -> bool {
        let owned =
            |patterns: &[&str]| patterns.iter().map(|&pattern| pattern.to_owned()).collect::<Vec<_>>();
        PathPatterns::new(&owned(include), &owned(exclude)).unwrap().lets_through(path)
    }

    #[test]
    fn patterns_choose_names_and_paths() {
        assert!(taken(&[], &[], "a.pdf") && taken(&["*.pdf"], &[], "deep/er/A.PDF"));
        assert!(!taken(&["*.pdf"], &[], "a.docx"));
        assert!(taken(&["hr/**"], &[], "hr/a/b.pdf") && !taken(&["hr/**"], &[], "x/hr/b.pdf"));
        assert!(!taken(&["hr/*"], &[], "hr/a/b.pdf"), "a star stays in its folder");
        assert!(!taken(&[], &["drafts/"], "a/drafts/b.pdf") && taken(&[], &["/drafts/"], "a/drafts/b.pdf"));
        assert!(!taken(&[], &["/drafts/"], "drafts/a/b.pdf"));
        assert!(PathPatterns::new(&["[".to_owned()], &[]).unwrap_err().to_string().contains("`[`"));
    }

    #[test]
    fn what_programs_leave_beside_files_is_never_taken() {
        for path in [".git/a.pdf", "a/.b.pdf", "~$letter.docx", "a.pdf.part", "x/Thumbs.db", "b.md~"] {
            assert!(!taken(&[], &[], path), "{path}");
        }
    }
}
