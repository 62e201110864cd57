//! What is deleted leaves the disk: documents and conversations while a server runs, by itself; a tenant at once.

use std::path::Path;
use std::time::{Duration, Instant};

use super::assistants::with_model;
use super::documents::folder;
use super::serve::Serving;
use super::{THREAD, ibid, printed, refused, run};
use ibid_testkit::{Reply, Script, ScriptedServer, Seen};

/// The files below a folder that hold a word, or have it in their names.
fn holding(folder: &Path, word: &str) -> Vec<String> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return found };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            found.extend(holding(&path, word));
            continue;
        }
        let bytes = std::fs::read(&path).unwrap_or_default();
        let stands = bytes.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word.as_bytes()));
        if stands || path.to_string_lossy().contains(word) {
            found.push(path.to_string_lossy().into_owned());
        }
    }
    found
}

fn write_rule(folder: &Path, word: &str) -> String {
    let text = format!("# The rule of {word}\n\nWhoever brings {word} pays nine per cent of its worth.\n")
        .repeat(20);
    let path = folder.join(format!("{word}.md"));
    std::fs::write(&path, text).unwrap();
    path.to_string_lossy().into_owned()
}

/// A folder in which what is deleted leaves soon, and whose model repeats what it is asked.
async fn stage() -> (tempfile::TempDir, ScriptedServer) {
    let folder = folder();
    let path = folder.path().join("ibid.toml");
    let config = std::fs::read_to_string(&path).unwrap();
    let config = config.replace("[engine]\n", "[engine]\nretention = \"24s\"\n");
    std::fs::write(path, format!("{config}[store]\nerase_after = \"1s\"\n")).unwrap();
    let answer = |seen: &Seen| {
        let said = if seen.says("cinnabarite") { "cinnabarite" } else { "malachitine" };
        Reply::text(&format!("Of {said} nine per cent are paid [1]."))
    };
    let model = ScriptedServer::start(Script::new().by(answer)).await;
    with_model(folder.path(), &model.url());
    (folder, model)
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_server_runs_what_was_deleted_leaves_the_disk_by_itself() {
    let (folder, _model) = stage().await;
    let folder = folder.path();
    let data = folder.join("ibid-data");
    let (gone, stays) = (write_rule(folder, "cinnabarite"), write_rule(folder, "malachitine"));
    let serving = Serving::start(folder);
    printed(&run(folder, &["ingest", &gone, &stays]));
    printed(&run(folder, &["ask", "default", "What is paid for cinnabarite?", "--thread", THREAD]));
    assert!(holding(&data, "cinnabarite").len() > 3);
    printed(&run(folder, &["documents", "delete", "cinnabarite.md", "--yes"]));
    printed(&run(folder, &["threads", "delete", THREAD, "--yes"]));
    printed(&run(folder, &["ask", "default", "What is paid for malachitine?"]));
    let began = Instant::now();
    loop {
        let left = holding(&data, "cinnabarite");
        if left.is_empty() {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{left:?}");
        std::thread::sleep(Duration::from_millis(500));
    }
    let found = printed(&run(folder, &["search", "What is paid for malachitine?", "-n", "1"]));
    assert!(found.contains("malachitine.md"), "{found}");
    drop(serving);
    assert!(printed(&run(folder, &["fsck"])).contains("the store is whole"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_is_purged_and_the_others_keep_everything() {
    let (folder, _model) = stage().await;
    let folder = folder.path();
    let data = folder.join("ibid-data");
    for (tenant, word) in [("gone", "cinnabarite"), ("stays", "malachitine")] {
        let rule = write_rule(folder, word);
        printed(&run(folder, &["ingest", &rule, "--tenant", tenant]));
        let question = format!("What is paid for {word}?");
        printed(&run(folder, &["ask", "default", &question, "--tenant", tenant]));
        printed(&run(folder, &["keys", "new", "desk", "--tenant", tenant]));
    }
    let before = printed(&run(folder, &["threads", "list", "--tenant", "stays", "--json"]));
    assert!(holding(&data, "cinnabarite").len() > 3);
    refused(&run(folder, &["tenants", "purge", "gone"]), 1, "with --yes");
    let serving = Serving::start(folder);
    refused(&run(folder, &["tenants", "purge", "gone", "--yes"]), 1, "another process");
    drop(serving);
    let purged = printed(&run(folder, &["tenants", "purge", "gone", "--yes"]));
    assert!(purged.starts_with("1 conversation and 1 document of gone are gone"), "{purged}");
    assert_eq!(holding(&data, "cinnabarite"), Vec::<String>::new());
    assert!(printed(&run(folder, &["keys", "list", "--tenant", "gone"])).contains("No keys are kept"));
    assert_eq!(printed(&run(folder, &["threads", "list", "--tenant", "stays", "--json"])), before);
    let mut search =
        ibid(folder, &["search", "What is paid for malachitine?", "-n", "1", "--tenant", "stays"]);
    assert!(printed(&search.output().unwrap()).contains("malachitine.md"));
    assert!(printed(&run(folder, &["fsck"])).contains("1 document, "));
}
