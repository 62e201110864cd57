//! The site: what mdBook makes it of is laid out in `target/site-source`, as it lies in the repository, so that links between pages hold.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// What the pages of the site link to.
const PATHS: [&str; 9] = [
    "*.md",
    "docs",
    "deploy",
    "examples",
    "crates/assistants/languages",
    "LICENSE",
    ":!tests",
    ":!web",
    ":!crates/*.md",
];

/// Lays the pages out and makes the site.
pub(crate) fn run() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let source = root.join("target/site-source");
    if source.exists() {
        std::fs::remove_dir_all(&source)?;
    }
    let listed = Command::new("git")
        .arg("-C")
        .arg(&root)
        .args(["ls-files", "-co", "--exclude-standard"])
        .args(PATHS)
        .output();
    let files = String::from_utf8(listed.context("git cannot be run")?.stdout)?;
    for file in files.lines() {
        let to = source.join(file);
        std::fs::create_dir_all(to.parent().context("a file is in a folder")?)?;
        std::fs::copy(root.join(file), to)?;
    }
    for file in files.lines().filter(|file| file.ends_with(".md")) {
        let page = source.join(file);
        let text = std::fs::read_to_string(&page)?;
        std::fs::write(&page, without_dead_links(&text, &page))?;
    }
    // Its links are meant from docs/.
    let summary = std::fs::read_to_string(root.join("docs/SUMMARY.md"))?;
    std::fs::write(source.join("SUMMARY.md"), summary.replace("](", "](docs/").replace("](docs/../", "]("))?;
    std::fs::remove_file(source.join("docs/SUMMARY.md"))?;
    let made = Command::new("mdbook").arg("build").arg(&root).status();
    let made = made.context("mdbook cannot be run; `cargo install mdbook` installs it")?;
    ensure!(made.success(), "the site was not made");
    Ok(())
}

/// A page whose links to what is not in the site, such as folders of sources, are only words.
fn without_dead_links(text: &str, page: &Path) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(middle) = rest.find("](") {
        let after = &rest[middle + 2..];
        let (Some(end), Some(start)) = (after.find(')'), rest[..middle].rfind('[')) else { break };
        let target = after[..end].split('#').next().unwrap_or_default();
        let path: PathBuf = page.with_file_name("").join(target);
        if target.is_empty() || target.contains("://") || path.is_file() {
            kept.push_str(&rest[..middle + 2 + end + 1]);
        } else {
            kept.push_str(&rest[..start]);
            kept.push_str(&rest[start + 1..middle]);
        }
        rest = &after[end + 1..];
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_what_is_not_there_become_words() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("page.md");
        let text = "[a](Cargo.toml), [b](src), [c](https://example.com/x), [d](#heading) [e](gone.md)";
        let kept = "[a](Cargo.toml), b, [c](https://example.com/x), [d](#heading) e";
        assert_eq!(without_dead_links(text, &page), kept);
    }
}
