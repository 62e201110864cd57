//! What office files are: ZIP archives of parts, most of them XML, opened within limits.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{Cursor, Read};

use roxmltree::{Document, Node, ParsingOptions};
use zip::ZipArchive;
use zip::result::ZipError;

use super::legacy::{is_compound, is_encrypted};
use crate::child::decoded;
use crate::protocol::Failure;

/// Unpacked, the parts that are read have at most so many bytes: a small archive can hold very much.
const MOST_UNPACKED: u64 = 256 << 20;
/// The XML of one part has at most so many elements and texts.
const MOST_NODES: u32 = 5_000_000;

/// An archive of parts.
pub(in crate::formats) struct Package<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
    left: u64,
}

/// Where a part refers to another one.
pub(super) struct Relationship {
    pub(super) kind: String,
    pub(super) target: String,
}

impl<'a> Package<'a> {
    pub(in crate::formats) fn open(bytes: &'a [u8]) -> Result<Self, Failure> {
        // With a password, it is an archive within another container.
        if is_compound(bytes) {
            return Err(if is_encrypted(bytes) { Failure::Password } else { Failure::Damaged });
        }
        let archive = ZipArchive::new(Cursor::new(bytes)).map_err(|_| Failure::Damaged)?;
        Ok(Self { archive, left: MOST_UNPACKED })
    }

    /// A part, if there is one of that name.
    pub(in crate::formats) fn part(&mut self, name: &str) -> Result<Option<Vec<u8>>, Failure> {
        let part = match self.archive.by_name(name.trim_start_matches('/')) {
            Ok(part) => part,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED)) => return Err(Failure::Password),
            Err(_) => return Err(Failure::Damaged),
        };
        // What it says of its size may be wrong; no more than that is taken at once.
        let too_large = || Failure::TooLarge(MOST_UNPACKED >> 20);
        let size = part.size().min(self.left + 1);
        if size > self.left {
            return Err(too_large());
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        part.take(self.left + 1).read_to_end(&mut bytes).map_err(|_| Failure::Damaged)?;
        self.left = self.left.checked_sub(bytes.len() as u64).ok_or_else(too_large)?;
        Ok(Some(bytes))
    }

    /// A part as text.
    pub(in crate::formats) fn text(&mut self, name: &str) -> Result<Option<String>, Failure> {
        let text = |bytes: Vec<u8>| match String::from_utf8(bytes) {
            Ok(text) => text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text),
            Err(error) => decoded(error.as_bytes()),
        };
        Ok(self.part(name)?.map(text))
    }

    /// A part without which the file is none.
    pub(in crate::formats) fn needed(&mut self, name: &str) -> Result<String, Failure> {
        self.text(name)?.ok_or(Failure::Damaged)
    }

    /// The names of the parts in a folder.
    pub(super) fn names(&self, folder: &str) -> Vec<String> {
        self.archive
            .file_names()
            .flatten()
            .filter(|name| name.starts_with(folder))
            .map(Cow::into_owned)
            .collect()
    }

    /// Where a part refers to others, by the ids that stand in it.
    pub(super) fn relationships(&mut self, of: &str) -> Result<HashMap<String, Relationship>, Failure> {
        let (folder, name) = of.rsplit_once('/').unwrap_or(("", of));
        let Some(text) = self.text(&joined(folder, &format!("_rels/{name}.rels")))? else {
            return Ok(HashMap::new());
        };
        let document = xml(&text)?;
        let found = children(document.root_element(), "Relationship").filter_map(|node| {
            let kind = attribute(node, "Type")?.rsplit('/').next()?.to_owned();
            let target = joined(folder, attribute(node, "Target")?);
            Some((attribute(node, "Id")?.to_owned(), Relationship { kind, target }))
        });
        Ok(found.collect())
    }

    /// The part that the package is about, or where it usually is.
    pub(super) fn main(&mut self, usual: &str) -> Result<String, Failure> {
        let found = self.relationships("")?.into_values().find(|one| one.kind == "officeDocument");
        Ok(found.map_or_else(|| usual.to_owned(), |one| one.target))
    }

    /// The title that the properties of an Office Open XML file give it.
    pub(super) fn title(&mut self) -> Result<Option<String>, Failure> {
        let Some(text) = self.text("docProps/core.xml")? else { return Ok(None) };
        Ok(xml(&text).ok().and_then(|document| title_of(document.root_element())))
    }
}

/// The title among some properties.
pub(super) fn title_of(properties: Node<'_, '_>) -> Option<String> {
    let title = properties.descendants().find(|node| node.tag_name().name() == "title")?;
    let title: Vec<&str> = title.text()?.split_whitespace().collect();
    Some(title.join(" ")).filter(|title| !title.is_empty())
}

/// A path that is meant from a folder, without `..`.
fn joined(folder: &str, path: &str) -> String {
    if let Some(absolute) = path.strip_prefix('/') {
        return absolute.to_owned();
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The elements of an XML text. Definitions of documents are refused: they could name other files.
pub(in crate::formats) fn xml(text: &str) -> Result<Document<'_>, Failure> {
    let options = ParsingOptions { allow_dtd: false, nodes_limit: MOST_NODES, ..ParsingOptions::default() };
    Document::parse_with_options(text, options).map_err(|_| Failure::Damaged)
}

/// The elements of a name right below another, whatever their namespace.
pub(in crate::formats) fn children<'a, 'input: 'a>(
    node: Node<'a, 'input>,
    name: &'a str,
) -> impl Iterator<Item = Node<'a, 'input>> {
    node.children().filter(move |child| child.tag_name().name() == name)
}

/// The first element of a name right below another.
pub(super) fn child<'a, 'input>(node: Node<'a, 'input>, name: &str) -> Option<Node<'a, 'input>> {
    node.children().find(|child| child.tag_name().name() == name)
}

/// The element at the end of a path of names.
pub(super) fn below<'a, 'input>(node: Node<'a, 'input>, path: &[&str]) -> Option<Node<'a, 'input>> {
    path.iter().try_fold(node, |node, name| child(node, name))
}

/// An attribute, whatever its namespace.
pub(in crate::formats) fn attribute<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    node.attributes().find(|attribute| attribute.name() == name).map(|attribute| attribute.value())
}

/// Whether an attribute or its absence says yes.
pub(super) fn is_on(value: Option<&str>) -> bool {
    !matches!(value, Some("0" | "false" | "off" | "none"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_meant_from_the_folder_of_its_part() {
        assert_eq!(joined("word", "styles.xml"), "word/styles.xml");
        assert_eq!(joined("ppt/slides", "../notesSlides/n1.xml"), "ppt/notesSlides/n1.xml");
        assert_eq!(joined("xl", "/xl/worksheets/sheet1.xml"), "xl/worksheets/sheet1.xml");
        assert_eq!(joined("", "../../etc/passwd"), "etc/passwd");
    }
}
