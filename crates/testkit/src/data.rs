//! Real documents and test sets that are too large for the project.

use std::path::PathBuf;

/// A file or folder of the test data, which lies in `../shared/data` beside the project or where
/// `IBID_TEST_DATA` says. None, with a word about it, where there is no such data: the tests that need it then
/// check nothing.
///
/// # Panics
/// Fails the test when there is test data and this part of it is missing.
#[allow(clippy::print_stderr, reason = "a test that checks nothing says so")]
pub fn shared_data(name: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("IBID_TEST_DATA").map(PathBuf::from).or_else(beside) else {
        eprintln!("there is no test data in ../shared/data; what needs {name} is not checked");
        return None;
    };
    let path = folder.join(name);
    assert!(path.exists(), "{} is missing", path.display());
    Some(path)
}

/// `shared/data` beside the project. Tests run in the folder of their crate.
fn beside() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().map(|folder| folder.join("shared/data")).find(|folder| folder.is_dir())
}
