//! A real server of object storage over S3 and of files over WebDAV: SeaweedFS.

use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::RealModels;

/// A running server of object storage. One serves all tests of a process.
pub struct RealStorage {
    port: u16,
    webdav: u16,
    // The server ends when this side of its watcher's standard input is closed.
    _child: Child,
}

static STORAGE: OnceLock<RealStorage> = OnceLock::new();

/// The key that the server knows.
const KEYS: &str = r#"{"identities":[{"name":"test","credentials":[{"accessKey":"test","secretKey":"secret"}],"actions":["Admin","Read","Write","List","Tagging"]}]}"#;

impl RealStorage {
    /// The server; the first caller starts it.
    ///
    /// # Panics
    /// Fails the test when it does not start within a minute.
    pub fn get() -> &'static Self {
        STORAGE.get_or_init(Self::start)
    }

    /// Where it listens.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Where files are served over WebDAV.
    pub fn webdav(&self) -> String {
        format!("http://127.0.0.1:{}", self.webdav)
    }

    /// What a store needs to know to reach it.
    pub fn options(&self) -> Vec<(String, String)> {
        let endpoint = self.endpoint();
        let options = [
            ("aws_endpoint", endpoint.as_str()),
            ("aws_region", "us-east-1"),
            ("allow_http", "true"),
            ("aws_access_key_id", "test"),
            ("aws_secret_access_key", "secret"),
        ];
        options.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
    }

    /// A place that no other test uses.
    pub fn place(&self, name: &str) -> String {
        format!("s3://tests/{name}-{}", std::process::id())
    }

    fn start() -> Self {
        let models = RealModels::find();
        let folder = std::env::temp_dir().join(format!("ibid-storage-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the storage");
        let keys = folder.join("keys.json");
        std::fs::write(&keys, KEYS).expect("the keys can be written");
        let ports = free_ports();
        let mut command = Command::new(models.python());
        command.args(["-c", WATCH]).arg(&folder).arg(models.path("venv/bin/weed"));
        command.args(["server", "-ip", "127.0.0.1", "-ip.bind", "127.0.0.1", "-s3", "-volume.max", "50"]);
        command.arg("-webdav").arg("-webdav.cacheDir").arg(&folder);
        command.arg("-master.volumeSizeLimitMB").arg("64");
        // What it would serve besides has ports that are always the same, which another run of tests may hold.
        command.args(["-s3.port.lance", "0", "-s3.port.iceberg", "0"]);
        command.arg("-dir").arg(&folder).arg("-s3.config").arg(&keys);
        let flags = ["-s3.port", "-master.port", "-volume.port", "-filer.port", "-webdav.port"];
        for (flag, port) in flags.iter().zip(&ports) {
            command.arg(flag).arg(port.to_string());
        }
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let storage = Self { port: ports[0], webdav: ports[4], _child: child.expect("SeaweedFS starts") };
        let began = Instant::now();
        while !storage.makes_bucket() {
            assert!(began.elapsed() < Duration::from_secs(60), "SeaweedFS does not start");
            std::thread::sleep(Duration::from_millis(200));
        }
        storage
    }

    /// Makes the bucket of the tests, through the filer, which asks for no signature.
    fn makes_bucket(&self) -> bool {
        let shell = Command::new(RealModels::find().python())
            .args(["-c", BUCKET, &self.port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        shell.is_ok_and(|status| status.success())
    }
}

/// A signed request that makes the bucket, with nothing but Python.
const BUCKET: &str = r#"
import datetime, hashlib, hmac, sys, urllib.request
host = f"127.0.0.1:{sys.argv[1]}"
now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
day, empty = now[:8], hashlib.sha256(b"").hexdigest()
canonical = f"PUT\n/tests\n\nhost:{host}\nx-amz-content-sha256:{empty}\nx-amz-date:{now}\n\nhost;x-amz-content-sha256;x-amz-date\n{empty}"
scope = f"{day}/us-east-1/s3/aws4_request"
text = f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
key = b"AWS4secret"
for part in (day, "us-east-1", "s3", "aws4_request"):
    key = hmac.new(key, part.encode(), hashlib.sha256).digest()
signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
request = urllib.request.Request(f"http://{host}/tests", method="PUT", headers={
    "x-amz-date": now, "x-amz-content-sha256": empty,
    "Authorization": f"AWS4-HMAC-SHA256 Credential=test/{scope}, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature={signature}"})
try:
    urllib.request.urlopen(request)
except urllib.error.HTTPError as error:
    sys.exit(0 if error.code == 409 else 1)
"#;

/// Runs the server until standard input is closed, however the test process ends, and removes its folder.
const WATCH: &str = r#"
import shutil, subprocess, sys
server = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL)
sys.stdin.read()
server.kill()
server.wait()
shutil.rmtree(sys.argv[1], ignore_errors=True)
"#;

/// Five ports that are free together with those 10,000 above them, which the server also takes.
fn free_ports() -> Vec<u16> {
    let free = |port: &u16| {
        [*port, port + 10_000].iter().all(|port| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok())
    };
    let first = 20_000 + u16::try_from(std::process::id() % 9_000).expect("a small number");
    let ports: Vec<u16> = (first..31_000).filter(free).take(5).collect();
    assert_eq!(ports.len(), 5, "there are no free ports");
    ports
}
