//! The terminal beside a server that uses the same data folder: commands work there, and in the folder again when it has ended.

use std::io::Write as _;
use std::path::Path;
use std::process::{Output, Stdio};

use ibid_testkit::{Reply, Script, ScriptedServer, Seen};

use super::assistants::with_model;
use super::documents::{folder, sample};
use super::serve::Serving;
use super::{THREAD, ibid, printed, refused, run};

const QUESTION: &str = "What is the rate for 8539.52.00?";

fn talk(folder: &Path, arguments: &[&str], lines: &str) -> Output {
    let mut command = ibid(folder, arguments);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// A folder with keys, so that nobody gets in without one, and a server for it.
async fn stage() -> (tempfile::TempDir, ScriptedServer, Serving) {
    let folder = folder();
    let answer = |_: &Seen| Reply::text("The rate for such lamps is given there [1].");
    let model = ScriptedServer::start(Script::new().by(answer)).await;
    with_model(folder.path(), &model.url());
    let file = folder.path().join("ibid.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    let key = "0".repeat(64);
    std::fs::write(file, format!("{config}[serve.keys.desk]\nsha256 = \"{key}\"\n")).unwrap();
    let serving = Serving::start(folder.path());
    (folder, model, serving)
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_are_loaded_listed_found_and_deleted_at_the_server() {
    let (folder, _model, serving) = stage().await;
    let folder = folder.path();
    let loaded = run(folder, &["ingest", &sample(), "--assistant", "trade-compliance"]);
    let said = String::from_utf8_lossy(&loaded.stderr);
    assert!(said.contains(&format!("loading at the server at {}", serving.url)), "{said}");
    assert!(printed(&loaded).contains("loaded"));
    let again = printed(&run(folder, &["ingest", &sample(), "--assistant", "trade-compliance"]));
    assert!(again.contains("unchanged"), "{again}");

    let commands = [
        &["documents", "list"][..],
        &["documents", "list", "--json", "--corpus", "trade"],
        &["documents", "show", "sample.md"],
        &["documents", "show", "sample.md", "--json"],
        &["search", "LED lamps", "--corpus", "trade"],
        &["search", "LED lamps", "--json", "-n", "1"],
    ];
    let name = sample().rsplit('/').next().unwrap().to_owned();
    let all = || {
        commands.map(|command| {
            let command: Vec<&str> =
                command.iter().map(|word| if *word == "sample.md" { name.as_str() } else { word }).collect();
            printed(&run(folder, &command))
        })
    };
    let others = printed(&run(folder, &["documents", "list", "--tenant", "acme"]));
    assert!(others.contains("There are no documents yet"), "{others}");
    refused(&run(folder, &["documents", "--server", &serving.url, "list"]), 1, "set IBID_KEY to a key");

    // A file cannot say anything about itself, and a label that is asked for is not lost.
    let forged = "--x\r\ncontent-disposition: form-data; name=\"corpus\"\r\n\r\nother\r\n--x--\r\n";
    std::fs::write(folder.join("forged.md"), format!("# Records\r\n{forged}")).unwrap();
    printed(&run(folder, &["ingest", "forged.md", "--label", "legal"]));
    let hidden = printed(&run(folder, &["documents", "list"]));
    assert!(!hidden.contains("forged.md"), "{hidden}");
    let seen = printed(&run(folder, &["documents", "list", "--label", "legal"]));
    assert!(seen.lines().any(|line| line.contains("forged.md") && line.contains("documents")), "{seen}");
    let both = ["documents", "--tenant", "acme", "list", "--server", &serving.url];
    assert!(!run(folder, &both).status.success(), "a key says for whom it is");

    let at_the_server = all();
    assert!(at_the_server[4].contains("page 1"), "{}", at_the_server[4]);

    // It is killed, and leaves the file that says where it listens.
    drop(serving);
    assert!(folder.join("ibid-data/server.json").exists());
    assert_eq!(all(), at_the_server, "the folder says the same");

    let _serving = Serving::start(folder);
    printed(&run(folder, &["documents", "delete", &name, "--yes"]));
    let listed = printed(&run(folder, &["documents", "list"]));
    assert!(listed.contains("There are no documents yet"), "{listed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_go_on_at_the_server_and_in_the_folder() {
    let (folder, _model, serving) = stage().await;
    let folder = folder.path();
    printed(&run(folder, &["ingest", &sample(), "--assistant", "trade-compliance"]));
    let said = printed(&run(folder, &["ask", "trade-compliance", QUESTION, "--thread", THREAD]));
    assert!(said.contains("The rate for such lamps") && said.contains("[1] "), "{said}");
    let events = printed(&run(folder, &["ask", QUESTION, "--thread", THREAD, "--json"]));
    let last: serde_json::Value = serde_json::from_str(events.lines().last().unwrap()).unwrap();
    assert_eq!((&last["type"], &last["status"]), (&"ended".into(), &"done".into()), "{events}");
    let listed = printed(&run(folder, &["threads", "list"]));
    assert!(listed.contains(THREAD), "{listed}");
    let others = printed(&run(folder, &["threads", "--tenant", "acme", "list"]));
    assert!(!others.contains(THREAD), "{others}");
    refused(&run(folder, &["ask", "nobody", QUESTION]), 1, "there is no assistant `nobody`");

    // A question of the assistant is answered in the next process; the last answer is taken back and asked for again.
    let asking = "01890a5d-ac96-774b-bcce-b302099a805a";
    refused(&run(folder, &["ask", "rehearsal", "?", "--thread", asking]), 1, "answer it in `ibid chat");
    let talked = talk(folder, &["chat", "--thread", asking], "four five\n/retry\n/history\n");
    let shown = printed(&talked);
    assert!(shown.starts_with("What shall I repeat?\nfour five\n"), "{shown}");
    let shown = printed(&talk(folder, &["chat", "rehearsal"], "one two\n/retry\n/history\n/sources\n"));
    assert_eq!(shown, "one two\none two\n**You:** one two\n\n**Assistant:** one two\n\n");

    // Something else listens where this one did: it is told nothing, and nobody waits for it.
    let address = serving.url.strip_prefix("http://").unwrap().to_owned();
    drop(serving);
    let silent = std::net::TcpListener::bind(&address).unwrap();
    let listed = printed(&run(folder, &["threads", "list"]));
    assert!(listed.contains(THREAD), "{listed}");
    silent.set_nonblocking(true).unwrap();
    let mut heard = Vec::new();
    let (mut connection, _) = silent.accept().unwrap();
    connection.set_nonblocking(false).unwrap();
    std::io::Read::read_to_end(&mut connection, &mut heard).unwrap();
    let heard = String::from_utf8_lossy(&heard);
    assert!(heard.starts_with("GET /local?number=") && !heard.contains("ibid_local_"), "{heard}");
    drop((silent, connection));

    // So does another server, whose folder is none of ours.
    let elsewhere = super::documents::folder();
    let _other = Serving::at(elsewhere.path(), &address);
    let said = printed(&run(folder, &["ask", QUESTION, "--thread", THREAD]));
    assert!(said.contains("The rate for such lamps"), "{said}");
    let shown = printed(&run(folder, &["threads", "show", THREAD]));
    assert!(shown.contains("6 messages"), "{shown}");
    let listed = printed(&run(elsewhere.path(), &["threads", "list"]));
    assert!(!listed.contains(THREAD), "{listed}");
}
