//! Libraries that ibid loads while it runs: their releases, and what is taken out of one.

use std::fs::File;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

use super::PullError;

/// A library that ibid loads while it runs.
#[derive(Debug)]
pub struct Library {
    /// What people call it.
    pub name: &'static str,
    /// Its version, as its releases are called.
    pub version: &'static str,
    /// The folder of the library among the models.
    folder: &'static str,
    /// How its file is called, without what the kind of machine adds.
    stem: &'static str,
    releases: &'static [Release],
}

/// The release for one kind of machine.
#[derive(Debug)]
pub(super) struct Release {
    os: &'static str,
    architecture: &'static str,
    pub(super) archive: &'static str,
    pub(super) sha256: &'static str,
}

/// What runs models here.
pub const ONNX_RUNTIME: Library = Library {
    name: "ONNX Runtime",
    version: "v1.22.0",
    folder: "onnxruntime",
    stem: "libonnxruntime",
    releases: &[
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
    ],
};

/// What reads PDFs.
pub const PDFIUM: Library = Library {
    name: "PDFium",
    version: "chromium%2F7988",
    folder: "pdfium",
    stem: "libpdfium",
    releases: &[
        Release {
            os: "linux",
            architecture: "x86_64",
            archive: "pdfium-linux-x64.tgz",
            sha256: "7358c15e26a746cd67854887ea11b3b807c436056788eee9294fb972b8f8e0be",
        },
        Release {
            os: "linux",
            architecture: "aarch64",
            archive: "pdfium-linux-arm64.tgz",
            sha256: "a2926203456881efa8feca7e0e409de78a4471b9b72e62a74c820faebb3e4551",
        },
        Release {
            os: "macos",
            architecture: "aarch64",
            archive: "pdfium-mac-arm64.tgz",
            sha256: "2229b8a6ffa0fb1634aa78886ed5425a10a8a0bd01762f7f0c9244081d86a921",
        },
    ],
};

/// What libraries are called on this kind of machine.
const ENDING: &str = if cfg!(target_os = "macos") { "dylib" } else { "so" };

/// Where systems keep libraries.
const USUAL: [&str; 5] = [
    "/usr/local/lib",
    "/usr/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/opt/homebrew/lib",
];

/// Where packages of ibid put it, beside the folder of the program.
const PACKAGED: &str = "lib/ibid";

/// No library is larger than this.
const LARGEST: u64 = 512 << 20;

impl Library {
    /// The library: the one that was fetched for this version of ibid, else the one that came with it, else one of an earlier
    /// version, else the system's, if there is one.
    pub fn find(&self, models: &Path) -> Option<PathBuf> {
        let usual = || USUAL.iter().map(|folder| Path::new(folder).join(self.file()));
        let found = self.among(models).or_else(|| self.packaged()).or_else(|| self.earlier(models).pop());
        found.or_else(|| usual().find(|path| path.is_file()))
    }

    /// The one that came with this ibid, if it was installed from a package.
    fn packaged(&self) -> Option<PathBuf> {
        let program = std::env::current_exe().ok()?;
        let beside = program.parent()?.parent()?.join(PACKAGED).join(self.file());
        Some(beside).filter(|path| path.is_file())
    }

    /// Those that were fetched for earlier versions of ibid, the last one last.
    pub fn earlier(&self, models: &Path) -> Vec<PathBuf> {
        let folder = models.join(self.folder);
        let versions = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut folders: Vec<PathBuf> = versions.map(|version| version.path()).collect();
        folders.sort();
        // The first ones had no version.
        folders.insert(0, folder);
        let files = folders.into_iter().filter(|folder| *folder != self.folder(models));
        files.map(|folder| folder.join(self.file())).filter(|path| path.is_file()).collect()
    }

    /// Its version, in words that name a folder.
    pub fn version_name(&self) -> &'static str {
        self.version.rsplit("%2F").next().unwrap_or(self.version)
    }

    /// What its file is called on this kind of machine.
    fn file(&self) -> String {
        format!("{}.{ENDING}", self.stem)
    }

    /// The library among the models, if this version was fetched.
    pub(super) fn among(&self, models: &Path) -> Option<PathBuf> {
        Some(self.folder(models).join(self.file())).filter(|path| path.is_file())
    }

    pub(super) fn folder(&self, models: &Path) -> PathBuf {
        models.join(self.folder).join(self.version_name())
    }

    pub(super) fn for_this_machine(&self) -> Result<&'static Release, PullError> {
        let (os, architecture) = (std::env::consts::OS, std::env::consts::ARCH);
        let fits = |release: &&Release| release.os == os && release.architecture == architecture;
        self.releases.iter().find(fits).ok_or_else(|| PullError::Platform {
            library: self.name,
            machine: format!("{os} on {architecture}"),
        })
    }

    /// Takes the library, and nothing else, out of a release.
    pub(super) fn unpack(&self, archive: &Path, folder: &Path) -> Result<PathBuf, PullError> {
        let unreadable = |error: std::io::Error| {
            PullError::Archive(format!("{} cannot be read: {error}", archive.display()))
        };
        let file = File::open(archive).map_err(unreadable)?;
        let mut entries = tar::Archive::new(GzDecoder::new(file));
        for entry in entries.entries().map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            if !entry.header().entry_type().is_file() || !self.is(&entry.path().map_err(unreadable)?) {
                continue;
            }
            let (part, target) = (folder.join("library.part"), folder.join(self.file()));
            let failed = |source| PullError::Write { path: target.clone(), source };
            let mut out = File::create(&part).map_err(failed)?;
            std::io::copy(&mut std::io::Read::take(entry, LARGEST), &mut out).map_err(failed)?;
            out.sync_all().map_err(failed)?;
            std::fs::rename(&part, &target).map_err(failed)?;
            return Ok(target);
        }
        Err(PullError::Archive(format!("{} does not hold {}", archive.display(), self.name)))
    }

    /// Whether a file in a release is the library, perhaps with its version in its name.
    fn is(&self, path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let (stem, version) = (self.stem, self.version.trim_start_matches('v'));
        name == self.file()
            || name == format!("{stem}.so.{version}")
            || name == format!("{stem}.{version}.dylib")
    }
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
    fn an_earlier_version_serves_until_the_newer_one_was_fetched() {
        let models = tempfile::tempdir().unwrap();
        let models = models.path();
        let put = |folder: &Path| {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(folder.join(PDFIUM.file()), "pages").unwrap();
            folder.join(PDFIUM.file())
        };
        let without_version = put(&models.join("pdfium"));
        assert_eq!(PDFIUM.find(models), Some(without_version.clone()));
        let earlier = put(&models.join("pdfium/7000"));
        assert_eq!((PDFIUM.among(models), PDFIUM.find(models)), (None, Some(earlier.clone())));
        let own = put(&PDFIUM.folder(models));
        assert_eq!(PDFIUM.find(models), Some(own));
        assert_eq!(PDFIUM.earlier(models), [without_version, earlier]);
    }

    #[test]
    fn the_library_and_nothing_else_is_taken_out_of_a_release() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let library = "onnxruntime/lib/libonnxruntime.so.1.22.0";
        let path =
            archive(folder, &[("onnxruntime/README.md", "read"), (library, "code"), ("x/evil.so", "evil")]);
        let unpacked = ONNX_RUNTIME.unpack(&path, folder).unwrap();
        assert_eq!(std::fs::read_to_string(&unpacked).unwrap(), "code");
        let mut names: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [ONNX_RUNTIME.file().as_str(), "release.tgz"]);
        let path = archive(folder, &[("include/fpdfview.h", "read"), ("lib/libpdfium.so", "pages")]);
        assert_eq!(std::fs::read_to_string(PDFIUM.unpack(&path, folder).unwrap()).unwrap(), "pages");
        let empty = archive(folder, &[("onnxruntime/README.md", "read")]);
        assert!(
            ONNX_RUNTIME
                .unpack(&empty, folder)
                .unwrap_err()
                .to_string()
                .contains("does not hold ONNX Runtime")
        );
    }
}
