//! `ibid eval`: two configurations are told apart, two equal ones are not, and nothing is asked twice.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ibid_testkit::{RealModels, Reply, Script, ScriptedServer, Seen};
use serde_json::{Value, json};

use super::assistants::with_model;
use super::documents::{folder, sample};
use super::serve::{Serving, client, passes};
use super::{ibid, printed, refused, run};

const QUESTIONS: usize = 24;
/// So long an evaluation may take to begin.
const PATIENCE: Duration = Duration::from_secs(60);

/// A model that answers with a value, and judges an answer by it.
async fn model(value: &'static str) -> ScriptedServer {
    let answer = move |seen: &Seen| {
        if seen.says("You judge whether an answer is right") {
            let verdict = if seen.says("The rate is 2%") { "right" } else { "wrong" };
            return Reply::text(&json!({ "reason": "as it says", "verdict": verdict }).to_string());
        }
        Reply::text(&format!("The rate is {value} [1].")).every(Duration::from_millis(5))
    };
    ScriptedServer::start(Script::new().by(answer)).await
}

fn dataset(folder: &Path) {
    let lines = (0..QUESTIONS).map(|at| {
        let question = format!("What is the general rate for LED lamps, 8539.52.00, in case {at}?");
        let item = json!({
            "id": format!("case {at}"),
            "question": question,
            "values": ["2%"],
            "pages": [{ "document": "hts-chapter-85-pages-70-71", "page": 2 }],
            "history": if at == 0 { json!([{ "role": "user", "text": "Good morning" }]) } else { json!([]) },
        });
        format!("{item}\n")
    });
    fs::write(folder.join("rates.jsonl"), lines.collect::<String>()).unwrap();
}

/// A folder with a document, questions and two configurations, the second of which answers wrongly.
async fn stage() -> (tempfile::TempDir, ScriptedServer, ScriptedServer) {
    let folder = folder();
    printed(&run(folder.path(), &["ingest", &sample(), "--assistant", "trade-compliance"]));
    let (right, wrong) = (model("2%").await, model("57%").await);
    with_model(folder.path(), &wrong.url());
    fs::copy(folder.path().join("ibid.toml"), folder.path().join("wrong.toml")).unwrap();
    with_model(folder.path(), &right.url());
    dataset(folder.path());
    (folder, right, wrong)
}

const COMPARED: [&str; 8] = [
    "eval",
    "rates.jsonl",
    "--assistant",
    "trade-compliance",
    "--config",
    "ibid.toml",
    "--config",
    "wrong.toml",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_worse_configuration_is_told_and_reported_and_nothing_is_asked_twice() {
    let (folder, right, wrong) = stage().await;
    let folder = folder.path();
    let compared = run(folder, &COMPARED);
    let told = String::from_utf8_lossy(&compared.stdout);
    assert_eq!(compared.status.code(), Some(3), "{told}\n{}", String::from_utf8_lossy(&compared.stderr));
    let values = told.lines().find(|line| line.starts_with("expected values said")).unwrap();
    assert!(values.contains("100.0 %") && values.contains("-100.0 %") && values.ends_with("worse"), "{told}");
    assert!(
        told.contains("Worse by more than its spread: expected values said, unsupported values"),
        "{told}"
    );
    let kept = |name: &str| fs::read_to_string(folder.join("ibid-evals/rates").join(name)).unwrap();
    assert_eq!(kept("results.jsonl").lines().count(), 2 * QUESTIONS);
    let first: Value = serde_json::from_str(kept("results.jsonl").lines().next().unwrap()).unwrap();
    assert_eq!(first["configuration"], "ibid.toml");
    assert!(first["answer"]["metadata"]["citations"][0]["page"].is_number(), "{first}");
    assert!(first["answer"]["took_ms"].is_number(), "{first}");
    assert!(kept("report.html").contains("The rate is 57%") && kept("junit.xml").contains("<failure"));
    // Again: everything is there already.
    let asked = (right.seen().len(), wrong.seen().len());
    assert!(asked.0 >= QUESTIONS && asked.1 >= QUESTIONS, "{asked:?}");
    assert_eq!(run(folder, &COMPARED).status.code(), Some(3));
    assert_eq!((right.seen().len(), wrong.seen().len()), asked);
    // With a judge only the verdicts are asked for, once.
    let judged = [&COMPARED[..], &["--judge", "answer", "--json"]].concat();
    let verdicts: Value = serde_json::from_slice(&run(folder, &judged).stdout).unwrap();
    let of = verdicts.as_array().unwrap().iter().find(|one| one["metric"] == "judged").unwrap();
    assert_eq!(
        (&of["baseline"], &of["candidate"], &of["verdict"]),
        (&json!(1.0), &json!(0.0), &json!("worse"))
    );
    assert_eq!((right.seen().len(), wrong.seen().len()), (asked.0 + 2 * QUESTIONS, asked.1));
    run(folder, &judged);
    assert_eq!(right.seen().len(), asked.0 + 2 * QUESTIONS);
    // The folder is for these questions and these settings.
    refused(&run(folder, &[&COMPARED[..], &["--limit", "3"]].concat()), 1, "holds another evaluation");
    // Two equal ones are not told apart.
    let twice = ["-a", "trade-compliance", "-a", "trade-compliance"];
    let equal = [&["eval", "rates.jsonl", "--json", "--out", "equal"], &twice[..]].concat();
    let told: Value = serde_json::from_slice(&run(folder, &equal).stdout).unwrap();
    // A busy machine may make one of them slower all the same.
    let is_time = |one: &&Value| ["seconds", "first_word"].contains(&one["metric"].as_str().unwrap());
    let others: Vec<&Value> = told.as_array().unwrap().iter().filter(|one| !is_time(one)).collect();
    assert!(others.len() > 5 && others.iter().all(|one| one["difference"] == 0.0), "{told}");
    // And nothing of it is among the conversations.
    assert!(printed(&run(folder, &["threads", "list"])).contains("No conversations yet"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_evaluation_that_was_killed_goes_on_where_it_was() {
    let (folder, right, wrong) = stage().await;
    let mut child =
        ibid(folder.path(), &COMPARED).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    while wrong.seen().len() < QUESTIONS / 2 {
        assert!(began.elapsed() < PATIENCE, "nothing is asked");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let before = right.seen().len() + wrong.seen().len();
    let again = run(folder.path(), &COMPARED);
    assert_eq!(again.status.code(), Some(3), "{}", String::from_utf8_lossy(&again.stderr));
    let all = right.seen().len() + wrong.seen().len();
    // One question has a history, and is put anew first. The step at which it was killed is asked again, nothing else.
    assert!(all <= 2 * (QUESTIONS + 1) + 1, "{before} before, {all} in all");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_thresholds_are_tried_and_those_that_help_are_proposed() {
    let (folder, _right, _wrong) = stage().await;
    let folder = folder.path();
    printed(&run(folder, &["assistants", "new", "desk", "--from", "trade-compliance"]));
    let file = folder.join("assistants/desk/assistant.toml");
    let definition = fs::read_to_string(&file).unwrap();
    // With this nothing is found for anything.
    fs::write(&file, format!("{definition}\n[retrieval]\ntypes = [\"none\"]\n")).unwrap();
    let before = fs::read_to_string(&file).unwrap();
    let tune =
        ["tune", "rates.jsonl", "-a", "desk", "--try", "retrieval.types=[]", "--try", "retrieval.top=3"];
    let told = printed(&run(folder, &tune));
    assert!(
        told.contains("propose retrieval.types = []: expected values said from 0.0 % to 100.0 %"),
        "{told}"
    );
    assert!(told.contains("keep    retrieval.top = 3 does not help"), "{told}");
    assert_eq!(fs::read_to_string(&file).unwrap(), before, "nothing is changed");
    refused(&run(folder, &["tune", "rates.jsonl", "-a", "desk", "--try", "floor"]), 1, "is no change");
}

#[test]
fn what_cannot_be_evaluated_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    refused(&run(folder, &["eval", "none.jsonl"]), 1, "cannot read none.jsonl");
    fs::write(folder.join("bad.jsonl"), "{\"question\": \"a?\"}\n{\"query\": \"b\"}\n").unwrap();
    refused(&run(folder, &["eval", "bad.jsonl"]), 1, "line 2 of the dataset: unknown field `query`");
    fs::write(folder.join("good.jsonl"), "{\"question\": \"a?\"}\n").unwrap();
    refused(&run(folder, &["eval", "good.jsonl", "-a", "nobody"]), 1, "there is no assistant `nobody`");
    let two = ["threads", "list", "--config", "a.toml", "--config", "b.toml"];
    refused(&run(folder, &two), 1, "`ibid eval` compares two");
}

#[tokio::test(flavor = "multi_thread")]
async fn datasets_are_picked_and_a_variant_answers_a_share_of_the_threads() {
    let (folder, _model) = super::serve::stage().await;
    for (name, more) in [("desk", "[variant]\nassistant = \"desk-new\"\nshare = 0.5\n"), ("desk-new", "")] {
        printed(&run(folder.path(), &["assistants", "new", name, "--from", "trade-compliance"]));
        let file = folder.path().join("assistants").join(name).join("assistant.toml");
        let definition = fs::read_to_string(&file).unwrap();
        fs::write(file, format!("{definition}\n{more}")).unwrap();
    }
    let serving = Serving::start(folder.path());
    passes(client("datasets.py", &serving.url, "desk"));
}

/// promptfoo and DeepEval, unmodified, with the files that docs/evals.md shows: each says which answers are right.
#[tokio::test(flavor = "multi_thread")]
async fn promptfoo_and_deepeval_tell_right_answers_from_wrong_ones() {
    let (folder, right, wrong) = stage().await;
    for (server, passes) in [(&right, true), (&wrong, false)] {
        with_model(folder.path(), &server.url());
        let serving = Serving::start(folder.path());
        for mut tool in [promptfoo(folder.path()), deepeval(folder.path())] {
            tool.env("IBID_URL", &serving.url).env("IBID_KEY", "none").stdin(Stdio::null());
            let output = tool.output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert_eq!(output.status.success(), passes, "{said}{}", String::from_utf8_lossy(&output.stderr));
            let verdict = if passes { "1 passed (100%)" } else { "1 failed (100%)" };
            let verdict_of_deepeval = if passes { "Passed: 1" } else { "Failed: 1" };
            assert!(said.contains(verdict) || said.contains(verdict_of_deepeval), "{said}");
        }
    }
}

fn promptfoo(folder: &Path) -> Command {
    let mut command = Command::new(RealModels::find().path("promptfoo/node_modules/.bin/promptfoo"));
    command.args(["eval", "--no-cache", "--config"]).arg(example("promptfooconfig.yaml"));
    command.env("PROMPTFOO_CONFIG_DIR", folder.join("promptfoo"));
    command.env("PROMPTFOO_DISABLE_TELEMETRY", "1").env("PROMPTFOO_DISABLE_UPDATE", "1");
    command.current_dir(folder);
    command
}

fn deepeval(folder: &Path) -> Command {
    fs::copy(example("test_answers.py"), folder.join("test_answers.py")).unwrap();
    let mut command = Command::new(RealModels::find().path("deepeval/bin/deepeval"));
    command.args(["test", "run", "test_answers.py"]).env("DEEPEVAL_TELEMETRY_OPT_OUT", "YES");
    command.current_dir(folder);
    command
}

fn example(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/evals").join(file)
}
