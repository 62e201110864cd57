//! The page as it stands in the binary: the files that `web/` was built into, by their addresses.
//!
//! They stand in `files/` when this crate is compiled. If `web/` was not built, there are none, and the server says how to
//! build it.

/// A file of the page.
#[derive(Debug)]
pub struct File {
    /// Its address, from the root of the server, such as `/assets/index.js`.
    pub address: &'static str,
    /// What it is, as MIME has it.
    pub kind: &'static str,
    /// Its content.
    pub content: &'static [u8],
    /// The same, compressed with gzip, if that is smaller.
    pub compressed: Option<&'static [u8]>,
}

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The file at an address; the page itself is at `/`.
pub fn file(address: &str) -> Option<&'static File> {
    let address = if address == "/" { "/index.html" } else { address };
    FILES.binary_search_by(|file| file.address.cmp(address)).ok().map(|found| &FILES[found])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_found_by_its_address() {
        for known in FILES {
            assert_eq!(file(known.address).map(|file| file.content), Some(known.content));
        }
        assert_eq!(file("/").is_some(), !FILES.is_empty());
        assert!(file("/nothing").is_none());
    }
}
