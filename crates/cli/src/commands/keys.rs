//! `ibid keys`: who may use the server. Only the hash of a key is kept, so a key is printed once.

use std::io::Write;
use std::process::ExitCode;

use ibid_core::Secret;
use sha2::{Digest, Sha256};

use crate::arguments::Keys;

/// What keys begin with, so that they are known where they should not be.
const PREFIX: &str = "ibid_";

/// Makes a key.
pub(super) fn run(command: &Keys) -> anyhow::Result<ExitCode> {
    let Keys::New { name, tenant, corpus, label } = command;
    let key = Secret::random(PREFIX);
    let key = key.reveal();
    let hash: String = Sha256::digest(key.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    let list =
        |names: Vec<&str>| names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    let mut out = std::io::stdout().lock();
    writeln!(out, "{key}")?;
    eprintln!("\nThis is the key; it is not kept anywhere. In ibid.toml:\n");
    eprintln!("[serve.keys.{name}]\nsha256 = \"{hash}\"\ntenant = \"{tenant}\"");
    if !corpus.is_empty() {
        eprintln!("corpora = [{}]", list(corpus.iter().map(|corpus| corpus.as_str()).collect()));
    }
    if !label.is_empty() {
        eprintln!("labels = [{}]", list(label.iter().map(|label| label.as_str()).collect()));
    }
    Ok(ExitCode::SUCCESS)
}
