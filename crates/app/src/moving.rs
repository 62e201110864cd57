//! Conversations and loads move between the files of a data folder and a database.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use ibid_engine::{
    CopyReport, FileKind, Graphs, PostgresEngine, PostgresSettings, copy_from_postgres, copy_to_postgres,
};

use crate::engines::with_password;
use crate::error::{DoingExt, Error};
use crate::settings::Settings;

/// Where conversations and loads are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EngineLocation {
    /// In the files of a data folder.
    Folder(PathBuf),
    /// In a database.
    Database(String),
}

impl FromStr for EngineLocation {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Database(text.to_owned()));
        }
        match text.strip_prefix("sqlite:") {
            Some(folder) if !folder.is_empty() => Ok(Self::Folder(folder.into())),
            _ => Err(Error::Settings(format!(
                "`{text}` is neither sqlite:FOLDER, with the data folder, nor postgres://user@host/database"
            ))),
        }
    }
}

/// Copies conversations and loads. What they are copied from stays as it is, and is not to be changed meanwhile: no server uses it.
///
/// # Errors
/// Fails when one of them cannot be reached or is in use, when there is something already where they are to be copied, or when what
/// was copied is not the same.
pub async fn copy_engine(
    settings: &Settings,
    from: &EngineLocation,
    to: &EngineLocation,
) -> Result<CopyReport, Error> {
    match (from, to) {
        (EngineLocation::Folder(folder), EngineLocation::Database(url)) => {
            let engine = open(settings, url).await?;
            copy_files(folder, async |file, kind| {
                if !file.is_file() {
                    return Ok(CopyReport::default());
                }
                Ok(copy_to_postgres(file, kind, &engine).await?)
            })
            .await
        }
        (EngineLocation::Database(url), EngineLocation::Folder(folder)) => {
            std::fs::create_dir_all(folder).doing(|| format!("{} cannot be made", folder.display()))?;
            let engine = open(settings, url).await?;
            copy_files(folder, async |file, kind| Ok(copy_from_postgres(&engine, file, kind).await?)).await
        }
        _ => Err(Error::Settings(
            "conversations are copied from files to a database or back: one of the two is sqlite:FOLDER, the other postgres://…"
                .to_owned(),
        )),
    }
}

async fn copy_files(
    folder: &Path,
    copy: impl AsyncFn(&Path, FileKind) -> Result<CopyReport, Error>,
) -> Result<CopyReport, Error> {
    let of = Settings { data: folder.to_owned(), ..Settings::default() };
    let mut report = CopyReport::default();
    for (file, kind) in [(of.engine_file(), FileKind::Turns), (of.ingestion_file(), FileKind::Loads)] {
        let copied = copy(&file, kind).await.doing(|| format!("{} was not copied", file.display()))?;
        report.add(&copied);
    }
    Ok(report)
}

/// The database, with its schema made if it is new. Nothing in it is worked on.
async fn open(settings: &Settings, url: &str) -> Result<PostgresEngine, Error> {
    let runs = settings.engine_settings();
    let shared = PostgresSettings { runs, works: false, ..PostgresSettings::new(url) };
    let engine = PostgresEngine::open(Graphs::default(), with_password(settings, shared)?).await;
    engine.doing(|| "the database cannot be used".to_owned())
}
