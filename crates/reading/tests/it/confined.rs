//! What confines reading processes on this machine, and what happens where the kernel cannot.

use std::collections::BTreeMap;

use ibid_reading::{FileFormat, ReaderLimits, SandboxStatus};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};

use crate::stage::{read_with, reader, sample};

/// Makes Landlock unknown to this thread and all that it starts, as on an older kernel.
fn without_landlock() {
    let unknown = [libc::SYS_landlock_create_ruleset, libc::SYS_landlock_restrict_self];
    let rules: BTreeMap<i64, _> = unknown.into_iter().map(|call| (call, Vec::new())).collect();
    let architecture = if cfg!(target_arch = "x86_64") { TargetArch::x86_64 } else { TargetArch::aarch64 };
    let refused = SeccompAction::Errno(libc::ENOSYS as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, architecture).unwrap();
    let program: BpfProgram = filter.try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
}

/// Runs something on a thread of its own.
fn apart<T: Send + 'static>(work: impl AsyncFnOnce() -> T + Send + 'static) -> T {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    std::thread::spawn(move || runtime().block_on(work())).join().unwrap()
}

#[tokio::test]
async fn what_confines_a_reading_process_is_told() {
    let whole = SandboxStatus { landlock: true, seccomp: true };
    assert_eq!(reader().sandbox().await.unwrap(), whole);
    let file = sample("hts-chapter-85-pages-70-71.pdf");
    assert_eq!(read_with(&reader(), &file, FileFormat::Pdf).await.unwrap().sandbox, whole);
}

#[test]
fn without_landlock_nothing_is_read_unless_that_is_wanted() {
    apart(async || {
        without_landlock();
        let file = sample("hts-chapter-85-pages-70-71.pdf");
        let refused = read_with(&reader(), &file, FileFormat::Pdf).await.unwrap_err().to_string();
        assert!(
            refused.contains("no Landlock") && refused.contains("`ingest.require_landlock = false`"),
            "{refused}"
        );
        let limits = ReaderLimits { require_landlock: false, ..ReaderLimits::default() };
        let read = read_with(&reader().within(limits), &file, FileFormat::Pdf).await.unwrap();
        assert_eq!(read.sandbox, SandboxStatus { landlock: false, seccomp: true });
        assert_eq!(read.pages.len(), 2);
    });
}
