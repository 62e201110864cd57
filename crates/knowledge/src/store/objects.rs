//! Where a store is, and the objects that lie there beside its tables.

use std::collections::{HashMap, VecDeque};
use std::fs::DirBuilder;
use std::ops::Range;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures_util::TryStreamExt;
use lance::cache::{CacheBackend as _, QuickCacheBackend, QuickCacheShardPolicy};
use lance::io::{
    ObjectStore, ObjectStoreParams, ObjectStoreRegistry, StorageOptionsAccessor, WrappingObjectStore,
};
use lance::session::{CacheSpec, Session};
use object_store::ObjectStoreExt as _;
use object_store::path::Path as Key;
use tokio::io::AsyncWrite;
use tokio::sync::Mutex;

use super::disk::{Disk, LocalDisk, LocalFolder};
use crate::content::ContentHasher;
use crate::{ContentHash, Error};

/// Memory for what indexes are searched with, in bytes.
const INDEX_CACHE: usize = 1 << 30;
/// Memory for what tables consist of, in bytes.
const METADATA_CACHE: usize = 128 << 20;
/// Once so many files of indexes were removed, the cache lets go of all: it knows nothing of the removal, and keeps their words in
/// memory and the files open, which keeps them on the disk.
const MOST_REMOVED: u64 = 500;

/// So many copies of objects are kept on this machine.
const MOST_COPIES: usize = 4;

/// Copies of objects by their names, the newest first.
type Copies = VecDeque<(String, Arc<LocalFile>)>;

/// What is known of an object without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobInfo {
    /// Its name.
    pub name: String,
    /// How large it is.
    pub bytes: u64,
    /// Changes whenever it is written.
    pub mark: String,
}

/// A folder, on this machine or on object storage.
#[derive(Clone)]
pub struct BlobStore {
    root: String,
    /// The folder, if it is on this machine.
    folder: Option<Arc<LocalFolder>>,
    options: HashMap<String, String>,
    session: Arc<Session>,
    index_cache: Arc<QuickCacheBackend>,
    /// How many files of indexes were removed since the cache was emptied.
    removed: Arc<AtomicU64>,
    store: Arc<ObjectStore>,
    base: Key,
    copies: Arc<Mutex<Copies>>,
}

impl BlobStore {
    /// Goes to a folder or URL; a folder is made if it does not exist. Options are those of object storage, such as
    /// `endpoint` and `access_key_id`.
    ///
    /// # Errors
    /// Fails when the place cannot be reached.
    pub async fn at(place: &str, options: HashMap<String, String>) -> Result<Self, Error> {
        Self::on(place, options, Arc::new(LocalDisk::default())).await
    }

    pub(super) async fn on(
        place: &str,
        options: HashMap<String, String>,
        disk: Arc<dyn Disk>,
    ) -> Result<Self, Error> {
        let folder = match place.split_once("://") {
            None => Some(PathBuf::from(place)),
            Some(("file", path)) => Some(PathBuf::from(path)),
            Some(("s3", _)) => None,
            Some(_) => return Err(Error::Location(place.to_owned())),
        };
        let root = match &folder {
            Some(folder) => {
                // What documents say is for the user who runs ibid, and nobody else on the machine.
                DirBuilder::new()
                    .recursive(true)
                    .mode(0o700)
                    .create(folder)
                    .map_err(Error::file(format!("cannot make {}", folder.display())))?;
                let whole = folder
                    .canonicalize()
                    .map_err(Error::file(format!("cannot find {}", folder.display())))?;
                whole.to_string_lossy().into_owned()
            }
            None => place.trim_end_matches('/').to_owned(),
        };
        let index_cache =
            Arc::new(QuickCacheBackend::with_shard_policy(INDEX_CACHE, QuickCacheShardPolicy::Single));
        let session = Arc::new(Session::with_cache_backends(
            CacheSpec::Backend(index_cache.clone()),
            CacheSpec::Size(METADATA_CACHE),
            Arc::new(ObjectStoreRegistry::default()),
        ));
        let folder = folder.map(|_| Arc::new(LocalFolder::new(PathBuf::from(&root), disk)));
        let params = params(&options, folder.clone());
        let (store, base) =
            ObjectStore::from_uri_and_params(session.store_registry(), &root, &params).await?;
        let (removed, copies) = (Arc::default(), Arc::default());
        Ok(Self { folder, root, options, session, index_cache, removed, store, base, copies })
    }

    /// The address of a table.
    pub(crate) fn table(&self, name: &str) -> String {
        format!("{}/{name}.lance", self.root)
    }

    pub(crate) fn params(&self) -> ObjectStoreParams {
        params(&self.options, self.folder.clone())
    }

    pub(crate) fn session(&self) -> Arc<Session> {
        self.session.clone()
    }

    /// Notes that files of indexes were removed.
    pub(super) async fn removed_index_files(&self, files: u64) {
        if self.removed.fetch_add(files, Ordering::Relaxed) + files >= MOST_REMOVED {
            self.let_go_of_removed_indexes().await;
        }
    }

    /// Lets go of indexes whose files were removed; those that are there are read again when they are searched.
    pub(super) async fn let_go_of_removed_indexes(&self) {
        if self.removed.swap(0, Ordering::Relaxed) > 0 {
            self.index_cache.clear().await;
        }
    }

    /// How many bytes the caches hold.
    pub(crate) fn cached(&self) -> u64 {
        self.session.size_bytes()
    }

    fn key(&self, name: &str) -> Key {
        let parts = name.split('/').filter(|part| !part.is_empty());
        parts.fold(self.base.clone(), |key, part| key.join(part))
    }

    /// Keeps an object, in place of the one that had its name. It is safe then, also when the power fails.
    ///
    /// # Errors
    /// Fails when the place cannot be written.
    pub async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        match &self.folder {
            Some(folder) => folder.put(&self.key(name), bytes).await.map_err(lance::Error::from)?,
            None => drop(self.store.put(&self.key(name), bytes).await?),
        }
        Ok(())
    }

    /// An object, or none if there is no such one.
    ///
    /// # Errors
    /// Fails when the place cannot be read.
    pub async fn get(&self, name: &str) -> Result<Option<Bytes>, Error> {
        match self.store.read_one_all(&self.key(name)).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether there is such an object.
    ///
    /// # Errors
    /// Fails when the place cannot be read.
    pub async fn has(&self, name: &str) -> Result<bool, Error> {
        Ok(self.store.exists(&self.key(name)).await?)
    }

    /// Removes an object, if it is there.
    ///
    /// # Errors
    /// Fails when the place cannot be written.
    pub async fn remove(&self, name: &str) -> Result<(), Error> {
        match self.store.delete(&self.key(name)).await {
            Err(error) if !error.is_not_found() => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// The names of the objects whose name begins with a folder, relative to that folder.
    ///
    /// # Errors
    /// Fails when the place cannot be read.
    pub async fn list(&self, folder: &str) -> Result<Vec<String>, Error> {
        Ok(self.list_infos(folder).await?.into_iter().map(|info| info.name).collect())
    }

    /// The same with what is known of each.
    ///
    /// # Errors
    /// Fails when the place cannot be read.
    pub async fn list_infos(&self, folder: &str) -> Result<Vec<BlobInfo>, Error> {
        let key = self.key(folder);
        let mut objects = self.store.list(Some(key.clone()));
        let mut infos = Vec::new();
        loop {
            match objects.try_next().await {
                Ok(Some(meta)) => {
                    if let Some(parts) = meta.location.prefix_match(&key) {
                        let parts: Vec<String> = parts.map(|part| part.as_ref().to_owned()).collect();
                        let changed = meta.last_modified.timestamp_micros();
                        let mark = format!("{changed} {}", meta.e_tag.unwrap_or_default());
                        infos.push(BlobInfo { name: parts.join("/"), bytes: meta.size, mark });
                    }
                }
                Ok(None) => break,
                Err(error) if error.is_not_found() => break,
                Err(error) => return Err(error.into()),
            }
        }
        infos.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(infos)
    }

    /// A part of an object, or none if there is no such object.
    ///
    /// # Errors
    /// Fails when the place cannot be read.
    pub async fn read(&self, name: &str, range: Range<u64>) -> Result<Option<Bytes>, Error> {
        if range.is_empty() {
            return Ok(self.has(name).await?.then(Bytes::new));
        }
        match self.store.inner.get_range(&self.key(name), range).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(lance::Error::from(error).into()),
        }
    }

    /// The hash of what an object holds, read piece by piece, or none if there is no such object.
    pub(super) async fn hash(&self, name: &str) -> Result<Option<ContentHash>, Error> {
        const PIECE_BYTES: u64 = 4 << 20;
        let bytes = match self.store.size(&self.key(name)).await {
            Ok(bytes) => bytes,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let (mut hash, mut from) = (ContentHasher::default(), 0);
        while from < bytes {
            let to = bytes.min(from + PIECE_BYTES);
            let Some(piece) = self.read(name, from..to).await? else { return Ok(None) };
            hash.add(&piece);
            from = to;
        }
        Ok(Some(hash.finish()))
    }

    /// Writes an object piece by piece. It is there once the writer is shut down, and safe after [`sync`](Self::sync).
    ///
    /// # Errors
    /// Fails when the place cannot be written.
    pub async fn writer(&self, name: &str) -> Result<impl AsyncWrite + Unpin + use<>, Error> {
        Ok(self.store.create(&self.key(name)).await?)
    }

    /// Returns when everything that was written is safe, also when the power fails.
    ///
    /// # Errors
    /// Fails when the disk does.
    pub async fn sync(&self) -> Result<(), Error> {
        match &self.folder {
            Some(folder) => folder.sync().await.map_err(Error::file("the disk cannot keep what was written")),
            None => Ok(()),
        }
    }

    /// An object that never changes as a file of this machine: the one that it is, or a copy. A few copies are
    /// kept, since a document is read in many steps.
    pub(crate) async fn as_file(&self, name: &str) -> Result<Arc<LocalFile>, Error> {
        if let Some(folder) = &self.folder {
            return Ok(Arc::new(LocalFile { path: folder.path().join(name), _copy: None }));
        }
        if let Some((_, copy)) = self.copies.lock().await.iter().find(|(kept, _)| kept == name) {
            return Ok(copy.clone());
        }
        let bytes =
            self.get(name).await?.ok_or_else(|| Error::Damaged(format!("the object {name} is missing")))?;
        let copy = tempfile::NamedTempFile::new().map_err(Error::file("cannot make a temporary file"))?;
        tokio::fs::write(copy.path(), &bytes).await.map_err(Error::file("cannot write a temporary file"))?;
        let copy = Arc::new(LocalFile { path: copy.path().to_owned(), _copy: Some(copy) });
        let mut copies = self.copies.lock().await;
        copies.push_front((name.to_owned(), copy.clone()));
        copies.truncate(MOST_COPIES);
        Ok(copy)
    }
}

fn params(options: &HashMap<String, String>, folder: Option<Arc<LocalFolder>>) -> ObjectStoreParams {
    let accessor = || Arc::new(StorageOptionsAccessor::with_static_options(options.clone()));
    ObjectStoreParams {
        storage_options_accessor: (!options.is_empty()).then(accessor),
        object_store_wrapper: folder.map(|folder| -> Arc<dyn WrappingObjectStore> { folder }),
        ..Default::default()
    }
}

/// A file to read from.
pub(crate) struct LocalFile {
    path: PathBuf,
    _copy: Option<tempfile::NamedTempFile>,
}

impl LocalFile {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}
