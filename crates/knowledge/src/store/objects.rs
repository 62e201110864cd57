//! Where a store is, and the objects that lie there beside its tables.

use std::collections::{HashMap, VecDeque};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt;
use lance::io::{ObjectStore, ObjectStoreParams, ObjectStoreRegistry, StorageOptionsAccessor};
use lance::session::Session;
use object_store::path::Path as Key;
use tokio::sync::Mutex;

use crate::Error;

/// Memory for what indexes are searched with, in bytes.
const INDEX_CACHE: usize = 1 << 30;
/// Memory for what tables consist of, in bytes.
const METADATA_CACHE: usize = 128 << 20;

/// So many copies of objects are kept on this machine.
const MOST_COPIES: usize = 4;

/// Copies of objects by their names, the newest first.
type Copies = VecDeque<(String, Arc<LocalFile>)>;

/// A folder, on this machine or on object storage.
#[derive(Clone)]
pub(crate) struct BlobStore {
    root: String,
    /// The folder, if it is on this machine.
    folder: Option<PathBuf>,
    options: HashMap<String, String>,
    session: Arc<Session>,
    store: Arc<ObjectStore>,
    base: Key,
    copies: Arc<Mutex<Copies>>,
}

impl BlobStore {
    /// Goes to a folder or URL; a folder is made if it does not exist.
    pub(crate) async fn at(place: &str, options: HashMap<String, String>) -> Result<Self, Error> {
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
        let session =
            Arc::new(Session::new(INDEX_CACHE, METADATA_CACHE, Arc::new(ObjectStoreRegistry::default())));
        let params = params(&options);
        let (store, base) =
            ObjectStore::from_uri_and_params(session.store_registry(), &root, &params).await?;
        let folder = folder.map(|_| PathBuf::from(&root));
        Ok(Self { folder, root, options, session, store, base, copies: Arc::default() })
    }

    /// The address of a table.
    pub(crate) fn table(&self, name: &str) -> String {
        format!("{}/{name}.lance", self.root)
    }

    pub(crate) fn options(&self) -> &HashMap<String, String> {
        &self.options
    }

    pub(crate) fn params(&self) -> ObjectStoreParams {
        params(&self.options)
    }

    pub(crate) fn session(&self) -> Arc<Session> {
        self.session.clone()
    }

    /// How many bytes the caches hold.
    pub(crate) fn cached(&self) -> u64 {
        self.session.size_bytes()
    }

    fn key(&self, name: &str) -> Key {
        name.split('/').fold(self.base.clone(), |key, part| key.join(part))
    }

    /// Keeps an object, in place of the one that had its name.
    pub(crate) async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.store.put(&self.key(name), bytes).await?;
        Ok(())
    }

    /// An object, or none if there is no such one.
    pub(crate) async fn get(&self, name: &str) -> Result<Option<Bytes>, Error> {
        match self.store.read_one_all(&self.key(name)).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) async fn has(&self, name: &str) -> Result<bool, Error> {
        Ok(self.store.exists(&self.key(name)).await?)
    }

    /// Removes an object, if it is there.
    pub(crate) async fn remove(&self, name: &str) -> Result<(), Error> {
        match self.store.delete(&self.key(name)).await {
            Err(error) if !error.is_not_found() => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// The names of the objects whose name begins with a folder, relative to that folder.
    pub(crate) async fn list(&self, folder: &str) -> Result<Vec<String>, Error> {
        let key = self.key(folder);
        let mut names = Vec::new();
        let mut found = self.store.list(Some(key.clone()));
        loop {
            match found.try_next().await {
                Ok(Some(meta)) => {
                    if let Some(parts) = meta.location.prefix_match(&key) {
                        let parts: Vec<String> = parts.map(|part| part.as_ref().to_owned()).collect();
                        names.push(parts.join("/"));
                    }
                }
                Ok(None) => break,
                Err(error) if error.is_not_found() => break,
                Err(error) => return Err(error.into()),
            }
        }
        names.sort();
        Ok(names)
    }

    /// An object that never changes as a file of this machine: the one that it is, or a copy. A few copies are
    /// kept, since a document is read in many steps.
    pub(crate) async fn as_file(&self, name: &str) -> Result<Arc<LocalFile>, Error> {
        if let Some(folder) = &self.folder {
            return Ok(Arc::new(LocalFile { path: folder.join(name), _copy: None }));
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

fn params(options: &HashMap<String, String>) -> ObjectStoreParams {
    let accessor = || Arc::new(StorageOptionsAccessor::with_static_options(options.clone()));
    ObjectStoreParams { storage_options_accessor: (!options.is_empty()).then(accessor), ..Default::default() }
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
