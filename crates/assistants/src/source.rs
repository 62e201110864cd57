//! What an answer may cite: passages of documents and what tools gave back, each with its number in the turn.

use ibid_core::evidence::Passage;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Something that an answer may cite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// Its number in the turn, from 1.
    pub number: u32,
    /// What it is.
    pub origin: Origin,
}

/// Where a source comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A document.
    Passage(Box<Passage>),
    /// A tool.
    Tool {
        /// Its name.
        tool: String,
        /// What it gave back.
        text: String,
    },
}

impl Source {
    /// What it says.
    pub fn text(&self) -> &str {
        match &self.origin {
            Origin::Passage(passage) => &passage.text,
            Origin::Tool { text, .. } => text,
        }
    }

    /// As a model is shown it: between tags that the text cannot close.
    pub fn shown(&self) -> String {
        let (head, text) = match &self.origin {
            Origin::Passage(passage) => {
                let section = match passage.path.as_slice() {
                    [] => String::new(),
                    path => format!(" section=\"{}\"", attribute(&path.join(" > "))),
                };
                let title = attribute(&passage.title);
                (format!("document=\"{title}\" page=\"{}\"{section}", passage.page), &passage.text)
            }
            Origin::Tool { tool, text } => (format!("tool=\"{}\"", attribute(tool)), text),
        };
        format!("<source number=\"{}\" {head}>\n{}\n</source>", self.number, harmless(text))
    }

    /// As a page is told of it, without its text.
    pub fn told(&self) -> Value {
        match &self.origin {
            Origin::Passage(passage) => json!({
                "number": self.number,
                "document_id": passage.document,
                "document_type": passage.kind,
                "title": passage.title,
                "page": passage.page,
                "section": passage.path,
                "score": passage.score,
            }),
            Origin::Tool { tool, .. } => {
                json!({ "number": self.number, "document_id": tool, "document_type": "tool" })
            }
        }
    }
}

/// Takes passages among the sources and returns their numbers. A passage that is there already keeps its number.
pub(crate) fn take(sources: &mut Vec<Source>, passages: impl IntoIterator<Item = Passage>) -> Vec<u32> {
    let mut numbers = Vec::new();
    for passage in passages {
        let same = |source: &&Source| match &source.origin {
            Origin::Passage(other) => {
                (&other.document, other.page, other.chunks)
                    == (&passage.document, passage.page, passage.chunks)
            }
            Origin::Tool { .. } => false,
        };
        let number = match sources.iter().find(same) {
            Some(source) => source.number,
            None => add(sources, Origin::Passage(Box::new(passage))),
        };
        numbers.push(number);
    }
    numbers
}

/// Takes something among the sources and returns its number.
pub(crate) fn add(sources: &mut Vec<Source>, origin: Origin) -> u32 {
    let number = u32::try_from(sources.len()).unwrap_or(u32::MAX).saturating_add(1);
    sources.push(Source { number, origin });
    number
}

fn attribute(text: &str) -> String {
    text.replace('"', "'").replace(['<', '>', '\n'], " ")
}

/// A text in which nothing looks like one of our tags.
fn harmless(text: &str) -> String {
    text.replace("<source", "< source").replace("</source", "< /source")
}
