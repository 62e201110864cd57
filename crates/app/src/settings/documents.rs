//! The settings of documents: where they are stored, how they are read and loaded.

use std::collections::HashMap;
use std::path::PathBuf;

use ibid_knowledge::{ChunkSize, LoadSettings, MaintenanceSettings};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::Span;
use crate::error::{DoingExt, Error};

/// Where documents are kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StoreSettings {
    /// A folder, or a URL such as s3://bucket/folder. Without it, the folder `store` in the data folder.
    pub location: Option<String>,
    /// The address of the object storage, if it is not Amazon's.
    pub endpoint: Option<String>,
    /// Its region.
    pub region: Option<String>,
    /// Whether it may be spoken to without encryption, as on this machine.
    pub allow_http: bool,
    /// The environment variable that holds the name of the key; without it, what the machine is set up with.
    pub access_key_env: Option<String>,
    /// The environment variable that holds the key itself.
    pub secret_key_env: Option<String>,
    /// How long what was deleted or replaced may stay on the disk, for turns that still read it. After about twice as long, no byte
    /// of it is left there.
    pub erase_after: Span,
}

impl Default for StoreSettings {
    fn default() -> Self {
        let erase_after = Span(MaintenanceSettings::default().keep_versions);
        Self {
            location: None,
            endpoint: None,
            region: None,
            allow_http: false,
            access_key_env: None,
            secret_key_env: None,
            erase_after,
        }
    }
}

impl StoreSettings {
    /// As the object storage wants it.
    ///
    /// # Errors
    /// Fails when an environment variable that is named cannot be read.
    pub fn options(&self) -> Result<HashMap<String, String>, Error> {
        let variable = |setting: &str, name: &Option<String>| {
            let value = name.as_ref().map(std::env::var).transpose();
            value.doing(|| format!("the environment variable of `store.{setting}` cannot be read"))
        };
        let given = [
            ("aws_endpoint", self.endpoint.clone()),
            ("aws_region", self.region.clone()),
            ("allow_http", self.allow_http.then(|| "true".to_owned())),
            ("aws_access_key_id", variable("access_key_env", &self.access_key_env)?),
            ("aws_secret_access_key", variable("secret_key_env", &self.secret_key_env)?),
        ];
        Ok(given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect())
    }
}

/// How documents are read and loaded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct IngestSettings {
    /// The library that reads PDFs, libpdfium.so. Without it, the one that `ibid models pull` brought, or the system's.
    pub pdfium: Option<PathBuf>,
    /// The languages of scanned pages, as tesseract names them, such as eng+spa. Empty: they are not read.
    pub recognition: String,
    /// Memory for reading one document, in megabytes.
    pub memory_mb: u64,
    /// Whether no document is read where the Linux kernel cannot keep the process that reads it from other files
    /// (Landlock). Set it to false on such a machine to read documents that you trust.
    pub require_landlock: bool,
    /// The most characters of a chunk.
    pub chunk_characters: usize,
    /// How many characters two neighbouring chunks share.
    pub chunk_overlap: usize,
    /// A page with fewer characters has no content.
    pub least_characters: usize,
    /// How many pages are read in one step. After a crash, a step that was done is not done again.
    pub pages_at_once: u32,
    /// The largest file, in megabytes.
    pub largest_mb: u64,
    /// How many documents are loaded at once.
    pub at_once: usize,
    /// How many processes may end without a word at the same step of a load, before the document is set aside as failed.
    pub crashes: u32,
    /// The hosts from which documents may be fetched. A name leads to public addresses only; for a host of your own network,
    /// name its address or the network, too, such as "10.0.0.0/8".
    pub hosts: Vec<String>,
    /// Which of the documents that assistants name under `[[documents]]` are fetched when a server starts.
    pub named: NamedDocuments,
    /// Which words in a file name tell its type, such as "chapter hts = hts_schedule"; the first row that fits. An assistant
    /// may have a table of its own.
    #[serde(deserialize_with = "types")]
    pub types: Vec<String>,
}

impl Default for IngestSettings {
    fn default() -> Self {
        let size = ChunkSize::default();
        Self {
            pdfium: None,
            recognition: "eng+spa".to_owned(),
            memory_mb: 1024,
            require_landlock: true,
            chunk_characters: size.characters,
            chunk_overlap: size.overlap,
            least_characters: 100,
            pages_at_once: 64,
            largest_mb: 200,
            at_once: 2,
            crashes: 2,
            hosts: Vec::new(),
            named: NamedDocuments::default(),
            types: Vec::new(),
        }
    }
}

/// Which of the documents that assistants name are fetched when a server starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NamedDocuments {
    /// Those of assistants in the user's folder: nobody asked for those of assistants that ship.
    #[default]
    Own,
    /// Also those of assistants that ship.
    All,
    /// None; `ibid ingest --assistant NAME` loads them.
    None,
}

/// Rows of the table of types, each with words and a type.
fn types<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let rows = Vec::<String>::deserialize(from)?;
    match rows.iter().find(|row| !row.contains('=')) {
        Some(row) => Err(<D::Error as serde::de::Error>::custom(format!(
            "`{row}` has no `=` between the words and the type"
        ))),
        None => Ok(rows),
    }
}

impl IngestSettings {
    /// How a file is loaded, by its name and a table of types.
    pub fn load_settings(&self, name: &str, types: &[String]) -> LoadSettings {
        LoadSettings {
            kind: Self::kind_by(types, name),
            size: ChunkSize { characters: self.chunk_characters, overlap: self.chunk_overlap },
            least_characters: self.least_characters,
            ..LoadSettings::default()
        }
    }

    /// The type of a document, by its file name and a table.
    fn kind_by(types: &[String], name: &str) -> String {
        let in_name = words(name);
        let rows = types.iter().filter_map(|row| row.split_once('='));
        let fits = |row: &str| row.split_whitespace().any(|word| in_name.contains(&word.to_lowercase()));
        let found = rows.into_iter().find(|(words, _)| fits(words)).map(|(_, kind)| kind.trim().to_owned());
        found.unwrap_or_else(|| "general".to_owned())
    }
}

/// The words of a file name; a number is a word of its own.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = None;
    for letter in name.chars().flat_map(char::to_lowercase) {
        let kind = (letter.is_alphanumeric(), letter.is_numeric());
        if before != Some(kind) {
            words.push(String::new());
        }
        before = Some(kind);
        if let Some(word) = words.last_mut() {
            word.push(letter);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_in_the_name_of_a_file_tell_its_type() {
        let types = ["chapter hts = hts_schedule", "tariff 301 = section301_tariff", "fda doe = agency"];
        let types = types.map(str::to_owned);
        let kind = |name: &str| IngestSettings::kind_by(&types, name);
        assert_eq!(kind("Chapter_85.pdf"), "hts_schedule");
        assert_eq!(kind("Chapter85.pdf"), "hts_schedule");
        assert_eq!(kind("Tariff_List_09.17.18.pdf"), "section301_tariff");
        assert_eq!(kind("list301a.pdf"), "section301_tariff");
        assert_eq!(kind("FDA-lasers.html"), "agency");
        for other in ["handbook.pdf", "rights.pdf", "who-does-it.pdf", "page-3010.pdf"] {
            assert_eq!(kind(other), "general", "{other}");
        }
        assert_eq!(IngestSettings::default().load_settings("Chapter_85.pdf", &[]).kind, "general");
    }
}
