//! The real model files, and the real server with a real small model.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Where the real model files are.
pub struct RealModels {
    folder: PathBuf,
}

impl RealModels {
    /// Finds the folder that `just fetch-test-models` fills.
    ///
    /// # Panics
    /// Fails the test when it was not filled: a test with real parts must not pass without them.
    pub fn find() -> Self {
        let home =
            || Path::new(&std::env::var("HOME").expect("a home folder")).join(".cache/ibid/test-models");
        let folder = std::env::var("IBID_TEST_MODELS").map_or_else(|_| home(), PathBuf::from);
        assert!(
            folder.join("complete").exists(),
            "the real models are not in {}; `just fetch-test-models` brings them",
            folder.display()
        );
        Self { folder }
    }

    /// A folder or file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        let path = self.folder.join(name);
        assert!(path.exists(), "{} is missing; `just fetch-test-models` brings it", path.display());
        path
    }

    /// The library of ONNX Runtime.
    pub fn runtime(&self) -> PathBuf {
        self.path("onnxruntime/libonnxruntime.so")
    }

    /// A Python with the reference implementations in it.
    pub fn python(&self) -> PathBuf {
        self.path("venv/bin/python")
    }
}

/// The real model server. One serves all tests of a process and ends with it, however the process ends.
pub struct RealServer {
    port: u16,
    // The server ends when this side of its standard input is closed.
    child: Child,
}

static CHAT: OnceLock<RealServer> = OnceLock::new();
static EMBEDDINGS: OnceLock<RealServer> = OnceLock::new();
static LARGE: OnceLock<RealServer> = OnceLock::new();

/// The chat models, by their files.
const SMALL_MODEL: &str = "llm/qwen2.5-coder-0.5b.gguf";
const LARGE_MODEL: &str = "llm/qwen2.5-coder-1.5b.gguf";

impl RealServer {
    /// The server with the small chat model; the first caller starts it.
    ///
    /// # Panics
    /// Fails the test when it does not start within a minute.
    pub fn chat() -> &'static Self {
        CHAT.get_or_init(|| Self::start(SMALL_MODEL, &[]))
    }

    /// The server with the larger chat model, which can answer; slow.
    ///
    /// # Panics
    /// Fails the test when it does not start within a minute.
    pub fn large() -> &'static Self {
        LARGE.get_or_init(|| Self::start(LARGE_MODEL, &["--one-at-a-time"]))
    }

    /// The same as a server of embeddings.
    ///
    /// # Panics
    /// Fails the test when it does not start within a minute.
    pub fn embeddings() -> &'static Self {
        EMBEDDINGS.get_or_init(|| Self::start(SMALL_MODEL, &["--embeddings"]))
    }

    /// Where its API begins, as a provider's `base_url`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    fn start(model: &str, flags: &[&str]) -> Self {
        let models = RealModels::find();
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a free port")
            .port();
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("models");
        let child = Command::new(models.python())
            .arg(here.join("serve.py"))
            .arg(models.path(model))
            .arg(port.to_string())
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("Python starts");
        let mut server = Self { port, child };
        let began = Instant::now();
        while !server.is_healthy() {
            let ended = server.child.try_wait().expect("the server can be asked");
            assert!(ended.is_none(), "the model server ended by itself: {ended:?}");
            assert!(began.elapsed() < Duration::from_secs(180), "the model server does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
        server
    }

    fn is_healthy(&self) -> bool {
        use std::io::{Read, Write};
        let ask = || {
            let mut stream = std::net::TcpStream::connect(("127.0.0.1", self.port))?;
            stream.write_all(b"GET /health HTTP/1.0\r\nhost: localhost\r\n\r\n")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok::<_, std::io::Error>(answer.split(' ').nth(1) == Some("200"))
        };
        ask().unwrap_or(false)
    }
}
