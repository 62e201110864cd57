//! Backups: a moment of the conversations, the loads and the documents, in a folder or on object storage. A backup copies what no
//! earlier one has; a backup that is interrupted leaves the earlier ones as they were, and the next one goes on with what it copied.

mod archive;
mod restore;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use futures_util::{StreamExt, TryStreamExt, stream};
use ibid_engine::{EngineFile, FileSnapshot};
use ibid_knowledge::{ActiveLoads, BlobInfo, ContentHash, Store, StoreSnapshot};

pub use self::archive::{Archive, BackupInfo};
use self::archive::{BackedUpFile, Contents, PIECE_BYTES};
pub(crate) use self::restore::refuse_half_restored;
pub use self::restore::{check_backup, restore_backup};
use crate::error::{DoingExt, Error};
use crate::offline::active_loads;
use crate::settings::Settings;
use crate::store::open_store;

/// What a backup calls its parts.
const ENGINE: &str = "engine.db";
const INGESTION: &str = "ingestion.db";
const AUDIT: &str = "audit.jsonl";
const STORE: &str = "store";
/// Where databases are copied to before they are cut to pieces.
const SCRATCH: &str = "backup";

/// While documents change, a moment is looked for so often, with a pause between.
const MOST_LOOKS: u32 = 200;
const PAUSE: Duration = Duration::from_millis(50);
/// When what belongs to a moment is gone before it was copied, a new moment is taken so often.
const MOST_MOMENTS: u32 = 10;
/// So many files are copied at once.
const AT_ONCE: usize = 8;

/// What a backup is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupProgress {
    /// How many bytes of the moment are dealt with.
    pub done: u64,
    /// How many there are.
    pub total: u64,
}

/// What a backup did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupReport {
    /// The backup's name.
    pub name: String,
    /// How many files it consists of.
    pub files: usize,
    /// How many bytes it consists of.
    pub bytes: u64,
    /// How many of them no earlier backup had.
    pub copied: u64,
    /// Originals that the documents should have and have not.
    pub missing: usize,
    /// How many earlier backups were removed.
    pub removed: usize,
}

/// A moment of everything.
struct Moment {
    turns: Option<FileSnapshot>,
    loads: Option<FileSnapshot>,
    store: StoreSnapshot,
    active: ActiveLoads,
}

/// Makes a backup beside whatever uses the data folder, and then removes all but the newest `keep`, if so many are to be kept.
///
/// # Errors
/// Fails when something cannot be read or written, or when another backup of the data folder is being made.
pub async fn back_up(
    settings: &Settings,
    archive: &Archive,
    keep: Option<usize>,
    progress: &(dyn Fn(BackupProgress) + Sync),
) -> Result<BackupReport, Error> {
    settings.refuse_several_cells()?;
    refuse_half_restored(settings)?;
    if settings.engine.url.is_some() {
        return Err(Error::Settings(
            "conversations are kept in the database of `engine.url`: back that up with its own tools, such as pg_basebackup or \
             pg_dump, and the bucket or folder of the documents with those of the storage"
                .to_owned(),
        ));
    }
    let _alone = alone(settings)?;
    clear(settings)?;
    let store = open_store(settings).await?;
    let work = BackupWork {
        settings,
        archive,
        store: &store,
        known: Mutex::new(archive.newest().await?.unwrap_or_default().files),
        pieces: Mutex::new(archive.pieces().await?),
        copied: AtomicU64::new(0),
    };
    for _ in 0..MOST_MOMENTS {
        let moment = Moment::take(settings, &store).await?;
        let Some(objects) = store.objects_of(&moment.store, &moment.active).await? else { continue };
        let copied = work.copy(moment, &objects.objects, progress).await;
        clear(settings)?;
        let Some(files) = copied? else { continue };
        let contents = Contents::new(files);
        let (files, bytes) = (contents.files.len(), contents.bytes());
        let name = archive.conclude(contents).await?;
        let removed = match keep {
            Some(keep) => archive.keep_newest(keep.max(1)).await?,
            None => 0,
        };
        let copied = work.copied.load(Ordering::Relaxed);
        return Ok(BackupReport { name, files, bytes, copied, missing: objects.missing.len(), removed });
    }
    Err(Error::Failed(
        "documents are replaced and deleted faster than they can be copied; try again when fewer are"
            .to_owned(),
    ))
}

/// Removes copies that a backup left which was killed.
pub(crate) fn remove_scratch(settings: &Settings) -> Result<(), Error> {
    if !settings.scratch_folder().join(SCRATCH).exists() {
        return Ok(());
    }
    // One that works now uses it.
    alone(settings).map_or(Ok(()), |_alone| clear(settings))
}

fn clear(settings: &Settings) -> Result<(), Error> {
    match std::fs::remove_dir_all(settings.scratch_folder().join(SCRATCH)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).doing(|| "what an earlier backup left cannot be removed".to_owned())
        }
        _ => Ok(()),
    }
}

/// One backup or restore of a data folder at a time: what one has copied, another might remove.
fn alone(settings: &Settings) -> Result<std::fs::File, Error> {
    let doing = || format!("no backup of {} can be made", settings.data.display());
    let opened = std::fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(settings.data.join("backup.lock"))
        .doing(doing)?;
    match opened.try_lock() {
        Ok(()) => Ok(opened),
        Err(std::fs::TryLockError::WouldBlock) => Err(Error::Failed(
            "another backup or restore of this data folder is under way; wait for it".to_owned(),
        )),
        Err(std::fs::TryLockError::Error(error)) => Err(error).doing(doing),
    }
}

impl Moment {
    /// A moment of the databases at which the store was as it was before and after it, so that they belong together.
    async fn take(settings: &Settings, store: &Store) -> Result<Self, Error> {
        for _ in 0..MOST_LOOKS {
            let pinned = store.snapshot().await?;
            let loads = snapshot(&settings.ingestion_file())?;
            let turns = snapshot(&settings.engine_file())?;
            if store.is_newest(&pinned).await? {
                let active = match &loads {
                    Some(loads) => active_loads(loads.unfinished_jobs()?),
                    None => ActiveLoads::default(),
                };
                return Ok(Self { turns, loads, store: pinned, active });
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(Error::Failed(
            "documents change all the time, so that no moment could be taken; try again when fewer are loaded"
                .to_owned(),
        ))
    }
}

fn snapshot(path: &Path) -> Result<Option<FileSnapshot>, Error> {
    if !path.is_file() {
        return Ok(None);
    }
    Ok(Some(EngineFile::at(path).snapshot()?))
}

/// One backup being made.
struct BackupWork<'a> {
    settings: &'a Settings,
    archive: &'a Archive,
    store: &'a Store,
    /// The files of the newest backup, and those that were copied for this one, by their names.
    known: Mutex<BTreeMap<String, BackedUpFile>>,
    /// The pieces that the archive has, and how large they are.
    pieces: Mutex<HashMap<String, u64>>,
    copied: AtomicU64,
}

impl BackupWork<'_> {
    /// Copies what the archive has not. None if something of the moment is gone.
    async fn copy(
        &self,
        moment: Moment,
        objects: &[BlobInfo],
        progress: &(dyn Fn(BackupProgress) + Sync),
    ) -> Result<Option<Vec<BackedUpFile>>, Error> {
        let mut files = Vec::new();
        let scratch = self.settings.scratch_folder().join(SCRATCH);
        std::fs::create_dir_all(&scratch).doing(|| "there is no room for a copy".to_owned())?;
        let databases = [(ENGINE, moment.turns), (INGESTION, moment.loads)];
        for (name, snapshot) in databases.into_iter().filter_map(|(name, snapshot)| Some((name, snapshot?))) {
            let path = scratch.join(name);
            let to = path.clone();
            let copied = tokio::task::spawn_blocking(move || match name {
                INGESTION => snapshot.copy_without_progress_to(&to),
                _ => snapshot.copy_to(&to),
            });
            copied.await.map_err(Error::other)??;
            files.push(self.copy_file(name, &path).await?);
            tokio::fs::remove_file(&path).await.map_err(Error::other)?;
        }
        let audit = self.settings.data.join(AUDIT);
        if audit.is_file() {
            files.push(self.copy_file(AUDIT, &audit).await?);
        }
        let total: u64 = objects.iter().map(|info| info.bytes).sum();
        let done = AtomicU64::new(0);
        let copies = stream::iter(objects).map(async |info| {
            let copied = self.copy_object(info).await.map_err(Some)?;
            let done = done.fetch_add(info.bytes, Ordering::Relaxed) + info.bytes;
            progress(BackupProgress { done, total });
            Ok::<_, Option<Error>>(copied)
        });
        // The first that is gone ends it: what was copied by then is known the next time.
        let copied: Option<Vec<BackedUpFile>> = copies
            .buffered(AT_ONCE)
            .map(|copied| copied.transpose().unwrap_or(Err(None)))
            .try_collect()
            .await
            .map_or_else(|error: Option<Error>| error.map_or(Ok(None), Err), |copied| Ok(Some(copied)))?;
        let Some(copied) = copied else { return Ok(None) };
        files.extend(copied);
        Ok(Some(files))
    }

    /// Copies an object of the store, unless the archive has it. None if it is gone.
    async fn copy_object(&self, info: &BlobInfo) -> Result<Option<BackedUpFile>, Error> {
        let name = format!("{STORE}/{}", info.name);
        let known = locked(&self.known).get(&name).cloned();
        if let Some(known) =
            known.filter(|known| known.mark.as_ref() == Some(&info.mark) && self.has_all(known))
        {
            return Ok(Some(known));
        }
        let mut pieces = Vec::new();
        let mut from = 0;
        while from < info.bytes {
            let to = info.bytes.min(from + PIECE_BYTES);
            let Some(piece) = self.store.objects().read(&info.name, from..to).await? else { return Ok(None) };
            pieces.push(self.put(&piece).await?);
            from = to;
        }
        let file =
            BackedUpFile { name: name.clone(), bytes: info.bytes, mark: Some(info.mark.clone()), pieces };
        locked(&self.known).insert(name, file.clone());
        Ok(Some(file))
    }

    /// Whether the archive has all pieces of a file.
    fn has_all(&self, file: &BackedUpFile) -> bool {
        let pieces = locked(&self.pieces);
        let sizes = file.pieces.iter().map(|hash| pieces.get(hash).copied());
        sizes.sum::<Option<u64>>() == Some(file.bytes)
    }

    /// Copies a file of this machine, as long as it is now.
    async fn copy_file(&self, name: &str, path: &Path) -> Result<BackedUpFile, Error> {
        use tokio::io::AsyncReadExt as _;
        let doing = || format!("{} cannot be copied", path.display());
        let file = tokio::fs::File::open(path).await.doing(doing)?;
        let bytes = file.metadata().await.doing(doing)?.len();
        let mut file = file.take(bytes);
        let (mut pieces, mut read) = (Vec::new(), 0);
        loop {
            let mut piece = Vec::new();
            (&mut file).take(PIECE_BYTES).read_to_end(&mut piece).await.doing(doing)?;
            if piece.is_empty() {
                break;
            }
            read += piece.len() as u64;
            pieces.push(self.put(&piece).await?);
        }
        Ok(BackedUpFile { name: name.to_owned(), bytes: read, mark: None, pieces })
    }

    async fn put(&self, piece: &[u8]) -> Result<String, Error> {
        let (hash, bytes) = (ContentHash::of(piece).to_string(), piece.len() as u64);
        if locked(&self.pieces).get(&hash) != Some(&bytes) {
            self.archive.put(&hash, piece).await?;
            locked(&self.pieces).insert(hash.clone(), bytes);
            self.copied.fetch_add(bytes, Ordering::Relaxed);
        }
        Ok(hash)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The name of a backup that is made now.
fn name_of(now: SystemTime) -> String {
    humantime::format_rfc3339_millis(now).to_string().replace(':', "-")
}
