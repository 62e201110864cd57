//! Real documents and test sets that are too large for the project.

use std::path::{Path, PathBuf};

/// A file or folder of the test data, which lies in `../shared/data` beside the project or where
/// `IBID_TEST_DATA` says. None, with a word about it, where there is no such data: the tests that need it then
/// check nothing.
///
/// # Panics
/// Fails the test when there is test data and this part of it is missing.
#[allow(clippy::print_stderr, reason = "a test that checks nothing says so")]
pub fn shared_data(name: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var("IBID_TEST_DATA").map_or_else(|_| beside(), PathBuf::from);
    if !folder.exists() {
        eprintln!("there is no test data in {}; what needs {name} is not checked", folder.display());
        return None;
    }
    let path = folder.join(name);
    assert!(path.exists(), "{} is missing", path.display());
    Some(path)
}
