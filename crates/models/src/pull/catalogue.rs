//! The models that ibid recommends, with everything that is known of them.

use crate::local::ModelKind;

/// A model that ibid recommends.
#[derive(Debug)]
pub struct Recommended {
    /// Its name here.
    pub name: &'static str,
    /// What it does.
    pub kind: ModelKind,
    /// How much is fetched, in megabytes.
    pub megabytes: u32,
    /// What it is good for.
    pub good_for: &'static str,
    /// Its licence.
    pub licence: &'static str,
    /// Whether it is fetched when no name is given.
    pub by_default: bool,
    pub(super) repository: &'static str,
    pub(super) revision: &'static str,
    pub(super) files: &'static [File],
    card: &'static str,
}

#[derive(Debug)]
pub(super) struct File {
    pub(super) name: &'static str,
    pub(super) path: &'static str,
    pub(super) sha256: Option<&'static str>,
}

impl Recommended {
    /// The recommended model of a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        RECOMMENDED.iter().find(|model| model.name == name)
    }

    /// What its folder says of it.
    pub(super) fn card(&self) -> String {
        let kind = self.kind.name();
        format!(
            "# {} at {}\n# Licence: {}\nname = \"{}\"\nkind = \"{kind}\"\n{}",
            self.repository, self.revision, self.licence, self.name, self.card
        )
    }
}

/// All of them.
pub const RECOMMENDED: [Recommended; 2] = [
    Recommended {
        name: "multilingual-e5-small",
        kind: ModelKind::Embedding,
        megabytes: 135,
        good_for: "searching in some 100 languages, and across them, on any CPU",
        licence: "MIT",
        by_default: true,
        repository: "Xenova/multilingual-e5-small",
        revision: "97cb8f96eaed1a1f0dac821239943e854fce9c36",
        files: &[
            File {
                name: "model.onnx",
                path: "onnx/model_quantized.onnx",
                sha256: Some("f80102d3f2a1229f387d3c81909990d8945513e347b0eab049f7de3c6f98c193"),
            },
            File { name: "tokenizer.json", path: "tokenizer.json", sha256: None },
        ],
        card: "dimensions = 384\nmax_tokens = 512\npooling = \"mean\"\nquery_prefix = \"query: \"\npassage_prefix = \"passage: \"\nsimilarity = { unrelated = 0.8, related = 0.87 }\n",
    },
    Recommended {
        name: "bge-reranker-v2-m3",
        kind: ModelKind::Rerank,
        megabytes: 590,
        good_for: "reranking in many languages; large, so for machines with cores to spare",
        licence: "Apache-2.0",
        by_default: false,
        repository: "onnx-community/bge-reranker-v2-m3-ONNX",
        revision: "6f5ff65298512715a1e669753bc754d2bc8f367b",
        files: &[
            File { name: "model.onnx", path: "onnx/model_quantized.onnx", sha256: None },
            File { name: "tokenizer.json", path: "tokenizer.json", sha256: None },
        ],
        card: "max_tokens = 512\n",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::Card;

    #[test]
    fn every_card_can_be_read() {
        for model in &RECOMMENDED {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("model.toml"), model.card()).unwrap();
            let card = Card::read(folder.path()).unwrap();
            assert_eq!((card.name.as_str(), card.kind), (model.name, model.kind));
            assert_eq!(card.kind == ModelKind::Embedding, card.dimensions > 0);
            assert!(model.files.iter().any(|file| *file.name == *card.network));
        }
        assert!(RECOMMENDED.iter().any(|model| model.by_default && model.kind == ModelKind::Embedding));
    }
}
