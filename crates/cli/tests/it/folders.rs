//! Folders of assistants beside a server that runs: changes take effect, mistakes do not, and the documents that an assistant
//! names are loaded by themselves.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use ibid_testkit::{Reply, Script, ScriptedServer, Seen};
use serde_json::Value;

use crate::assistants::with_model;
use crate::documents::folder;
use crate::serve::Serving;
use crate::{printed, refused, run};

/// What the server answers to a request without a body.
fn get(server: &Serving, path: &str) -> String {
    let host = server.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\nhost: {host}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// Waits until a description of an assistant has some text in it.
fn until(server: &Serving, path: &str, expected: &str) -> String {
    let began = Instant::now();
    loop {
        let told = get(server, path);
        if told.contains(expected) {
            return told;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{path} never says {expected}: {told}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Serves one file to whoever asks.
fn file_server(text: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/markdown\r\nconnection: close";
            let _ = write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{text}", text.len());
        }
    });
    port
}

fn write(folder: &Path, name: &str, text: &str) {
    let own = folder.join("assistants").join(name);
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("assistant.toml"), text).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_are_followed_while_the_server_runs() {
    let folder = folder();
    let folder = folder.path();
    let reply = |seen: &Seen| match seen.body["response_format"].is_object() {
        true => Reply::text(r#"{"answer": "Nine days [1].", "days": 9, "citations": []}"#),
        false => Reply::text("Nine days [1]."),
    };
    let model = ScriptedServer::start(Script::new().by(reply)).await;
    with_model(folder, &model.url());
    let port = file_server(
        "# Leave\n\nEvery employee has nine days of leave in the first year, which is paid. Whoever stays longer has two days more for every year, up to thirty days.",
    );
    let definition = format!(
        "title = 'Leave desk'\ncorpora = ['leave']\nmodes = [{{ name = 'standard', graph = 'conversational' }}]\n\
         [[documents]]\nkey = 'leave'\nurl = 'http://127.0.0.1:{port}/leave.md'\ntype = 'policy'\ntitle = 'Leave'\n\
         language = 'en'\n[chunks]\ncharacters = 600\n"
    );
    write(folder, "leave-desk", &definition);
    let server = Serving::start(folder);

    // What it names is loaded without a command.
    let listed = until(&server, "/documents?corpus=leave", "\"total\":1");
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let document = &listed["documents"][0];
    assert_eq!((&document["kind"], &document["title"]), (&"policy".into(), &"Leave".into()), "{listed}");
    until(&server, "/documents?corpus=leave", "\"ready\":1");
    let answer = printed(&run(folder, &["ask", "leave-desk", "How many days of leave are there?"]));
    assert!(answer.contains("Nine days"), "{answer}");

    // A change, a mistake, and its mending.
    write(folder, "leave-desk", &definition.replace("Leave desk", "Holiday desk"));
    until(&server, "/assistants/leave-desk", "Holiday desk");
    write(folder, "leave-desk", "title = 'Broken desk'\nmodes = []\n");
    let kept = until(&server, "/assistants/leave-desk", "problem");
    assert!(kept.contains("Holiday desk") && kept.contains("`modes` is empty"), "{kept}");
    let answer = printed(&run(folder, &["ask", "leave-desk", "And how many days are there now?"]));
    assert!(answer.contains("Nine days"), "{answer}");
    write(folder, "leave-desk", &definition.replace("Leave desk", "Mended desk"));
    let mended = until(&server, "/assistants/leave-desk", "Mended desk");
    assert!(!mended.contains("problem"), "{mended}");

    // A format that is not there is refused before the turn; once it is written, it is there for the next question.
    let days = ["ask", "leave-desk", "--format", "days", "How many days of leave are there?"];
    refused(&run(folder, &days), 1, "there is no format `days`");
    let formats = folder.join("assistants/leave-desk/formats");
    std::fs::create_dir_all(&formats).unwrap();
    let schema = r#"{"type": "object", "properties": {"answer": {"type": "string"}, "days": {"type": ["integer", "null"]}}}"#;
    std::fs::write(formats.join("days.json"), schema).unwrap();
    write(folder, "leave-desk", &format!("formats = ['text', 'days']\n{definition}"));
    let answer = printed(&run(folder, &days));
    assert!(answer.contains("\"days\":9") || answer.contains("\"days\": 9"), "{answer}");

    // A new one, and one that goes.
    write(folder, "second-desk", "title = 'Second desk'\n");
    until(&server, "/assistants/second-desk", "Second desk");
    std::fs::remove_dir_all(folder.join("assistants/second-desk")).unwrap();
    until(&server, "/assistants/second-desk", "there is no assistant");
}
