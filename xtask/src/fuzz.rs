//! Runs the fuzz targets: compiled so that the fuzzer sees which ways an input takes, and begun with the inputs that are kept.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};
use cargo_metadata::MetadataCommand;

use crate::bench::cargo;

/// No input is longer, in bytes: what is looked for are new ways through the code.
const LONGEST: &str = "-max_len=2048";
/// Inputs that take longer, in seconds, or more memory, in megabytes, are faults.
const LIMITS: [&str; 2] = ["-timeout=20", "-rss_limit_mb=2048"];

/// `cargo xtask fuzz SECONDS [TARGET]`: so long for each target.
pub(crate) fn fuzz(mut arguments: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let seconds = arguments.next().and_then(|seconds| seconds.parse::<u32>().ok());
    let seconds = seconds.context("say for how many seconds each target is tried")?;
    let failures = Path::new("fuzz/failures");
    std::fs::create_dir_all(failures)?;
    for target in Target::built(arguments.next().as_deref())? {
        let artifacts = format!("-artifact_prefix={}/{}-", failures.display(), target.name);
        let mut run = Command::new(&target.program);
        run.arg(&target.found).arg(&target.kept).arg(LONGEST).args(LIMITS);
        run.args([&format!("-max_total_time={seconds}"), &artifacts, "-print_final_stats=1"]);
        let output = run.stdout(Stdio::null()).stderr(Stdio::piped()).output()?;
        let told = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            let last: Vec<&str> = told.lines().rev().take(60).collect();
            last.iter().rev().for_each(|line| eprintln!("{line}"));
            bail!("{} found a fault; the input is in {}", target.name, failures.display());
        }
        let tried = told.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units: "));
        println!("{}: {} inputs in {seconds} s, no fault", target.name, tried.unwrap_or("?").trim());
    }
    Ok(())
}

/// `cargo xtask fuzz-keep`: of what was found, keeps what takes ways that nothing kept takes.
pub(crate) fn keep() -> anyhow::Result<()> {
    for target in Target::built(None)? {
        let mut run = Command::new(&target.program);
        run.args(["-merge=1", LONGEST]).args(LIMITS).arg(&target.kept).arg(&target.found);
        let output = run.stdout(Stdio::null()).stderr(Stdio::piped()).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        println!("{}: {} inputs are kept", target.name, std::fs::read_dir(&target.kept)?.count());
    }
    Ok(())
}

struct Target {
    name: String,
    program: PathBuf,
    /// The inputs of the repository.
    kept: PathBuf,
    /// What was found on this machine.
    found: PathBuf,
}

impl Target {
    /// All of them, or one, built.
    fn built(only: Option<&str>) -> anyhow::Result<Vec<Self>> {
        let mut names: Vec<String> = std::fs::read_dir("fuzz/targets")?
            .filter_map(|file| Some(file.ok()?.path().file_stem()?.to_str()?.to_owned()))
            .filter(|name| only.is_none_or(|only| only == name))
            .collect();
        names.sort();
        ensure!(!names.is_empty(), "there is no such target; they are in fuzz/targets");
        let mut build = cargo();
        // All crates with all features: otherwise what they depend on would be built once more.
        build.args(["build", "--quiet", "--workspace", "--all-features", "--locked"]);
        build.args(names.iter().flat_map(|name| ["--bin", name]));
        let built =
            build.env("RUSTC_WORKSPACE_WRAPPER", Path::new("fuzz/instrument").canonicalize()?).status()?;
        ensure!(built.success(), "the targets were not built");
        let programs = MetadataCommand::new().no_deps().exec()?.target_directory.join("debug");
        let cache = Path::new(&std::env::var("HOME").context("HOME is not set")?).join(".cache/ibid/fuzz");
        let target = |name: String| {
            let (kept, found) = (Path::new("fuzz/corpus").join(&name), cache.join(&name));
            std::fs::create_dir_all(&kept)?;
            std::fs::create_dir_all(&found)?;
            Ok(Self { program: programs.join(&name).into(), kept, found, name })
        };
        names.into_iter().map(target).collect()
    }
}
