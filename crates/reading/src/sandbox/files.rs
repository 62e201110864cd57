//! Which files a confined process reads: those of the system, by Landlock.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr,
    RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use super::Duty;

/// Where systems keep libraries, fonts and programs. Not `/proc`: it tells of other processes.
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

/// What starts programs that use shared libraries. The last two hold programs, too, each under a name of its own.
const LOADERS: [&str; 7] = [
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/ld-linux-aarch64.so.1",
    "/lib/ld-musl-x86_64.so.1",
    "/lib/ld-musl-aarch64.so.1",
    "/lib/ld-linux-x86-64.so.2",
    "/nix/store",
    "/gnu/store",
];

/// Lets the parts of the system be read that libraries and the text recognition consist of, and nothing be written. The
/// untrusted file itself is open already. Says whether the kernel can do so.
pub(super) fn restrict(duty: Duty<'_>) -> std::io::Result<bool> {
    let status = rules(duty).and_then(RulesetCreated::restrict_self).map_err(std::io::Error::other)?;
    Ok(status.ruleset != RulesetStatus::NotEnforced)
}

/// What an older kernel does not know is left out: system calls are refused besides.
fn rules(duty: Duty<'_>) -> Result<RulesetCreated, RulesetError> {
    let newest = ABI::V6;
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(newest))?
        .handle_access(AccessNet::from_all(newest))?
        .scope(Scope::from_all(newest))?
        .create()?
        // Paths that are not there are passed over.
        .add_rules(path_beneath_rules(readable(duty), read))?;
    let Duty::Recognise { program } = duty else { return Ok(ruleset) };
    let execute: BitFlags<AccessFs> = AccessFs::Execute | AccessFs::ReadFile;
    let programs = LOADERS.map(Path::new).into_iter().chain([program]);
    ruleset.add_rules(path_beneath_rules(programs, execute))
}

fn readable(duty: Duty<'_>) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = SYSTEM.into_iter().map(PathBuf::from).collect();
    paths.extend(listed("LD_LIBRARY_PATH"));
    match duty {
        Duty::Read { pdfium } => paths.extend(pdfium.map(Path::to_owned)),
        Duty::Recognise { program } => {
            paths.extend(listed("TESSDATA_PREFIX"));
            let installed = program.parent().and_then(Path::parent);
            paths.extend(installed.iter().flat_map(|folder| ["lib", "share"].map(|part| folder.join(part))));
        }
    }
    paths
}

/// The folders in a variable of the environment.
fn listed(variable: &str) -> Vec<PathBuf> {
    let value = std::env::var_os(variable).unwrap_or_default();
    std::env::split_paths(&value).filter(|path| path.is_absolute()).collect()
}
