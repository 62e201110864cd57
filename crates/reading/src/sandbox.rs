//! What a reading process may use: little memory, little time, no file to write, no network.

use crate::protocol::Request;

/// Files that may be open at once: the library, fonts, and the pipes to the text recognition.
#[cfg(unix)]
const MOST_FILES: u64 = 64;
/// What is left to say a last word after the time is up.
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
    read_only()?;
    without_network()
}

/// Lets files be read and programs be started, and nothing be written, where the kernel can do so.
#[cfg(target_os = "linux")]
fn read_only() -> std::io::Result<()> {
    use landlock::{ABI, Access, AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr};
    let all = AccessFs::from_all(ABI::V3);
    let read = AccessFs::from_read(ABI::V3);
    let root = PathFd::new("/").map_err(std::io::Error::other)?;
    let nowhere = PathFd::new("/dev/null").map_err(std::io::Error::other)?;
    let ruleset = Ruleset::default().handle_access(all).and_then(|ruleset| ruleset.create());
    let ruleset = ruleset
        .and_then(|ruleset| ruleset.add_rule(PathBeneath::new(root, read)))
        .and_then(|ruleset| ruleset.add_rule(PathBeneath::new(nowhere, AccessFs::WriteFile)));
    ruleset.and_then(|ruleset| ruleset.restrict_self()).map(|_| ()).map_err(std::io::Error::other)
}

/// Elsewhere only the size of files is limited, to nothing.
#[cfg(all(unix, not(target_os = "linux")))]
fn read_only() -> std::io::Result<()> {
    Ok(())
}

/// Elsewhere only the time is limited, by the process that waits.
#[cfg(not(unix))]
pub(crate) fn enter(_: &Request) -> std::io::Result<()> {
    Ok(())
}

/// Refuses the system calls that open connections or look into other processes.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn without_network() -> std::io::Result<()> {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};
    // The same numbers on both: they come from the C library.
    let refused = [
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
fn without_network() -> std::io::Result<()> {
    Ok(())
}
