//! Two cells behind one server: each tenant is in its own, and the loss of one is nothing to the tenants of the other.

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use ibid_testkit::{RealModels, RealPostgres};

use super::documents::folder;
use super::serve::Serving;
use super::{THREAD, printed, refused, run};

/// Asks a question with a key; prints how many messages the conversation has then.
const ASK: &str = "
import httpx, sys
url, key, thread, path = sys.argv[1:5]
c = httpx.Client(base_url=url, headers={'x-api-key': key}, timeout=60)
r = c.post(f'/threads/{thread}/runs/wait', json={'assistant_id': 'rehearsal', 'input': 'Who is there?', 'if_not_exists': 'create'})
r.raise_for_status()
with open(path, 'rb') as file:
    c.post('/documents', files={'file': ('lamps.md', file)}).raise_for_status()
print(len(c.get(f'/threads/{thread}/messages').json()), c.get('/status').status_code)
";

/// A folder with settings of two cells, and the model of the usual one.
fn two_cells(north: &str, south: &str) -> tempfile::TempDir {
    let folder = folder();
    let stores = ["north", "south"].map(|name| folder.path().join(name).display().to_string());
    let cells = format!(
        "\n[cells.north]\nengine_url = \"{north}\"\nstore_location = \"{}\"\n\
         [cells.south]\nengine_url = \"{south}\"\nstore_location = \"{}\"\n\
         [tenants.acme]\ncell = \"north\"\n[tenants.globex]\ncell = \"south\"\n",
        stores[0], stores[1]
    );
    let file = folder.path().join("ibid.toml");
    let settings = std::fs::read_to_string(&file).unwrap() + &cells;
    std::fs::write(file, settings).unwrap();
    folder
}

fn key(folder: &Path, tenant: &str) -> String {
    let made = run(folder, &["keys", "new", "desk", "--tenant", tenant, "--role", "admin"]);
    printed(&made).split_whitespace().find(|word| word.starts_with("ibid_")).unwrap().to_owned()
}

fn ask(serving: &Serving, key: &str, thread: &str, document: &Path) -> Output {
    let mut command = Command::new(RealModels::find().path("clients/bin/python"));
    command.args(["-c", ASK, &serving.url, key, thread]).arg(document).output().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn tenants_of_two_cells_share_a_server_and_nothing_else() {
    let (first, second) = (RealPostgres::get(), RealPostgres::durable());
    let (north, south) = (first.database(), second.database());
    let folder = two_cells(&north, &south);
    let folder = folder.path();
    let keys = ["acme", "globex"].map(|tenant| key(folder, tenant));
    let document = folder.join("lamps.md");
    std::fs::write(&document, "# Lamps\n\nThe rate for such lamps is 2%.\n").unwrap();
    let others = "01890a5d-ac96-774b-bcce-b302099a8058";

    let serving = Serving::start(folder);
    assert_eq!(printed(&ask(&serving, &keys[0], THREAD, &document)), "2 200\n");
    assert_eq!(printed(&ask(&serving, &keys[1], others, &document)), "2 200\n");
    let there = |database: &str| {
        first.execute(database, "SELECT string_agg(id::text, ' ') FROM threads WHERE NOT is_queue")
    };
    assert_eq!((there(&north), there(&south)), (THREAD.to_owned(), others.to_owned()));
    let shown = printed(&run(folder, &["threads", "--tenant", "acme", "show", THREAD]));
    assert!(shown.contains("Who is there?"), "{shown}");
    refused(&run(folder, &["threads", "--tenant", "globex", "show", THREAD]), 1, "there is no thread");
    refused(&run(folder, &["fsck"]), 1, "say which with --cell, north or south");
    let listed = printed(&run(folder, &["documents", "list", "--tenant", "globex"]));
    assert!(listed.contains("lamps.md"), "{listed}");
    let doctor = String::from_utf8(run(folder, &["doctor"]).stdout).unwrap();
    assert!(doctor.contains("ok     engine database of south"), "{doctor}");

    // The database of one is lost, and the tenants of the other notice nothing.
    drop(second);
    assert_eq!(printed(&ask(&serving, &keys[0], THREAD, &document)), "4 200\n");
    // What was found of a part holds for a few seconds.
    let began = Instant::now();
    loop {
        let (status, told) = super::several::get(&serving, "/readyz");
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        assert_eq!((status, &told["cells"]["north"]["ready"]), (200, &true.into()), "{told}");
        if told["cells"]["south"]["ready"] == false {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{told}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn a_tenant_that_is_at_work_is_not_moved_to_another_cell_unawares() {
    let database = RealPostgres::get().database();
    let folder = two_cells(&database, &RealPostgres::get().database());
    key(folder.path(), "acme");
    let file = folder.path().join("ibid.toml");
    let moved = std::fs::read_to_string(&file).unwrap().replace("cell = \"north\"", "cell = \"south\"");
    std::fs::write(&file, moved).unwrap();
    refused(
        &run(folder.path(), &["serve", "--address", "127.0.0.1:0"]),
        1,
        "the tenant `acme` has keys in the cell `north`, and would be in `south`",
    );
    let nowhere = std::fs::read_to_string(&file).unwrap().replace("cell = \"south\"", "cell = \"west\"");
    std::fs::write(&file, nowhere).unwrap();
    let listing = run(folder.path(), &["threads", "list", "--tenant", "acme"]);
    refused(&listing, 1, "there is no cell `west` among `cells`: north, south");
}
