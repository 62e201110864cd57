//! The assistants as they are now. When a folder changes, its assistant is made anew without a restart; a mistake in it
//! leaves the last good version in place.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use ibid_engine::{GraphEntry, Graphs};
use tokio::sync::{mpsc, oneshot};

use crate::assistants::{AssistantOrigin, AssistantParts, AssistantRegistry, KnownAssistant, folders};
use crate::documents::DocumentService;
use crate::error::Error;

/// So often the folders are looked at.
const BETWEEN: Duration = Duration::from_secs(2);
/// And at every so many looks those are tried again who could not reach their servers.
const AGAIN: u64 = 5;
/// So long a question waits for a look at the folders.
const LONGEST_LOOK: Duration = Duration::from_secs(5);
/// So many questions may wait for one.
const MOST_WAITING: usize = 16;
/// A folder has at most so many files and folders in each other.
const MOST_FILES: usize = 1000;
const DEEPEST: usize = 4;

/// Who can answer now. Cheap to clone; all clones are one.
#[derive(Clone, Default)]
pub(crate) struct LiveAssistants(Arc<RwLock<Arc<AssistantRegistry>>>);

impl LiveAssistants {
    pub(crate) fn get(&self) -> Arc<AssistantRegistry> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut AssistantRegistry)) {
        let mut registry = self.0.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut registry));
    }
}

/// Asks for a look at the folders now.
#[derive(Clone)]
pub(crate) struct LookNow(mpsc::Sender<oneshot::Sender<()>>);

impl LookNow {
    /// Comes back when what changed was made anew, or it takes too long.
    pub(crate) async fn and_wait(&self) {
        let (done, is_done) = oneshot::channel();
        if self.0.try_send(done).is_ok() {
            // Whoever waits goes on with what there is.
            let _ = tokio::time::timeout(LONGEST_LOOK, is_done).await;
        }
    }
}

/// What the files of a folder look like: their paths, sizes and times.
type Fingerprint = Vec<(String, u64, Option<SystemTime>)>;

/// Looks after the folders of assistants.
pub(crate) struct Watch {
    pub(crate) live: LiveAssistants,
    pub(crate) parts: AssistantParts,
    pub(crate) graphs: Graphs,
    pub(crate) documents: Option<DocumentService>,
    /// Assistants that a program brings; no folder takes their place.
    pub(crate) own: Vec<String>,
    seen: BTreeMap<String, Fingerprint>,
    asked: mpsc::Receiver<oneshot::Sender<()>>,
}

impl Watch {
    pub(crate) fn new(
        live: LiveAssistants,
        parts: AssistantParts,
        graphs: Graphs,
        documents: Option<DocumentService>,
        own: Vec<String>,
    ) -> (Self, LookNow) {
        let seen = fingerprints(&parts.settings.assistants);
        let (look, asked) = mpsc::channel(MOST_WAITING);
        (Self { live, parts, graphs, documents, own, seen, asked }, LookNow(look))
    }

    /// Looks for changes until it is aborted.
    pub(crate) async fn run(mut self) {
        for round in 1_u64.. {
            let asked = tokio::time::timeout(BETWEEN, self.asked.recv()).await.ok().flatten();
            if round.is_multiple_of(AGAIN) && asked.is_none() {
                self.try_again().await;
            }
            self.look().await;
            // Who asked may have gone.
            asked.map(|asked| asked.send(()));
        }
    }

    /// Makes those anew whose folders changed.
    async fn look(&mut self) {
        let folder = self.parts.settings.assistants.clone();
        let Ok(now) = tokio::task::spawn_blocking(move || fingerprints(&folder)).await else { return };
        if now == self.seen {
            return;
        }
        let names = now.keys().chain(self.seen.keys()).cloned().collect::<std::collections::BTreeSet<_>>();
        let changed = names.into_iter().filter(|name| now.get(name) != self.seen.get(name));
        let changed: Vec<String> = changed.filter(|name| !self.own.contains(name)).collect();
        self.seen = now;
        if let Err(error) = self.make_anew(&changed).await {
            tracing::warn!("the assistants cannot be read again: {error}");
        }
    }

    async fn make_anew(&self, changed: &[String]) -> Result<(), Error> {
        let mut known = self.parts.known()?;
        if let Some(documents) = &self.documents {
            let sound =
                known.iter().filter_map(|known| Some(known.assistant.as_ref().ok()?.definition.clone()));
            documents.know(sound.collect());
        }
        known.retain(|known| changed.contains(&known.name));
        for name in changed {
            match known.iter().position(|known| known.name == *name) {
                Some(at) => self.put(known.swap_remove(at)).await,
                None => {
                    tracing::info!("the assistant `{name}` is gone");
                    self.live.change(|registry| registry.forget(name));
                    self.graphs.remove(name);
                }
            }
        }
        Ok(())
    }

    /// Tries those again whose servers could not be reached: they may have come back.
    async fn try_again(&self) {
        let waiting = self.live.get();
        if waiting.left_out().is_empty() {
            return;
        }
        let has_servers = |known: &KnownAssistant| {
            known.assistant.as_ref().is_ok_and(|assistant| !assistant.definition.mcp.is_empty())
        };
        let Ok(known) = self.parts.known() else { return };
        for known in known.into_iter().filter(|known| waiting.left_out().contains_key(&known.name)) {
            if has_servers(&known) {
                self.put(known).await;
            }
        }
    }

    async fn put(&self, known: KnownAssistant) {
        let KnownAssistant { name, assistant, origin } = known;
        let made = self.parts.make(assistant).await;
        match &made {
            Ok(_) if origin == AssistantOrigin::Folder => {
                tracing::info!("the assistant `{name}` was changed");
            }
            Ok(_) => tracing::info!("the assistant `{name}` is again the one that ships"),
            Err(error) => tracing::warn!("the change of `{name}` is left out: {}", error.chain()),
        }
        let info = match made {
            Ok((info, entry)) => {
                self.graphs.set(&name, entry);
                Ok(info)
            }
            Err(error) => Err(error.chain()),
        };
        self.live.change(|registry| registry.take(&name, info));
    }
}

/// Makes every assistant for the first time.
pub(crate) async fn make_all(
    live: &LiveAssistants,
    parts: &AssistantParts,
) -> Result<Vec<(String, GraphEntry)>, Error> {
    let mut graphs = Vec::new();
    for KnownAssistant { name, assistant, .. } in parts.known()? {
        let info = match parts.make(assistant).await {
            Ok((info, entry)) => {
                graphs.push((name.clone(), entry));
                Ok(info)
            }
            Err(error) => Err(error.chain()),
        };
        live.change(|registry| registry.take(&name, info));
    }
    Ok(graphs)
}

/// What the folder of each assistant looks like, by its name.
fn fingerprints(root: &Path) -> BTreeMap<String, Fingerprint> {
    let Ok(folders) = folders(root) else { return BTreeMap::new() };
    let each = folders.into_iter().map(|folder| {
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut files = Vec::new();
        look(&folder, 0, &mut files);
        files.sort();
        (name, files)
    });
    each.collect()
}

fn look(folder: &Path, depth: usize, files: &mut Fingerprint) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let Ok(metadata) = std::fs::metadata(&path) else { continue };
        if metadata.is_dir() && depth < DEEPEST {
            look(&path, depth + 1, files);
        } else if metadata.is_file() && files.len() < MOST_FILES {
            files.push((path.to_string_lossy().into_owned(), metadata.len(), metadata.modified().ok()));
        }
    }
}
