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

#[derive(Debug, Clone, Copy)]
pub(super) struct File {
    pub(super) name: &'static str,
    pub(super) path: &'static str,
    pub(super) sha256: &'static str,
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
        revision: "761b726dd34fb83930e26aab4e9ac3899aa1fa78",
        files: &[
            File {
                name: "model.onnx",
                path: "onnx/model_quantized.onnx",
                sha256: "f80102d3f2a1229f387d3c81909990d8945513e347b0eab049f7de3c6f98c193",
            },
            File {
                name: "tokenizer.json",
                path: "tokenizer.json",
                sha256: "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39",
            },
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
            File {
                name: "model.onnx",
                path: "onnx/model_quantized.onnx",
                sha256: "912fc1215c2dbff6499700534bd8d31253af01573861abbfc43afd1fab6cce5d",
            },
            File {
                name: "tokenizer.json",
                path: "tokenizer.json",
                sha256: "8bf8afbfd11306bd872018c53bfdf2e160a56f8edbcf49933324404791c148d3",
            },
        ],
        card: "max_tokens = 512\n",
    },
];

#[cfg(test)]
mod tests {
    use ibid_testkit::{Reply, Script, ScriptedServer};

    use super::*;
    use crate::local::Card;
    use crate::pull::{Sources, pull};

    #[tokio::test]
    async fn a_model_is_there_once_all_its_files_are_what_they_should_be() {
        let script = Script::new()
            .when(|seen| seen.path.contains("tokenizer.json"), Reply::raw("{}"))
            .when(|seen| seen.path.contains("model_quantized.onnx"), Reply::raw("the network"));
        let server = ScriptedServer::start(script).await;
        let sources = Sources { hub: server.url(), ..Sources::default() };
        let network = File {
            name: "model.onnx",
            path: "onnx/model_quantized.onnx",
            sha256: "5449709e1c519649d4e02ce1023ab7806adeacb20b1ebdbd70fb9a8abeeea01e",
        };
        let tokenizer = |sha256| File { name: "tokenizer.json", path: "tokenizer.json", sha256 };
        let of = |files: [File; 2]| Recommended { files: Box::leak(Box::new(files)), ..RECOMMENDED[0] };
        let folder = tempfile::tempdir().unwrap();
        let other =
            of([network, tokenizer("5449709e1c519649d4e02ce1023ab7806adeacb20b1ebdbd70fb9a8abeeea01e")]);
        let refused = pull(&sources, &other, folder.path(), &|_| {}).await.unwrap_err();
        assert!(refused.to_string().contains("tokenizer.json is not what it should be"), "{refused}");
        assert!(Card::read(&folder.path().join(other.name)).is_err());
        let right =
            of([network, tokenizer("44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a")]);
        let there = pull(&sources, &right, folder.path(), &|_| {}).await.unwrap();
        assert_eq!(std::fs::read(there.join("model.onnx")).unwrap(), b"the network");
        let requests = server.seen().len();
        assert_eq!(pull(&sources, &right, folder.path(), &|_| {}).await.unwrap(), there);
        assert_eq!(server.seen().len(), requests, "what is there is not fetched again");
    }

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
