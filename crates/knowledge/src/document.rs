//! The ledger: what was read of each document, page by page.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use ibid_core::evidence::DocumentId;
use ibid_core::{Corpus, Label, Location, LocationUnit, SourceName, Tenant};
use ibid_reading::page::{Block, Page, PageLabel, PageUnit, shortened};
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest, Sha256};

use crate::state::StateRecord;
use crate::{ChunkSize, ContentHash, DocumentState};

/// A longer name of a sheet, slide or chapter is cut.
const LONGEST_NAME: usize = 160;

/// A document and what is known of it, with a record of each page, or only their [`PageCounts`].
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Document<P = Vec<PageRecord>> {
    /// Its name.
    pub id: DocumentId,
    /// Whose it is.
    pub tenant: Tenant,
    /// The set that it belongs to.
    pub corpus: Corpus,
    /// What tells it apart in its corpus: a later document with the same key replaces it.
    pub key: String,
    /// Its file or URL.
    pub source: String,
    /// Where it came from, if it is kept in step with a source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<DocumentOrigin>,
    /// Its title.
    pub title: String,
    /// Its type, such as `hts_schedule`.
    pub kind: String,
    /// Its language, as ISO 639-1 has it; empty if unknown.
    pub language: String,
    /// Who may see it; empty means everybody at the tenant.
    pub labels: BTreeSet<Label>,
    /// How long its chunks are.
    pub size: ChunkSize,
    /// The SHA-256 of its content.
    #[serde(rename = "version")]
    pub content: ContentHash,
    /// The length of its content.
    pub bytes: u64,
    /// Where it stands.
    #[serde(flatten)]
    #[schemars(with = "StateRecord")]
    pub state: DocumentState,
    /// How many chunks it has.
    pub chunks: u32,
    /// How many tables.
    pub tables: u32,
    /// How long loading took, in milliseconds.
    pub milliseconds: u64,
    /// When it last changed, in milliseconds since 1970.
    pub changed: u64,
    /// Its pages.
    pub pages: P,
}

impl Document {
    /// How many of its pages are left out of the search.
    pub(crate) fn skipped(&self) -> u32 {
        count(self.pages.iter().filter(|page| page.skipped.is_some()).count())
    }
}

/// A number as the ledger has it.
pub(crate) fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Where a document of a source came from. Its key stays the same when it is moved there, and so does its id.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub struct DocumentOrigin {
    /// The source, as the settings call it.
    pub source: SourceName,
    /// Its path there, or its URL.
    pub path: String,
    /// What told its state there when it was read: it is read again when that changes. Empty: it has to be read again.
    pub mark: String,
}

/// What was read of one page.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct PageRecord {
    /// Its number, from 1.
    pub number: u32,
    /// What it is in the terms of its format: a sheet, a slide. None for a page of a PDF.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// How it was read: text, table, scanned, empty or garbled.
    pub kind: String,
    /// Why it is left out of the search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// How many characters were read.
    pub characters: u32,
    /// How many rows of tables.
    #[serde(default)]
    pub rows: u32,
    /// How many chunks.
    #[serde(default)]
    pub chunks: u32,
    /// What one should know of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

impl PageRecord {
    /// What the ledger says of a page.
    pub(crate) fn of(page: &Page, chunks: usize) -> Self {
        let tables = page.blocks.iter().filter_map(|block| match block {
            Block::Table(table) => Some(table.rows.len()),
            _ => None,
        });
        Self {
            number: page.number,
            location: page.label.as_ref().map(location),
            kind: page.kind.name().to_owned(),
            skipped: page.skipped.map(|skip| skip.name().to_owned()),
            characters: count(page.text().chars().filter(|char| !char.is_whitespace()).count()),
            rows: count(tables.sum()),
            chunks: count(chunks),
            remarks: page.remarks.clone(),
        }
    }
}

/// What a page is in the terms of its format, for those who cite it.
pub(crate) fn location(label: &PageLabel) -> Location {
    let unit = match label.unit {
        PageUnit::Page => LocationUnit::Page,
        PageUnit::Section => LocationUnit::Section,
        PageUnit::Sheet => LocationUnit::Sheet,
        PageUnit::Slide => LocationUnit::Slide,
        PageUnit::Chapter => LocationUnit::Chapter,
        PageUnit::Message => LocationUnit::Message,
        PageUnit::Attachment => LocationUnit::Attachment,
    };
    Location::of(unit, shortened(&label.name, LONGEST_NAME))
}

/// How many pages a document has, and how they were read. It is read from the records of the pages, or as it is sent.
#[derive(Clone, Debug, Default, JsonSchema, PartialEq, Eq, Serialize)]
pub struct PageCounts {
    /// How many pages.
    pub count: u32,
    /// How many of them are left out of the search.
    pub skipped: u32,
    /// How many were read in which way: text, table, scanned, empty or garbled.
    pub kinds: BTreeMap<String, u32>,
}

impl<'de> Deserialize<'de> for PageCounts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// As much of a page's record as is counted.
        #[derive(Deserialize)]
        struct Counted<'a> {
            #[serde(borrow)]
            kind: Cow<'a, str>,
            #[serde(default)]
            skipped: Option<IgnoredAny>,
        }

        struct Pages;

        impl<'de> Visitor<'de> for Pages {
            type Value = PageCounts;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("records of pages, or their counts")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut pages: A) -> Result<PageCounts, A::Error> {
                let mut tally = PageCounts::default();
                while let Some(page) = pages.next_element::<Counted<'_>>()? {
                    tally.count += 1;
                    tally.skipped += u32::from(page.skipped.is_some());
                    match tally.kinds.get_mut(page.kind.as_ref()) {
                        Some(count) => *count += 1,
                        None => drop(tally.kinds.insert(page.kind.into_owned(), 1)),
                    }
                }
                Ok(tally)
            }

            fn visit_map<A: MapAccess<'de>>(self, counts: A) -> Result<PageCounts, A::Error> {
                #[derive(Deserialize)]
                struct Counts {
                    count: u32,
                    skipped: u32,
                    kinds: BTreeMap<String, u32>,
                }
                let Counts { count, skipped, kinds } =
                    Counts::deserialize(MapAccessDeserializer::new(counts))?;
                Ok(PageCounts { count, skipped, kinds })
            }
        }

        deserializer.deserialize_any(Pages)
    }
}

/// The name of the document with a key in a corpus.
pub fn document_id(tenant: &Tenant, corpus: &Corpus, key: &str) -> DocumentId {
    let hash = Sha256::digest(format!("{tenant}\n{corpus}\n{key}").as_bytes());
    DocumentId(hash[..12].iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The SHA-256 of some bytes, as it is written.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_counted_without_being_kept() {
        let records = r#"[{"number":1,"kind":"text","characters":9,"remarks":["a"]},
            {"number":2,"kind":"text","skipped":"index","characters":0},{"number":3,"kind":"table","characters":5}]"#;
        let tally: PageCounts = serde_json::from_str(records).unwrap();
        assert_eq!((tally.count, tally.skipped), (3, 1));
        assert_eq!(tally.kinds, BTreeMap::from([("table".to_owned(), 1), ("text".to_owned(), 2)]));
    }
}
