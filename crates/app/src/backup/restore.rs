//! From a backup to a data folder. What is restored lies in a folder of its own until it is whole, and nothing is opened before.

use std::collections::HashMap;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::{StreamExt, TryStreamExt, stream};
use ibid_knowledge::BlobStore;
use tokio::io::AsyncWriteExt as _;

use super::archive::{Archive, BackedUpFile, Contents};
use super::{AT_ONCE, AUDIT, BackupProgress, ENGINE, INGESTION, STORE, alone};
use crate::error::{DoingExt, Error};
use crate::settings::Settings;

/// Where a data folder is put together; it is there until everything is in its place.
const RESTORING: &str = "restoring";

/// Fails if a restore was begun in the data folder and not finished.
pub(crate) fn refuse_half_restored(settings: &Settings) -> Result<(), Error> {
    if settings.data.join(RESTORING).exists() {
        return Err(Error::Failed(format!(
            "a backup was not wholly restored into {}; restore it again with `ibid restore`",
            settings.data.display()
        )));
    }
    Ok(())
}

/// Reads everything of a backup and compares it with its hashes. Returns how many files it was.
///
/// # Errors
/// Fails when a piece is missing or damaged.
pub async fn check_backup(
    archive: &Archive,
    name: &str,
    progress: &(dyn Fn(BackupProgress) + Sync),
) -> Result<usize, Error> {
    let contents = archive.contents(name).await?;
    let work = RestoreWork::new(archive, &contents, progress);
    work.each(contents.in_order(), async |file| work.read(file, async |_| Ok(())).await).await?;
    Ok(contents.files.len())
}

/// Restores a backup into a data folder that holds neither conversations nor documents. Returns how many files it was.
///
/// # Errors
/// Fails when there is something already, or when a piece is missing or damaged.
pub async fn restore_backup(
    settings: &Settings,
    archive: &Archive,
    name: &str,
    progress: &(dyn Fn(BackupProgress) + Sync),
) -> Result<usize, Error> {
    let contents = archive.contents(name).await?;
    let target = RestoreTarget::open(settings).await?;
    let work = RestoreWork::new(archive, &contents, progress);
    let (objects, files): (Vec<_>, Vec<_>) =
        contents.in_order().partition(|file| object_name(file).is_some());
    work.each(files, async |file| work.write_file(file, &target.scratch).await).await?;
    // A table is there once its manifest is.
    let (last, first): (Vec<_>, Vec<_>) =
        objects.into_iter().partition(|file| file.name.ends_with(".manifest"));
    for files in [first, last] {
        work.each(files, async |file| work.write_object(file, &target.objects).await).await?;
    }
    target.conclude(settings).await?;
    Ok(contents.files.len())
}

/// The name of an object of the store, if a file is one.
fn object_name(file: &BackedUpFile) -> Option<&str> {
    file.name.strip_prefix(STORE)?.strip_prefix('/')
}

/// The files of one backup being read.
struct RestoreWork<'a> {
    archive: &'a Archive,
    progress: &'a (dyn Fn(BackupProgress) + Sync),
    total: u64,
    done: AtomicU64,
}

impl<'a> RestoreWork<'a> {
    fn new(archive: &'a Archive, contents: &Contents, progress: &'a (dyn Fn(BackupProgress) + Sync)) -> Self {
        Self { archive, progress, total: contents.bytes(), done: AtomicU64::new(0) }
    }

    /// Does some work with each of some files, a few at a time.
    async fn each<'f>(
        &self,
        files: impl IntoIterator<Item = &'f BackedUpFile>,
        work: impl AsyncFn(&'f BackedUpFile) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let works = stream::iter(files).map(async |file| {
            work(file).await.doing(|| format!("{} cannot be restored", file.name))?;
            let done = self.done.fetch_add(file.bytes, Ordering::Relaxed) + file.bytes;
            (self.progress)(BackupProgress { done, total: self.total });
            Ok::<_, Error>(())
        });
        works.buffer_unordered(AT_ONCE).try_collect().await
    }

    async fn read(
        &self,
        file: &BackedUpFile,
        mut keep: impl AsyncFnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut bytes = 0;
        for hash in &file.pieces {
            let piece = self.archive.piece(hash).await?;
            bytes += piece.len() as u64;
            keep(&piece).await?;
        }
        if bytes != file.bytes {
            return Err(Error::Failed(format!("{bytes} bytes are here of {}", file.bytes)));
        }
        Ok(())
    }

    async fn write_file(&self, file: &BackedUpFile, folder: &Path) -> Result<(), Error> {
        if ![ENGINE, INGESTION, AUDIT].contains(&file.name.as_str()) {
            return Err(Error::Failed("nobody knows what it is".to_owned()));
        }
        let mut options = tokio::fs::OpenOptions::new();
        options.create(true).truncate(true).write(true).mode(0o600);
        let mut written = options.open(folder.join(&file.name)).await.map_err(Error::other)?;
        self.read(file, async |piece| written.write_all(piece).await.map_err(Error::other)).await?;
        written.sync_all().await.map_err(Error::other)
    }

    async fn write_object(&self, file: &BackedUpFile, objects: &BlobStore) -> Result<(), Error> {
        let mut writer = objects.writer(object_name(file).unwrap_or_default()).await?;
        self.read(file, async |piece| writer.write_all(piece).await.map_err(Error::other)).await?;
        writer.shutdown().await.map_err(Error::other)
    }
}

/// Where a backup is restored to.
struct RestoreTarget {
    scratch: PathBuf,
    objects: BlobStore,
    /// Whether the store lies in the data folder, or where the settings say.
    is_inside: bool,
    /// Keeps other restores away.
    _alone: std::fs::File,
}

/// What a restore makes in the data folder, with what databases put beside themselves: a log that is left of another one would be
/// taken for this one's.
fn own_parts() -> impl Iterator<Item = String> {
    let databases = [ENGINE, INGESTION].into_iter();
    let files = databases.flat_map(|name| ["", "-wal", "-shm", "-journal"].map(|end| format!("{name}{end}")));
    files.chain([AUDIT.to_owned(), STORE.to_owned()])
}

/// The store where the settings say it is, with nothing in it but what a restore left that was interrupted, which goes.
async fn empty_store(settings: &Settings, place: &str, begun: bool) -> Result<BlobStore, Error> {
    let objects = BlobStore::at(place, settings.store.options()?).await?;
    let there = objects.list("").await?;
    if !begun && !there.is_empty() {
        let what = format!("there is something at {place} already, and nothing is overwritten");
        return Err(Error::Failed(what));
    }
    for name in there {
        objects.remove(&name).await?;
    }
    Ok(objects)
}

impl RestoreTarget {
    async fn open(settings: &Settings) -> Result<Self, Error> {
        let (data, scratch) = (&settings.data, settings.data.join(RESTORING));
        let make = |folder: &Path| {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
            made.doing(|| format!("{} cannot be made", folder.display()))
        };
        make(data)?;
        let alone = alone(settings)?;
        let begun = scratch.exists();
        let parts: Vec<PathBuf> = own_parts().map(|part| data.join(part)).collect();
        if let Some(there) = parts.iter().find(|part| !begun && part.exists()) {
            return Err(Error::Failed(format!(
                "{} is there already, and nothing is overwritten; set `data` to a new folder, or move it away",
                there.display()
            )));
        }
        let outside = match &settings.store.location {
            Some(place) => Some(empty_store(settings, place, begun).await?),
            None => None,
        };
        // What was put in its place by a restore that was interrupted goes.
        for part in parts.iter().chain([&scratch]) {
            remove(part)?;
        }
        make(&scratch)?;
        let inside = scratch.join(STORE).to_string_lossy().into_owned();
        let (is_inside, objects) = match outside {
            Some(objects) => (false, objects),
            None => (true, BlobStore::at(&inside, HashMap::new()).await?),
        };
        Ok(Self { scratch, objects, is_inside, _alone: alone })
    }

    /// Puts everything in its place.
    async fn conclude(self, settings: &Settings) -> Result<(), Error> {
        self.objects.sync().await?;
        let doing = || "what was restored cannot be put in its place".to_owned();
        let folder = std::fs::File::open(&self.scratch).doing(doing)?;
        rustix::fs::syncfs(&folder).doing(doing)?;
        let parts: &[&str] =
            if self.is_inside { &[STORE, INGESTION, AUDIT, ENGINE] } else { &[INGESTION, AUDIT, ENGINE] };
        for part in parts {
            let from = self.scratch.join(part);
            if from.exists() {
                std::fs::rename(&from, settings.data.join(part)).doing(doing)?;
            }
        }
        rustix::fs::syncfs(&folder).doing(doing)?;
        remove(&self.scratch)
    }
}

fn remove(path: &Path) -> Result<(), Error> {
    let removed = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).doing(|| format!("{} cannot be removed", path.display()))
        }
        _ => Ok(()),
    }
}
