//! Places whose documents are kept in step: folders, object storage, WebDAV and web sites. A [`DocumentSource`] lists what there is, with a
//! mark that changes with each file, and brings the content of one. It decides nothing and remembers nothing.
//!
//! Everything over HTTP goes through an [`Egress`](ibid_egress::Egress) that reaches the host of the source only.

mod error;
mod folder;
mod location;
mod pattern;
mod site;
mod storage;
mod transport;
mod watch;

use std::time::Duration;

use bytes::Bytes;

pub use error::Error;
pub use location::{Credentials, SourceKind, SourceLocation};
pub use pattern::{InvalidPattern, PathPattern, PathPatterns};
pub use watch::SourceWatch;

use folder::Folder;
use site::Site;
use storage::Storage;

/// A place whose documents are kept in step.
pub struct DocumentSource {
    place: SourcePlace,
    patterns: PathPatterns,
}

enum SourcePlace {
    Folder(Folder),
    Storage(Storage),
    Site(Site),
}

/// How files are taken.
#[derive(Clone, Copy, Debug)]
pub struct SourceLimits {
    /// The largest file, in bytes.
    pub largest: u64,
    /// A file that was written to so recently may be half written.
    pub settle: Duration,
}

/// A file of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceEntry {
    /// Its path in the source, or its URL.
    pub path: String,
    /// Changes whenever the file does. Empty if only the file itself can tell.
    pub mark: String,
    /// How large it is, if that is known.
    pub bytes: Option<u64>,
}

/// What a source has.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// Its files.
    pub entries: Vec<SourceEntry>,
    /// Whether what it lacks may be there all the same, as what is old leaves a feed.
    pub is_partial: bool,
    /// Why a part of it could not be read. What it lacks may be there then, too.
    pub problem: Option<String>,
}

/// What became of a file that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// Its content, and the mark that belongs to it.
    Content {
        /// The content.
        bytes: Bytes,
        /// The mark.
        mark: String,
    },
    /// It is as it was, and this is its mark now.
    Unchanged {
        /// The mark.
        mark: String,
    },
    /// It is being written, or was replaced after it was listed.
    Changing,
    /// It is not there any more.
    Gone,
    /// It is larger than files may be.
    TooLarge,
}

impl DocumentSource {
    /// The source at a location, of which only files are taken that the patterns let through.
    ///
    /// # Errors
    /// Fails when the location cannot be one.
    pub fn open(
        location: &SourceLocation,
        patterns: PathPatterns,
        limits: SourceLimits,
    ) -> Result<Self, Error> {
        let place = match location.kind() {
            SourceKind::Folder => SourcePlace::Folder(Folder::at(location.address(), limits)),
            SourceKind::Site => SourcePlace::Site(Site::at(location, limits)?),
            SourceKind::S3 | SourceKind::WebDav => SourcePlace::Storage(Storage::at(location, limits)?),
        };
        Ok(Self { place, patterns })
    }

    /// What there is, ordered by path.
    ///
    /// # Errors
    /// Fails when the source cannot be read at all.
    pub async fn list(&self) -> Result<Listing, Error> {
        let mut listing = match &self.place {
            SourcePlace::Folder(folder) => folder.list().await?,
            SourcePlace::Storage(storage) => storage.list().await?,
            SourcePlace::Site(site) => site.list().await?,
        };
        let path = |entry: &SourceEntry| match &self.place {
            SourcePlace::Site(_) => site::path_of(&entry.path),
            _ => entry.path.clone(),
        };
        listing.entries.retain(|entry| self.patterns.lets_through(&path(entry)));
        listing.entries.sort_by(|a, b| a.path.cmp(&b.path));
        listing.entries.dedup_by(|a, b| a.path == b.path);
        Ok(listing)
    }

    /// Whether a file is as it was when it had this mark, as far as the list tells.
    pub fn is_same(&self, entry: &SourceEntry, mark: &str) -> bool {
        match &self.place {
            SourcePlace::Site(_) => site::is_same(entry, mark),
            _ => entry.mark == mark,
        }
    }

    /// Brings a file that was listed, unless it is as it was when it had a mark.
    ///
    /// # Errors
    /// Fails when the source cannot be read.
    pub async fn fetch(&self, entry: &SourceEntry, known: Option<&str>) -> Result<Fetched, Error> {
        match &self.place {
            SourcePlace::Folder(folder) => folder.fetch(entry).await,
            SourcePlace::Storage(storage) => storage.fetch(entry).await,
            SourcePlace::Site(site) => site.fetch(entry, known).await,
        }
    }

    /// Notices changes, where the place can tell of them.
    pub fn watch(&self) -> SourceWatch {
        match &self.place {
            SourcePlace::Folder(folder) => SourceWatch::of_folder(folder.root().to_owned()),
            _ => SourceWatch::of_nothing(),
        }
    }

    /// How many files may be fetched at once.
    pub fn at_once(&self) -> usize {
        match &self.place {
            // Whoever runs the site has other visitors, too.
            SourcePlace::Site(_) => 1,
            _ => 4,
        }
    }
}
