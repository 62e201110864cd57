//! The releases of ONNX Runtime, and what is taken out of one.

use std::fs::File;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

use super::PullError;

/// The version that is fetched.
pub const RUNTIME_VERSION: &str = "1.22.0";

/// The folder of the library among the models.
pub(super) const FOLDER: &str = "onnxruntime";

/// The release for one kind of machine.
pub(super) struct Release {
    os: &'static str,
    architecture: &'static str,
    pub(super) archive: &'static str,
    pub(super) sha256: &'static str,
}

const RELEASES: [Release; 3] = [
    Release {
        os: "linux",
        architecture: "x86_64",
        archive: "onnxruntime-linux-x64-1.22.0.tgz",
        sha256: "8344d55f93d5bc5021ce342db50f62079daf39aaafb5d311a451846228be49b3",
    },
    Release {
        os: "linux",
        architecture: "aarch64",
        archive: "onnxruntime-linux-aarch64-1.22.0.tgz",
        sha256: "bb76395092d150b52c7092dc6b8f2fe4d80f0f3bf0416d2f269193e347e24702",
    },
    Release {
        os: "macos",
        architecture: "aarch64",
        archive: "onnxruntime-osx-arm64-1.22.0.tgz",
        sha256: "cab6dcbd77e7ec775390e7b73a8939d45fec3379b017c7cb74f5b204c1a1cc07",
    },
];

/// What the library is called on this kind of machine.
pub const LIBRARY: &str =
    if cfg!(target_os = "macos") { "libonnxruntime.dylib" } else { "libonnxruntime.so" };

/// No library is larger than this.
const LARGEST: u64 = 512 << 20;

/// The library among the models, if it was fetched.
pub fn library_in(models: &Path) -> Option<PathBuf> {
    Some(models.join(FOLDER).join(LIBRARY)).filter(|path| path.is_file())
}

pub(super) fn for_this_machine() -> Result<&'static Release, PullError> {
    let (os, architecture) = (std::env::consts::OS, std::env::consts::ARCH);
    let fits = |release: &&Release| release.os == os && release.architecture == architecture;
    RELEASES.iter().find(fits).ok_or_else(|| PullError::Platform(format!("{os} on {architecture}")))
}

/// Takes the library, and nothing else, out of a release.
pub(super) fn unpack(archive: &Path, folder: &Path) -> Result<PathBuf, PullError> {
    let unreadable =
        |error: std::io::Error| PullError::Archive(format!("{} cannot be read: {error}", archive.display()));
    let file = File::open(archive).map_err(unreadable)?;
    let mut entries = tar::Archive::new(GzDecoder::new(file));
    for entry in entries.entries().map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        if !entry.header().entry_type().is_file() || !is_library(&entry.path().map_err(unreadable)?) {
            continue;
        }
        let (part, target) = (folder.join("library.part"), folder.join(LIBRARY));
        let failed = |source| PullError::Write { path: target.clone(), source };
        let mut out = File::create(&part).map_err(failed)?;
        std::io::copy(&mut std::io::Read::take(entry, LARGEST), &mut out).map_err(failed)?;
        out.sync_all().map_err(failed)?;
        std::fs::rename(&part, &target).map_err(failed)?;
        return Ok(target);
    }
    Err(PullError::Archive(format!("{} holds no library of ONNX Runtime", archive.display())))
}

fn is_library(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let stem = LIBRARY.split('.').next().unwrap_or_default();
    let versioned = [format!("{stem}.so.{RUNTIME_VERSION}"), format!("{stem}.{RUNTIME_VERSION}.dylib")];
    name == LIBRARY || versioned.iter().any(|known| known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(folder: &Path, entries: &[(&str, &str)]) -> PathBuf {
        let path = folder.join("release.tgz");
        let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(
            File::create(&path).unwrap(),
            Default::default(),
        ));
        for (name, text) in entries {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            tar.append_data(&mut header, name, text.as_bytes()).unwrap();
        }
        tar.into_inner().unwrap().finish().unwrap();
        path
    }

    #[test]
    fn the_library_and_nothing_else_is_taken_out_of_a_release() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let library = format!("onnxruntime/lib/libonnxruntime.so.{RUNTIME_VERSION}");
        let path =
            archive(folder, &[("onnxruntime/README.md", "read"), (&library, "code"), ("x/evil.so", "evil")]);
        let unpacked = unpack(&path, folder).unwrap();
        assert_eq!(std::fs::read_to_string(&unpacked).unwrap(), "code");
        let mut names: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [LIBRARY, "release.tgz"]);
        let empty = archive(folder, &[("onnxruntime/README.md", "read")]);
        assert!(unpack(&empty, folder).unwrap_err().to_string().contains("no library"));
    }
}
