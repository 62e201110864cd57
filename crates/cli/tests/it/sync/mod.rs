//! Sources: what happens there follows here, with a brake.

mod kills;

use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use http::{Request, StatusCode};
use ibid_egress::{Egress, EgressLimits, Host, Rules};
use ibid_knowledge::{BlobStore, ContentHash};
use ibid_testkit::{RealStorage, Reply, Script, ScriptedServer, Seen};
use rand::Rng as _;
use rand::rngs::StdRng;
use serde_json::{Value, json};

use super::serve::Serving;
use super::{ibid, printed, run};

/// How long the vectors of the scripted model are.
const DIMENSIONS: usize = 16;

/// A place that is kept in step, as somebody else changes it.
enum Place {
    Folder(tempfile::TempDir),
    S3(BlobStore),
    WebDav { egress: Egress, url: String },
}

impl Place {
    async fn webdav(name: &str) -> Self {
        let server = RealStorage::get().webdav();
        let url = format!("{server}/{name}-{}", std::process::id());
        let host = Host::of_service(&url::Url::parse(&url).unwrap()).unwrap();
        let place =
            Self::WebDav { egress: Egress::new(Rules::only([host]), EgressLimits::default()).unwrap(), url };
        // The gateway starts after the rest.
        let began = Instant::now();
        loop {
            match place.ask("MKCOL", "", &[], b"").await {
                Some(status) if status.is_success() => return place,
                _ => assert!(began.elapsed() < Duration::from_secs(60), "WebDAV does not start"),
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, String)],
        body: &[u8],
    ) -> Option<StatusCode> {
        let Self::WebDav { egress, url } = self else { panic!("WebDAV") };
        let mut request =
            Request::builder().method(method).uri(format!("{url}/{}", path.replace(' ', "%20")));
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let answer = egress.send(request.body(Bytes::copy_from_slice(body)).unwrap()).await.ok()?;
        Some(answer.status())
    }

    fn settings(&self) -> String {
        match self {
            Self::Folder(folder) => format!("location = {:?}\n", folder.path()),
            Self::S3(_) => {
                let endpoint = RealStorage::get().endpoint();
                format!(
                    "location = \"s3://tests/sync-{}\"\nendpoint = {endpoint:?}\nuser_env = \"SYNC_USER\"\n\
                     password_env = \"SYNC_PASSWORD\"\n",
                    std::process::id()
                )
            }
            Self::WebDav { url, .. } => format!("location = \"webdav+{url}\"\n"),
        }
    }

    async fn write(&self, path: &str, content: &str) {
        match self {
            Self::Folder(folder) => {
                let file = folder.path().join(path);
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(file, content).unwrap();
            }
            Self::S3(store) => store.put(path, content.as_bytes()).await.unwrap(),
            Self::WebDav { .. } => {
                if let Some((folder, _)) = path.rsplit_once('/') {
                    self.ask("MKCOL", folder, &[], b"").await;
                }
                let status = self.ask("PUT", path, &[], content.as_bytes()).await.unwrap();
                assert!(status.is_success(), "PUT {path}: {status}");
            }
        }
    }

    async fn remove(&self, path: &str) {
        match self {
            Self::Folder(folder) => std::fs::remove_file(folder.path().join(path)).unwrap(),
            Self::S3(store) => store.remove(path).await.unwrap(),
            Self::WebDav { .. } => {
                let status = self.ask("DELETE", path, &[], b"").await.unwrap();
                assert!(status.is_success(), "DELETE {path}: {status}");
            }
        }
    }

    /// Where it cannot be done at once, a copy comes first.
    async fn rename(&self, from: &str, to: &str, content: &str) {
        match self {
            Self::Folder(folder) => {
                let to = folder.path().join(to);
                std::fs::create_dir_all(to.parent().unwrap()).unwrap();
                std::fs::rename(folder.path().join(from), to).unwrap();
            }
            _ => {
                self.write(to, content).await;
                self.remove(from).await;
            }
        }
    }

    /// Sets the time of a file to any other, as clocks that jump do.
    fn set_time(&self, path: &str, random: &mut StdRng) {
        if let Self::Folder(folder) = self {
            let file = std::fs::File::options().write(true).open(folder.path().join(path)).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(random.random_range(0..4_000_000_000));
            file.set_modified(time).unwrap();
        }
    }
}

/// A model whose vectors tell nothing; it notes what it is asked.
async fn embedder() -> ScriptedServer {
    let answer = |seen: &Seen| {
        let texts = seen.body["input"].as_array().cloned().unwrap_or_default();
        let vector = |text: &Value| {
            let hash = ContentHash::of(text.to_string().as_bytes()).to_string();
            let digits = hash.bytes().take(DIMENSIONS).map(|digit| f64::from(digit) / 100.0);
            digits.collect::<Vec<f64>>()
        };
        let data: Vec<Value> = texts
            .iter()
            .enumerate()
            .map(|(index, text)| json!({ "object": "embedding", "index": index, "embedding": vector(text) }))
            .collect();
        Reply::json(
            json!({ "object": "list", "data": data, "model": "test", "usage": { "prompt_tokens": 1, "total_tokens": 1 } }),
        )
    };
    ScriptedServer::start(Script::new().by(answer)).await
}

fn configured(embedder: &str, place: &Place, more: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let config = format!(
        "[engine]\ncrashes = 10000\n[embedding]\nprovider = \"test\"\nmodel = \"test\"\ndimensions = {DIMENSIONS}\n\
         [providers.test]\nbase_url = \"{embedder}\"\n[ingest]\nleast_characters = 10\ncrashes = 10000\n\
         [sources.place]\ncorpus = \"rules\"\nevery = \"1s\"\nsettle = \"200ms\"\n{}{more}",
        place.settings()
    );
    std::fs::write(folder.path().join("ibid.toml"), config).unwrap();
    std::fs::write(folder.path().join(".env"), "SYNC_USER=test\nSYNC_PASSWORD=secret\n").unwrap();
    folder
}

/// The documents as the ledger has them: path, status, content.
fn documents(folder: &Path) -> Vec<(String, String, String)> {
    let listed = printed(&run(folder, &["documents", "list", "--json"]));
    let rows = listed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut documents: Vec<_> =
        rows.map(|row| (text(&row["origin"]["path"]), text(&row["status"]), text(&row["version"]))).collect();
    documents.sort();
    documents
}

/// Compares until nothing changes any more.
fn sync(folder: &Path) -> Value {
    let output = run(folder, &["sync", "--json"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    serde_json::from_str(&said)
        .unwrap_or_else(|_| panic!("{said}{}", String::from_utf8_lossy(&output.stderr)))
}

#[tokio::test(flavor = "multi_thread")]
async fn many_deletions_at_once_wait_for_a_person() {
    let embedder = embedder().await;
    let place = Place::Folder(tempfile::tempdir().unwrap());
    let folder = configured(&embedder.url(), &place, "");
    let folder = folder.path();
    for number in 0..20 {
        place
            .write(
                &format!("{number}.md"),
                &format!("# Rule {number}\n\nGoods of class {number} are free.\n"),
            )
            .await;
    }
    let loaded = sync(folder);
    assert_eq!((&loaded["loaded"], &loaded["failed"]), (&json!(20), &json!(0)), "{loaded}");
    let dry = printed(&run(folder, &["sync", "--dry-run"]));
    assert!(dry.contains("20 files, 20 as they are here"), "{dry}");

    // A few may go.
    for number in 0..3 {
        place.remove(&format!("{number}.md")).await;
    }
    assert_eq!(sync(folder)["deleted"], json!(3));
    for number in 3..9 {
        place.remove(&format!("{number}.md")).await;
    }
    place.write("new.md", "# A new rule\n\nGoods of any other class are free.\n").await;
    let held = sync(folder);
    assert_eq!(
        (&held["outcome"], &held["loaded"]),
        (&json!({ "status": "held", "deletions": 6 }), &json!(1))
    );
    assert_eq!(documents(folder).len(), 18, "nothing is deleted, and what is new is there");
    let output = run(folder, &["sync"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("ibid sync place --allow-deletions 6") && !output.status.success(), "{said}");

    // More are gone than the person saw.
    place.remove("9.md").await;
    let output = run(folder, &["sync", "--json", "--allow-deletions", "6"]);
    assert!(!output.status.success());
    assert_eq!(documents(folder).len(), 18);
    printed(&run(folder, &["sync", "--allow-deletions", "7"]));
    assert_eq!(documents(folder).len(), 11);

    // The folder that is not mounted has no files, and no documents are deleted.
    let Place::Folder(root) = &place else { panic!() };
    let away = root.path().with_extension("away");
    std::fs::rename(root.path(), &away).unwrap();
    let missing = sync(folder);
    assert!(
        missing["outcome"]["why"].as_str().is_some_and(|why| why.contains("cannot be read")),
        "{missing}"
    );
    std::fs::create_dir(root.path()).unwrap();
    assert_eq!(sync(folder)["outcome"], json!({ "status": "held", "deletions": 11 }));
    std::fs::remove_dir(root.path()).unwrap();
    std::fs::rename(&away, root.path()).unwrap();
    assert_eq!(sync(folder)["unchanged"], json!(11));
}

#[tokio::test(flavor = "multi_thread")]
async fn other_labels_and_a_move_take_no_reading_and_keep_the_document() {
    let embedder = embedder().await;
    let place = Place::Folder(tempfile::tempdir().unwrap());
    let rule = "labels = [\"all\"]\n[[sources.place.paths]]\npath = \"hr/**\"\nlabels = [\"hr\"]\ntype = \"policy\"\n";
    let folder = configured(&embedder.url(), &place, rule);
    let folder = folder.path();
    place.write("pay.md", "# Pay\n\nWhoever works at night is paid a third more.\n").await;
    sync(folder);
    let row = |label: &[&str]| -> Value {
        let listed = printed(&run(folder, &[&["documents", "list", "--json"], label].concat()));
        listed.lines().next().map_or(Value::Null, |line| serde_json::from_str(line).unwrap())
    };
    let before = row(&["--label", "all"]);
    let asked = embedder.seen().len();
    place.rename("pay.md", "hr/wages.md", "").await;
    let moved = sync(folder);
    assert_eq!((&moved["moved"], &moved["loaded"]), (&json!(1), &json!(0)), "{moved}");
    assert_eq!(row(&["--label", "all"]), Value::Null, "who does not hold the label does not see it");
    let after = row(&["--label", "hr"]);
    assert_eq!(
        (&after["id"], &after["kind"], &after["source"], &after["title"]),
        (&before["id"], &json!("policy"), &json!("place/hr/wages.md"), &before["title"],)
    );
    assert_eq!(embedder.seen().len(), asked, "nothing was embedded again");
    let search = |label: &[&str]| printed(&run(folder, &[&["search", "work at night"], label].concat()));
    assert!(search(&[]).contains("Nothing was found"));
    assert!(search(&["--label", "hr"]).contains("place/hr/wages.md"));

    // The settings change, and nothing else.
    let config = std::fs::read_to_string(folder.join("ibid.toml")).unwrap();
    std::fs::write(
        folder.join("ibid.toml"),
        config.replace("labels = [\"hr\"]", "").replace("labels = [\"all\"]", ""),
    )
    .unwrap();
    assert_eq!(sync(folder)["updated"], json!(1));
    assert!(search(&[]).contains("place/hr/wages.md"));
    assert!(printed(&run(folder, &["fsck"])).contains("the store is whole"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_gets_labels_of_its_own_is_lost_to_no_reader_of_its_copy() {
    let embedder = embedder().await;
    let place = Place::Folder(tempfile::tempdir().unwrap());
    let rule = "[[sources.place.paths]]\npath = \"board/**\"\nlabels = [\"board\"]\n";
    let folder = configured(&embedder.url(), &place, rule);
    let folder = folder.path();
    let text = "# Pay\n\nWhoever works at night is paid a third more.\n";
    for path in ["a.md", "b.md"] {
        place.write(path, text).await;
    }
    sync(folder);
    // Whichever of the two is searched in place of the other: each is moved once.
    for path in ["a.md", "b.md"] {
        place.rename(path, "board/pay.md", text).await;
        sync(folder);
        let search = |more: &[&str]| printed(&run(folder, &[&["search", "work at night"], more].concat()));
        assert!(search(&[]).contains("place/") && !search(&[]).contains("board"), "{path}: {}", search(&[]));
        let listed = printed(&run(folder, &["documents", "list", "--json", "--label", "board"]));
        assert_eq!(listed.matches("\"status\":\"ready\"").count(), 2, "{path}: {listed}");
        place.rename("board/pay.md", path, text).await;
        sync(folder);
    }
    assert!(printed(&run(folder, &["fsck"])).contains("the store is whole"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_is_read_by_its_sitemap_and_only_where_it_lets_programs() {
    let page = |title: &str| {
        Reply::raw(&format!(
            "<html><title>{title}</title><body><h1>{title}</h1><p>Whoever asks about {title} is told what the rules of it are.</p></body></html>"
        ))
    };
    let sitemap = |base: &str, pages: &[&str]| {
        let urls: String = pages.iter().map(|page| format!("<url><loc>{base}{page}</loc></url>")).collect();
        format!(
            "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">{urls}<url><loc>http://elsewhere.example/x</loc></url></urlset>"
        )
    };
    let shrunk = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let (base, is_small) = (std::sync::Arc::new(std::sync::OnceLock::<String>::new()), shrunk.clone());
    let known_base = base.clone();
    let answer = move |seen: &Seen| {
        let base = known_base.get().cloned().unwrap_or_default();
        let is_known = seen.headers.get("if-none-match").is_some_and(|tag| tag == "\"one\"");
        match seen.path.as_str() {
            "/robots.txt" => Reply::raw("User-agent: *\nDisallow: /private\nCrawl-delay: 0.01\n"),
            "/sitemap.xml" if is_small.load(std::sync::atomic::Ordering::Relaxed) => {
                Reply::raw(&sitemap(&base, &["/one"]))
            }
            "/sitemap.xml" => Reply::raw(&sitemap(&base, &["/one", "/two", "/private/three", "/gone"])),
            "/one" if is_known => Reply::status(304, ""),
            "/one" => page("bananas").header("etag", "\"one\""),
            "/two" => page("oranges"),
            _ => Reply::status(404, ""),
        }
    };
    let site = ScriptedServer::start(Script::new().when_by(|_| true, answer)).await;
    let address = site.url().trim_end_matches("/v1").to_owned();
    base.set(address.clone()).unwrap();
    let embedder = embedder().await;
    let folder = tempfile::tempdir().unwrap();
    let config = format!(
        "[embedding]\nprovider = \"test\"\nmodel = \"test\"\ndimensions = {DIMENSIONS}\n[providers.test]\nbase_url = \"{}\"\n\
         [ingest]\nleast_characters = 10\n[sources.site]\nlocation = \"{}\"\n",
        embedder.url(),
        address
    );
    std::fs::write(folder.path().join("ibid.toml"), config).unwrap();
    let folder = folder.path();
    let first = sync(folder);
    assert_eq!((&first["loaded"], &first["files"]), (&json!(2), &json!(2)), "{first}");
    assert!(printed(&run(folder, &["search", "oranges"])).contains(&format!("{address}/two")));
    let asked: Vec<String> = site.seen().into_iter().map(|seen| seen.path).collect();
    assert!(!asked.contains(&"/private/three".to_owned()), "{asked:?}");
    let again = sync(folder);
    assert_eq!((&again["unchanged"], &again["updated"]), (&json!(2), &json!(0)), "{again}");
    let seen = site.seen();
    assert!(
        seen.iter().any(|seen| seen.path == "/one" && seen.status == 304),
        "it is asked whether it has changed"
    );
    shrunk.store(true, std::sync::atomic::Ordering::Relaxed);
    let shrunk = sync(folder);
    assert_eq!((&shrunk["deleted"], &shrunk["unchanged"]), (&json!(1), &json!(1)), "{shrunk}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_follows_a_folder_at_once_and_shows_how_it_stands() {
    let embedder = embedder().await;
    let place = Place::Folder(tempfile::tempdir().unwrap());
    let folder = configured(&embedder.url(), &place, "");
    let folder = folder.path();
    // Only what is noticed is followed within the time of this test.
    let config = std::fs::read_to_string(folder.join("ibid.toml")).unwrap();
    std::fs::write(folder.join("ibid.toml"), config.replace("every = \"1s\"", "every = \"1h\"")).unwrap();
    place.write("first.md", "# First\n\nThe first rule is that records are kept.\n").await;
    let _serving = Serving::start(folder);
    let until = async |count: usize| {
        let began = Instant::now();
        while documents(folder).iter().filter(|(_, status, _)| status == "ready").count() != count {
            assert!(began.elapsed() < Duration::from_secs(60), "{:?}", documents(folder));
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    until(1).await;
    place.write("sub/second.md", "# Second\n\nThe second rule is that they are shown.\n").await;
    until(2).await;
    // Beside the server, through it.
    let listed = printed(&run(folder, &["sync", "--list"]));
    assert!(listed.contains("place: folder") && listed.contains("compared every 1h"), "{listed}");
    let nothing = printed(&run(folder, &["sync"]));
    assert!(nothing.contains("2 files: nothing changed"), "{nothing}");
    let refused = ibid(folder, &["sync", "nowhere"]).output().unwrap();
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("there is no source `nowhere`; there are place")
    );
}
