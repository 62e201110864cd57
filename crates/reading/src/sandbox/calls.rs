//! Which system calls a confined process makes: those on a list, by seccomp. Every other is refused.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Op, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

use super::Duty;

/// Calls that reach nothing but the process itself, the files that are open, and files that may be read.
const ALLOWED: [i64; 57] = [
    // Memory.
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_membarrier,
    // What is open.
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_lseek,
    libc::SYS_close,
    libc::SYS_dup,
    libc::SYS_fstat,
    libc::SYS_fstatfs,
    libc::SYS_getdents64,
    libc::SYS_ppoll,
    // What there is.
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getcwd,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    // The process and its time.
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_getppid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getrusage,
    libc::SYS_times,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_getrandom,
    libc::SYS_getcpu,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_futex,
    libc::SYS_rseq,
    libc::SYS_set_tid_address,
    libc::SYS_set_robust_list,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// The same under older names, which this architecture still has.
#[cfg(target_arch = "x86_64")]
const OLDER: [i64; 8] = [
    libc::SYS_access,
    libc::SYS_arch_prctl,
    libc::SYS_poll,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_readlink,
    libc::SYS_getdents,
    libc::SYS_time,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: [i64; 0] = [];

/// What `ioctl` is asked to find out whether something is a terminal, whose type differs between C libraries.
const ASKS_FOR_A_TERMINAL: u64 = 0x5401;

/// Flags of a file that is changed by being opened.
const CHANGING: i32 = libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC | libc::O_APPEND;

/// Refuses what is not on the list. There are no threads yet that it would not hold for.
pub(super) fn restrict(duty: Duty<'_>) -> std::io::Result<()> {
    let program = program(duty).map_err(std::io::Error::other)?;
    seccompiler::apply_filter(&program).map_err(std::io::Error::other)
}

fn program(duty: Duty<'_>) -> Result<BpfProgram, seccompiler::BackendError> {
    let always = ALLOWED.into_iter().chain(OLDER).map(|call| (call, Vec::new()));
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = always.collect();
    // Files are opened to be read.
    let to_read = |argument| only(argument, Op::MaskedEq(CHANGING as u64), libc::O_RDONLY as u64);
    rules.insert(libc::SYS_openat, vec![to_read(2)?]);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_open, vec![to_read(1)?]);
    // Signals are for this process itself, as when it ends because of a fault.
    let own = u64::from(std::process::id());
    rules.insert(libc::SYS_tgkill, vec![only(0, Op::Eq, own)?]);
    // Descriptors are copied and looked at, and never made to send signals to whoever owns them.
    let copied = [libc::F_DUPFD, libc::F_DUPFD_CLOEXEC, libc::F_GETFD, libc::F_SETFD, libc::F_GETFL];
    let mut descriptors = Vec::new();
    for command in copied {
        descriptors.push(only(1, Op::Eq, command as u64)?);
    }
    let quiet = is(2, Length::Dword, Op::MaskedEq(libc::O_ASYNC as u64), 0)?;
    descriptors.push(SeccompRule::new(vec![is(1, Length::Dword, Op::Eq, libc::F_SETFL as u64)?, quiet])?);
    rules.insert(libc::SYS_fcntl, descriptors);
    // The limits of this process are looked at, and not set: root could raise them.
    let looked = vec![is(0, Length::Dword, Op::Eq, 0)?, is(2, Length::Qword, Op::Eq, 0)?];
    rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(looked)?]);
    // Whether the output is a terminal is asked.
    rules.insert(libc::SYS_ioctl, vec![only(1, Op::Eq, ASKS_FOR_A_TERMINAL)?]);
    if let Duty::Recognise { .. } = duty {
        // Which program it may become, Landlock says. Neither duty has a way to a second process.
        rules.insert(libc::SYS_execve, Vec::new());
    }
    let architecture = if cfg!(target_arch = "x86_64") { TargetArch::x86_64 } else { TargetArch::aarch64 };
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    SeccompFilter::new(rules, refused, SeccompAction::Allow, architecture)?.try_into()
}

/// Lets a call pass if one of its arguments is as it should be.
fn only(argument: u8, operation: Op, value: u64) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![is(argument, Length::Dword, operation, value)?])
}

/// What an argument should be.
fn is(
    argument: u8,
    length: Length,
    operation: Op,
    value: u64,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, length, operation, value)
}
