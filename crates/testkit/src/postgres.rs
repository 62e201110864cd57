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

    /// Another server, which flushes what it commits as usual: for measurements.
    ///
    /// # Panics
    /// Fails the test when it does not start within a minute.
    pub fn durable() -> Self {
        Self::with(
            &new_folder("postgres-durable"),
            &["max_connections=400", "shared_buffers=256MB", "log_min_messages=fatal"],
        )
    }

    /// Makes a database that no other test uses; its address.
    ///
    /// # Panics
    /// Fails the test when it cannot be made.
    pub fn database(&self) -> String {
        url(&[self.port], &self.new_database())
    }

    /// The same behind a pooler in transaction mode.
    ///
    /// # Panics
    /// Fails the test when the pooler does not start.
    pub fn pooled_database(&self) -> String {
        let name = self.new_database();
        let (port, _) = self.pooler.get_or_init(|| self.start_pooler());
        url(&[*port], &name)
    }

    /// Executes a statement in the database of an address, as its owner, and returns what it prints.
    ///
    /// # Panics
    /// Fails the test when the statement fails.
    pub fn execute(&self, url: &str, sql: &str) -> String {
        execute(url, sql)
    }

    /// Makes a database on a disk of so many megabytes; none if this user may not make one. It has a server of its own: one that
    /// cannot write everywhere makes no databases.
    ///
    /// # Panics
    /// Fails the test when the database cannot be made there.
    pub fn database_on_a_small_disk(megabytes: u32) -> Option<(String, SmallDisk)> {
        let folder = std::env::temp_dir().join(format!("ibid-small-disk-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder to mount a disk at");
        let size = format!("size={megabytes}m");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&folder).status();
        if !mounted.is_ok_and(|status| status.success()) {
            return None;
        }
        give_away(&folder);
        let server = Self::with(&new_folder("postgres-small-disk"), &SETTINGS);
        let owner = url(&[server.port], "postgres");
        execute(&owner, &format!("CREATE TABLESPACE small LOCATION '{}'", folder.display()));
        execute(&owner, "CREATE DATABASE small TABLESPACE small");
        Some((url(&[server.port], "small"), SmallDisk { folder, server }))
    }

    fn new_database(&self) -> String {
        let number = DATABASES.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{}_{number}", std::process::id());
        execute(&url(&[self.port], "postgres"), &format!("CREATE DATABASE {name}"));
        name
    }

    fn start() -> Self {
        Self::with(&new_folder("postgres"), &SETTINGS)
    }

    fn with(folder: &Path, settings: &[&str]) -> Self {
        let data = folder.join("data");
        init(&data, &["--no-sync"]);
        let port = free_port();
        let child = serve(folder, &data, port, settings);
        let server = Self { port, pooler: OnceLock::new(), folder: folder.to_owned(), _child: child };
        wait_until_it_answers(port);
        server
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
}

/// A disk of its own, which can be filled, and the server of the database on it.
pub struct SmallDisk {
    folder: PathBuf,
    server: RealPostgres,
}

impl SmallDisk {
    /// Leaves no room on it.
    ///
    /// # Panics
    /// Fails the test when nothing can be written there.
    pub fn fill(&self) {
        let mut file = std::fs::File::create(self.folder.join("filler")).expect("a file can be made");
        while std::io::Write::write_all(&mut file, &[0; 4096]).is_ok() {}
    }

    /// Makes room again.
    ///
    /// # Panics
    /// Fails the test when it was not filled.
    pub fn empty(&self) {
        std::fs::remove_file(self.folder.join("filler")).expect("it was filled");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        kill_with_children(&self.server.folder.join("data"));
        let _ = Command::new("umount").arg("-l").arg(&self.folder).status();
        let _ = std::fs::remove_dir(&self.folder);
    }
}

/// A primary and a standby that has every commit before it is told. The primary can be killed, and the standby takes its place.
pub struct RealPostgresPair {
    folder: PathBuf,
    primary: Node,
    standby: Option<Node>,
}

struct Node {
    port: u16,
    data: PathBuf,
    _child: Child,
}

impl RealPostgresPair {
    /// Starts both.
    ///
    /// # Panics
    /// Fails the test when they do not start within a minute.
    pub fn start() -> Self {
        let folder = new_folder("postgres-pair");
        let data = folder.join("0");
        init(&data, &["--no-sync"]);
        let port = free_port();
        let child = serve(&folder.join("sockets-0"), &data, port, &SETTINGS);
        wait_until_it_answers(port);
        let primary = Node { port, data, _child: child };
        execute(&url(&[primary.port], "postgres"), "CREATE DATABASE ibid");
        let mut pair = Self { folder, primary, standby: None };
        pair.add_standby(1);
        pair
    }

    /// The address of the database, which names both: whoever connects finds the primary.
    ///
    /// # Panics
    /// Fails the test when there is no standby.
    pub fn url(&self) -> String {
        self.url_through(&self.ports())
    }

    /// Where the two listen, also after one took the place of the other.
    ///
    /// # Panics
    /// Fails the test when there is no standby.
    pub fn ports(&self) -> [u16; 2] {
        let standby = self.standby.as_ref().expect("there is a standby");
        [self.primary.port, standby.port]
    }

    /// The address of the database for whoever reaches the two over other ports.
    pub fn url_through(&self, ports: &[u16]) -> String {
        url(ports, "ibid")
    }

    /// Kills the primary at once, lets the standby take its place, and starts another standby where the first primary was.
    ///
    /// # Panics
    /// Fails the test when the standby does not take over within a minute.
    pub fn fail_over(&mut self) {
        let promoted = self.standby.take().expect("there is a standby");
        kill_with_children(&self.primary.data);
        let done = as_ordinary_user(&program("pg_ctl"))
            .current_dir("/")
            .args(["promote", "-w", "-t", "60", "-D"])
            .arg(&promoted.data)
            .stdout(Stdio::null())
            .status();
        assert!(done.is_ok_and(|status| status.success()), "the standby cannot be promoted");
        // Nobody is behind it yet, so nobody is waited for.
        execute(&url(&[promoted.port], "postgres"), "ALTER SYSTEM SET synchronous_standby_names = ''");
        execute(&url(&[promoted.port], "postgres"), "SELECT pg_reload_conf()");
        let killed = std::mem::replace(&mut self.primary, promoted);
        let (port, data) = (killed.port, killed.data.clone());
        drop(killed);
        let _ = std::fs::remove_dir_all(&data);
        self.add_standby_at(port, data);
    }

    fn add_standby(&mut self, number: usize) {
        self.add_standby_at(free_port(), self.folder.join(number.to_string()));
    }

    fn add_standby_at(&mut self, port: u16, data: PathBuf) {
        let copied = as_ordinary_user(&program("pg_basebackup"))
            .current_dir("/")
            .args(["-h", "127.0.0.1", "-U", "postgres", "-X", "stream", "-c", "fast", "-R", "-N", "-p"])
            .arg(self.primary.port.to_string())
            .arg("-D")
            .arg(&data)
            .status();
        assert!(copied.is_ok_and(|status| status.success()), "the standby cannot be made");
        let child = serve(&self.folder.join(format!("sockets-{port}")), &data, port, &SETTINGS);
        wait_until_it_answers(port);
        let primary = url(&[self.primary.port], "postgres");
        execute(&primary, "ALTER SYSTEM SET synchronous_standby_names = '*'");
        execute(&primary, "SELECT pg_reload_conf()");
        let began = Instant::now();
        while execute(&primary, "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") != "1" {
            assert!(began.elapsed() < Duration::from_secs(60), "the standby does not follow");
            std::thread::sleep(Duration::from_millis(50));
        }
        self.standby = Some(Node { port, data, _child: child });
    }
}

impl Drop for RealPostgresPair {
    fn drop(&mut self) {
        for node in [Some(&self.primary), self.standby.as_ref()].into_iter().flatten() {
            kill_with_children(&node.data);
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Kills a server and all of its processes, as the loss of its machine would.
fn kill_with_children(data: &Path) {
    let Ok(text) = std::fs::read_to_string(data.join("postmaster.pid")) else { return };
    let Some(server) = text.lines().next().and_then(|line| line.trim().parse::<u32>().ok()) else { return };
    let children = Command::new("pgrep").arg("-P").arg(server.to_string()).output().expect("pgrep starts");
    let children = String::from_utf8_lossy(&children.stdout).into_owned();
    let all: Vec<String> =
        std::iter::once(server.to_string()).chain(children.split_whitespace().map(str::to_owned)).collect();
    let _ = Command::new("kill").arg("-9").args(all).stderr(Stdio::null()).status();
}

fn url(ports: &[u16], database: &str) -> String {
    let hosts: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    format!("postgres://postgres@{}/{database}", hosts.join(","))
}

fn new_folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("ibid-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the database");
    give_away(&folder);
    folder
}

fn init(data: &Path, options: &[&str]) {
    let made = as_ordinary_user(&program("initdb"))
        .current_dir("/")
        .args(["--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--pgdata"])
        .arg(data)
        .args(options)
        .stdout(Stdio::null())
        .status();
    assert!(made.is_ok_and(|status| status.success()), "the database cannot be made");
}

/// Starts a server. It ends when the child's standard input is closed, and its folder of sockets goes with it.
fn serve(sockets: &Path, data: &Path, port: u16, settings: &[&str]) -> Child {
    std::fs::create_dir_all(sockets).expect("a folder for its sockets");
    give_away(sockets);
    let mut arguments: Vec<String> =
        settings.iter().flat_map(|setting| ["-c".to_owned(), (*setting).to_owned()]).collect();
    arguments.extend(["-D".to_owned(), data.display().to_string()]);
    arguments.extend(["-h", "127.0.0.1", "-p"].map(str::to_owned));
    arguments.extend([port.to_string(), "-k".to_owned(), sockets.display().to_string()]);
    let child = watched(sockets, &program("postgres"), &arguments);
    wait_for(port);
    child
}

fn wait_until_it_answers(port: u16) {
    let (began, url) = (Instant::now(), url(&[port], "postgres"));
    let answers = || {
        let asked = psql().args([&url, "--command", "SELECT 1"]).output();
        asked.is_ok_and(|output| output.status.success())
    };
    while !answers() {
        assert!(began.elapsed() < Duration::from_secs(60), "Postgres does not start");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn execute(url: &str, sql: &str) -> String {
    let mut command = psql();
    command.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", url, "--command", sql]);
    let output = command.output().expect("psql starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn psql() -> Command {
    let mut command = Command::new(program("psql"));
    command.env("PGHOST", "127.0.0.1").stdin(Stdio::null());
    command
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
