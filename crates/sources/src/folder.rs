//! A folder of this machine. Links are not followed: they may lead in circles, or out of the folder.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use rustix::fs::{Mode, OFlags};

use crate::{Error, Fetched, Listing, SourceEntry, SourceLimits};

/// So often a file is waited for that is being written.
const MOST_WAITS: u32 = 3;

/// A folder.
#[derive(Clone)]
pub(crate) struct Folder {
    root: PathBuf,
    limits: SourceLimits,
}

/// What reading a file once came to.
enum Attempt {
    Done(Fetched),
    /// It was written to just now.
    Wait(Duration),
}

impl Folder {
    pub(crate) fn at(path: &str, limits: SourceLimits) -> Self {
        Self { root: PathBuf::from(path), limits }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) async fn list(&self) -> Result<Listing, Error> {
        let root = self.root.clone();
        blocking(move || {
            let mut listing = Listing::default();
            // Without the folder itself, nothing is known of what was in it.
            let top = std::fs::read_dir(&root).map_err(|source| unread(&root, source))?;
            walk(&root, top, &mut listing);
            Ok(listing)
        })
        .await
    }

    pub(crate) async fn fetch(&self, entry: &SourceEntry) -> Result<Fetched, Error> {
        for _ in 0..=MOST_WAITS {
            let (folder, entry) = (self.clone(), entry.clone());
            match blocking(move || folder.attempt(&entry)).await? {
                Attempt::Done(fetched) => return Ok(fetched),
                Attempt::Wait(pause) => tokio::time::sleep(pause).await,
            }
        }
        Ok(Fetched::Changing)
    }

    fn attempt(&self, entry: &SourceEntry) -> Result<Attempt, Error> {
        let path = self.root.join(&entry.path);
        let mut file = match open_beneath(&self.root, &entry.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Attempt::Done(Fetched::Gone)),
            Err(error) => return Err(unread(&path, error)),
        };
        let before = file.metadata().map_err(|source| unread(&path, source))?;
        if !before.is_file() {
            return Ok(Attempt::Done(Fetched::Gone));
        }
        if before.len() > self.limits.largest {
            return Ok(Attempt::Done(Fetched::TooLarge));
        }
        if let Some(pause) = self.unsettled(&before) {
            return Ok(Attempt::Wait(pause));
        }
        let mut bytes = Vec::new();
        let limit = self.limits.largest + 1;
        (&mut file).take(limit).read_to_end(&mut bytes).map_err(|source| unread(&path, source))?;
        // Whoever replaces a file leaves the one that was opened as it is: the path tells.
        let after = std::fs::symlink_metadata(&path).ok().filter(|after| mark(after) == mark(&before));
        if after.is_none() || bytes.len() as u64 != before.len() {
            return Ok(Attempt::Done(Fetched::Changing));
        }
        Ok(Attempt::Done(Fetched::Content { bytes: Bytes::from(bytes), mark: mark(&before) }))
    }

    /// How long to wait for a file that was written to just now. The clock may have been set since: then nothing is known.
    fn unsettled(&self, metadata: &Metadata) -> Option<Duration> {
        let written =
            Duration::new(u64::try_from(metadata.ctime()).ok()?, u32::try_from(metadata.ctime_nsec()).ok()?);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
        self.limits.settle.checked_sub(now.checked_sub(written)?).filter(|pause| !pause.is_zero())
    }
}

/// Changes whenever a file is written, replaced, or set to another time.
fn mark(metadata: &Metadata) -> String {
    format!(
        "{} {}.{:09} {}.{:09} {}",
        metadata.len(),
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.ctime(),
        metadata.ctime_nsec(),
        metadata.ino()
    )
}

fn walk(root: &Path, entries: std::fs::ReadDir, listing: &mut Listing) {
    let mut left = vec![entries];
    while let Some(entries) = left.pop() {
        for entry in entries {
            let look = || -> io::Result<Option<(PathBuf, Metadata)>> {
                let entry = entry?;
                let metadata = match entry.metadata() {
                    // It went meanwhile.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                    other => other?,
                };
                Ok(Some((entry.path(), metadata)))
            };
            let (path, metadata) = match look() {
                Ok(Some(found)) => found,
                Ok(None) => continue,
                Err(error) => {
                    listing.problem = Some(unread(root, error).to_string());
                    continue;
                }
            };
            let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
            if metadata.is_dir() && !hidden {
                match std::fs::read_dir(&path) {
                    Ok(entries) => left.push(entries),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => {
                        listing.problem = Some(format!("{} cannot be read: {error}", path.display()));
                    }
                }
            } else if metadata.is_file() && !hidden {
                let relative = path.strip_prefix(root).ok().and_then(Path::to_str);
                match relative {
                    Some(relative) => listing.entries.push(SourceEntry {
                        path: relative.to_owned(),
                        mark: mark(&metadata),
                        bytes: Some(metadata.len()),
                    }),
                    None => {
                        listing.problem = Some(format!("the name of {} is not in UTF-8", path.display()));
                    }
                }
            }
        }
    }
}

/// Opens a file below a folder without following links: whoever may write there must not lead out of it.
#[cfg(target_os = "linux")]
fn open_beneath(root: &Path, relative: &str) -> io::Result<File> {
    use rustix::fs::{ResolveFlags, open, openat2};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let folder = open(root, flags | OFlags::DIRECTORY, Mode::empty())?;
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    // A pipe must not be waited for.
    match openat2(&folder, relative, flags | OFlags::NONBLOCK, Mode::empty(), beneath) {
        Ok(file) => Ok(File::from(file)),
        // A link where there was a file.
        Err(rustix::io::Errno::LOOP | rustix::io::Errno::XDEV) => Err(io::ErrorKind::NotFound.into()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn open_beneath(root: &Path, relative: &str) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    Ok(File::from(rustix::fs::open(root.join(relative), flags, Mode::empty())?))
}

fn unread(path: &Path, source: io::Error) -> Error {
    Error::File { path: path.display().to_string(), source }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let ended = tokio::task::spawn_blocking(work).await;
    ended.unwrap_or_else(|error| {
        Err(Error::File { path: "the folder".to_owned(), source: io::Error::other(error) })
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    const LIMITS: SourceLimits = SourceLimits { largest: 100, settle: Duration::ZERO };

    fn folder(settle: Duration) -> (tempfile::TempDir, Folder) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_string_lossy().into_owned();
        (folder, Folder::at(&path, SourceLimits { settle, ..LIMITS }))
    }

    #[tokio::test]
    async fn files_are_listed_below_the_folder_and_links_are_not_followed() {
        let (root, source) = folder(Duration::ZERO);
        fs::create_dir_all(root.path().join("a/.hidden")).unwrap();
        for path in ["a/one.md", "two.md", "a/.hidden/three.md"] {
            fs::write(root.path().join(path), path).unwrap();
        }
        symlink("/etc/passwd", root.path().join("passwd.md")).unwrap();
        symlink(root.path(), root.path().join("a/again")).unwrap();
        let mut paths: Vec<String> =
            source.list().await.unwrap().entries.into_iter().map(|entry| entry.path).collect();
        paths.sort();
        assert_eq!(paths, ["a/one.md", "two.md"]);
        // Also if a link takes the place of what was listed.
        for path in ["passwd.md", "a/again/two.md", "../../../etc/passwd"] {
            let entry = SourceEntry { path: path.to_owned(), mark: String::new(), bytes: None };
            assert_eq!(source.fetch(&entry).await.unwrap(), Fetched::Gone, "{path}");
        }
    }

    #[tokio::test]
    async fn a_mark_changes_with_the_file_also_if_its_time_does_not() {
        let (root, source) = folder(Duration::ZERO);
        let path = root.path().join("a.md");
        fs::write(&path, "one").unwrap();
        let before = source.list().await.unwrap().entries.remove(0);
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        fs::write(&path, "two").unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        let after = source.list().await.unwrap().entries.remove(0);
        assert_ne!(before.mark, after.mark);
        let Fetched::Content { bytes, mark } = source.fetch(&after).await.unwrap() else { panic!() };
        assert_eq!((&*bytes, mark), (&b"two"[..], after.mark));
    }

    #[tokio::test]
    async fn a_file_that_is_being_written_is_waited_for() {
        let (root, source) = folder(Duration::from_millis(300));
        fs::write(root.path().join("a.md"), "half").unwrap();
        let entry = source.list().await.unwrap().entries.remove(0);
        let writer = async {
            tokio::time::sleep(Duration::from_millis(150)).await;
            fs::write(root.path().join("a.md"), "half and half").unwrap();
        };
        let (fetched, ()) = futures_util::join!(source.fetch(&entry), writer);
        let Fetched::Content { bytes, .. } = fetched.unwrap() else { panic!() };
        assert_eq!(&*bytes, b"half and half");
    }

    #[tokio::test]
    async fn a_folder_that_is_not_there_is_no_empty_folder() {
        let source = Folder::at("/nowhere/at/all", LIMITS);
        let missing = source.list().await.unwrap_err();
        assert_eq!(missing.to_string(), "/nowhere/at/all cannot be read");
    }

    #[tokio::test]
    async fn what_is_too_large_is_not_read() {
        let (root, source) = folder(Duration::ZERO);
        fs::write(root.path().join("a.md"), "x".repeat(101)).unwrap();
        let entry = source.list().await.unwrap().entries.remove(0);
        assert_eq!(source.fetch(&entry).await.unwrap(), Fetched::TooLarge);
    }
}
