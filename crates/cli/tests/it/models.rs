//! `ibid models` and what `ibid doctor` says of models.

use std::path::Path;

use ibid_testkit::{RealModels, Reply, Script, ScriptedServer};
use serde_json::json;

use crate::{ibid, printed, refused, run};

const KEY: &str = "sk-test-77b0a9c4";

fn configured(folder: &Path, text: &str) {
    std::fs::write(folder.join("ibid.toml"), text).unwrap();
}

/// Runs the binary beside a server that lives on this runtime.
async fn run_beside(folder: &Path, arguments: &'static [&'static str]) -> std::process::Output {
    let mut command = ibid(folder, arguments);
    command.env("SCRIPTED_KEY", KEY).env_remove("ORT_DYLIB_PATH").env("IBID_LOG", "trace");
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_is_tried_and_its_key_never_shown() {
    let script =
        Script::new().when(|seen| seen.says("fail"), Reply::status(401, &format!("wrong key {KEY}")));
    let server = ScriptedServer::start(script.always(Reply::text("I am a script."))).await;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = format!(
        "[providers.scripted]\nbase_url = '{}'\nkey_env = 'SCRIPTED_KEY'\n\
         [models.strong]\nprovider = 'scripted'\nmodel = 'big'\ninput_price = 2\noutput_price = 10\nextra = {{ effort = 'low' }}",
        server.url()
    );
    configured(folder, &text);
    let tried = run_beside(folder, &["models", "try", "strong", "who are you?"]).await;
    assert_eq!(printed(&tried), "I am a script.\n");
    let told = String::from_utf8_lossy(&tried.stderr).into_owned();
    assert!(told.contains("strong: 7 tokens read, 4 written, 0.000054"), "{told}");
    let seen = server.seen();
    assert_eq!((&seen[0].body["model"], &seen[0].body["effort"]), (&json!("big"), &json!("low")));
    assert_eq!(seen[0].headers["authorization"], format!("Bearer {KEY}"));

    let wrong = run_beside(folder, &["models", "try", "strong", "fail"]).await;
    refused(&wrong, 1, "the key is taken from the environment variable SCRIPTED_KEY");
    let listed = run_beside(folder, &["models", "list"]).await;
    assert!(printed(&listed).contains("strong: big of scripted"));
    let checked = run_beside(folder, &["config", "check"]).await;
    let doctor = run_beside(folder, &["doctor"]).await;
    for output in [&tried, &wrong, &listed, &checked, &doctor] {
        let all = [&output.stdout[..], &output.stderr].concat();
        assert!(!String::from_utf8_lossy(&all).contains(KEY), "{}", String::from_utf8_lossy(&all));
    }
    refused(&run(folder, &["models", "try", "strnog"]), 1, "did you mean `strong`?");
    refused(
        &run(folder, &["--set", "models.x.provider=nobody", "models", "try", "x"]),
        1,
        "providers.nobody.base_url",
    );
    refused(
        &run(folder, &["--set", "models.x.provider=ollama", "models", "try", "x"]),
        1,
        "`models.x.model` is not set",
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_ca_certificates_servers_without_tls_are_reached_and_others_say_what_is_missing() {
    let server = ScriptedServer::start(Script::new().always(Reply::text("I am a script."))).await;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = format!(
        "[providers.scripted]\nbase_url = '{}'\n[models.strong]\nprovider = 'scripted'\nmodel = 'big'\n\
         [providers.far]\nbase_url = 'https://models.example'\n[models.far]\nprovider = 'far'\nmodel = 'big'",
        server.url()
    );
    configured(folder, &text);
    let try_model = async |name: &'static str| {
        let mut command = ibid(folder, &["models", "try", name, "who are you?"]);
        command.env("SSL_CERT_FILE", folder.join("none")).env("SSL_CERT_DIR", folder.join("none"));
        tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
    };
    assert_eq!(printed(&try_model("strong").await), "I am a script.\n");
    refused(&try_model("far").await, 1, "install them (the package `ca-certificates`)");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_looks_at_providers_and_models_and_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let doctor = printed(&run_beside(folder, &["doctor"]).await);
    assert!(
        doctor.contains("none   embedding: there is no embedding model: `ibid models pull` brings one"),
        "{doctor}"
    );

    // A provider that has an embedding model is used where there is none here.
    let vector =
        json!({ "data": [{ "index": 0, "embedding": [3.0, 4.0] }, { "index": 1, "embedding": [3.0, 4.0] }] });
    let one = json!({ "data": [{ "index": 0, "embedding": [3.0, 4.0] }] });
    let script = Script::new()
        .when(
            |seen| seen.path.ends_with("/models"),
            Reply::json(json!({ "data": [{ "id": "big" }, { "id": "text-embed-1" }] })),
        )
        .when(|seen| seen.body["input"].as_array().is_some_and(|input| input.len() == 1), Reply::json(one))
        .always(Reply::json(vector));
    let server = ScriptedServer::start(script).await;
    configured(folder, &format!("[providers.mine]\nbase_url = '{}'", server.url()));
    let doctor = printed(&run_beside(folder, &["doctor"]).await);
    assert!(doctor.contains("ok     provider mine: answers, and lists 2 models"), "{doctor}");
    assert!(
        doctor.contains("ok     embedding: text-embed-1 runs, and gives vectors of 2 dimensions"),
        "{doctor}"
    );

    // Real models that run here.
    let models = RealModels::find();
    let (library, embedding, rerank) =
        (models.runtime(), models.path("use-multilingual"), models.path("reranker"));
    configured(
        folder,
        &format!(
            "[onnx]\nlibrary = '{}'\n[embedding]\npath = '{}'\n[rerank]\npath = '{}'",
            library.display(),
            embedding.display(),
            rerank.display()
        ),
    );
    let doctor = printed(&run_beside(folder, &["doctor"]).await);
    assert!(
        doctor.contains("use-multilingual-v3-int8 runs, and gives vectors of 512 dimensions"),
        "{doctor}"
    );
    assert!(doctor.contains("ok     reranking: small-cross-encoder runs"), "{doctor}");

    configured(
        folder,
        &format!("[onnx]\nlibrary = 'nowhere.so'\n[embedding]\npath = '{}'", embedding.display()),
    );
    let doctor = run_beside(folder, &["doctor"]).await;
    assert_eq!(doctor.status.code(), Some(1));
    let told = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(told.contains("WRONG  embedding") && told.contains("ibid models pull"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn models_are_pulled_from_the_hub_and_checked() {
    let script = Script::new()
        .when(|seen| seen.path.contains("tokenizer.json"), Reply::raw("{}"))
        .when(|seen| seen.path.contains("model_quantized.onnx"), Reply::raw("not the network"))
        .when(|seen| seen.path.contains("onnxruntime"), Reply::raw("not the library"));
    let server = ScriptedServer::start(script).await;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let library = RealModels::find().runtime();
    configured(folder, &format!("[pull]\nhub = '{0}'\nonnx_releases = '{0}'", server.url()));
    // Whatever comes is held against its SHA-256.
    let pulled = run_beside(folder, &["models", "pull"]).await;
    refused(&pulled, 1, "is not what it should be");
    assert!(server.seen()[0].path.starts_with("/v1/v1.22.0/onnxruntime-"), "{}", server.seen()[0].path);
    std::fs::write(folder.join(".env"), format!("ORT_DYLIB_PATH={}", library.display())).unwrap();
    let pulled = run_beside(folder, &["models", "pull"]).await;
    refused(&pulled, 1, "model.onnx is not what it should be");
    let path = "/v1/Xenova/multilingual-e5-small/resolve/761b726dd34fb83930e26aab4e9ac3899aa1fa78/onnx/model_quantized.onnx";
    assert_eq!(server.seen().last().unwrap().path, path);
    assert!(!folder.join("ibid-data/models/multilingual-e5-small/model.onnx").exists(), "nothing was kept");
    let pulled = run_beside(folder, &["models", "pull", "bge-reranker-v2-m3"]).await;
    refused(&pulled, 1, "model.onnx is not what it should be");
    assert!(String::from_utf8_lossy(&pulled.stderr).contains("fetching model.onnx"));
    let there = folder.join("ibid-data/models/bge-reranker-v2-m3");
    let card = "name = 'bge-reranker-v2-m3'\nkind = 'rerank'\nmax_tokens = 512\n";
    std::fs::write(there.join("model.toml"), card).unwrap();
    let requests = server.seen().len();
    let pulled = run_beside(folder, &["models", "pull", "bge-reranker-v2-m3"]).await;
    printed(&pulled);
    assert!(String::from_utf8_lossy(&pulled.stderr).contains("set rerank.path ="));
    assert_eq!(server.seen().len(), requests, "what is there is not fetched again");
    assert!(printed(&run(folder, &["models", "list"])).contains("bge-reranker-v2-m3: rerank\n"));
    refused(&run(folder, &["models", "pull", "bge-rernker"]), 1, "did you mean `bge-reranker-v2-m3`?");
    // A library that an earlier ibid fetched serves until the newer one is there.
    let earlier = folder.join("ibid-data/models/onnxruntime");
    std::fs::create_dir_all(&earlier).unwrap();
    std::os::unix::fs::symlink(library, earlier.join("libonnxruntime.so")).unwrap();
    std::fs::remove_file(folder.join(".env")).unwrap();
    let doctor = String::from_utf8_lossy(&run_beside(folder, &["doctor"]).await.stdout).into_owned();
    assert!(doctor.contains("which an earlier ibid fetched; `ibid models pull` brings v1.22.0"), "{doctor}");
    refused(&run_beside(folder, &["models", "pull"]).await, 1, "is not what it should be");
    assert!(server.seen().last().unwrap().path.starts_with("/v1/v1.22.0/onnxruntime-"));
}
