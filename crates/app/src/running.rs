//! The server that uses a data folder: where it listens and the key of the terminal beside it, in a file that only the folder's
//! owner can read. Whoever can read the folder can read everything in it, so this key acts for any tenant.

use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use ibid_core::Secret;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The header in which the terminal says for whom it asks, as JSON of a scope.
pub const SCOPE_HEADER: &str = "x-ibid-scope";
/// What the key of the terminal begins with. A server refuses one that is not its own.
pub const LOCAL_KEY_PREFIX: &str = "ibid_local_";
const FILE: &str = "server.json";

/// Where a server proves that it has the key, and the name of the number that it is asked with.
pub const LOCAL_PROOF_PATH: &str = "/local";

/// How to reach the server that uses a data folder.
#[derive(Debug, Clone)]
pub struct RunningServer {
    /// Its address, as a URL.
    pub url: String,
    /// The key of the terminal.
    pub key: Secret,
}

/// The file that says so. It is removed when this is dropped.
#[derive(Debug)]
pub struct RunningServerFile(PathBuf);

#[derive(Serialize, Deserialize)]
struct Written {
    url: String,
    key: String,
}

impl RunningServer {
    /// A server that listens on an address, with a new key.
    pub fn on(address: SocketAddr) -> Self {
        // One that listens everywhere is reached on this machine's own address.
        let ip = match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        let url = format!("http://{}", SocketAddr::new(ip, address.port()));
        Self { url, key: Secret::random(LOCAL_KEY_PREFIX) }
    }

    /// The server that uses a data folder, as it was last said. It may have been killed since, and another may listen in
    /// its place: the right one can tell the [proof](local_proof) of any number.
    ///
    /// # Errors
    /// Fails when the file is there and may not be read.
    pub fn find(data: &Path) -> io::Result<Option<Self>> {
        let text = match std::fs::read(data.join(FILE)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let written: Option<Written> = serde_json::from_slice(&text).ok();
        Ok(written.map(|Written { url, key }| Self { url, key: Secret::new(&key) }))
    }

    /// Says so in the data folder.
    ///
    /// # Errors
    /// Fails when the file cannot be written.
    pub fn write(&self, data: &Path) -> io::Result<RunningServerFile> {
        let written = Written { url: self.url.clone(), key: self.key.reveal().to_owned() };
        // A temporary file is its owner's alone from the beginning, and nobody reads half of it.
        let mut file = tempfile::NamedTempFile::new_in(data)?;
        file.write_all(&serde_json::to_vec(&written)?)?;
        let path = data.join(FILE);
        file.persist(&path)?;
        Ok(RunningServerFile(path))
    }
}

/// What only who has the key can tell of a number, without telling the key.
pub fn local_proof(key: &Secret, number: &str) -> String {
    let hash = Sha256::digest(format!("{}:{number}", key.reveal()).as_bytes());
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Drop for RunningServerFile {
    fn drop(&mut self) {
        // Left behind, it leads nowhere: whoever asks finds that out.
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn only_the_owner_can_read_where_the_server_is_and_the_file_goes_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let server = RunningServer::on("0.0.0.0:8123".parse().unwrap());
        assert_eq!(server.url, "http://127.0.0.1:8123");
        assert!(RunningServer::find(folder.path()).unwrap().is_none());
        let file = server.write(folder.path()).unwrap();
        let mode = std::fs::metadata(folder.path().join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let found = RunningServer::find(folder.path()).unwrap().unwrap();
        assert_eq!((found.url, found.key.reveal()), (server.url.clone(), server.key.reveal()));
        drop(file);
        assert!(RunningServer::find(folder.path()).unwrap().is_none());
    }
}
