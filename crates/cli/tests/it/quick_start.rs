//! The quick start of the README, run as it stands there. `IBID_INSTALLED` names the folder of a program that was installed from a
//! package, which is taken then: it brings its libraries along.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use ibid_models::pull::{ONNX_RUNTIME, PDFIUM};
use ibid_testkit::{RealModels, RealServer};

use super::{installed, program};

/// So long all of it may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// The commands of the quick start in the terminal: what is done once the binary is there.
fn commands() -> Vec<String> {
    let readme =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    let part = readme.split("## Quick start").nth(1).unwrap().split("\n## ").next().unwrap();
    let mut blocks = part.split("```sh\n").map(|block| block.split("```").next().unwrap());
    let block = blocks.find(|block| block.starts_with("ibid models pull")).unwrap();
    block.lines().map(str::to_owned).collect()
}

/// What `ibid models pull` would have brought: the embedding model of the tests in the place of the recommended one.
fn pulled(data: &Path, with_libraries: bool) {
    let (models, real) = (data.join("models"), RealModels::find());
    let mut pieces = vec![
        ("multilingual-e5-small/model.onnx", real.path("minilm/model.onnx")),
        ("multilingual-e5-small/tokenizer.json", real.path("minilm/tokenizer.json")),
        ("multilingual-e5-small/model.toml", real.path("minilm/model.toml")),
    ];
    let runtime = format!("onnxruntime/{}/libonnxruntime.so", ONNX_RUNTIME.version_name());
    let pdfium = format!("pdfium/{}/libpdfium.so", PDFIUM.version_name());
    if with_libraries {
        pieces.extend([(&*runtime, real.runtime()), (&*pdfium, real.path("pdfium/libpdfium.so"))]);
    }
    for (name, from) in pieces {
        let to = models.join(name);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(from.canonicalize().unwrap(), to).unwrap();
    }
}

#[test]
fn the_quick_start_ends_in_an_answer_with_a_citation() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    pulled(data.path(), installed().is_none());
    std::os::unix::fs::symlink(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").canonicalize().unwrap(),
        folder.path().join("examples"),
    )
    .unwrap();
    let path = format!("{}:{}", program().parent().unwrap().display(), std::env::var("PATH").unwrap());
    let server = RealServer::large();
    let (began, mut said) = (Instant::now(), String::new());
    for line in commands() {
        let mut command = Command::new("sh");
        command
            .current_dir(folder.path())
            .args(["-c", &line])
            .env("PATH", &path)
            .env_remove("IBID_INSTALLED");
        command.env("IBID_DATA", data.path()).env("IBID_PROVIDERS__OLLAMA__BASE_URL", server.url());
        let output = command.output().unwrap();
        said = String::from_utf8_lossy(&output.stdout).into_owned();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}\n{said}\n{told}");
    }
    assert!(began.elapsed() < PATIENCE, "it took {:?}", began.elapsed());
    let citation = said.lines().find(|line| line.starts_with('[') && line.contains("page 1"));
    assert!(citation.is_some_and(|line| line.contains("years")), "{said}");
    assert!(!said.lines().any(|line| line.starts_with('!')), "nothing is wrong with it: {said}");
}
