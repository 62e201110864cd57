//! What earlier versions stored and what published clients were sent stays usable: data folders of earlier versions are opened,
//! and the answers of the server are compared, byte by byte, with those that were recorded.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ibid_testkit::{RealModels, Reply, Script, ScriptedServer, Seen};

use super::assistants::with_model;
use super::documents::folder;
use super::{ibid, printed, run};

const FIRST: &str = "01890a5d-ac96-774b-bcce-b302099a8057";
const SECOND: &str = "01890a5d-ac96-774b-bcce-b302099a8058";
const UNFINISHED: &str = "01890a5d-ac96-774b-bcce-b302099a8059";

fn tests(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

#[test]
fn published_clients_are_sent_what_was_recorded() {
    let folder = folder();
    let mut command = Command::new(RealModels::find().path("clients/bin/python"));
    command.arg(tests("clients/wire.py")).arg(env!("CARGO_BIN_EXE_ibid")).arg(folder.path());
    let output = command.arg(tests("wire")).stdin(Stdio::null()).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_folder_of_schema_7_is_opened_and_what_was_unfinished_goes_on() {
    let folder = folder();
    let folder = folder.path();
    let archive = tests("fixtures/data-schema-7.tar.gz");
    assert!(Command::new("tar").arg("-xzf").arg(archive).current_dir(folder).status().unwrap().success());
    let answer = |_: &Seen| Reply::text("It is free [1].");
    let model = ScriptedServer::start(Script::new().by(answer)).await;
    with_model(folder, &model.url());
    let doctor = String::from_utf8(run(folder, &["doctor"]).stdout).unwrap();
    assert!(doctor.contains("3 conversations, 1 unfinished turns"), "{doctor}");
    assert!(doctor.contains("schema 7"), "looking does not migrate: {doctor}");

    // The conversations are there, with what their answers carry.
    let shown = printed(&run(folder, &["threads", "show", FIRST, "--json"]));
    let messages: Vec<serde_json::Value> =
        shown.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(messages.len(), 4, "{shown}");
    assert_eq!(messages[1]["citations"][0]["found"], "exact", "{shown}");
    let structured = printed(&run(folder, &["threads", "show", SECOND, "--json"]));
    assert!(structured.contains("\"structured\":{\"schema_version\":\"1.0\""), "{structured}");

    // Its key opens the server; its feedback is kept; its unfinished turn and load go on.
    let key = std::fs::read_to_string(folder.join("ibid-data/key.txt")).unwrap();
    let config = std::fs::read_to_string(folder.join("ibid.toml")).unwrap();
    let entry = std::fs::read_to_string(folder.join("ibid-data/key.toml")).unwrap();
    std::fs::write(folder.join("ibid.toml"), format!("{config}\n{entry}")).unwrap();
    let serving = super::serve::Serving::start(folder);
    let ask = "import httpx, sys, time\n\
        c = httpx.Client(base_url=sys.argv[1], headers={'x-api-key': sys.argv[2]}, timeout=60)\n\
        runs = c.get(f'/threads/{sys.argv[3]}/runs').json()\n\
        print(c.get(f'/threads/{sys.argv[3]}/runs/{runs[-1][\"run_id\"]}/feedback').text)\n\
        run = c.get(f'/threads/{sys.argv[4]}/runs').json()[0]['run_id']\n\
        c.get(f'/threads/{sys.argv[4]}/runs/{run}/join')\n\
        print(c.get(f'/threads/{sys.argv[4]}/runs/{run}/stream?format=ibid').text)";
    let mut command = Command::new(RealModels::find().path("clients/bin/python"));
    command.args(["-c", ask, &serving.url, key.trim(), FIRST, UNFINISHED]);
    let said = printed(&command.output().unwrap());
    assert!(said.contains("The page is right."), "{said}");
    assert!(said.contains("\"type\":\"recovered\"") && said.contains("It is free"), "{said}");
    assert!(!said.contains("\"type\":\"restarted\""), "no finished step is lost: {said}");
    assert_eq!(
        said.matches("\"node\":\"retrieve\"").count(),
        1,
        "the finished step is not run again: {said}"
    );
    let asked = model.seen().iter().filter(|seen| seen.body["messages"].is_array()).count();
    assert_eq!(asked, 1, "one call of the model, for the step that was not finished");

    let began = Instant::now();
    let listed = loop {
        let listed = printed(&run(folder, &["documents", "list", "--json"]));
        if listed.matches("\"status\":\"ready\"").count() == 2 {
            break listed;
        }
        assert!(began.elapsed() < Duration::from_secs(120), "the load goes on: {listed}");
        std::thread::sleep(Duration::from_millis(300));
    };
    assert!(listed.contains("Chapter_94_extract"), "{listed}");
    drop(serving);
    let found = printed(&ibid(folder, &["fsck"]).output().unwrap());
    assert!(found.contains("the store is whole"), "{found}");
}
