//! Where backups lie: pieces of files under the SHA-256 of what they hold, each once, and for each backup a list of its files. The list
//! is written last, so that a backup is whole or is none.
//!
//! ```text
//! pieces/3f/3f786850e387550fdab836ed7e6dc881de23001b…
//! backups/2026-11-18T17-40-00.123Z.jsonl
//! ```

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::time::SystemTime;

use bytes::Bytes;
use ibid_knowledge::{BlobStore, ContentHash};
use serde::{Deserialize, Serialize};

use crate::error::{DoingExt, Error};
use crate::settings::Settings;

/// A file is kept in pieces of so many bytes, so that of a database that has grown the rest is not copied again.
pub(super) const PIECE_BYTES: u64 = 1 << 20;

/// The format of the lists.
const FORMAT: u32 = 1;

const BACKUPS: &str = "backups";
const PIECES: &str = "pieces";

/// A place for backups of one data folder.
pub struct Archive {
    place: BlobStore,
}

/// A backup that can be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupInfo {
    /// Its name: when it was made.
    pub name: String,
    /// How large its list is.
    pub bytes: u64,
}

/// The first line of a list.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    format: u32,
    version: String,
    files: usize,
}

/// A file of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BackedUpFile {
    pub(super) name: String,
    pub(super) bytes: u64,
    /// How it was marked where it lay: one with the same mark is the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mark: Option<String>,
    pub(super) pieces: Vec<String>,
}

/// What a backup holds.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// In the order in which they were copied.
    order: Vec<String>,
    pub(super) files: BTreeMap<String, BackedUpFile>,
}

impl Contents {
    pub(super) fn new(files: Vec<BackedUpFile>) -> Self {
        let order = files.iter().map(|file| file.name.clone()).collect();
        Self { order, files: files.into_iter().map(|file| (file.name.clone(), file)).collect() }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.files.values().map(|file| file.bytes).sum()
    }

    pub(super) fn in_order(&self) -> impl Iterator<Item = &BackedUpFile> {
        self.order.iter().filter_map(|name| self.files.get(name))
    }

    fn write(&self) -> Result<Vec<u8>, Error> {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let mut text = Vec::new();
        let mut line = |value: serde_json::Result<Vec<u8>>| -> Result<(), Error> {
            text.extend(value.map_err(Error::other)?);
            text.push(b'\n');
            Ok(())
        };
        line(serde_json::to_vec(&Header { format: FORMAT, version, files: self.files.len() }))?;
        for file in self.in_order() {
            line(serde_json::to_vec(file))?;
        }
        Ok(text)
    }

    fn read(name: &str, text: &[u8]) -> Result<Self, Error> {
        let doing = || format!("the list of the backup {name} cannot be read");
        let mut lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let header: Header = serde_json::from_slice(lines.next().unwrap_or_default()).doing(doing)?;
        if header.format > FORMAT {
            let version = header.version;
            let what =
                format!("the backup {name} was made by ibid {version}; restore it with that or a newer one");
            return Err(Error::Failed(what));
        }
        let files: Vec<BackedUpFile> =
            lines.map(serde_json::from_slice).collect::<Result<_, _>>().doing(doing)?;
        if files.len() != header.files {
            return Err(Error::Failed(format!("the list of the backup {name} is not whole")));
        }
        Ok(Self::new(files))
    }
}

impl Archive {
    /// The one in a folder, which is made if there is none, or at a URL of object storage, with the settings of the store.
    ///
    /// # Errors
    /// Fails when it cannot be reached.
    pub async fn open(settings: &Settings, place: &str) -> Result<Self, Error> {
        let doing = || format!("backups cannot be kept at {place}");
        if !place.contains("://") {
            // In a folder that others can read, too.
            for part in [PIECES, BACKUPS] {
                let mut folder = DirBuilder::new();
                folder.recursive(true).mode(0o700).create(Path::new(place).join(part)).doing(doing)?;
            }
        }
        Ok(Self { place: BlobStore::at(place, settings.store.options()?).await.doing(doing)? })
    }

    /// The backups, oldest first.
    ///
    /// # Errors
    /// Fails when the place cannot be read.
    pub async fn list(&self) -> Result<Vec<BackupInfo>, Error> {
        let listed = self.place.list_infos(BACKUPS).await?.into_iter();
        let named = listed.filter_map(|info| {
            let name = info.name.strip_suffix(".jsonl")?.to_owned();
            Some(BackupInfo { name, bytes: info.bytes })
        });
        Ok(named.collect())
    }

    /// What the newest backup holds, if there is one.
    pub(super) async fn newest(&self) -> Result<Option<Contents>, Error> {
        match self.list().await?.pop() {
            Some(newest) => Ok(Some(self.contents(&newest.name).await?)),
            None => Ok(None),
        }
    }

    /// What a backup holds.
    pub(super) async fn contents(&self, name: &str) -> Result<Contents, Error> {
        let Some(text) = self.place.get(&list_name(name)).await? else {
            return Err(Error::Unknown(format!("there is no backup {name} here")));
        };
        Contents::read(name, &text)
    }

    /// The pieces that are here, and how large they are.
    pub(super) async fn pieces(&self) -> Result<HashMap<String, u64>, Error> {
        let listed = self.place.list_infos(PIECES).await?.into_iter();
        Ok(listed.map(|info| (hash_of(&info.name).to_owned(), info.bytes)).collect())
    }

    /// Keeps a piece of a file under its hash.
    pub(super) async fn put(&self, hash: &str, piece: &[u8]) -> Result<(), Error> {
        Ok(self.place.put(&piece_name(hash), piece).await?)
    }

    /// A piece of a file, if it is there and holds what it should.
    pub(super) async fn piece(&self, hash: &str) -> Result<Bytes, Error> {
        let Some(piece) = self.place.get(&piece_name(hash)).await? else {
            return Err(Error::Failed(format!("{} is missing", piece_name(hash))));
        };
        if *ContentHash::of(&piece) != *hash {
            let name = piece_name(hash);
            let help = "remove it, and the next backup copies it again if it still can";
            return Err(Error::Failed(format!("{name} is damaged; {help}")));
        }
        Ok(piece)
    }

    /// Writes the list of a backup whose pieces are here, which makes it one; returns its name.
    pub(super) async fn conclude(&self, contents: Contents) -> Result<String, Error> {
        let (mut name, newest) = (super::name_of(SystemTime::now()), self.list().await?.pop());
        // The newest has the last name, also after the clock was put back.
        if let Some(newest) = newest.filter(|newest| newest.name >= name) {
            name = format!("{}+", newest.name);
        }
        self.place.put(&list_name(&name), &contents.write()?).await?;
        Ok(name)
    }

    /// Removes all backups but the newest ones, and pieces that no backup has. Returns how many backups went.
    pub(super) async fn keep_newest(&self, keep: usize) -> Result<usize, Error> {
        let backups = self.list().await?;
        let (old, kept) = backups.split_at(backups.len().saturating_sub(keep));
        for backup in old {
            self.place.remove(&list_name(&backup.name)).await?;
        }
        let mut used = BTreeSet::new();
        for backup in kept {
            used.extend(self.contents(&backup.name).await?.files.into_values().flat_map(|file| file.pieces));
        }
        for piece in self.place.list(PIECES).await? {
            if !used.contains(hash_of(&piece)) {
                self.place.remove(&format!("{PIECES}/{piece}")).await?;
            }
        }
        Ok(old.len())
    }
}

fn list_name(backup: &str) -> String {
    format!("{BACKUPS}/{backup}.jsonl")
}

fn hash_of(piece: &str) -> &str {
    piece.rsplit('/').next().unwrap_or_default()
}

fn piece_name(hash: &str) -> String {
    format!("{PIECES}/{}/{hash}", hash.get(..2).unwrap_or_default())
}
