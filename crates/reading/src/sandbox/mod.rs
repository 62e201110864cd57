//! What a process that works on an untrusted file may use: little memory, little time, the system's own files, and the
//! system calls that its work consists of.

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod calls;
#[cfg(target_os = "linux")]
mod files;

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Files that may be open at once: the library and fonts.
#[cfg(unix)]
const MOST_FILES: u64 = 64;
/// So many seconds after the time is up, the process is killed if it did not end.
#[cfg(unix)]
const GRACE: u64 = 2;

/// What a process is confined for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Duty<'a> {
    /// To read a file, with PDFium if it is there. It starts no program.
    Read { pdfium: Option<&'a Path> },
    /// To become a program that recognises text. It starts no other.
    Recognise { program: &'a Path },
}

/// How much a process may use, and what must be there to confine it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct ProcessLimits {
    /// The most address space, in bytes.
    pub(crate) memory: u64,
    /// The most time on a processor, in seconds.
    pub(crate) seconds: u64,
    /// Whether nothing is read where the kernel cannot restrict files.
    pub(crate) require_landlock: bool,
}

/// What confines a process that reads an untrusted file, besides limits of memory and time.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct SandboxStatus {
    /// Whether only the system's own files can be read, and none written.
    pub landlock: bool,
    /// Whether only those system calls can be made that reading consists of.
    pub seccomp: bool,
}

impl fmt::Display for SandboxStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match (self.landlock, self.seccomp) {
            (true, true) => "files and system calls are restricted (Landlock, seccomp)",
            (true, false) => "files are restricted (Landlock), system calls are not",
            (false, true) => "system calls are restricted (seccomp), files can be read",
            (false, false) => "only memory and time are limited",
        })
    }
}

/// Gives up what the duty does not need. There is no way back for this process.
#[cfg(unix)]
pub(crate) fn enter(duty: Duty<'_>, limits: &ProcessLimits) -> std::io::Result<SandboxStatus> {
    use rlimit::Resource;
    let lower = |resource: Resource, most: u64| {
        let (_, hard) = resource.get()?;
        resource.set(most.min(hard), most.min(hard))
    };
    lower(Resource::AS, limits.memory)?;
    lower(Resource::FSIZE, 0)?;
    lower(Resource::CORE, 0)?;
    lower(Resource::NOFILE, MOST_FILES)?;
    let (_, hard) = Resource::CPU.get()?;
    Resource::CPU.set(limits.seconds.min(hard), (limits.seconds + GRACE).min(hard))?;
    confine(duty, limits)
}

#[cfg(target_os = "linux")]
fn confine(duty: Duty<'_>, limits: &ProcessLimits) -> std::io::Result<SandboxStatus> {
    let landlock = files::restrict(duty)?;
    if limits.require_landlock && !landlock {
        return Err(std::io::Error::other(
            "this kernel has no Landlock (Linux 5.13 and newer have it, unless it is switched off), without which a \
             document that takes over its reader could read other files; set `ingest.require_landlock = false` to read \
             documents that you trust without it",
        ));
    }
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    calls::restrict(duty)?;
    Ok(SandboxStatus { landlock, seccomp: cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) })
}

/// Elsewhere memory and time are limited, and the size of files, to nothing.
#[cfg(all(unix, not(target_os = "linux")))]
fn confine(_: Duty<'_>, _: &ProcessLimits) -> std::io::Result<SandboxStatus> {
    Ok(SandboxStatus::default())
}

/// Elsewhere only the time is limited, by the process that waits.
#[cfg(not(unix))]
pub(crate) fn enter(_: Duty<'_>, _: &ProcessLimits) -> std::io::Result<SandboxStatus> {
    Ok(SandboxStatus::default())
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
