//! Files of this machine that are safe once the store says so, also when the power fails. Lance writes files and then a manifest that
//! names them, and asks the disk for nothing: here everything is safe before a manifest tells of it, and then the manifest.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use lance::io::WrappingObjectStore;
use object_store::list::PaginatedListStore;
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt as _, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result,
};
use tokio::task::spawn_blocking;

/// What keeps files when the power fails.
pub trait Disk: fmt::Debug + Send + Sync {
    /// Returns when everything is safe that was written in a folder.
    ///
    /// # Errors
    /// Fails when the disk does.
    fn sync(&self, folder: &Path) -> io::Result<()>;

    /// Is told of a file that is safe by itself.
    fn is_safe(&self, _file: &Path) {}
}

/// The disk of this machine.
#[derive(Debug, Default)]
pub(super) struct LocalDisk {
    /// Of the folder, opened once: the system tells an error of a disk to files that were open when it came.
    opened: OnceLock<File>,
}

impl Disk for LocalDisk {
    fn sync(&self, folder: &Path) -> io::Result<()> {
        let opened = match self.opened.get() {
            Some(opened) => opened,
            None => {
                let opened = File::open(folder)?;
                self.opened.get_or_init(|| opened)
            }
        };
        // Files were written by many hands, so the whole file system is asked.
        Ok(rustix::fs::syncfs(opened)?)
    }
}

/// A folder of this machine.
#[derive(Clone, Debug)]
pub(super) struct LocalFolder {
    path: PathBuf,
    disk: Arc<dyn Disk>,
    files: LocalFileSystem,
}

impl LocalFolder {
    pub(super) fn new(path: PathBuf, disk: Arc<dyn Disk>) -> Self {
        Self { path, disk, files: LocalFileSystem::new().with_fsync(true) }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file, which is safe then.
    pub(super) async fn put(&self, key: &Key, bytes: &[u8]) -> Result<()> {
        self.files.put(key, PutPayload::from(Bytes::copy_from_slice(bytes))).await?;
        self.tell(key);
        Ok(())
    }

    /// Returns when everything in it is safe.
    pub(super) async fn sync(&self) -> io::Result<()> {
        let (disk, path) = (self.disk.clone(), self.path.clone());
        spawn_blocking(move || disk.sync(&path)).await.map_err(io::Error::other)?
    }

    fn tell(&self, key: &Key) {
        if let Ok(path) = self.files.path_to_filesystem(key) {
            self.disk.is_safe(&path);
        }
    }
}

impl WrappingObjectStore for LocalFolder {
    fn wrap(&self, _prefix: &str, original: Arc<dyn ObjectStore>) -> Arc<dyn ObjectStore> {
        Arc::new(SafeManifests { original, folder: self.clone() })
    }

    fn wrap_paginated(
        &self,
        _prefix: &str,
        original: Arc<dyn PaginatedListStore>,
    ) -> Option<Arc<dyn PaginatedListStore>> {
        Some(original)
    }
}

/// What Lance writes through.
#[derive(Debug)]
struct SafeManifests {
    original: Arc<dyn ObjectStore>,
    folder: LocalFolder,
}

impl fmt::Display for SafeManifests {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.original.fmt(formatter)
    }
}

fn is_manifest(location: &Key) -> bool {
    let name = location.as_ref();
    name.ends_with(".manifest") && name.contains("/_versions/")
}

#[async_trait]
impl ObjectStore for SafeManifests {
    async fn put_opts(&self, location: &Key, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        if !is_manifest(location) {
            return self.original.put_opts(location, payload, options).await;
        }
        let failed = |error: io::Error| object_store::Error::Generic { store: "disk", source: error.into() };
        self.folder.sync().await.map_err(failed)?;
        let put = self.folder.files.put_opts(location, payload, options).await?;
        self.folder.tell(location);
        Ok(put)
    }

    async fn put_multipart_opts(
        &self,
        location: &Key,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.original.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Key, options: GetOptions) -> Result<GetResult> {
        self.original.get_opts(location, options).await
    }

    async fn get_ranges(&self, location: &Key, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.original.get_ranges(location, ranges).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Key>>) -> BoxStream<'static, Result<Key>> {
        self.original.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Key>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.original.list(prefix)
    }

    fn list_with_offset(&self, prefix: Option<&Key>, offset: &Key) -> BoxStream<'static, Result<ObjectMeta>> {
        self.original.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Key>) -> Result<ListResult> {
        self.original.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Key, to: &Key, options: CopyOptions) -> Result<()> {
        self.original.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Key, to: &Key, options: RenameOptions) -> Result<()> {
        self.original.rename_opts(from, to, options).await
    }
}
