//! Each runs in a process of its own, which gives up what the other tests need.

#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use ibid_testkit::RealModels;

use super::*;

const LIMITS: ProcessLimits = ProcessLimits { memory: 1 << 32, seconds: 10, require_landlock: true };

/// Tries what a program should not be able to do, and names what it could do nevertheless.
const ATTACKS: &str = r#"
import ctypes, fcntl, os, resource, signal, socket, subprocess, sys, threading
outside, parent = sys.argv[1], int(sys.argv[2])
c = ctypes.CDLL(None, use_errno=True)
SYS = {"x86_64": {"tgkill": 234, "pidfd_open": 434, "memfd_create": 319, "clone3": 435, "io_uring_setup": 425,
                  "execveat": 322, "process_vm_readv": 310, "prlimit64": 302},
       "aarch64": {"tgkill": 131, "pidfd_open": 434, "memfd_create": 279, "clone3": 435, "io_uring_setup": 425,
                   "execveat": 281, "process_vm_readv": 270, "prlimit64": 261}}[os.uname().machine]
def call(name, *arguments):
    if c.syscall(SYS[name], *arguments) < 0:
        raise OSError(ctypes.get_errno(), name)
def thread():
    threading.Thread(target=lambda: None).start()
def anonymous():
    call("memfd_create", b"x", 0)
attacks = {
    "fork": os.fork,
    "fork bomb": lambda: [os.fork() for _ in range(1000)],
    "clone3": lambda: call("clone3", None, 0),
    "thread": thread,
    "another program": lambda: os.execv("/bin/true", ["true"]),
    "shell": lambda: subprocess.run(["sh", "-c", "true"]),
    "another program by its descriptor": lambda: call("execveat", -100, b"/bin/true", None, None, 0),
    "signal": lambda: os.kill(parent, 0),
    "signal to all": lambda: os.kill(-1, 0),
    "signal to a thread": lambda: call("tgkill", parent, parent, 0),
    "handle of a process": lambda: call("pidfd_open", parent, 0),
    "limits of another": lambda: call("prlimit64", parent, 7, None, None),
    "memory of another": lambda: call("process_vm_readv", parent, None, 0, None, 0, 0),
    "signals when a pipe is read": lambda: fcntl.fcntl(1, fcntl.F_SETOWN, parent),
    "signals of another kind": lambda: fcntl.fcntl(1, 10, signal.SIGKILL),
    "signals at all": lambda: fcntl.fcntl(1, fcntl.F_SETFL, fcntl.fcntl(1, fcntl.F_GETFL) | os.O_ASYNC),
    "more memory": lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 40, 1 << 40)),
    "socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM),
    "unix socket": lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM),
    "read another's file": lambda: open(outside),
    "write another's file": lambda: open(outside, "a"),
    "new file": lambda: open(outside + ".new", "w"),
    "unlink a database": lambda: os.unlink(outside),
    "rename it": lambda: os.rename(outside, outside + ".old"),
    "truncate it": lambda: os.truncate(outside, 0),
    "change its mode": lambda: os.chmod(outside, 0o777),
    "link": lambda: os.symlink(outside, outside + ".link"),
    "file in memory": anonymous,
    "io_uring": lambda: call("io_uring_setup", 1, None),
    "other processes": lambda: open("/proc/1/environ"),
    "root folder": lambda: os.listdir("/"),
}
for name, attack in attacks.items():
    try:
        attack()
    except (OSError, RuntimeError, ValueError):
        continue
    print(name, flush=True)
print("done", flush=True)
"#;

/// A file that belongs to somebody else.
fn outside() -> String {
    std::env::var("IBID_TEST_OUTSIDE").expect("a file outside")
}

/// Runs one of the tests below in a process of its own.
fn run(test: &str) -> (Output, tempfile::NamedTempFile) {
    let outside = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(&outside, "kept").expect("it is written");
    let output = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "--ignored", "--nocapture", "--test-threads=1", &format!("sandbox::tests::{test}")])
        .env("IBID_TEST_OUTSIDE", outside.path())
        .output()
        .expect("the process starts");
    assert_eq!(std::fs::read_to_string(&outside).expect("it is there still"), "kept");
    (output, outside)
}

#[test]
#[ignore = "it gives up what other tests need"]
fn inside_a_reader() {
    let outside = outside();
    let status = enter(Duty::Read { pdfium: None }, &LIMITS).expect("the process is confined");
    assert_eq!(status, SandboxStatus { landlock: true, seccomp: true });
    let refused = [
        std::net::TcpStream::connect("127.0.0.1:1").err().map(|error| error.kind()),
        std::net::UdpSocket::bind("127.0.0.1:0").err().map(|error| error.kind()),
        std::fs::read(&outside).err().map(|error| error.kind()),
        std::fs::write(format!("{outside}.new"), "x").err().map(|error| error.kind()),
        std::fs::remove_file(&outside).err().map(|error| error.kind()),
        std::fs::read("/proc/1/environ").err().map(|error| error.kind()),
        std::fs::read_dir("/").err().map(|error| error.kind()),
        Command::new("/bin/true").status().err().map(|error| error.kind()),
        Command::new("/bin/true").exec().kind().into(),
        std::thread::Builder::new().spawn(|| ()).err().map(|error| error.kind()),
    ];
    assert_eq!(refused, [Some(ErrorKind::PermissionDenied); 10]);
    assert!(std::fs::read_dir("/usr").is_ok(), "the system can be read");
}

#[test]
fn a_reader_reaches_no_network_no_program_and_no_file_of_others() {
    let (output, _) = run("inside_a_reader");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
#[ignore = "it gives up what other tests need"]
fn inside_a_recogniser() {
    let program = std::fs::canonicalize(RealModels::find().python()).expect("Python is installed");
    enter(Duty::Recognise { program: &program }, &LIMITS).expect("the process is confined");
    let parent = std::os::unix::process::parent_id().to_string();
    let error = Command::new(&program).args(["-I", "-S", "-c", ATTACKS, &outside(), &parent]).exec();
    panic!("Python does not start: {error}");
}

/// Python stands for a recogniser that an image took over.
#[test]
fn a_recogniser_that_was_taken_over_starts_nothing_signals_nobody_and_touches_no_file() {
    let (output, outside) = run("inside_a_recogniser");
    let said = String::from_utf8_lossy(&output.stdout);
    // The first line begins with what the test says of itself.
    let (_, could) = said.split_once(" ... ").expect("the test begins");
    assert_eq!(could, "done\n", "{said}{}", String::from_utf8_lossy(&output.stderr));
    let new = PathBuf::from(format!("{}.new", outside.path().display()));
    assert!(!new.exists());
}
