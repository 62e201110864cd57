//! A disk that fails under a real engine: `faulty_disk.c` stands before the real one and writes down what a loss of power could undo.
//! Here it is undone, all of it, some of it, or in part.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng as _};

/// What a disk writes or does not write at once.
const SECTOR: usize = 512;
const FILES: [&str; 2] = ["engine.db", "engine.db-wal"];

/// The library, made in a folder.
pub(crate) fn library(folder: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/faulty_disk.c");
    let library = folder.join("faulty_disk.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-Wall", "-o"]).arg(&library).arg(source).arg("-ldl");
    assert!(compiler.status().unwrap().success(), "the library cannot be made");
    library
}

/// A change that was made to a file.
struct Change {
    kind: u64,
    offset: u64,
    size: u64,
    old: Vec<u8>,
    new: Vec<u8>,
}

/// The changes of each file since it was last synced.
fn unsynced(log: &[u8]) -> [Vec<Change>; 2] {
    let mut files = [Vec::new(), Vec::new()];
    let mut rest = log;
    // The last record may be torn: the process was killed before it made that change.
    while rest.len() >= 48 {
        let number = |index: usize| u64::from_ne_bytes(rest[index * 8..][..8].try_into().unwrap());
        let [kind, file, offset, size, old, new] = [0, 1, 2, 3, 4, 5].map(number);
        let (old, new) = (usize::try_from(old).unwrap(), usize::try_from(new).unwrap());
        let Some(bytes) = rest[48..].get(..old + new) else { break };
        let changes: &mut Vec<Change> = &mut files[usize::try_from(file).unwrap()];
        if kind == 3 {
            changes.clear();
        } else {
            let (old, new) = (bytes[..old].to_vec(), bytes[old..].to_vec());
            changes.push(Change { kind, offset, size, old, new });
        }
        rest = &rest[48 + old + new..];
    }
    files
}

/// Takes from the files of a folder what the disk was not asked to keep: each change as the seed says.
pub(crate) fn lose_power(folder: &Path, log: &Path, seed: u64) {
    let log = std::fs::read(log).unwrap_or_default();
    let mut random = StdRng::seed_from_u64(seed);
    for (name, changes) in FILES.iter().zip(unsynced(&log)) {
        let Ok(file) = OpenOptions::new().read(true).write(true).open(folder.join(name)) else { continue };
        for change in changes.iter().rev() {
            file.write_all_at(&change.old, change.offset).unwrap();
            file.set_len(change.size).unwrap();
        }
        for change in &changes {
            again(&file, change, random.random_range(0..4));
        }
    }
}

/// Makes a change again: not at all, in part, or whole.
fn again(file: &File, change: &Change, how: u32) {
    match (change.kind, how) {
        (_, 0) => {}
        (2, _) => file.set_len(change.offset).unwrap(),
        (_, 1) => {
            let part = change.new.len() / SECTOR / 2 * SECTOR;
            file.write_all_at(&change.new[..part], change.offset).unwrap();
        }
        _ => file.write_all_at(&change.new, change.offset).unwrap(),
    }
}
