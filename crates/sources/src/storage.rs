//! Object storage and WebDAV, by OpenDAL.

use ibid_egress::{Egress, EgressLimits, Host, Rules};
use opendal_core::{Entry, ErrorKind, HttpTransporter, Metadata, OperationContext, Operator};
use opendal_service_s3::S3;
use opendal_service_webdav::Webdav;
use percent_encoding::percent_decode_str;
use url::Url;

use crate::transport::EgressTransport;
use crate::{Error, Fetched, Listing, SourceEntry, SourceKind, SourceLimits, SourceLocation};

/// More files than this are no source of documents.
const MOST_FILES: usize = 5_000_000;
/// What a list may take, where files themselves may be smaller, in bytes.
const LEAST_BODY: u64 = 16 << 20;
/// So often something is tried that may pass.
const MOST_ATTEMPTS: u32 = 4;
const FIRST_PAUSE: std::time::Duration = std::time::Duration::from_millis(500);
const REGION: &str = "us-east-1";

/// A storage.
pub(crate) struct Storage {
    operator: Operator,
    limits: SourceLimits,
}

impl Storage {
    pub(crate) fn at(location: &SourceLocation, limits: SourceLimits) -> Result<Self, Error> {
        let invalid = |why: String| Error::Location { location: location.address().to_owned(), why };
        let url = Url::parse(location.address()).map_err(|error| invalid(error.to_string()))?;
        let service = |url: &str| {
            let url = Url::parse(url).map_err(|error| invalid(error.to_string()))?;
            Host::of_service(&url).map_err(|error| invalid(error.to_string()))
        };
        let (operator, hosts) = match location.kind() {
            SourceKind::S3 => {
                let hosts = match &location.endpoint {
                    Some(endpoint) => vec![service(endpoint)?],
                    None => vec!["*.amazonaws.com:443".parse().map_err(ibid_egress::Error::from)?],
                };
                (Operator::new(s3(location, &url)), hosts)
            }
            _ => (Operator::new(webdav(location, &url)), vec![service(location.address())?]),
        };
        let operator = operator.map_err(|error| invalid(why(&error)))?;
        let limits_out =
            EgressLimits { body_bytes: limits.largest.max(LEAST_BODY), ..EgressLimits::default() };
        let egress = Egress::new(Rules::only(hosts), limits_out)?.untraced();
        let context =
            OperationContext::default().with_http_transport(HttpTransporter::new(EgressTransport(egress)));
        Ok(Self { operator: operator.with_context(context), limits })
    }

    pub(crate) async fn list(&self) -> Result<Listing, Error> {
        let listed = || async { self.operator.list_with("").recursive(true).await };
        let entries = patiently(listed).await.map_err(|error| failed("the list of files", &error))?;
        if entries.len() > MOST_FILES {
            let why = format!("there are more than {MOST_FILES}");
            return Err(Error::Storage { what: "the list of files".to_owned(), why });
        }
        let entries = entries.into_iter().filter(|entry| entry.metadata().is_file());
        Ok(Listing { entries: entries.map(listed_entry).collect(), ..Listing::default() })
    }

    pub(crate) async fn fetch(&self, entry: &SourceEntry) -> Result<Fetched, Error> {
        if entry.bytes.is_some_and(|bytes| bytes > self.limits.largest) {
            return Ok(Fetched::TooLarge);
        }
        let read = patiently(|| self.operator.read(&entry.path)).await;
        let bytes = match read {
            Ok(buffer) => buffer.to_bytes(),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Fetched::Gone),
            Err(error) => return Err(failed(&entry.path, &error)),
        };
        // It was the one that was listed if it still is: a change in between would show.
        match patiently(|| self.operator.stat(&entry.path)).await {
            Ok(metadata) if is_same(&mark(&metadata), &entry.mark) && fits(entry, bytes.len()) => {
                Ok(Fetched::Content { bytes, mark: entry.mark.clone() })
            }
            Ok(_) => Ok(Fetched::Changing),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Fetched::Gone),
            Err(error) => Err(failed(&entry.path, &error)),
        }
    }
}

fn fits(entry: &SourceEntry, length: usize) -> bool {
    entry.bytes.is_none_or(|bytes| bytes == length as u64)
}

fn s3(location: &SourceLocation, url: &Url) -> S3 {
    let mut s3 = S3::default()
        .bucket(url.host_str().unwrap_or_default())
        .root(&decoded(url.path()))
        .region(location.region.as_deref().unwrap_or(REGION))
        // Only what the settings name: nothing of the machine's own accounts.
        .disable_config_load()
        .disable_ec2_metadata();
    if let Some(endpoint) = &location.endpoint {
        s3 = s3.endpoint(endpoint);
    }
    match (&location.credentials.name, &location.credentials.secret) {
        (Some(name), Some(secret)) => s3.access_key_id(name).secret_access_key(secret.reveal()),
        _ => s3.skip_signature(),
    }
}

fn webdav(location: &SourceLocation, url: &Url) -> Webdav {
    let mut origin = url.clone();
    origin.set_path("");
    let mut webdav = Webdav::default().endpoint(origin.as_str()).root(&decoded(url.path()));
    match (&location.credentials.name, &location.credentials.secret) {
        (Some(name), Some(secret)) => webdav = webdav.username(name).password(secret.reveal()),
        (None, Some(secret)) => webdav = webdav.token(secret.reveal()),
        _ => {}
    }
    webdav
}

/// A path as it was before it was written into an address.
fn decoded(path: &str) -> String {
    percent_decode_str(path).decode_utf8_lossy().into_owned()
}

fn listed_entry(entry: Entry) -> SourceEntry {
    let (path, metadata) = entry.into_parts();
    SourceEntry { path, mark: mark(&metadata), bytes: Some(metadata.content_length()) }
}

/// What tells one state of a file from another: its tag where the storage gives one, else its length and time.
fn mark(metadata: &Metadata) -> String {
    let tag = metadata.etag().unwrap_or_default().trim_start_matches("W/").trim_matches('"');
    let changed = metadata.last_modified().map(|time| time.to_string()).unwrap_or_default();
    format!("{} {changed} {tag}", metadata.content_length())
}

/// Whether two marks are of one state. A list may tell parts of a second that the file itself does not.
fn is_same(one: &str, other: &str) -> bool {
    let parts = |mark: &str| mark.splitn(3, ' ').map(str::to_owned).collect::<Vec<_>>();
    let (one, other) = (parts(one), parts(other));
    let tagged = |parts: &[String]| parts.get(2).is_some_and(|tag| !tag.is_empty());
    if tagged(&one) && tagged(&other) {
        return (&one[0], &one[2]) == (&other[0], &other[2]);
    }
    let second = |parts: &[String]| parts.get(1).map(|time| time.get(..19).unwrap_or(time).to_owned());
    one.first() == other.first() && second(&one) == second(&other)
}

/// Tries again what may pass.
async fn patiently<T, F: Future<Output = opendal_core::Result<T>>>(
    mut work: impl FnMut() -> F,
) -> opendal_core::Result<T> {
    let mut pause = FIRST_PAUSE;
    for _ in 1..MOST_ATTEMPTS {
        match work().await {
            Err(error) if error.is_temporary() || error.kind() == ErrorKind::RateLimited => {
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            done => return done,
        }
    }
    work().await
}

fn failed(what: &str, error: &opendal_core::Error) -> Error {
    Error::Storage { what: what.to_owned(), why: why(error) }
}

/// What happened, without the addresses and headers that OpenDAL tells besides.
fn why(error: &opendal_core::Error) -> String {
    match error.kind() {
        ErrorKind::PermissionDenied => {
            "the storage does not let this user read it; see the variables with the name and the key"
                .to_owned()
        }
        ErrorKind::NotFound => "it is not there".to_owned(),
        _ => {
            let message = error.message();
            let first = message.lines().next().unwrap_or_default();
            first.chars().take(300).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_of_one_state_if_their_tags_are() {
        assert!(is_same("3 2026-01-01T00:00:00.5Z abc", "3 2026-01-01T00:00:00Z abc"));
        assert!(!is_same("3 2026-01-01T00:00:00Z abc", "3 2026-01-01T00:00:00Z xyz"));
        assert!(is_same("3 2026-01-01T00:00:00.5Z ", "3 2026-01-01T00:00:00Z "));
        assert!(!is_same("3 2026-01-01T00:00:00Z ", "4 2026-01-01T00:00:00Z "));
    }

    #[test]
    fn a_path_is_read_from_an_address() {
        assert_eq!(decoded("/a%20b/c%C3%B1"), "/a b/cñ");
        assert_eq!(decoded("/100%/x%2"), "/100%/x%2");
    }
}
