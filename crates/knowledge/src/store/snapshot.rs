//! A moment of a store: the objects that it consists of, to be copied while others go on writing.

use std::collections::BTreeSet;
use std::sync::Arc;

use lance::dataset::Dataset;
use lance::index::DatasetIndexExt;

use super::fsck::ActiveLoads;
use super::objects::{BlobInfo, BlobStore};
use super::table::Table;
use super::{Store, original};
use crate::document::{Document, PageCounts};
use crate::{ContentHash, Error};

/// A moment of a store.
pub struct StoreSnapshot {
    tables: Vec<(&'static str, Option<Arc<Dataset>>)>,
}

/// What a moment of a store consists of.
#[derive(Debug, Default)]
pub struct SnapshotObjects {
    /// The objects, those of tables first, which go sooner than others. None of them ever changes.
    pub objects: Vec<BlobInfo>,
    /// Originals that should be there and are not.
    pub missing: Vec<ContentHash>,
}

impl Store {
    /// The store as it is now: one version of each table. Whether they belong together, [`is_newest`](Self::is_newest) tells
    /// afterwards.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn snapshot(&self) -> Result<StoreSnapshot, Error> {
        let mut tables = Vec::new();
        for (name, table) in self.tables() {
            tables.push((name, table.newest().await?));
        }
        Ok(StoreSnapshot { tables })
    }

    /// Whether nothing was written since a moment, so that its tables belong together.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn is_newest(&self, snapshot: &StoreSnapshot) -> Result<bool, Error> {
        let version = |dataset: &Option<Arc<Dataset>>| dataset.as_ref().map(|dataset| dataset.version_id());
        for ((_, table), (_, pinned)) in self.tables().into_iter().zip(&snapshot.tables) {
            if version(&table.newest().await?) != version(pinned) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Where its objects lie.
    pub fn objects(&self) -> &BlobStore {
        &self.place
    }

    /// What a moment consists of, with the originals that loads will go on from. What loads have staged is not part of it.
    /// None if it is gone by now, since documents were replaced or deleted.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn objects_of(
        &self,
        snapshot: &StoreSnapshot,
        active: &ActiveLoads,
    ) -> Result<Option<SnapshotObjects>, Error> {
        let mut found = SnapshotObjects::default();
        for (name, dataset) in
            snapshot.tables.iter().filter_map(|(name, pinned)| Some((name, pinned.as_ref()?)))
        {
            let Some(of_table) = self.objects_of_table(name, dataset).await? else { return Ok(None) };
            found.objects.extend(of_table);
        }
        let documents = match snapshot.tables.iter().find(|(name, _)| *name == super::LEDGER) {
            Some((_, Some(ledger))) => Self::read_ledger::<PageCounts>(ledger, None).await?,
            _ => Vec::new(),
        };
        let mut contents = active.contents.clone();
        contents.extend(documents.iter().map(|document| document.content.clone()));
        contents.extend(documents.iter().filter_map(|document| document.state.pending().cloned()));
        let mut there: Vec<BlobInfo> = self.place.list_infos("originals").await?;
        there.retain(|info| contents.contains(info.name.as_str()));
        let kept: BTreeSet<&str> = there.iter().map(|info| info.name.as_str()).collect();
        found.missing.extend(
            contents.iter().filter(|content| content.is_known() && !kept.contains(&***content)).cloned(),
        );
        let rename = |info: BlobInfo| BlobInfo { name: original(&info.name), ..info };
        found.objects.extend(there.into_iter().map(rename));
        found.objects.extend(self.rows_of_catalogues(&documents).await?);
        Ok(Some(found))
    }

    pub(super) fn tables(&self) -> [(&'static str, &Table); 3] {
        [(super::LEDGER, &self.documents), (super::CHUNKS, &self.chunks), (super::ANSWERS, &self.answers)]
    }

    /// The objects that one version of a table consists of, its manifest last. None if one of them is gone.
    async fn objects_of_table(&self, name: &str, dataset: &Dataset) -> Result<Option<Vec<BlobInfo>>, Error> {
        let folder = format!("{name}.lance");
        let mut names = BTreeSet::new();
        for fragment in dataset.fragments().iter() {
            names.extend(fragment.files.iter().map(|file| format!("data/{}", file.path)));
            if let Some(deleted) = &fragment.deletion_file {
                let (read, id, suffix) = (deleted.read_version, deleted.id, deleted.file_type.suffix());
                names.insert(format!("_deletions/{}-{read}-{id}.{suffix}", fragment.id));
            }
        }
        if let Some(file) = &dataset.manifest().transaction_file {
            names.insert(format!("_transactions/{file}"));
        }
        let indexes: BTreeSet<String> =
            dataset.load_indices().await?.iter().map(|index| index.uuid.to_string()).collect();
        let manifest = dataset.manifest_location().path.filename().unwrap_or_default().to_owned();
        let manifest = format!("_versions/{manifest}");
        names.insert(manifest.clone());
        let mut listed = self.place.list_infos(&folder).await?;
        listed.retain(|info| {
            let of_index = || info.name.strip_prefix("_indices/")?.split('/').next();
            names.remove(&info.name) || of_index().is_some_and(|uuid| indexes.contains(uuid))
        });
        if !names.is_empty() {
            return Ok(None);
        }
        listed.sort_by_key(|info| info.name == manifest);
        let rename = |info: BlobInfo| BlobInfo { name: format!("{folder}/{}", info.name), ..info };
        Ok(Some(listed.into_iter().map(rename).collect()))
    }

    async fn rows_of_catalogues(&self, documents: &[Document<PageCounts>]) -> Result<Vec<BlobInfo>, Error> {
        let folder = super::catalogues::FOLDER;
        let mut found = self.place.list_infos(folder).await?;
        let versions: BTreeSet<(&str, &str)> =
            documents.iter().map(|document| (document.id.0.as_str(), &*document.content)).collect();
        found.retain(|info| {
            let mut parts = info.name.split('/');
            parts.next().zip(parts.next()).is_some_and(|version| versions.contains(&version))
        });
        Ok(found
            .into_iter()
            .map(|info| BlobInfo { name: format!("{folder}/{}", info.name), ..info })
            .collect())
    }
}
