//! Fetches one file: into a part beside it, checked, and then put in its place.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use bytes::Bytes;
use futures_util::StreamExt;
use http::header::CONTENT_LENGTH;
use ibid_egress::Egress;
use sha2::{Digest, Sha256};

use super::{Progress, PullError, Tell};

pub(super) async fn download(
    egress: &Egress,
    url: &str,
    target: &Path,
    sha256: &str,
    tell: Tell<'_>,
) -> Result<(), PullError> {
    let name = target.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let request = http::Request::get(url).body(Bytes::new()).map_err(ibid_egress::Error::from)?;
    let response = egress.send(request).await?;
    if !response.status().is_success() {
        let (host, status) = (response.host().to_owned(), response.status().as_u16());
        return Err(PullError::Missing { host, file: name, status });
    }
    let total = response.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    let part = target.with_extension("part");
    let failed = |source| PullError::Write { path: part.clone(), source };
    let mut file = File::create(&part).map_err(failed)?;
    let (mut hash, mut bytes) = (Sha256::new(), 0);
    let mut body = response.into_stream();
    while let Some(piece) = body.next().await {
        let piece = piece?;
        hash.update(&piece);
        file.write_all(&piece).map_err(failed)?;
        bytes += piece.len() as u64;
        tell(Progress { file: &name, bytes, total });
    }
    file.sync_all().map_err(failed)?;
    let found: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    if found != sha256 {
        let _ = std::fs::remove_file(&part);
        return Err(PullError::Changed { file: name, found, expected: sha256.to_owned() });
    }
    std::fs::rename(&part, target).map_err(|source| PullError::Write { path: target.to_owned(), source })
}
