//! A real Postgres, and a real pooler in front of it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A running database server. One serves all tests of a process.
pub struct RealPostgres {
    port: u16,
    pooler: OnceLock<(u16, Child)>,
    folder: PathBuf,
    // The server ends when this side of its watcher's standard input is closed.
    _child: Child,
}

static POSTGRES: OnceLock<RealPostgres> = OnceLock::new();
static DATABASES: AtomicU32 = AtomicU32::new(0);

/// Durability is tested with servers that are killed; here, flushing would only make every test wait.
const SETTINGS: [&str; 6] = [
    "fsync=off",
    "synchronous_commit=on",
    "max_connections=400",
    "shared_buffers=64MB",
    "log_min_messages=fatal",
    "autovacuum=off",
];

impl RealPostgres {
    /// The server; the first caller starts it.
    ///
    /// # Panics
    /// Fails the test when it does not start within a minute.
    pub fn get() -> &'static Self {
        POSTGRES.get_or_init(Self::start)
    }

    /// Makes a database that no other test uses; its address.
    ///
    /// # Panics
    /// Fails the test when it cannot be made.
    pub fn database(&self) -> String {
        self.url(self.port, &self.new_database())
    }

    /// The same behind a pooler in transaction mode.
    ///
    /// # Panics
    /// Fails the test when the pooler does not start.
    pub fn pooled_database(&self) -> String {
        let name = self.new_database();
        let (port, _) = self.pooler.get_or_init(|| self.start_pooler());
        self.url(*port, &name)
    }

    /// Executes a statement in the database of an address, as its owner, and returns what it prints.
    ///
    /// # Panics
    /// Fails the test when the statement fails.
    pub fn execute(&self, url: &str, sql: &str) -> String {
        let mut command = self.command("psql");
        command.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", url, "--command", sql]);
        let output = command.output().expect("psql starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn url(&self, port: u16, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{port}/{database}")
    }

    fn new_database(&self) -> String {
        let number = DATABASES.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{}_{number}", std::process::id());
        self.execute(&self.url(self.port, "postgres"), &format!("CREATE DATABASE {name}"));
        name
    }

    fn start() -> Self {
        let folder = std::env::temp_dir().join(format!("ibid-postgres-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the database");
        give_away(&folder);
        let data = folder.join("data");
        let made = as_ordinary_user(&program("initdb"))
            .current_dir("/")
            .args([
                "--username",
                "postgres",
                "--auth",
                "trust",
                "--encoding",
                "UTF8",
                "--no-sync",
                "--pgdata",
            ])
            .arg(&data)
            .stdout(Stdio::null())
            .status();
        assert!(made.is_ok_and(|status| status.success()), "the database cannot be made");
        let port = free_port();
        let mut arguments: Vec<String> =
            SETTINGS.iter().flat_map(|setting| ["-c".to_owned(), (*setting).to_owned()]).collect();
        arguments.extend(["-D".to_owned(), data.display().to_string()]);
        arguments.extend(["-h", "127.0.0.1", "-p"].map(str::to_owned));
        arguments.extend([port.to_string(), "-k".to_owned(), folder.display().to_string()]);
        let child = watched(&folder, &program("postgres"), &arguments);
        let server = Self { port, pooler: OnceLock::new(), folder, _child: child };
        wait_for(port);
        let began = Instant::now();
        while !server.answers() {
            assert!(began.elapsed() < Duration::from_secs(60), "Postgres does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
        server
    }

    fn answers(&self) -> bool {
        let url = self.url(self.port, "postgres");
        let asked = self.command("psql").args([&url, "--command", "SELECT 1"]).output();
        asked.is_ok_and(|output| output.status.success())
    }

    fn start_pooler(&self) -> (u16, Child) {
        let port = free_port();
        let folder = self.folder.join("pooler");
        std::fs::create_dir_all(&folder).expect("a folder for the pooler");
        std::fs::write(folder.join("users.txt"), "\"postgres\" \"\"\n").expect("the users can be written");
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             unix_socket_dir =\nauth_type = trust\nauth_file = {}\npool_mode = transaction\nmax_client_conn = 2000\n\
             default_pool_size = 20\nlogfile = {}\n",
            self.port,
            folder.join("users.txt").display(),
            folder.join("log.txt").display(),
        );
        std::fs::write(folder.join("pgbouncer.ini"), settings).expect("the settings can be written");
        give_away(&folder);
        let settings = folder.join("pgbouncer.ini").display().to_string();
        let child = watched(&folder, Path::new("/usr/sbin/pgbouncer"), &["-q".to_owned(), settings]);
        wait_for(port);
        (port, child)
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(program(name));
        command.env("PGHOST", "127.0.0.1").stdin(Stdio::null());
        command
    }
}

/// Runs a server as an ordinary user until standard input is closed, however the test process ends, and removes its folder.
const WATCH: &str = r#"
import shutil, subprocess, sys
server = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
sys.stdin.read()
server.terminate() if "pgbouncer" in " ".join(sys.argv[2:]) else server.send_signal(3)
server.wait()
shutil.rmtree(sys.argv[1], ignore_errors=True)
"#;

fn watched(folder: &Path, program: &Path, arguments: &[String]) -> Child {
    let server = as_ordinary_user(program);
    let mut command = Command::new("python3");
    command.args(["-c", WATCH]).arg(folder).arg(server.get_program()).args(server.get_args()).args(arguments);
    command.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("the server starts")
}

/// Neither Postgres nor its pooler runs as root.
fn as_ordinary_user(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]).arg(program);
    command
}

fn is_root() -> bool {
    let user = Command::new("id").arg("-u").output().expect("id starts");
    user.stdout.starts_with(b"0\n")
}

/// The folder belongs to whoever runs the server.
fn give_away(folder: &Path) {
    if is_root() {
        let given = Command::new("chown").arg("-R").arg("postgres:postgres").arg(folder).status();
        assert!(
            given.is_ok_and(|status| status.success()),
            "there is no user `postgres`: install Debian's `postgresql`"
        );
    }
}

/// Debian keeps the programs of each version apart.
fn program(name: &str) -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        versions.map(|version| version.path().join("bin").join(name)).filter(|path| path.exists()).collect();
    found.sort();
    found.pop().unwrap_or_else(|| PathBuf::from(name))
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("there is a free port");
    listener.local_addr().expect("it has an address").port()
}

fn wait_for(port: u16) {
    let began = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(began.elapsed() < Duration::from_secs(60), "nothing listens on {port}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
