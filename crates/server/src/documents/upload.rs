//! Documents that come in: as files, streamed to disk, or from addresses that the configuration allows.

use std::path::PathBuf;

use axum::Extension;
use axum::extract::{DefaultBodyLimit, Multipart, State};
use axum::http::StatusCode;
use axum::middleware::from_fn;
use axum::routing::{MethodRouter, post};
use ibid_app::{DocumentFields, IfLoading, LoadContent, Settings, StartedLoad};
use ibid_core::evidence::DocumentId;
use ibid_core::{Corpus, Label};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt as _;

use super::incoming::{Incoming, bounded, upload_slot};
use crate::audit::AuditDetail;
use crate::http::{Caller, Json, Problem};
use crate::state::ServerState;

/// So many files come in one request at most.
const MOST: usize = 100;
/// So many bytes all of them have at most, unless one file may have more.
const LARGEST_REQUEST: u64 = 1 << 30;
/// So many fields that are no files, and the largest of them, in bytes.
const MOST_FIELDS: usize = 32;
const LARGEST_FIELD: usize = 4096;
/// A chunk has so many characters at least and at most.
const CHUNK: std::ops::RangeInclusive<usize> = 100..=20_000;

/// Takes files. Their size is limited one by one.
pub(super) fn route() -> MethodRouter<ServerState> {
    post(upload).layer(DefaultBodyLimit::disable()).layer(from_fn(bounded))
}

/// What is said of documents that come in.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "DocumentAbout")]
pub(super) struct DocumentForm {
    /// What tells a document apart in its corpus, so that a later one with the same key replaces it: the name of the file or
    /// the address unless said otherwise.
    key: Option<String>,
    /// The set that they belong to.
    corpus: Option<Corpus>,
    /// Their type; otherwise the name of the file tells it.
    #[serde(rename = "type")]
    kind: Option<String>,
    /// The title.
    title: Option<String>,
    /// The language, as ISO 639-1 has it.
    language: Option<String>,
    /// Who may see them; empty means everybody at the tenant.
    #[serde(default)]
    labels: Vec<Label>,
    /// Where a file comes from, as it is shown: its name unless said otherwise.
    source: Option<String>,
    /// The most characters of a chunk.
    chunk_characters: Option<usize>,
    /// How many characters two neighbouring chunks share.
    chunk_overlap: Option<usize>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "DocumentFetch")]
pub(super) struct Fetch {
    url: String,
    #[serde(flatten)]
    about: DocumentForm,
}

/// Documents that were taken, and are loaded now.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DocumentsTaken")]
pub(super) struct Taken {
    documents: Vec<TakenOne>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DocumentTaken")]
struct TakenOne {
    document_id: DocumentId,
    source: String,
    run_id: String,
}

/// They are taken, and it is noted which they are.
type Accepted = (StatusCode, Extension<AuditDetail>, axum::Json<Taken>);

/// Where files lie while they come in.
fn uploads_folder(settings: &Settings) -> PathBuf {
    settings.scratch_folder().join("uploads")
}

/// Removes what came in and was left there by a server that was killed.
pub(crate) fn remove_left_uploads(settings: &Settings) {
    if let Err(error) = std::fs::remove_dir_all(uploads_folder(settings))
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(%error, "what an earlier server left of uploads cannot be removed");
    }
}

/// A file that came in.
struct ReceivedFile {
    name: String,
    file: tempfile::NamedTempFile,
}

async fn upload(
    State(app): State<ServerState>,
    caller: Caller,
    Extension(mut incoming): Extension<Incoming>,
    mut form: Multipart,
) -> Result<Accepted, Problem> {
    let _slot = upload_slot(&caller.name).await?;
    let (mut about, mut files) = (DocumentForm::default(), Vec::new());
    let (mut fields, mut room) = (0, app.documents()?.largest_bytes().max(LARGEST_REQUEST));
    while let Some(mut field) = incoming.next(form.next_field()).await? {
        let Some(name) = field.file_name().map(plain) else {
            let name = field.name().unwrap_or_default().to_owned();
            fields += 1;
            if fields > MOST_FIELDS {
                return Err(Problem::too_large(format!("there are more than {MOST_FIELDS} fields")));
            }
            let mut text = Vec::new();
            while let Some(bytes) = incoming.next(field.chunk()).await? {
                text.extend_from_slice(&bytes);
                if text.len() > LARGEST_FIELD {
                    return Err(Problem::too_large(format!("the field `{name}` is too long")));
                }
            }
            about.set(&name, String::from_utf8_lossy(&text).trim())?;
            continue;
        };
        if name.is_empty() {
            return Err(Problem::invalid("a file needs a name"));
        }
        if files.len() == MOST {
            return Err(Problem::too_large(format!("at most {MOST} files are taken at once")));
        }
        let folder = uploads_folder(app.app().settings());
        let made = std::fs::create_dir_all(&folder).and_then(|()| tempfile::NamedTempFile::new_in(&folder));
        let file = made.map_err(|error| Problem::internal(&error))?;
        let mut out =
            tokio::fs::File::create(file.path()).await.map_err(|error| Problem::internal(&error))?;
        let (mut length, largest) = (0, app.documents()?.largest_bytes());
        while let Some(bytes) = incoming.next(field.chunk()).await? {
            length += bytes.len() as u64;
            room = room.checked_sub(bytes.len() as u64).ok_or_else(|| {
                Problem::too_large("these files are too much for one request; send some later")
            })?;
            if length > largest {
                return Err(Problem::too_large(format!(
                    "{name} has more than the {} MB of `ingest.largest_mb`",
                    largest >> 20
                )));
            }
            out.write_all(&bytes).await.map_err(|error| Problem::internal(&error))?;
        }
        out.flush().await.map_err(|error| Problem::internal(&error))?;
        files.push(ReceivedFile { name, file });
    }
    if files.is_empty() {
        return Err(Problem::invalid("send at least one file, as multipart/form-data"));
    }
    let of_one = [("title", &about.title), ("key", &about.key), ("source", &about.source)];
    if let Some((name, _)) = of_one.iter().find(|(_, value)| value.is_some() && files.len() > 1) {
        let count = files.len();
        return Err(Problem::invalid(format!("a {name} is for one document, and there are {count}")));
    }
    let taken = to_the_end(async move {
        let mut taken = Vec::new();
        for ReceivedFile { name, file } in files {
            let source = about.source.clone().unwrap_or(name);
            taken.push(load(&app, &caller, &about, source, LoadContent::File(file.path())).await?);
        }
        Ok(taken)
    });
    Ok(accepted(taken.await?))
}

fn accepted(documents: Vec<TakenOne>) -> Accepted {
    let ids: Vec<&str> = documents.iter().map(|taken| taken.document_id.0.as_str()).collect();
    let detail = Extension(AuditDetail(ids.join(" ")));
    (StatusCode::ACCEPTED, detail, axum::Json(Taken { documents }))
}

/// Begins loads, also if whoever sent the documents has gone meanwhile: what is in the ledger must be begun, and watched.
async fn to_the_end<T: Send + 'static>(
    loading: impl Future<Output = Result<T, Problem>> + Send + 'static,
) -> Result<T, Problem> {
    tokio::spawn(loading).await.map_err(|error| Problem::internal(&error))?
}

pub(super) async fn fetch(
    State(app): State<ServerState>,
    caller: Caller,
    Json(asked): Json<Fetch>,
) -> Result<Accepted, Problem> {
    let url =
        url::Url::parse(&asked.url).map_err(|error| Problem::invalid(format!("{}: {error}", asked.url)))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Problem::invalid("only http and https addresses are fetched"));
    }
    let Fetch { url, about } = asked;
    let taken =
        to_the_end(async move { load(&app, &caller, &about, url, LoadContent::Remote).await }).await?;
    Ok(accepted(vec![taken]))
}

impl DocumentForm {
    fn set(&mut self, name: &str, value: &str) -> Result<(), Problem> {
        let invalid = |error: ibid_core::InvalidName| Problem::invalid(error.to_string());
        match name {
            "key" => self.key = Some(value.to_owned()),
            "corpus" => self.corpus = Some(value.parse().map_err(invalid)?),
            "type" => self.kind = Some(value.to_owned()),
            "title" => self.title = Some(value.to_owned()),
            "language" => self.language = Some(value.to_owned()),
            "labels" => {
                let labels = value.split(',').map(str::trim).filter(|label| !label.is_empty());
                self.labels
                    .extend(labels.map(str::parse).collect::<Result<Vec<Label>, _>>().map_err(invalid)?);
            }
            "source" => self.source = Some(printable(value)),
            "chunk_characters" => self.chunk_characters = Some(number(name, value)?),
            "chunk_overlap" => self.chunk_overlap = Some(number(name, value)?),
            other => return Err(Problem::invalid(format!("there is no field `{other}`"))),
        }
        Ok(())
    }

    fn fields(&self) -> Result<DocumentFields, Problem> {
        let (characters, overlap) = (self.chunk_characters, self.chunk_overlap);
        if characters.is_some_and(|characters| !CHUNK.contains(&characters)) {
            let (least, most) = (CHUNK.start(), CHUNK.end());
            return Err(Problem::invalid(format!("a chunk has {least} to {most} characters")));
        }
        if overlap.is_some_and(|overlap| overlap >= characters.unwrap_or(*CHUNK.start())) {
            return Err(Problem::invalid("two chunks share less than a chunk: send `chunk_characters` too"));
        }
        Ok(DocumentFields {
            key: self.key.as_deref().map(printable),
            corpus: self.corpus.clone(),
            document_type: self.kind.as_deref().map(printable),
            title: self.title.as_deref().map(printable),
            language: self.language.as_deref().map(printable),
            labels: self.labels.clone(),
            chunk: (characters, overlap),
            origin: None,
        })
    }
}

/// Begins to load a document.
async fn load(
    app: &ServerState,
    caller: &Caller,
    form: &DocumentForm,
    source: String,
    content: LoadContent<'_>,
) -> Result<TakenOne, Problem> {
    let documents = app.documents()?;
    let request = documents.request(&caller.scope, &source, &form.fields()?)?;
    let document_id = request.document();
    match documents.load(&caller.scope, request, content, IfLoading::Enqueue).await? {
        StartedLoad::Running(load) => Ok(TakenOne { document_id, source, run_id: load.run.to_string() }),
        StartedLoad::Unchanged(_) => Err(Problem::conflict(format!("{source} is loaded already"))),
    }
}

/// The name of a file, without folders and without what could steer a terminal.
fn plain(name: &str) -> String {
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    printable(name).chars().take(200).collect()
}

pub(super) fn printable(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).collect()
}

fn number(name: &str, value: &str) -> Result<usize, Problem> {
    value.parse().map_err(|_| Problem::invalid(format!("`{name}` must be a number, and is `{value}`")))
}
