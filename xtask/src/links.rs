//! Whether the links between the pages of the documentation lead somewhere.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Checks every link of every Markdown file that leads to a file or a heading of the repository, and that the site has every page
/// of the documentation.
pub(crate) fn run() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut list = Command::new("git");
    list.arg("-C").arg(&root).args(["ls-files", "-co", "--exclude-standard", "*.md", ":!tests/corpus"]);
    let listed = list.output().context("git cannot be run")?;
    let pages = String::from_utf8(listed.stdout)?;
    let mut broken = String::new();
    let summary =
        std::fs::read_to_string(root.join("docs/SUMMARY.md")).context("docs/SUMMARY.md cannot be read")?;
    for page in pages.lines().filter_map(|page| page.strip_prefix("docs/")) {
        if page != "SUMMARY.md" && !summary.contains(&format!("]({page})")) {
            writeln!(broken, "docs/SUMMARY.md has no link to {page}")?;
        }
    }
    for page in pages.lines() {
        let path = root.join(page);
        let text = std::fs::read_to_string(&path).with_context(|| format!("{page} cannot be read"))?;
        for link in links(&prose(&text)) {
            if !leads_somewhere(&path, link)? {
                writeln!(broken, "{page}: {link}")?;
            }
        }
    }
    ensure!(broken.is_empty(), "these links lead nowhere:\n{broken}");
    println!("the links of {} pages lead somewhere", pages.lines().count());
    Ok(())
}

/// A page without its code.
fn prose(text: &str) -> String {
    let blocks = text.split("```").step_by(2).collect::<Vec<_>>().join("\n");
    blocks.lines().map(|line| line.split('`').step_by(2).collect::<String>() + "\n").collect()
}

fn links(prose: &str) -> impl Iterator<Item = &str> {
    prose.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

fn leads_somewhere(page: &Path, link: &str) -> Result<bool> {
    if link.contains("://") || link.starts_with("mailto:") {
        return Ok(true);
    }
    let (file, heading) = link.split_once('#').map_or((link, None), |(file, heading)| (file, Some(heading)));
    let target: PathBuf = match file {
        "" => page.to_owned(),
        file => page.with_file_name("").join(file),
    };
    match heading {
        _ if !target.exists() => Ok(false),
        Some(heading) if target.extension().is_some_and(|ending| ending == "md") => {
            Ok(headings(&std::fs::read_to_string(target)?).contains(heading))
        }
        _ => Ok(true),
    }
}

/// The names under which the headings of a page are linked to.
fn headings(text: &str) -> HashSet<String> {
    let blocks = text.split("```").step_by(2).collect::<Vec<_>>().join("\n");
    let titles =
        blocks.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    titles.map(anchor).collect()
}

fn anchor(title: &str) -> String {
    let kept = title.to_lowercase();
    kept.chars()
        .filter(|letter| letter.is_alphanumeric() || "-_ ".contains(*letter))
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_headings_are_found() {
        let page = "# What's in `a.b`?\nSee [it](x.md#y).\n```\n[no](z.md)\n```\n`[no](q.md)`\n";
        assert_eq!(links(&prose(page)).collect::<Vec<_>>(), ["x.md#y"]);
        assert!(headings(page).contains("whats-in-ab"));
    }
}
