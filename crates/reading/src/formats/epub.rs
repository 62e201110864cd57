//! EPUB books: a chapter is a page.

use super::office::{Package, attribute, children, xml};
use super::{Parsed, html};
use crate::page::{Block, PageLabel, PageUnit};
use crate::protocol::Failure;

/// The title and chapters of a book, in the order of reading.
pub(super) fn read(bytes: &[u8]) -> Result<Parsed, Failure> {
    let mut package = Package::open(bytes)?;
    // It says how parts are encrypted, which fonts alone may be.
    let is_locked = package.text("META-INF/rights.xml")?.is_some();
    let container = package.needed("META-INF/container.xml")?;
    let container = xml(&container)?;
    let root =
        container.descendants().find_map(|node| attribute(node, "full-path")).ok_or(Failure::Damaged)?;
    let text = package.needed(root)?;
    let book = xml(&text)?;
    let named = |name: &str| book.descendants().find(|node| node.tag_name().name() == name);
    let title = named("title").and_then(|title| title.text()).map(|title| title.trim().to_owned());
    let (manifest, spine) =
        (named("manifest").ok_or(Failure::Damaged)?, named("spine").ok_or(Failure::Damaged)?);
    let folder = root.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
    let mut pages = Vec::new();
    for reference in children(spine, "itemref") {
        let id = attribute(reference, "idref");
        let item = children(manifest, "item").find(|item| attribute(*item, "id") == id);
        let Some(path) = item.and_then(|item| attribute(item, "href")) else { continue };
        let Some(text) = package.text(&format!("{folder}{}", unescaped(path)))? else { continue };
        let (named, chapter) = html::parse(&text);
        for mut page in chapter {
            page.number = u32::try_from(pages.len() + 1).unwrap_or(u32::MAX);
            let heading =
                page.blocks.iter().find(|block| matches!(block, Block::Heading { .. })).map(Block::text);
            let name = heading.or_else(|| named.clone()).unwrap_or_default().replace('\n', " ");
            page.label = Some(PageLabel { unit: PageUnit::Chapter, name });
            pages.push(page);
        }
    }
    if pages.is_empty() {
        return Err(if is_locked { Failure::Password } else { Failure::Damaged });
    }
    Ok((title.filter(|title| !title.is_empty()), pages))
}

/// A path in which signs may be written as `%20`.
fn unescaped(path: &str) -> String {
    let path = path.split('#').next().unwrap_or_default();
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_unescaped() {
        assert_eq!(unescaped("Cap%C3%ADtulo%201.xhtml#start"), "Capítulo 1.xhtml");
        assert_eq!(unescaped("100%"), "100%");
    }
}
