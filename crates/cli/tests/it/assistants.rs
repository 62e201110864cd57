//! Assistants as a person uses them: made, checked, asked.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use ibid_testkit::{Reply, Script, ScriptedServer, Seen};

use super::documents::{corpus, folder, sample};
use super::serve::{Serving, client, passes};
use super::{THREAD, ibid, printed, refused, run};

const QUESTION: &str = "What duty applies to LED lamps from China?";

/// A server that says the same to every question, with the number of the source that has a text in it.
async fn saying(answer: &'static str, source: &'static str) -> ScriptedServer {
    let numbered = move |seen: &Seen| {
        let shown = seen.body["messages"].to_string();
        let sources = shown.split("<source number=\\\"").skip(1);
        let found =
            sources.filter(|text| text.split("</source>").next().is_some_and(|text| text.contains(source)));
        let number = found.filter_map(|text| text.split('\\').next()).next().unwrap_or("0").to_owned();
        Reply::text(&answer.replace("{}", &number))
    };
    ScriptedServer::start(Script::new().by(numbered)).await
}

pub(super) fn with_model(folder: &Path, url: &str) {
    let file = folder.join("ibid.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    let config = config.split("[providers.test]").next().unwrap();
    let model = format!(
        "{config}[providers.test]\nbase_url = \"{url}\"\n[models.answer]\nprovider = \"test\"\nmodel = \"test\"\n"
    );
    std::fs::write(file, model).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_with_page_and_row_and_an_old_answer_is_flagged() {
    let folder = folder();
    let folder = folder.path();
    refused(&run(folder, &["ask", "trade-compliance", QUESTION]), 1, "there is no chat model");
    let chapter = corpus("hts-chapter-85-pages-71-75.pdf");
    let chapter = chapter.to_string_lossy();
    printed(&run(folder, &["ingest", "--assistant", "trade-compliance", &chapter]));
    let listed = printed(&run(folder, &["documents", "list", "--json"]));
    assert!(
        listed.contains("\"corpus\":\"trade\"") && listed.contains("\"kind\":\"hts_schedule\""),
        "{listed}"
    );

    let server =
        saying("LED lamps, 8539.52.00: \"Light-emitting diode (LED) lamps\" at 2% [{}].", "8539.52.00").await;
    with_model(folder, &server.url());
    let said = printed(&run(folder, &["ask", "trade-compliance", QUESTION]));
    assert!(said.contains("page 3, quoted exactly: Light-emitting diode (LED) lamps"), "{said}");
    assert!(!said.contains("! "), "{said}");

    let server = saying("LED lamps are in 8539.50.00 at 3.9 % [{}].", "8539.52.00").await;
    with_model(folder, &server.url());
    let said = printed(&run(folder, &["ask", "trade-compliance", QUESTION]));
    assert!(said.contains("! no source supports 8539.50.00, 3.9 %"), "{said}");

    let json = printed(&run(folder, &["ask", "--json", "trade-compliance", QUESTION]));
    let last: serde_json::Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
    assert_eq!(last["message"]["citations"][0]["page"], 3);
    assert!(last["message"]["citations"][0]["boxes"][0][0].is_number(), "{last}");
    refused(
        &run(folder, &["ask", "-m", "fast", "trade-compliance", QUESTION]),
        1,
        "there is no mode `fast`; there are standard, agentic",
    );
}

/// Kills `ibid ask` when the model has been asked so often, and lets the next command finish the turn.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_turn_goes_on_without_asking_again_what_was_answered() {
    let folder = folder();
    let folder = folder.path();
    printed(&run(folder, &["ingest", &sample(), "--assistant", "trade-compliance"]));
    let script = |seen: &Seen| {
        let condenses = seen.says("can be understood without the conversation");
        let said = if condenses { "What is the rate for Christmas-tree lamps?" } else { "It is 5.8% [1]." };
        Reply::text(said).every(Duration::from_millis(20))
    };
    let server = ScriptedServer::start(Script::new().by(script)).await;
    with_model(folder, &server.url());
    printed(&run(folder, &["ask", "--thread", THREAD, "trade-compliance", "What is 8539.22.40?"]));
    for asked in 1..=4_usize {
        let before = server.seen().len();
        let mut asking = ibid(folder, &["ask", "--thread", THREAD, "And what is its rate?"]).spawn().unwrap();
        // In the middle of the first or the second call, or just after one.
        let wanted = before + asked.div_ceil(2);
        server.until("the model is asked", |seen| seen.len() >= wanted).await;
        std::thread::sleep(Duration::from_millis(if asked % 2 == 0 { 130 } else { 30 }));
        asking.kill().unwrap();
        asking.wait().unwrap();
        let killed = server.seen().len();
        printed(&run(folder, &["ask", "--thread", THREAD, "Thanks; and once more?"]));
        let bodies: Vec<String> =
            server.seen()[before..].iter().map(|seen| seen.body["messages"].to_string()).collect();
        // Two calls for each of the two turns; the one that was cut off may have been made once more.
        let different: std::collections::BTreeSet<&String> = bodies.iter().collect();
        assert_eq!(different.len(), 4, "{killed} requests before the kill: {bodies:#?}");
        assert!(bodies.len() <= 5, "{} requests for two turns", bodies.len());
    }
    let shown = printed(&run(folder, &["threads", "show", THREAD, "--json"]));
    let answers = shown.lines().filter(|line| line.contains("\"role\":\"assistant\"")).count();
    assert_eq!(answers, 9, "every turn was answered once");
}

#[test]
fn an_assistant_is_made_and_what_is_wrong_with_it_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    insta::assert_snapshot!("assistants", printed(&run(folder, &["assistants", "list"])));
    refused(
        &run(folder, &["assistants", "new", "mine", "--from", "polcy-desk"]),
        1,
        "did you mean `policy-desk`?",
    );
    let made = printed(&run(folder, &["assistants", "new", "mine", "--from", "policy-desk"]));
    assert!(made.contains("ibid ask mine"), "{made}");
    refused(&run(folder, &["assistants", "new", "mine"]), 1, "is there already");
    assert_eq!(printed(&run(folder, &["assistants", "check", "mine"])), "mine: in order\n");
    assert!(printed(&run(folder, &["graph", "mine"])).contains("retrieve"));

    let file = folder.join("assistants/mine/assistant.toml");
    let wrong = "titel = 'x'\n";
    std::fs::write(&file, wrong).unwrap();
    let checked = run(folder, &["assistants", "check", "mine"]);
    let said = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(!checked.status.success() && said.contains("unknown field `titel`"), "{said}");

    let wrong = "tools = ['search_documnts']\nmodes = [{ name = 'a', graph = 'agentic' }]\n[models]\nanswer = 'strong'\n";
    std::fs::write(&file, wrong).unwrap();
    std::fs::write(folder.join("assistants/mine/prompts/generate.md"), "{{ evidence }}").unwrap();
    let checked = run(folder, &["assistants", "check", "mine"]);
    let said = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(said.contains("there is no tool `search_documnts`"), "{said}");
    assert!(said.contains("it uses `evidence`; it may use persona, format"), "{said}");
    refused(&run(folder, &["assistants", "check", "nobody"]), 1, "there is no assistant `nobody`");
}

/// A file of the example assistant with a format of its own.
fn example(file: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/assistants/incident-desk");
    std::fs::read_to_string(folder.join(file)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_format_of_ones_own_is_answered_over_every_api() {
    let folder = folder();
    let folder = folder.path();
    let own = folder.join("assistants/incident-desk");
    std::fs::create_dir_all(own.join("formats")).unwrap();
    std::fs::write(own.join("assistant.toml"), example("assistant.toml")).unwrap();
    std::fs::write(own.join("formats/incident_report.json"), "{ \"type\": \"object\" }").unwrap();
    let checked = run(folder, &["assistants", "check", "incident-desk"]);
    let said = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(said.contains("formats: incident_report.json: it must have"), "{said}");
    let format = example("formats/incident_report.json");
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/assistants.md");
    assert!(std::fs::read_to_string(docs).unwrap().contains(&format), "the docs show the example as it is");
    std::fs::write(own.join("formats/incident_report.json"), format).unwrap();
    assert_eq!(printed(&run(folder, &["assistants", "check", "incident-desk"])), "incident-desk: in order\n");

    let report = "# Report\n\nAt 08:15 a lamp fell on the quay. The damage is 1,250.50 dollars. \
        The harbour master closes the quay and calls the insurer.";
    std::fs::write(folder.join("report.md"), report).unwrap();
    printed(&run(folder, &["ingest", "report.md"]));
    let written = serde_json::json!({
        "answer": "A lamp fell on the quay [1].", "severity": "high",
        "timeline": [{ "time": "08:15", "event": "A lamp fell.", "cost": null }],
        "actions": [{ "action": "Close the quay", "owner": "Harbour master", "reason": "" }],
        "damage": 1250.5, "citations": [{ "source": 1, "page": 1, "quote": "a lamp fell on the quay" }],
    });
    let server = ScriptedServer::start(Script::new().by(move |seen: &Seen| {
        let asked = &seen.body["response_format"]["json_schema"];
        assert_eq!(asked["strict"], true, "{asked}");
        assert!(!asked.to_string().contains("x-view"), "{asked}");
        Reply::text(&written.to_string())
    }))
    .await;
    with_model(folder, &server.url());
    let ask = ["ask", "--json", "incident-desk", "-f", "incident_report", "What happened at the port?"];
    let json = printed(&run(folder, &ask));
    let last: serde_json::Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
    let message = &last["message"];
    assert_eq!(message["structured"]["damage"], 1250.5, "{message}");
    assert_eq!(message["warnings"], serde_json::json!([]), "every value is in the source");
    assert_eq!(message["citations"][0]["found"], "exact");

    passes(client("own_format.py", &Serving::start(folder).url, "incident-desk"));
}

#[test]
fn a_conversation_in_the_terminal_answers_asks_and_is_exported() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut child = ibid(folder, &["chat", "--thread", THREAD, "rehearsal"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let typed = "How much is it?\n?\nthis instead\n/sources\n/export talk.md\n/nonsense\n/quit\n";
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = printed(&output);
    assert!(
        said.contains("How much is it?\n") && said.contains("What shall I repeat?\nthis instead\n"),
        "{said}"
    );
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("there is no /nonsense") && told.contains(&format!("--thread {THREAD}")), "{told}");
    let exported = std::fs::read_to_string(folder.join("talk.md")).unwrap();
    assert!(
        exported.contains("**You:** How much is it?\n") && exported.contains("**Assistant:** this instead\n"),
        "{exported}"
    );
}
