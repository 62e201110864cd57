//! Whether a store is whole, and how to make it so.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::UInt32Array;
use futures_util::TryStreamExt;
use ibid_core::Scope;
use ibid_core::evidence::DocumentId;
use lance::index::DatasetIndexExt;

use super::{Store, filter, rows};
use crate::Error;
use crate::document::Document;
use crate::{ContentHash, DocumentState, DocumentStatus, LoadResult};

/// What was looked at, and what was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FsckReport {
    /// How many documents.
    pub documents: usize,
    /// How many chunks.
    pub chunks: usize,
    /// How many originals.
    pub originals: usize,
    /// How many answers are kept to be given again.
    pub answers: usize,
    /// How many documents are being loaded, and were left alone.
    pub underway: usize,
    /// What is wrong, in sentences.
    pub problems: Vec<StoreProblem>,
}

impl FsckReport {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }
}

/// What is being loaded, now or as soon as an interrupted load goes on: it looks unfinished, and is not.
#[derive(Clone, Debug, Default)]
pub struct ActiveLoads {
    /// The documents.
    pub documents: BTreeSet<DocumentId>,
    /// Contents that they may be loaded from.
    pub contents: BTreeSet<ContentHash>,
}

/// Something wrong with a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreProblem {
    /// What it is.
    pub what: String,
    /// Whether it was repaired.
    pub repaired: bool,
}

/// What the chunks say of a document.
#[derive(Default)]
struct Seen {
    versions: BTreeSet<ContentHash>,
    numbers: Vec<u32>,
}

impl Store {
    /// Compares the chunks, the ledger and the originals, and repairs what it may. A document that is being
    /// loaded and not named as such looks unfinished.
    ///
    /// # Errors
    /// Fails when the store cannot be read, or not be repaired.
    pub async fn fsck(&self, repair: bool, underway: &ActiveLoads) -> Result<FsckReport, Error> {
        if let Err(error @ Error::TooNew { .. }) = self.pinned().await {
            return Err(error);
        }
        let mut report = FsckReport { underway: underway.documents.len(), ..FsckReport::default() };
        if !self.can_be_read(&mut report).await? {
            return Ok(report);
        }
        let mut seen = self.seen(&mut report).await?;
        let searched =
            seen.iter().map(|(document, seen)| (document.clone(), seen.versions.clone())).collect();
        let documents = self.ledger(None).await?;
        report.documents = documents.len();
        let mut versions = BTreeSet::new();
        let mut names = BTreeSet::new();
        for mut document in documents {
            if !names.insert(document.id.clone()) {
                report.say(format!("the ledger has {} twice", document.id), false);
                continue;
            }
            let chunks = seen.remove(&document.id.0).unwrap_or_default();
            let held = chunks.versions.contains(&document.content) && chunks.versions.len() == 1;
            let count = u32::try_from(chunks.numbers.len()).unwrap_or(u32::MAX);
            if chunks.versions.len() > 1 {
                report.say(
                    format!("{} has chunks of {} versions at once", document.source, chunks.versions.len()),
                    false,
                );
            }
            match document.state.status() {
                _ if underway.documents.contains(&document.id) => {
                    versions.extend(document.state.pending().cloned());
                }
                DocumentStatus::Loading => {
                    let what = "was left while it was being loaded; load it again";
                    let problem = "loading was not finished; load it again";
                    document.state = DocumentState::flawed(LoadResult::Failed, problem);
                    self.settle(&mut report, repair, &document, what).await?;
                }
                _ if document.state.pending().is_some() => {
                    let what = "has a newer version whose loading was not finished; load it again";
                    document.state = document.state.without_pending();
                    self.settle(&mut report, repair, &document, what).await?;
                }
                DocumentStatus::Ready if !held || document.chunks != count => {
                    let (source, expected) = (document.source.clone(), document.chunks);
                    let single = chunks.versions.first().filter(|_| chunks.versions.len() == 1).cloned();
                    let mends = repair && single.is_some();
                    if let (true, Some(version)) = (repair, single) {
                        // What is searched is the truth: two machines loaded it at once.
                        document.content = version;
                        document.chunks = count;
                        document.pages.clear();
                        let problem = "its pages are not known; load it again";
                        document.state = DocumentState::flawed(LoadResult::Ready, problem);
                        self.record(&document).await?;
                    }
                    report.say(format!("{source} should have {expected} chunks of its version and has {count}; load it again"), mends);
                }
                DocumentStatus::Empty | DocumentStatus::Failed | DocumentStatus::Duplicate if count > 0 => {
                    if repair {
                        self.chunks.replace("document", &document.id.0, None).await?;
                    }
                    report.say(format!("{} holds nothing and had {count} chunks", document.source), repair);
                }
                _ => {}
            }
            if !gapless(&chunks.numbers) {
                report
                    .say(format!("the chunks of {} are not numbered without a gap", document.source), false);
            }
            versions.insert(document.content);
        }
        seen.retain(|document, _| !underway.documents.contains(&DocumentId(document.clone())));
        for (document, chunks) in seen {
            if repair {
                self.chunks.replace("document", &document, None).await?;
            }
            report.say(
                format!(
                    "{} chunks belong to {document}, which the ledger does not know",
                    chunks.numbers.len()
                ),
                repair,
            );
        }
        self.originals(&mut report, repair, &versions, &underway.contents).await?;
        self.staging(&mut report, repair, underway).await?;
        for id in self.unsearched_rows(&searched, &underway.documents).await? {
            if repair {
                self.remove_old_rows(&id).await?;
            }
            report.say(format!("rows of the catalogue {id} are not searched"), repair);
        }
        self.kept_answers(&mut report, repair, &searched).await?;
        self.indexes(&mut report, repair).await?;
        Ok(report)
    }

    /// Reads every value of every table, and says whether that could be done.
    async fn can_be_read(&self, report: &mut FsckReport) -> Result<bool, Error> {
        for (name, table) in self.tables() {
            let read = async {
                let Some(dataset) = table.newest().await? else { return Ok(()) };
                let mut batches = dataset.scan().try_into_stream().await?;
                while batches.try_next().await?.is_some() {}
                Ok::<_, Error>(())
            };
            if let Err(error) = read.await {
                let what = format!("the table {name} cannot be read: {error}; restore it from a backup");
                report.say(what, false);
            }
        }
        Ok(report.is_clean())
    }

    /// Opens every index of every table; one that cannot be opened is made anew.
    async fn indexes(&self, report: &mut FsckReport, repair: bool) -> Result<(), Error> {
        for (name, table) in self.tables() {
            let Some(dataset) = table.newest().await? else { continue };
            let mut damaged = Vec::new();
            let names: BTreeSet<String> =
                dataset.load_indices().await?.iter().map(|index| index.name.clone()).collect();
            for index in names {
                if dataset.index_statistics(&index).await.is_err() {
                    damaged.push(index);
                }
            }
            if damaged.is_empty() {
                continue;
            }
            if repair {
                let mut dataset = dataset.as_ref().clone();
                self.reindex(name, &mut dataset).await?;
                table.saw(Arc::new(dataset)).await;
            }
            let damaged = damaged.join(", ");
            report.say(format!("indexes of the table {name} are damaged: {damaged}"), repair);
        }
        Ok(())
    }

    async fn settle(
        &self,
        report: &mut FsckReport,
        repair: bool,
        document: &Document,
        what: &str,
    ) -> Result<(), Error> {
        if repair {
            self.record(document).await?;
        }
        report.say(format!("{} {what}", document.source), repair);
        Ok(())
    }

    async fn seen(&self, report: &mut FsckReport) -> Result<BTreeMap<String, Seen>, Error> {
        let mut seen: BTreeMap<String, Seen> = BTreeMap::new();
        let Some(dataset) = self.chunks.latest().await? else { return Ok(seen) };
        let mut scan = dataset.scan();
        scan.project(&["document", "version", "chunk"])?;
        let mut batches = scan.try_into_stream().await?;
        while let Some(batch) = batches.try_next().await? {
            let (documents, versions) = (rows::texts(&batch, "document")?, rows::texts(&batch, "version")?);
            let numbers: &UInt32Array = rows::column(&batch, "chunk")?;
            report.chunks += batch.num_rows();
            for row in 0..batch.num_rows() {
                let of = seen.entry(documents.value(row).to_owned()).or_default();
                of.versions.insert(ContentHash::stored(versions.value(row)));
                of.numbers.push(numbers.value(row));
            }
        }
        Ok(seen)
    }

    async fn originals(
        &self,
        report: &mut FsckReport,
        repair: bool,
        versions: &BTreeSet<ContentHash>,
        excused: &BTreeSet<ContentHash>,
    ) -> Result<(), Error> {
        let listed = self.place.list("originals").await?;
        let kept: BTreeSet<ContentHash> = listed.iter().map(|name| ContentHash::stored(name)).collect();
        report.originals = kept.len();
        for missing in versions.difference(&kept).filter(|content| content.is_known()) {
            report.say(format!("the original {missing} is missing"), false);
        }
        for there in kept.intersection(versions) {
            if self.place.hash(&super::original(there)).await?.is_some_and(|hash| hash != *there) {
                // Loading it again puts the right one there.
                report.say(format!("the original {there} is damaged; load its document again"), false);
            }
        }
        for extra in kept.difference(versions).filter(|extra| !excused.contains(*extra)) {
            if repair {
                self.place.remove(&super::original(extra)).await?;
            }
            report.say(format!("the original {extra} belongs to no document"), repair);
        }
        Ok(())
    }

    async fn staging(
        &self,
        report: &mut FsckReport,
        repair: bool,
        underway: &ActiveLoads,
    ) -> Result<(), Error> {
        for work in self.place.list("staging").await? {
            let document = work.split('-').next().unwrap_or_default();
            if underway.documents.contains(&DocumentId(document.to_owned())) {
                continue;
            }
            if repair {
                self.place.remove(&format!("staging/{work}")).await?;
            }
            report.say(format!("{work} was left of unfinished work"), repair);
        }
        Ok(())
    }

    async fn kept_answers(
        &self,
        report: &mut FsckReport,
        repair: bool,
        searched: &BTreeMap<String, BTreeSet<ContentHash>>,
    ) -> Result<(), Error> {
        let (orphans, answers) = self.answers_without_evidence(searched).await?;
        report.answers = answers;
        if orphans.is_empty() {
            return Ok(());
        }
        if repair {
            for id in &orphans {
                self.answers.replace("id", id, None).await?;
            }
        }
        let what = "answers that are not given any more, because a document behind them has changed";
        report.say(format!("{what}: {}", orphans.len()), repair);
        Ok(())
    }

    /// Everything that the store says to a scope of documents and chunks, in an order of its own, without
    /// times. Two stores that were given the same documents say the same.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn content(&self, scope: &Scope) -> Result<Vec<String>, Error> {
        let mut lines = Vec::new();
        let Some(seen) = filter::of_scope(scope) else { return Ok(lines) };
        let documents: Vec<Document> = self.ledger(Some(seen.clone())).await?;
        for mut document in documents {
            (document.changed, document.milliseconds) = (0, 0);
            lines.push(serde_json::to_string(&document).map_err(|error| Error::Damaged(error.to_string()))?);
        }
        if let Some(dataset) = self.chunks.latest().await? {
            let mut scan = dataset.scan();
            scan.filter(&seen)?
                .project(&["id", "version", "page", "path", "text", "places", "terms", "vector"])?;
            let mut batches = scan.try_into_stream().await?;
            while let Some(batch) = batches.try_next().await? {
                let texts = ["id", "version", "path", "text", "places", "terms"]
                    .map(|name| rows::texts(&batch, name));
                let pages: &UInt32Array = rows::column(&batch, "page")?;
                let vectors = rows::vectors(&batch)?;
                let dimensions = vectors.len() / batch.num_rows().max(1);
                for row in 0..batch.num_rows() {
                    let mut line = String::new();
                    for column in texts.iter().flatten() {
                        line.push_str(column.value(row));
                        line.push('\n');
                    }
                    let bytes: Vec<u8> = vectors[row * dimensions..][..dimensions]
                        .iter()
                        .flat_map(|value| value.to_le_bytes())
                        .collect();
                    lines.push(format!("{line}{}\n{}", pages.value(row), crate::document::sha256(&bytes)));
                }
            }
        }
        lines.sort();
        Ok(lines)
    }
}

impl FsckReport {
    fn say(&mut self, what: String, repaired: bool) {
        self.problems.push(StoreProblem { what, repaired });
    }
}

fn gapless(numbers: &[u32]) -> bool {
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable();
    numbers.iter().zip(0..).all(|(number, expected)| *number == expected)
}
