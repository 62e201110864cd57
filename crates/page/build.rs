//! Writes down which files `files/` has, so that they become part of the binary.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = Path::new(&given("CARGO_MANIFEST_DIR")?).join("files");
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    walk(&folder, "", &mut files)?;
    files.sort();
    let mut list = String::from("static FILES: &[File] = &[\n");
    for (address, file) in &files {
        let compressed = PathBuf::from(format!("{}.gz", file.display()));
        let compressed = match compressed.is_file() {
            true => format!("Some(include_bytes!({compressed:?}))"),
            false => "None".to_owned(),
        };
        let (kind, content) = (kind(file), format!("include_bytes!({file:?})"));
        let line =
            format!("address: {address:?}, kind: {kind:?}, content: {content}, compressed: {compressed}");
        writeln!(list, "    File {{ {line} }},").map_err(io::Error::other)?;
    }
    list.push_str("];\n");
    fs::write(Path::new(&given("OUT_DIR")?).join("files.rs"), list)
}

/// What cargo says when this runs: two checkouts may share what was compiled.
fn given(name: &str) -> io::Result<OsString> {
    env::var_os(name).ok_or_else(|| io::Error::other(format!("cargo does not say {name}")))
}

/// Collects files with their addresses. What is compressed stands beside what is not, and has no address of its own.
fn walk(folder: &Path, under: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let address = format!("{under}/{name}");
        if path.is_dir() {
            walk(&path, &address, files)?;
        } else if !name.starts_with('.') && !name.ends_with(".gz") {
            files.push((address, path));
        }
    }
    Ok(())
}

fn kind(file: &Path) -> &'static str {
    match file.extension().and_then(|end| end.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("wasm") => "application/wasm",
        _ => "application/octet-stream",
    }
}
