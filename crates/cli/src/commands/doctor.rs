//! `ibid doctor`: what is there, what is missing, and what helps.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use ibid_engine::EngineFile;

use crate::config::Loaded;

/// What came of one check.
enum Finding {
    Fine(String),
    Wrong { what: String, help: String },
}

/// Checks everything, prints one line for each, and fails if something is wrong.
pub(super) fn run(loaded: anyhow::Result<Loaded>) -> anyhow::Result<ExitCode> {
    let mut findings = vec![("version", Finding::Fine(format!("ibid {}", env!("CARGO_PKG_VERSION"))))];
    match loaded {
        Err(error) => {
            let help = "mend it there; `ibid config reference` lists all settings".to_owned();
            findings.push(("configuration", Finding::Wrong { what: crate::told(&error), help }));
        }
        Ok(loaded) => {
            let from = loaded
                .file
                .as_ref()
                .map_or("defaults, no ibid.toml here".to_owned(), |path| format!("{}", path.display()));
            findings.push(("configuration", Finding::Fine(from)));
            findings.push(("data folder", data_folder(&loaded.config.data)));
            findings.push(("engine file", engine_file(&loaded.config.engine_file())));
        }
    }
    let mut wrong = false;
    let mut out = std::io::stdout().lock();
    for (name, finding) in &findings {
        match finding {
            Finding::Fine(what) => writeln!(out, "ok     {name}: {what}")?,
            Finding::Wrong { what, help } => {
                wrong = true;
                writeln!(out, "WRONG  {name}: {what}\n       help: {help}")?;
            }
        }
    }
    Ok(if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn data_folder(path: &Path) -> Finding {
    let shown = path.display();
    if !path.exists() {
        return Finding::Fine(format!("{shown} is not there yet; it is made when it is needed"));
    }
    let probe = path.join(format!(".doctor-{}", std::process::id()));
    let written = std::fs::write(&probe, b"ibid").and_then(|()| std::fs::remove_file(&probe));
    match written {
        Ok(()) => Finding::Fine(format!("{shown} can be written")),
        Err(error) => Finding::Wrong {
            what: format!("{shown} cannot be written: {error}"),
            help: "give this user the right to write there, or set `data` to another folder".to_owned(),
        },
    }
}

fn engine_file(path: &Path) -> Finding {
    let shown = path.display();
    if !path.exists() {
        return Finding::Fine(format!("{shown} is not there yet; it is made with the first conversation"));
    }
    match EngineFile::at(path).inspect() {
        Ok(report) if report.damage.is_empty() => Finding::Fine(format!(
            "{shown} is sound: {} conversations, {} unfinished turns, {} KB, schema {}, {}",
            report.threads,
            report.unfinished,
            report.bytes / 1024,
            report.schema,
            if report.in_use { "in use by a running ibid" } else { "not in use" },
        )),
        Ok(report) => Finding::Wrong {
            what: format!("{shown} is damaged: {}", report.damage.join("; ")),
            help: "stop ibid, keep a copy of the file, and restore it from a backup".to_owned(),
        },
        Err(error) => Finding::Wrong {
            what: crate::told(&error.into()),
            help: "set `data` to another folder, or put the right file there".to_owned(),
        },
    }
}
