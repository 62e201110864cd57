//! One round: a source is compared with the documents that came from it, and what differs follows. Everything that it decides from is
//! in the ledger, so that a round that was interrupted is simply done again: what it had loaded is there, and what it had begun to load
//! goes on by itself.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt as _;
use ibid_core::Scope;
use ibid_core::load::LoadOutcome;
use ibid_knowledge::{ContentHash, DocumentEdit, DocumentRow, LoadSettings};
use ibid_sources::{Fetched, SourceEntry};

use super::compare::{Comparison, compare, holds, is_loading, path_of};
use super::record::{SyncOutcome, SyncPaths, SyncPlan, SyncReport};
use super::source::ConfiguredSource;
use crate::documents::{DocumentService, IfLoading, LoadContent, StartedLoad};
use crate::error::Error;

/// Whether documents are deleted whose files are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletions {
    /// Unless the brake holds.
    Brake,
    /// Up to so many, as a person has said.
    Allow(usize),
}

/// How far a round is, for those who watch it.
#[derive(Debug, Default)]
pub(super) struct RoundProgress {
    pub(super) done: AtomicUsize,
    pub(super) of: AtomicUsize,
}

/// A round.
struct Round<'a> {
    source: &'a ConfiguredSource,
    documents: &'a DocumentService,
    scope: Scope,
    /// Documents whose files are gone; one that turns up elsewhere is taken out.
    gone: Mutex<Vec<DocumentRow>>,
    /// Documents that another one is searched in place of. If that one goes or changes, one of these takes it over.
    duplicates: Mutex<Vec<DocumentRow>>,
    /// The keys that documents of the source have.
    keys: Mutex<HashSet<String>>,
    report: Mutex<SyncReport>,
}

/// What became of a file that was brought.
enum Brought {
    Unchanged,
    Loaded,
    Updated,
    Moved,
    LeftOut(&'static str),
    Waiting,
    Gone,
    Failed(String),
}

/// What both have, what the source cannot tell, and what is left out.
async fn look(source: &ConfiguredSource, documents: &DocumentService) -> Result<Look, Error> {
    let mut listing = source.source.list().await.map_err(Error::other)?;
    let known = documents.store().documents_of_source(&source.tenant, &source.name).await?;
    let scope = source.scope(known.iter());
    let (known_count, keys) = (known.len(), known.iter().map(|document| document.key.clone()).collect());
    let (entries, unreadable): (Vec<_>, Vec<_>) =
        std::mem::take(&mut listing.entries).into_iter().partition(|entry| source.is_readable(entry));
    let files = entries.len();
    let is_same = |entry: &SourceEntry, document: &DocumentRow| {
        let mark = document.origin.as_ref().map_or("", |origin| &origin.mark);
        source.source.is_same(entry, mark)
            && treatment(source, documents, &scope, document, path_of(document)) == Treatment::Alike
    };
    let mut comparison = compare(entries, known, is_same);
    let mut waiting = 0;
    for (entry, document) in std::mem::take(&mut comparison.loading) {
        // A process may have ended between the ledger and the engine: then nobody loads it.
        match documents.is_under_way(&scope, &document.id).await? {
            true => waiting += 1,
            false => comparison.to_bring.push((entry, Some(document))),
        }
    }
    Ok(Look {
        comparison,
        known: known_count,
        files,
        waiting,
        unreadable,
        keys,
        scope,
        is_partial: listing.is_partial,
        problem: listing.problem,
    })
}

struct Look {
    comparison: Comparison,
    /// How many documents came from the source.
    known: usize,
    files: usize,
    /// How many are being loaded.
    waiting: usize,
    unreadable: Vec<SourceEntry>,
    keys: HashSet<String>,
    scope: Scope,
    is_partial: bool,
    problem: Option<String>,
}

/// What the settings of today would have of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Treatment {
    /// As it is.
    Alike,
    /// Another type, or other labels.
    Edit,
    /// Another corpus or other chunks, or another type or labels of one that is not searched itself: it has to be read again.
    ReadAgain,
}

fn treatment(
    source: &ConfiguredSource,
    documents: &DocumentService,
    scope: &Scope,
    document: &DocumentRow,
    path: &str,
) -> Treatment {
    let fields = source.fields(path, "", document.key.clone());
    match documents.request(scope, &source.shown(path), &fields) {
        Ok(request) if document.corpus != source.corpus || !request.settings.reads_alike(document) => {
            Treatment::ReadAgain
        }
        Ok(request) if request.settings.treats_alike(document) => Treatment::Alike,
        // A duplicate with other labels is searched by others than the document in its place.
        Ok(_) if is_sound(document) => Treatment::Edit,
        Ok(_) | Err(_) => Treatment::ReadAgain,
    }
}

/// Whether a document has lost the one that it was searched through.
fn has_to_be_read(document: &DocumentRow) -> bool {
    document.origin.as_ref().is_some_and(|origin| origin.mark.is_empty())
}

/// Whether a document is what loading its content would give.
fn is_sound(document: &DocumentRow) -> bool {
    document.state.is_ready() && document.state.problem().is_none() && !is_loading(document)
}

/// What a round would do.
pub(super) async fn plan(source: &ConfiguredSource, documents: &DocumentService) -> Result<SyncPlan, Error> {
    let look = look(source, documents).await?;
    let Comparison { to_bring, gone, unchanged, .. } = &look.comparison;
    let paths = |is_known: bool| -> Vec<&str> {
        let wanted = to_bring.iter().filter(|(_, known)| known.is_some() == is_known);
        wanted.map(|(entry, _)| entry.path.as_str()).collect()
    };
    Ok(SyncPlan {
        files: look.files,
        unchanged: *unchanged,
        new: SyncPaths::of(paths(false).into_iter()),
        changed: SyncPaths::of(paths(true).into_iter()),
        would_hold: holds(gone.len(), look.known, look.files, source.settings.brake_percent),
        gone: SyncPaths::of(gone.iter().map(path_of)),
        left_out: SyncPaths::of(look.unreadable.iter().map(|entry| entry.path.as_str())),
        problem: look.problem,
    })
}

/// Does a round.
pub(super) async fn sync(
    source: &ConfiguredSource,
    documents: &DocumentService,
    deletions: Deletions,
    progress: &RoundProgress,
) -> Result<SyncReport, Error> {
    let Look { comparison, known, files, waiting, unreadable, keys, scope, is_partial, problem } =
        look(source, documents).await?;
    let Comparison { to_bring, gone, unchanged, duplicates, .. } = comparison;
    let mut report =
        SyncReport { files, unchanged, waiting, left_out: unreadable.len(), ..SyncReport::default() };
    for entry in &unreadable {
        report.problem(&entry.path, "it has no format that can be read");
    }
    if let Some(problem) = &problem {
        report.problem("", format!("{problem}; nothing was deleted"));
    }
    progress.done.store(0, Ordering::Relaxed);
    progress.of.store(to_bring.len(), Ordering::Relaxed);
    let round = Round {
        source,
        documents,
        scope,
        gone: Mutex::new(gone),
        duplicates: Mutex::new(duplicates),
        keys: Mutex::new(keys),
        report: Mutex::new(report),
    };
    let bringing = to_bring.into_iter().map(|(entry, known)| round.bring(entry, known, progress));
    futures_util::stream::iter(bringing)
        .buffer_unordered(source.source.at_once())
        .for_each(std::future::ready)
        .await;
    // What is missing from a list that is not complete may be there.
    if problem.is_none() && !is_partial {
        round.delete(known, files, deletions).await?;
    }
    let mut report = round.report.into_inner().unwrap_or_else(PoisonError::into_inner);
    if report.updated + report.moved + report.deleted > 0 {
        // Documents that were searched through one that has changed are the next pass's to load.
        let known = documents.store().documents_of_source(&source.tenant, &source.name).await?;
        report.waiting += known.iter().filter(|document| has_to_be_read(document)).count();
    }
    Ok(report)
}

impl Round<'_> {
    async fn bring(&self, entry: SourceEntry, known: Option<DocumentRow>, progress: &RoundProgress) {
        let path = entry.path.clone();
        let brought = match Box::pin(self.try_to_bring(entry, known)).await {
            Ok(brought) => brought,
            Err(error) => Brought::Failed(error.chain()),
        };
        progress.done.fetch_add(1, Ordering::Relaxed);
        let mut report = lock(&self.report);
        match brought {
            Brought::Unchanged => report.unchanged += 1,
            Brought::Loaded => report.loaded += 1,
            Brought::Updated => report.updated += 1,
            Brought::Moved => report.moved += 1,
            Brought::Waiting => report.waiting += 1,
            Brought::Gone => report.files -= 1,
            Brought::LeftOut(why) => {
                report.left_out += 1;
                report.problem(&path, why);
            }
            Brought::Failed(why) => {
                report.failed += 1;
                report.problem(&path, why);
            }
        }
    }

    async fn try_to_bring(&self, entry: SourceEntry, known: Option<DocumentRow>) -> Result<Brought, Error> {
        let wanted = |known: &&DocumentRow| self.treatment(known, &entry.path) != Treatment::ReadAgain;
        let mark = known.as_ref().filter(wanted).and_then(|known| known.origin.as_ref());
        let mark = mark.map(|origin| origin.mark.as_str());
        // Only the settings have changed.
        if let (Some(known), Some(mark)) = (&known, mark)
            && self.source.source.is_same(&entry, mark)
            && self.edit(known, &entry.path, mark).await?
        {
            return Ok(Brought::Updated);
        }
        let fetched = self.source.source.fetch(&entry, mark).await.map_err(Error::other)?;
        let (bytes, mark) = match (fetched, known.as_ref()) {
            (Fetched::Content { bytes, mark }, _) => (bytes, mark),
            (Fetched::Unchanged { mark }, Some(known)) => {
                self.edit(known, &entry.path, &mark).await?;
                return Ok(Brought::Unchanged);
            }
            (Fetched::Unchanged { .. } | Fetched::Changing, _) => return Ok(Brought::Waiting),
            (Fetched::TooLarge, _) => {
                return Ok(Brought::LeftOut("it is larger than `ingest.largest_mb`"));
            }
            (Fetched::Gone, _) => {
                lock(&self.gone).extend(known);
                return Ok(Brought::Gone);
            }
        };
        let content = ContentHash::of(&bytes);
        let moved = self.take_moved(&content, known.as_ref());
        let is_moved = moved.is_some();
        let here = match (moved, known) {
            // It is in place of what was at its new path.
            (Some(moved), Some(replaced)) => {
                self.delete_one(&replaced).await?;
                Some(moved)
            }
            (moved, known) => moved.or(known),
        };
        if let Some(here) = here.as_ref().filter(|here| here.content == content && is_sound(here))
            && self.treatment(here, &entry.path) != Treatment::ReadAgain
            && self.edit(here, &entry.path, &mark).await?
        {
            return Ok(if is_moved { Brought::Moved } else { Brought::Unchanged });
        }
        let is_taken_over = match &here {
            Some(here) if here.content != content => self.hand_over(here).await?,
            _ => false,
        };
        let (key, is_new) = match &here {
            Some(here) if here.corpus == self.source.corpus && !is_taken_over => (here.key.clone(), false),
            _ => (self.new_key(&entry.path), here.is_none()),
        };
        let fields = self.source.fields(&entry.path, &mark, key);
        let brought = self.load(&entry, &fields, &bytes, is_new).await?;
        // The settings have given it another corpus.
        if let Some(here) = here.filter(|here| here.corpus != self.source.corpus && !is_taken_over) {
            self.documents.delete(&self.scope, &here.id).await?;
        }
        Ok(brought)
    }

    fn treatment(&self, known: &DocumentRow, path: &str) -> Treatment {
        treatment(self.source, self.documents, &self.scope, known, path)
    }

    /// Says of a document that is not read again where it is, and what the settings say of it there. Says whether that was possible.
    async fn edit(&self, known: &DocumentRow, path: &str, mark: &str) -> Result<bool, Error> {
        let source = self.source.shown(path);
        let fields = self.source.fields(path, mark, known.key.clone());
        let settings = self.documents.request(&self.scope, &source, &fields)?.settings;
        let LoadSettings { kind, labels, origin, .. } = settings;
        let edit = DocumentEdit { source, title: None, kind, labels, origin };
        Ok(self.documents.store().edit(&known.id, edit).await?)
    }

    async fn load(
        &self,
        entry: &SourceEntry,
        fields: &crate::documents::DocumentFields,
        bytes: &[u8],
        is_new: bool,
    ) -> Result<Brought, Error> {
        let request = self.documents.request(&self.scope, &self.source.shown(&entry.path), fields)?;
        if self.documents.was_set_aside(&self.scope, &request).await? {
            return Ok(Brought::Failed("it ended its process again and again".to_owned()));
        }
        let loading = self
            .documents
            .load(&self.scope, request, LoadContent::Bytes(bytes), IfLoading::ResumeOrReplace)
            .await?;
        let StartedLoad::Running(load) = loading else { return Ok(Brought::Unchanged) };
        Ok(match load.finish().await?.outcome {
            LoadOutcome::Unchanged => Brought::Unchanged,
            LoadOutcome::Failed { why } => Brought::Failed(why),
            LoadOutcome::Stopped => Brought::Waiting,
            _ if is_new => Brought::Loaded,
            _ => Brought::Updated,
        })
    }

    /// A document with this content whose file is gone: it was moved. Whoever takes it keeps it.
    fn take_moved(&self, content: &ContentHash, known: Option<&DocumentRow>) -> Option<DocumentRow> {
        if known.is_some_and(|known| known.content == *content) {
            return None;
        }
        let mut gone = lock(&self.gone);
        let at = gone.iter().position(|gone| {
            gone.content == *content && gone.corpus == self.source.corpus && is_sound(gone)
        })?;
        Some(gone.swap_remove(at))
    }

    /// A key that no document of the source has: a document that was moved keeps the one that it began with.
    fn new_key(&self, path: &str) -> String {
        let first = self.source.key(path);
        let mut keys = lock(&self.keys);
        let mut key = first.clone();
        for number in 2.. {
            if keys.insert(key.clone()) {
                break;
            }
            key = format!("{first}#{number}");
        }
        key
    }

    /// Deletes the documents whose files are gone, unless the brake holds.
    async fn delete(&self, known: usize, files: usize, deletions: Deletions) -> Result<(), Error> {
        let gone = std::mem::take(&mut *lock(&self.gone));
        let allowed = match deletions {
            Deletions::Brake => 0,
            Deletions::Allow(most) => most,
        };
        if gone.len() > allowed && holds(gone.len(), known, files, self.source.settings.brake_percent) {
            let mut report = lock(&self.report);
            report.outcome = SyncOutcome::Held { deletions: gone.len() };
            for document in &gone {
                report.problem(path_of(document), "it is gone there, and not deleted here yet");
            }
            return Ok(());
        }
        for document in gone {
            self.delete_one(&document).await?;
            lock(&self.report).deleted += 1;
        }
        Ok(())
    }

    async fn delete_one(&self, document: &DocumentRow) -> Result<(), Error> {
        if !self.hand_over(document).await? {
            self.documents.delete(&self.scope, &document.id).await?;
        }
        Ok(())
    }

    /// A document that goes or changes becomes that of another file with the same content, if there is one: nothing has to be read or
    /// embedded again for it. Says whether there was one.
    async fn hand_over(&self, document: &DocumentRow) -> Result<bool, Error> {
        let same = |other: &DocumentRow| {
            other.content == document.content
                && other.corpus == document.corpus
                && other.labels == document.labels
        };
        if !is_sound(document) {
            return Ok(false);
        }
        let heir = {
            let mut duplicates = lock(&self.duplicates);
            duplicates.iter().position(same).map(|at| duplicates.swap_remove(at))
        };
        let Some((heir, origin)) = heir.and_then(|heir| Some((heir.clone(), heir.origin?))) else {
            return Ok(false);
        };
        if !self.edit(document, &origin.path, &origin.mark).await? {
            return Ok(false);
        }
        self.documents.delete(&self.scope, &heir.id).await?;
        Ok(true)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
