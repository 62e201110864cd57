//! The settings of documents: where they are kept, how they are read, how they are loaded.

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::Context;
use ibid_knowledge::{ChunkSize, Settings};
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// Where documents are kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct StoreConfig {
    /// A folder, or a URL such as s3://bucket/folder. Without it, the folder `store` in the data folder.
    pub(crate) place: Option<String>,
    /// The address of the object storage, if it is not Amazon's.
    pub(crate) endpoint: Option<String>,
    /// Its region.
    pub(crate) region: Option<String>,
    /// Whether it may be spoken to without encryption, as on this machine.
    pub(crate) allow_http: bool,
    /// The environment variable that holds the name of the key; without it, what the machine is set up with.
    pub(crate) access_key_env: Option<String>,
    /// The environment variable that holds the key itself.
    pub(crate) secret_key_env: Option<String>,
}

impl StoreConfig {
    /// As the object storage wants it.
    pub(crate) fn options(&self) -> anyhow::Result<HashMap<String, String>> {
        let variable = |setting: &str, name: &Option<String>| {
            let value = name.as_ref().map(std::env::var).transpose();
            value.with_context(|| format!("the environment variable of `store.{setting}` cannot be read"))
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
pub(crate) struct IngestConfig {
    /// The library that reads PDFs, libpdfium.so. Without it, the one that `ibid models pull` brought, or the system's.
    pub(crate) pdfium: Option<PathBuf>,
    /// The languages of scanned pages, as tesseract names them, such as eng+spa. Empty: they are not read.
    pub(crate) recognition: String,
    /// Memory for reading one document, in megabytes.
    pub(crate) memory_mb: u64,
    /// The most characters of a chunk.
    pub(crate) chunk_characters: usize,
    /// How many characters two neighbouring chunks share.
    pub(crate) chunk_overlap: usize,
    /// A page with fewer characters has no content.
    pub(crate) least_characters: usize,
    /// The largest file, in megabytes.
    pub(crate) largest_mb: u64,
    /// How many documents are loaded at once.
    pub(crate) at_once: usize,
    /// The hosts from which documents may be fetched.
    pub(crate) hosts: Vec<String>,
    /// Which words in a file name tell its type, such as "chapter hts = hts_schedule"; the first row that fits.
    #[serde(deserialize_with = "types")]
    pub(crate) types: Vec<String>,
}

impl Default for IngestConfig {
    fn default() -> Self {
        let size = ChunkSize::default();
        let types = [
            "chapter hts = hts_schedule",
            "tariff 301 = section301_tariff",
            "import cbp = cbp_guide",
            "govpub = gov_publication",
            "fda fcc doe = agency_regulation",
        ];
        Self {
            pdfium: None,
            recognition: "eng+spa".to_owned(),
            memory_mb: 1024,
            chunk_characters: size.characters,
            chunk_overlap: size.overlap,
            least_characters: 100,
            largest_mb: 200,
            at_once: 2,
            hosts: Vec::new(),
            types: types.map(str::to_owned).to_vec(),
        }
    }
}

/// Rows of the table of types, each with words and a type.
fn types<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let rows = Vec::<String>::deserialize(from)?;
    match rows.iter().find(|row| !row.contains('=')) {
        Some(row) => Err(D::Error::custom(format!("`{row}` has no `=` between the words and the type"))),
        None => Ok(rows),
    }
}

impl IngestConfig {
    /// How a file is treated, by its name and a table of types.
    pub(crate) fn treated(&self, name: &str, types: &[String]) -> Settings {
        Settings {
            kind: Self::kind_by(types, name),
            size: ChunkSize { characters: self.chunk_characters, overlap: self.chunk_overlap },
            least_characters: self.least_characters,
            ..Settings::default()
        }
    }

    /// The type of a document, by its file name and a table.
    fn kind_by(types: &[String], name: &str) -> String {
        let name = name.to_lowercase();
        let rows = types.iter().filter_map(|row| row.split_once('='));
        let fits = |words: &str| words.split_whitespace().any(|word| name.contains(&word.to_lowercase()));
        let found = rows.into_iter().find(|(words, _)| fits(words)).map(|(_, kind)| kind.trim().to_owned());
        found.unwrap_or_else(|| "general".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_tells_its_type() {
        let config = IngestConfig::default();
        assert_eq!(IngestConfig::kind_by(&config.types, "Chapter_85.pdf"), "hts_schedule");
        assert_eq!(IngestConfig::kind_by(&config.types, "Tariff_List_09.17.18.pdf"), "section301_tariff");
        assert_eq!(IngestConfig::kind_by(&config.types, "FDA-lasers.html"), "agency_regulation");
        assert_eq!(IngestConfig::kind_by(&config.types, "handbook.pdf"), "general");
    }
}
