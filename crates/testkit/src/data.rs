//! Real documents and test sets that are too large for the project.

use std::path::PathBuf;

/// A file or folder of the test sets, which lie in `../shared/data` beside the project or where `IBID_TEST_DATA` says. Tests that
/// use it are ignored unless they are run by name: `just test-sets`.
///
/// # Panics
/// Fails the test when it is missing.
pub fn test_set(name: &str) -> PathBuf {
    let folder = std::env::var_os("IBID_TEST_DATA").map(PathBuf::from).or_else(beside);
    let folder = folder.expect("the test sets in ../shared/data, or where IBID_TEST_DATA says");
    let path = folder.join(name);
    assert!(path.exists(), "{} is missing", path.display());
    path
}

/// `shared/data` beside the project. Tests run in the folder of their crate.
fn beside() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().map(|folder| folder.join("shared/data")).find(|folder| folder.is_dir())
}
