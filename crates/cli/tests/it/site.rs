//! What stands in the documentation: its programs run as they are there, and its messages are those of ibid.

use std::path::{Path, PathBuf};
use std::process::Command;

use ibid_testkit::{RealModels, Reply, Script, ScriptedServer, Seen};
use serde_json::{Value, json};

use super::assistants::with_model;
use super::documents::folder;
use super::serve::{Serving, passes, stage};
use super::{printed, run};

fn docs(page: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page)).unwrap()
}

/// The pieces of a page in a language, in their order.
fn pieces(page: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    page.split(&*fence).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_by_task_works_as_it_stands() {
    let (folder, _model) = stage().await;
    let serving = Serving::start(folder.path());
    let page = docs("api.md").replace("http://127.0.0.1:8123", &serving.url);
    let work = tempfile::tempdir().unwrap();
    let handbook = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/handbook.pdf");
    std::fs::copy(handbook, work.path().join("handbook.pdf")).unwrap();
    let models = RealModels::find();
    std::os::unix::fs::symlink(models.path("clients-js/node_modules"), work.path().join("node_modules"))
        .unwrap();

    // One after the other, in one shell; what is refused fails.
    let shell = pieces(&page, "sh").concat();
    assert!(shell.contains("curl"), "there are no commands in the page");
    let mut command = Command::new("bash");
    let strict = "set -euo pipefail; curl() { command curl --fail-with-body \"$@\"; echo; }\n";
    passes_in(work.path(), command.arg("-c").arg(format!("{strict}{shell}")));
    for piece in pieces(&page, "python") {
        passes_in(work.path(), Command::new(models.path("clients/bin/python")).arg("-c").arg(piece));
    }
    for (number, piece) in pieces(&page, "ts").into_iter().enumerate() {
        let file = work.path().join(format!("{number}.mjs"));
        std::fs::write(&file, piece).unwrap();
        passes_in(work.path(), Command::new("node").arg(file));
    }
}

/// The least that a schema takes.
fn filled(schema: &Value) -> Value {
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str()).unwrap_or_default();
    match (kind, &schema["enum"][0]) {
        (_, first) if !first.is_null() => first.clone(),
        ("object", _) => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            Value::Object(fields.map(|(name, field)| (name.clone(), filled(field))).collect())
        }
        ("array", _) => json!([]),
        ("string", _) => json!("none"),
        ("boolean", _) => json!(false),
        ("number" | "integer", _) => json!(0),
        _ => Value::Null,
    }
}

/// Runs the commands of a page in one shell, beside a model that fills every form with the least that it takes.
async fn commands_work(page: &str) {
    let folder = folder();
    let folder = folder.path();
    let answer = |seen: &Seen| match &seen.body["response_format"]["json_schema"]["schema"] {
        Value::Null => Reply::text("I don't know [0]."),
        schema => Reply::text(&filled(schema).to_string()),
    };
    let model = ScriptedServer::start(Script::new().by(answer)).await;
    with_model(folder, &model.url());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    for name in ["crates", "examples"] {
        std::os::unix::fs::symlink(root.join(name), folder.join(name)).unwrap();
    }
    // The scripted model never knows an answer in words; that is what the exit code 2 says.
    let commands = pieces(&docs(page), "sh").concat();
    let program = Path::new(env!("CARGO_BIN_EXE_ibid")).parent().unwrap().display();
    let path = format!("export PATH={program}:$PATH; ibid() {{ command ibid \"$@\" || test $? -eq 2; }}\n");
    passes_in(folder, Command::new("bash").arg("-c").arg(format!("set -euo pipefail; {path}{commands}")));
    let made = printed(&run(folder, &["threads", "list"]));
    assert!(made.lines().count() > 2, "{made}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_assistant_is_made_as_it_stands() {
    commands_work("first-assistant.md").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cookbook_works_as_it_stands() {
    commands_work("cookbook.md").await;
}

fn passes_in(folder: &Path, command: &mut Command) {
    let mut owned = Command::new(command.get_program());
    owned.args(command.get_args()).current_dir(folder);
    passes(owned);
}

/// All sources of the workspace, with continued text in one line.
fn sources(folder: &Path, all: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|ending| ending == "rs" || ending == "toml") {
            let text = std::fs::read_to_string(path).unwrap();
            let mut lines = text.split("\\\n");
            all.push_str(lines.next().unwrap());
            lines.for_each(|line| all.push_str(line.trim_start()));
        }
    }
}

#[test]
fn the_messages_in_troubleshooting_are_those_of_ibid() {
    let mut all = String::new();
    for part in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap() {
        let source = part.unwrap().path().join("src");
        if source.exists() {
            sources(&source, &mut all);
        }
    }
    let page = docs("troubleshooting.md");
    let messages = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    for message in messages {
        for piece in message.split('…').map(str::trim).filter(|piece| piece.len() > 3) {
            let known = all.contains(piece) || piece.parse::<u16>().is_ok();
            assert!(known, "no source says `{piece}`, as `{message}` does");
        }
    }
}

#[test]
fn the_sources_page_works_as_it_stands() {
    let folder = folder();
    let folder = folder.path();
    let page = docs("sources.md");
    let settings = pieces(&page, "toml");
    let config = std::fs::read_to_string(folder.join("ibid.toml")).unwrap();
    let with = |more: &str| std::fs::write(folder.join("ibid.toml"), format!("{config}{more}")).unwrap();
    with(&settings.concat());
    printed(&run(folder, &["config", "check"]));

    with(&settings[0]);
    std::fs::create_dir(folder.join("contracts")).unwrap();
    std::fs::copy(super::documents::sample(), folder.join("contracts/chapter.pdf")).unwrap();
    let commands = pieces(&page, "sh").concat();
    let commands = commands.lines().filter_map(|line| line.split('#').next()?.trim().strip_prefix("ibid "));
    let mut ran = 0;
    for command in commands {
        let said = printed(&run(folder, &command.split_whitespace().collect::<Vec<_>>()));
        assert!(said.contains("contracts: "), "{command}: {said}");
        ran += 1;
    }
    assert_eq!(ran, 4);
    assert!(printed(&run(folder, &["search", "8539.22.40"])).contains("contracts/chapter.pdf"));
}
