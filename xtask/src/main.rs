//! Tasks of the repository that are longer than a line.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the terminal is this crate's output")]

mod architecture;
mod bench;
mod dist;
mod fuzz;
mod licences;
mod links;
mod site;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask TASK
  architecture   check which crate uses which, and that every file says what lives in it
  links          check that the links of the documentation lead somewhere
  fuzz SECONDS [TARGET]   try the fuzz targets, so long for each
  fuzz-keep      keep what the fuzz targets found that takes new ways
  dist [FOLDER]  make the packages: an archive, a wheel, an npm package, deb, rpm and an image
  site           make the site from docs/, in target/site; needs mdBook
  licences FILE  list what the program is made of, with the licence texts
  bench-graph    measure the graph core and the local engine beside their references
  bench-models   measure the models beside a bare client and a bare loop
  bench-knowledge DATA MOST   measure reading, loading and searching beside their references
  bench-server DOCUMENTS   measure the server under load beside the model itself and LangGraph's server";

fn main() -> ExitCode {
    let outcome = match std::env::args().nth(1).as_deref() {
        Some("architecture") => architecture::run(),
        Some("links") => links::run(),
        Some("fuzz") => fuzz::fuzz(std::env::args().skip(2)),
        Some("fuzz-keep") => fuzz::keep(),
        Some("dist") => dist::run(std::env::args().skip(2)),
        Some("site") => site::run(),
        Some("licences") => licences::run(std::env::args().skip(2)),
        Some("bench-graph") => bench::graph(),
        Some("bench-models") => bench::models(),
        Some("bench-knowledge") => bench::knowledge(std::env::args().skip(2)),
        Some("bench-server") => bench::server(std::env::args().skip(2)),
        _ => Err(anyhow::anyhow!(USAGE)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}
