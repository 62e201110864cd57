//! What a reading process may use: little memory, little time, the system's own files, no network.

#[cfg(target_os = "linux")]
use std::path::PathBuf;

use crate::protocol::Request;

/// Where systems keep libraries, fonts and programs. Not `/proc`: it tells of other processes.
#[cfg(target_os = "linux")]
const SYSTEM: [&str; 14] = [
    "/usr",
    "/lib",
    "/lib64",
    "/bin",
    "/etc/ld.so.cache",
    "/etc/fonts",
    "/etc/localtime",
    "/nix/store",
    "/gnu/store",
    "/sys/devices/system/cpu",
    "/dev/null",
    "/dev/zero",
    "/dev/random",
    "/dev/urandom",
];

/// Files that may be open at once: the library, fonts, and the pipes to the text recognition.
#[cfg(unix)]
const MOST_FILES: u64 = 64;
/// So many seconds after the time is up, the process is killed if it did not end.
#[cfg(unix)]
const GRACE: u64 = 2;

/// Gives up what reading does not need. There is no way back for this process and its children.
#[cfg(unix)]
pub(crate) fn enter(request: &Request) -> std::io::Result<()> {
    use rlimit::Resource;
    let lower = |resource: Resource, most: u64| {
        let (_, hard) = resource.get()?;
        resource.set(most.min(hard), most.min(hard))
    };
    lower(Resource::AS, request.memory)?;
    lower(Resource::FSIZE, 0)?;
    lower(Resource::CORE, 0)?;
    lower(Resource::NOFILE, MOST_FILES)?;
    let (_, hard) = Resource::CPU.get()?;
    Resource::CPU.set(request.seconds.min(hard), (request.seconds + GRACE).min(hard))?;
    only_the_system(request)?;
    without_calls(request)
}

/// Lets the parts of the system be read that libraries and the text recognition consist of, and nothing be
/// written, where the kernel can do so. Documents, settings and other processes are out of reach; the file
/// itself is open already.
#[cfg(target_os = "linux")]
fn only_the_system(request: &Request) -> std::io::Result<()> {
    use landlock::{ABI, Access, AccessFs, Ruleset, RulesetAttr, RulesetCreatedAttr, path_beneath_rules};
    let all = AccessFs::from_all(ABI::V3);
    let read = AccessFs::from_read(ABI::V3);
    // Paths that are not there are passed over.
    let ruleset = Ruleset::default()
        .handle_access(all)
        .and_then(|ruleset| ruleset.create())
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(readable(request), read)))
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(["/dev/null"], AccessFs::WriteFile)));
    ruleset.and_then(|ruleset| ruleset.restrict_self()).map(|_| ()).map_err(std::io::Error::other)
}

/// What a reading process may read, and start programs from.
#[cfg(target_os = "linux")]
fn readable(request: &Request) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = SYSTEM.into_iter().map(PathBuf::from).collect();
    paths.extend(request.pdfium.clone());
    let listed = |name: &str| std::env::var_os(name).unwrap_or_default();
    let libraries = listed("LD_LIBRARY_PATH");
    paths.extend(std::env::split_paths(&libraries).filter(|path| path.is_absolute()));
    if request.languages.is_some() {
        let data = listed("TESSDATA_PREFIX");
        paths.extend(std::env::split_paths(&data).filter(|path| path.is_absolute()));
        let programs = listed("PATH");
        let tesseract = std::env::split_paths(&programs).map(|folder| folder.join("tesseract"));
        if let Some(program) = tesseract.into_iter().find(|program| program.exists()) {
            let installed = program.parent().and_then(std::path::Path::parent).map(PathBuf::from);
            paths.extend(installed.iter().flat_map(|folder| ["lib", "share"].map(|part| folder.join(part))));
            paths.push(program);
        }
    }
    paths
}

/// Elsewhere only the size of files is limited, to nothing.
#[cfg(all(unix, not(target_os = "linux")))]
fn only_the_system(_: &Request) -> std::io::Result<()> {
    Ok(())
}

/// Elsewhere only the time is limited, by the process that waits.
#[cfg(not(unix))]
pub(crate) fn enter(_: &Request) -> std::io::Result<()> {
    Ok(())
}

/// Refuses the system calls that open connections or look into other processes, and those that start
/// programs unless pages are recognised by one.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn without_calls(request: &Request) -> std::io::Result<()> {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};
    // The same numbers on both: they come from the C library.
    let mut refused = vec![
        libc::SYS_socket,
        libc::SYS_connect,
        libc::SYS_bind,
        libc::SYS_listen,
        libc::SYS_sendto,
        libc::SYS_sendmsg,
        libc::SYS_ptrace,
        libc::SYS_kill,
        libc::SYS_tkill,
        libc::SYS_pidfd_send_signal,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_mount,
        libc::SYS_unshare,
        libc::SYS_bpf,
        libc::SYS_kexec_load,
        libc::SYS_init_module,
        libc::SYS_io_uring_setup,
    ];
    if request.languages.is_none() {
        refused.extend([libc::SYS_clone, libc::SYS_clone3, libc::SYS_execve, libc::SYS_execveat]);
        #[cfg(target_arch = "x86_64")]
        refused.extend([libc::SYS_fork, libc::SYS_vfork]);
    }
    let architecture = if cfg!(target_arch = "x86_64") { TargetArch::x86_64 } else { TargetArch::aarch64 };
    let rules = refused.into_iter().map(|call| (call, Vec::new())).collect();
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM as u32),
        architecture,
    );
    let program: BpfProgram = filter.and_then(TryInto::try_into).map_err(std::io::Error::other)?;
    seccompiler::apply_filter(&program).map_err(std::io::Error::other)
}

/// Elsewhere the network stays reachable; PDFium has no code that uses it.
#[cfg(all(unix, not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))))]
fn without_calls(_: &Request) -> std::io::Result<()> {
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::formats::FileFormat;

    /// Runs in a process of its own, which the next test starts.
    #[test]
    #[ignore = "it gives up what other tests need"]
    fn inside() {
        let outside = std::env::var("IBID_TEST_OUTSIDE").expect("a file outside");
        let request = Request {
            kind: FileFormat::Pdf,
            pages: 0..1,
            pdfium: None,
            languages: None,
            memory: 1 << 32,
            seconds: 10,
        };
        enter(&request).expect("the process is confined");
        let refused = [
            std::net::TcpStream::connect("127.0.0.1:1").err().map(|error| error.kind()),
            std::net::UdpSocket::bind("127.0.0.1:0").err().map(|error| error.kind()),
            std::fs::read(&outside).err().map(|error| error.kind()),
            std::fs::write(format!("{outside}.new"), "x").err().map(|error| error.kind()),
            std::fs::remove_file(&outside).err().map(|error| error.kind()),
            std::fs::read("/proc/1/environ").err().map(|error| error.kind()),
            std::fs::read_dir("/").err().map(|error| error.kind()),
            Command::new("/bin/true").status().err().map(|error| error.kind()),
        ];
        assert_eq!(refused, [Some(std::io::ErrorKind::PermissionDenied); 8]);
        assert!(std::fs::read_dir("/usr").is_ok(), "the system can be read");
    }

    #[test]
    fn a_reading_process_reaches_no_network_no_program_and_no_file_of_others() {
        let outside = tempfile::NamedTempFile::new().expect("a file");
        let output = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "--ignored", "--test-threads=1", "sandbox::tests::inside"])
            .env("IBID_TEST_OUTSIDE", outside.path())
            .output()
            .expect("the process starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}
