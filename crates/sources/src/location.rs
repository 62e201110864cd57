//! Where a source is, as its address says.

use ibid_core::Secret;
use url::Url;

use crate::Error;

/// What kind of place a source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// A folder of this machine, or one that is mounted here.
    Folder,
    /// Object storage with Amazon's protocol.
    S3,
    /// A WebDAV server, such as Nextcloud.
    WebDav,
    /// A web site by its sitemap, or a feed.
    Site,
}

impl SourceKind {
    /// As it is told.
    pub fn name(self) -> &'static str {
        match self {
            Self::Folder => "folder",
            Self::S3 => "s3",
            Self::WebDav => "webdav",
            Self::Site => "site",
        }
    }
}

/// How somebody shows who they are: for S3, a key id and a key; for WebDAV, a name and a password.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// The name.
    pub name: Option<String>,
    /// The secret that belongs to it.
    pub secret: Option<Secret>,
}

/// Where a source is.
#[derive(Clone, Debug)]
pub struct SourceLocation {
    kind: SourceKind,
    address: String,
    /// The address of the object storage, if it is not Amazon's.
    pub endpoint: Option<String>,
    /// Its region.
    pub region: Option<String>,
    /// Who reads it.
    pub credentials: Credentials,
}

impl SourceLocation {
    /// Reads an address: a path, `s3://bucket/folder`, `webdav+https://host/folder`, or the URL of a site, a sitemap or a feed.
    ///
    /// # Errors
    /// Fails when it is none of these.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let invalid = |why: &str| Error::Location { location: without_userinfo(text), why: why.to_owned() };
        let (kind, address) = match text.split_once("://") {
            None if text.is_empty() => return Err(invalid("it is empty")),
            None => (SourceKind::Folder, text.to_owned()),
            Some(("file", path)) => (SourceKind::Folder, path.to_owned()),
            Some(("s3", _)) => (SourceKind::S3, text.to_owned()),
            Some(("webdav+http" | "webdav+https", _)) => {
                (SourceKind::WebDav, text.trim_start_matches("webdav+").to_owned())
            }
            Some(("http" | "https", _)) => (SourceKind::Site, text.to_owned()),
            Some(_) => {
                return Err(invalid(
                    "it is a path, s3://…, webdav+https://…, or the https:// address of a site",
                ));
            }
        };
        if kind != SourceKind::Folder {
            let url = Url::parse(&address).map_err(|error| invalid(&error.to_string()))?;
            if url.host_str().is_none_or(str::is_empty) {
                return Err(invalid("it names no host or bucket"));
            }
            if !url.username().is_empty() || url.password().is_some() {
                return Err(invalid(
                    "an address must not carry a name or password: name the variables that do",
                ));
            }
        }
        Ok(Self { kind, address, endpoint: None, region: None, credentials: Credentials::default() })
    }

    /// What kind of place it is.
    pub fn kind(&self) -> SourceKind {
        self.kind
    }

    /// The path or URL.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }
}

/// A password in an address is not repeated.
fn without_userinfo(text: &str) -> String {
    match text.split_once("://") {
        Some((scheme, rest)) => {
            let host = rest.split('/').next().unwrap_or(rest);
            match host.rsplit_once('@') {
                Some((userinfo, _)) => format!("{scheme}://…{}", &rest[userinfo.len()..]),
                None => text.to_owned(),
            }
        }
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_tells_what_kind_of_place_it_is() {
        for (text, kind) in [
            ("/srv/contracts", SourceKind::Folder),
            ("contracts", SourceKind::Folder),
            ("file:///srv/contracts", SourceKind::Folder),
            ("s3://bucket/folder", SourceKind::S3),
            ("webdav+https://cloud.example.com/remote.php/dav", SourceKind::WebDav),
            ("https://www.example.com/sitemap.xml", SourceKind::Site),
        ] {
            assert_eq!(SourceLocation::parse(text).unwrap().kind(), kind, "{text}");
        }
        for text in ["", "ftp://example.com/", "s3://", "https://me:secret@example.com/"] {
            let refused = SourceLocation::parse(text).unwrap_err().to_string();
            assert!(!refused.contains("secret"), "{refused}");
        }
    }
}
