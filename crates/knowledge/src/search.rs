//! What documents say to a question.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::{try_join, try_join_all};
use ibid_core::Scope;
use ibid_core::evidence::{
    BoundingBox, DocumentId, DocumentName, Evidence, EvidenceError, Index, Passage, Question,
};
use ibid_core::model::{Caller, Embedder, Purpose, Reranker, Similarity, Vectors};
use ibid_core::table_query::{TableAnswer, TableQuery};
use ibid_core::trace;
use lance::dataset::Dataset;
use tracing::Instrument;

use crate::chunk::whole;
use crate::fuse::{Weight, best_of, fuse, sorted};
use crate::store::{Hit, Store, chunk_id, question_filter};
use crate::{Error, terms};

/// So many hits of each search are fused.
const CANDIDATES: usize = 50;
/// So many phrasings of a question are searched.
const MOST_PHRASINGS: usize = 5;
/// Where copies take the places of other texts, so many times more are looked at.
const MORE: usize = 8;
/// So many chunks introduce a document at most.
const MOST_INTRODUCTION: u32 = 20;
/// So many hits are reranked at most.
const MOST_RERANKED: usize = 200;
/// Neighbouring chunks share at most so many bytes.
const LONGEST_OVERLAP: usize = 4000;
/// What is shorter may end one chunk and begin the next by chance.
const SHORTEST_OVERLAP: usize = 24;
/// So many passages at most, and so many chunks beside each.
const MOST_PASSAGES: usize = 200;
const MOST_NEIGHBOURS: u32 = 10;

/// Which searches are made. All are, except to measure one alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchMode {
    /// Keywords and vectors.
    #[default]
    Hybrid,
    /// Keywords alone.
    Keyword,
    /// Vectors alone.
    Vector,
}

/// Finds passages in a store.
pub struct Search {
    store: Arc<Store>,
    embedder: Arc<dyn Embedder>,
    reranker: Option<Arc<dyn Reranker>>,
    way: SearchMode,
    weight: Option<Weight>,
}

/// What is looked for, and where.
struct Asked<'a> {
    dataset: &'a Arc<Dataset>,
    filter: &'a str,
    phrasings: &'a [&'a str],
    vectors: Option<&'a Vectors>,
}

impl Search {
    /// Searches a store with the model that filled it.
    pub fn new(store: Arc<Store>, embedder: Arc<dyn Embedder>) -> Self {
        Self { store, embedder, reranker: None, way: SearchMode::default(), weight: None }
    }

    /// Lets a cross-encoder have the last word.
    #[must_use]
    pub fn with_reranker(mut self, reranker: Option<Arc<dyn Reranker>>) -> Self {
        self.reranker = reranker;
        self
    }

    /// Searches in one way only.
    #[must_use]
    pub fn by(mut self, way: SearchMode) -> Self {
        self.way = way;
        self
    }

    /// Weighs the two searches in the same way for every question.
    #[must_use]
    pub fn weighing(mut self, weight: Weight) -> Self {
        self.weight = Some(weight);
        self
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn embedder(&self) -> &dyn Embedder {
        self.embedder.as_ref()
    }

    /// The hits for a question, the best first, without neighbours and introductions.
    ///
    /// # Errors
    /// Fails when the store or a model fails.
    pub async fn hits(&self, scope: &Scope, question: &Question) -> Result<Vec<Passage>, Error> {
        let Some(filter) = &question_filter(scope, question) else { return Ok(Vec::new()) };
        let ranked = |chunks| async move { self.ranked(&chunks, filter, scope, question).await };
        let hits = self.store.read_chunks(ranked).await?.unwrap_or_default();
        Ok(hits.into_iter().map(|hit| hit.passage).collect())
    }

    pub(crate) async fn ranked(
        &self,
        dataset: &Arc<Dataset>,
        filter: &str,
        scope: &Scope,
        question: &Question,
    ) -> Result<Vec<Hit>, Error> {
        let phrasings: Vec<&str> = question
            .phrasings
            .iter()
            .map(String::as_str)
            .filter(|text| !text.trim().is_empty())
            .take(MOST_PHRASINGS)
            .collect();
        let Some(first) = phrasings.first() else { return Ok(Vec::new()) };
        let caller = Caller::chat(scope.tenant().clone());
        let vectors = match self.way {
            SearchMode::Keyword => None,
            SearchMode::Hybrid | SearchMode::Vector => {
                Some(self.embedder.embed(&caller, Purpose::Query, &phrasings).await?)
            }
        };
        let top = question.top.min(MOST_PASSAGES);
        let wanted = CANDIDATES.max(top * 2);
        let asked = Asked { dataset, filter, phrasings: &phrasings, vectors: vectors.as_ref() };
        let (mut hits, is_all) = self.found(&asked, wanted).await?;
        // Copies of one text may have taken the places of others: then more is looked at.
        if hits.len() < top && !is_all {
            (hits, _) = self.found(&asked, wanted * MORE).await?;
        }
        if question.floor > 0.0 {
            let floor = self.similarity(dataset).cosine(question.floor);
            let codes = terms::codes(&phrasings.join(" "));
            let holds_code =
                |hit: &Hit| codes.iter().any(|code| terms::codes(&hit.passage.text).contains(code));
            hits.retain(|hit| hit.cosine.is_some_and(|cosine| cosine >= floor) || holds_code(hit));
        }
        let is_asked = question.reranked > 0 && !hits.is_empty();
        if let Some(reranker) = self.reranker.as_ref().filter(|_| is_asked) {
            hits.truncate(question.reranked.max(top * 2).min(MOST_RERANKED));
            let texts: Vec<String> =
                hits.iter().map(|hit| whole(&hit.passage.path, &hit.passage.text)).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let span = trace::rerank_span(reranker.name(), texts.len());
            let scores = reranker.rerank(&caller, first, &texts).instrument(span).await?;
            for (hit, score) in hits.iter_mut().zip(scores) {
                hit.passage.score = score;
                hit.passage.relevance = Some(score);
            }
            hits = sorted(hits);
        }
        hits.truncate(top);
        Ok(hits)
    }

    /// The hits of all searches without copies, the best first, and whether no search has more.
    async fn found(&self, asked: &Asked<'_>, wanted: usize) -> Result<(Vec<Hit>, bool), Error> {
        let Asked { dataset, filter, phrasings, vectors } = *asked;
        let languages = &Store::languages(dataset);
        let searches = phrasings.iter().enumerate().map(|(index, phrasing)| {
            let vector = vectors.and_then(|vectors| vectors.get(index));
            async move {
                let terms = match self.way {
                    SearchMode::Vector => Vec::new(),
                    SearchMode::Hybrid | SearchMode::Keyword => terms::of_question(phrasing, languages),
                };
                let by_terms = Store::by_terms(dataset, filter, &terms, wanted);
                let by_meaning = async {
                    match vector {
                        Some(vector) => Store::by_meaning(dataset, filter, vector, wanted).await,
                        None => Ok(Vec::new()),
                    }
                };
                let (by_terms, by_meaning) = try_join(by_terms, by_meaning).await?;
                let weight = match self.way {
                    SearchMode::Hybrid => self.weight.unwrap_or_else(|| Weight::of(phrasing)),
                    SearchMode::Keyword => Weight(1.0),
                    SearchMode::Vector => Weight(0.0),
                };
                let is_all = by_terms.len() < wanted && by_meaning.len() < wanted;
                Ok::<_, Error>((fuse(by_terms, by_meaning, weight), is_all))
            }
        });
        let (hits, all): (Vec<_>, Vec<bool>) = try_join_all(searches).await?.into_iter().unzip();
        Ok((without_copies(best_of(hits)), all.into_iter().all(|is_all| is_all)))
    }

    async fn chunks_of(
        &self,
        scope: &Scope,
        document: &DocumentId,
        page: u32,
    ) -> Result<Vec<Passage>, Error> {
        let mut question = Question::new("");
        question.documents = vec![document.clone()];
        let Some(filter) = &question_filter(scope, &question) else { return Ok(Vec::new()) };
        let of_page = |chunks| async move { Store::of_page(&chunks, filter, page).await };
        let mut passages = self.store.read_chunks(of_page).await?.unwrap_or_default();
        passages.sort_by_key(|passage| passage.chunks);
        Ok(passages)
    }

    async fn nearest(&self, scope: &Scope, text: &str) -> Result<Option<f32>, Error> {
        let Some(filter) = &question_filter(scope, &Question::new("")) else { return Ok(None) };
        let caller = &Caller::chat(scope.tenant().clone());
        let nearest = |chunks| async move {
            let vectors = self.embedder.embed(caller, Purpose::Query, &[text]).await?;
            let Some(vector) = vectors.get(0) else { return Ok(None) };
            let hits = Store::by_meaning(&chunks, filter, vector, 1).await?;
            Ok(hits.first().map(|hit| self.similarity(&chunks).relevance(hit.passage.score)))
        };
        Ok(self.store.read_chunks(nearest).await?.flatten())
    }

    /// The scale of cosines: as it was calibrated on this store, else as the model's card has it.
    pub(crate) fn similarity(&self, dataset: &Dataset) -> Similarity {
        Store::similarity(dataset).unwrap_or_else(|| self.embedder.similarity())
    }

    async fn evidence(&self, scope: &Scope, question: &Question) -> Result<Evidence, Error> {
        let filter = question_filter(scope, question);
        let (Some(filter), Some(seen)) = (filter, question_filter(scope, &Question::new(""))) else {
            return Ok(Evidence::default());
        };
        let found = |chunks| self.evidence_in(chunks, (&filter, &seen), scope, question);
        Ok(self.store.read_chunks(found).await?.unwrap_or_default())
    }

    /// The evidence of one version of the chunks: hits come from what the first filter lets through, what stands beside them from
    /// what the second does.
    async fn evidence_in(
        &self,
        chunks: Arc<Dataset>,
        (filter, seen): (&str, &str),
        scope: &Scope,
        question: &Question,
    ) -> Result<Evidence, Error> {
        let hits = self.ranked(&chunks, filter, scope, question).await?;
        let neighbours = question.neighbours.min(MOST_NEIGHBOURS);
        let introduction = question.introduction.min(MOST_INTRODUCTION);
        let begins = beginnings(&question.introduce, introduction);
        let names = beside(&hits, neighbours).chain(begins).collect::<HashSet<_>>();
        let names: Vec<String> = names.into_iter().collect();
        let around = Store::by_names(&chunks, seen, &names).await?;
        let around: HashMap<String, Passage> =
            around.into_iter().map(|hit| (hit.id(), hit.passage)).collect();
        let begins =
            beginnings(&question.introduce, introduction).filter_map(|name| around.get(&name).cloned());
        let found: Vec<Passage> = hits.into_iter().map(|hit| hit.passage).chain(begins).collect();
        Ok(Evidence { passages: with_neighbours(found, &around, neighbours) })
    }
}

#[async_trait]
impl Index for Search {
    async fn retrieve(&self, scope: &Scope, question: &Question) -> Result<Evidence, EvidenceError> {
        self.evidence(scope, question).await.map_err(to_evidence_error)
    }

    async fn page(
        &self,
        scope: &Scope,
        document: &DocumentId,
        page: u32,
    ) -> Result<Vec<Passage>, EvidenceError> {
        self.chunks_of(scope, document, page).await.map_err(to_evidence_error)
    }

    async fn relevance(&self, scope: &Scope, text: &str) -> Result<Option<f32>, EvidenceError> {
        self.nearest(scope, text).await.map_err(to_evidence_error)
    }

    async fn table(
        &self,
        scope: &Scope,
        document: &DocumentId,
        table: u32,
        most: usize,
    ) -> Result<Vec<Passage>, EvidenceError> {
        self.whole_table(scope, document, table, most).await.map_err(to_evidence_error)
    }

    async fn query_tables(&self, scope: &Scope, query: &TableQuery) -> Result<TableAnswer, EvidenceError> {
        self.ask_tables(scope, query).await.map_err(to_evidence_error)
    }

    async fn documents(&self, scope: &Scope, most: usize) -> Result<Vec<DocumentName>, EvidenceError> {
        let documents = self.store.listed(scope).await.map_err(to_evidence_error)?;
        let ready = documents.into_iter().filter(|document| {
            document.state.is_ready()
                && scope.focus().includes(&document.id, &document.kind, &document.language)
        });
        let mut named: Vec<DocumentName> = ready
            .map(|document| DocumentName {
                id: document.id,
                title: document.title,
                source: document.source,
                kind: document.kind,
            })
            .collect();
        named.sort_by(|one, other| one.title.cmp(&other.title));
        named.truncate(most);
        Ok(named)
    }
}

pub(crate) fn to_evidence_error(error: Error) -> EvidenceError {
    EvidenceError { may_pass: error.may_pass(), message: error.to_string() }
}

/// The best of each text; copies say nothing new.
fn without_copies(hits: Vec<Hit>) -> Vec<Hit> {
    let mut seen = HashSet::new();
    hits.into_iter().filter(|hit| seen.insert(hit.digest.clone())).collect()
}

/// The names of the chunks beside some hits.
fn beside(hits: &[Hit], neighbours: u32) -> impl Iterator<Item = String> {
    hits.iter().flat_map(move |hit| {
        let (chunk, _) = hit.passage.chunks;
        (chunk.saturating_sub(neighbours)..=chunk.saturating_add(neighbours))
            .filter(move |near| *near != chunk)
            .map(|near| chunk_id(&hit.passage.document.0, near))
    })
}

fn beginnings(documents: &[DocumentId], chunks: u32) -> impl Iterator<Item = String> {
    documents.iter().flat_map(move |document| (0..chunks).map(|chunk| chunk_id(&document.0, chunk)))
}

/// Hits with the chunks beside them. Hits that are neighbours of each other become one passage.
fn with_neighbours(hits: Vec<Passage>, around: &HashMap<String, Passage>, neighbours: u32) -> Vec<Passage> {
    let mut chunks: BTreeMap<(DocumentId, u32), Passage> = BTreeMap::new();
    let mut anchors: Vec<(DocumentId, u32)> = Vec::new();
    for hit in &hits {
        let document = hit.document.clone();
        let (chunk, _) = hit.chunks;
        for near in chunk.saturating_sub(neighbours)..=chunk.saturating_add(neighbours) {
            if let Some(passage) = around.get(&chunk_id(&document.0, near)) {
                chunks.entry((document.clone(), near)).or_insert_with(|| passage.clone());
            }
        }
        anchors.push((document, chunk));
    }
    for hit in hits {
        chunks.insert((hit.document.clone(), hit.chunks.0), hit);
    }
    let mut passages: Vec<Passage> = Vec::new();
    let mut taken: HashSet<(DocumentId, u32)> = HashSet::new();
    for (document, chunk) in anchors {
        if taken.contains(&(document.clone(), chunk)) {
            continue;
        }
        let has = |chunk: u32| {
            let key = (document.clone(), chunk);
            !taken.contains(&key) && chunks.contains_key(&key)
        };
        let mut first = chunk;
        while first > 0 && has(first - 1) {
            first -= 1;
        }
        let mut last = chunk;
        while has(last.saturating_add(1)) {
            last += 1;
        }
        let run = (first..=last).filter_map(|chunk| chunks.get(&(document.clone(), chunk)).cloned());
        let run: Vec<Passage> = run.collect();
        taken.extend((first..=last).map(|chunk| (document.clone(), chunk)));
        passages.extend(by_page(run, chunk));
    }
    passages
}

/// Chunks that follow each other as passages of one page each, since a passage is cited with its page: first the page of
/// the hit, then what stands before it and after it on other pages.
fn by_page(run: Vec<Passage>, hit: u32) -> Vec<Passage> {
    let (Some(anchor), mut pages) = (run.iter().find(|chunk| chunk.chunks.0 == hit).cloned(), Vec::new())
    else {
        return Vec::new();
    };
    for part in run.chunk_by(|one, other| one.page == other.page) {
        let is_anchor = part.iter().any(|chunk| chunk.chunks.0 == hit);
        let Some(mut passage) = joined(part.to_vec()) else { continue };
        if is_anchor {
            // It is cited where the hit stands.
            passage.path.clone_from(&anchor.path);
        }
        // What comes along counts as much as what it comes with.
        passage.score = anchor.score;
        pages.push((!is_anchor, passage));
    }
    pages.sort_by_key(|(is_other, _)| *is_other);
    pages.into_iter().map(|(_, passage)| passage).collect()
}

/// Chunks that follow each other as one passage, without what they share.
fn joined(chunks: Vec<Passage>) -> Option<Passage> {
    let mut chunks = chunks.into_iter();
    let mut passage = chunks.next()?;
    for next in chunks {
        let rest = without_shared(&passage.text, &next.text);
        if !rest.is_empty() {
            passage.text.push('\n');
            let (shared, begins) = (next.text.len() - rest.len(), passage.text.len());
            passage.places.extend(places_from(&next.places, shared, begins));
            passage.tables.extend(next.tables.iter().map(|table| table.moved(shared, begins)));
            passage.text.push_str(rest);
        }
        passage.chunks.1 = next.chunks.1;
        passage.score = passage.score.max(next.score);
        passage.relevance = [passage.relevance, next.relevance].into_iter().flatten().reduce(f32::max);
    }
    Some(passage)
}

/// The places of what a text says from `shared` on, when that stands from `begins` on in another.
fn places_from(places: &[BoundingBox], shared: usize, begins: usize) -> impl Iterator<Item = BoundingBox> {
    let ends = places.iter().skip(1).map(|next| next.at as usize).chain([usize::MAX]);
    let kept = places.iter().zip(ends).filter(move |(_, end)| *end > shared);
    kept.map(move |(place, _)| {
        let at = begins + (place.at as usize).saturating_sub(shared);
        BoundingBox { at: u32::try_from(at).unwrap_or(u32::MAX), ..*place }
    })
}

/// What a text adds to the one before it: not the overlap of prose, not the repeated header of a table.
fn without_shared<'a>(before: &str, text: &'a str) -> &'a str {
    if let (Some(header), Some((first, rest))) = (before.lines().next(), text.split_once('\n'))
        && header == first
        && header.contains(" | ")
    {
        return rest;
    }
    let longest = LONGEST_OVERLAP.min(text.len()).min(before.len());
    let shared = (SHORTEST_OVERLAP..=longest)
        .rev()
        .find(|&length| text.is_char_boundary(length) && before.ends_with(&text[..length]));
    shared.map_or(text, |length| text[length..].trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(number: u32, page: u32) -> Passage {
        Passage {
            document: DocumentId("law".to_owned()),
            version: String::new(),
            corpus: "rules".parse().unwrap(),
            title: String::new(),
            source: String::new(),
            kind: String::new(),
            language: String::new(),
            page,
            location: None,
            chunks: (number, number),
            path: Vec::new(),
            text: format!("text {number}"),
            places: Vec::new(),
            tables: Vec::new(),
            score: if number == 3 { 0.7 } else { 0.0 },
            relevance: None,
        }
    }

    #[test]
    fn neighbours_come_over_a_page_break_each_with_its_page() {
        let chunks = [chunk(1, 6), chunk(2, 6), chunk(3, 7), chunk(4, 8)];
        let around: HashMap<String, Passage> =
            chunks.iter().map(|chunk| (chunk_id("law", chunk.chunks.0), chunk.clone())).collect();
        let found = with_neighbours(vec![chunks[2].clone()], &around, 1);
        let told: Vec<(u32, &str, f32)> =
            found.iter().map(|passage| (passage.page, passage.text.as_str(), passage.score)).collect();
        assert_eq!(told, [(7, "text 3", 0.7), (6, "text 2", 0.7), (8, "text 4", 0.7)]);
    }

    #[test]
    fn chunks_join_without_what_they_share() {
        let shared = "what both of them say, word for word";
        assert_eq!(without_shared(&format!("before {shared}"), &format!("{shared} after")), "after");
        assert_eq!(without_shared("in force before 2018", "8539.50.00 is gone"), "8539.50.00 is gone");
        assert_eq!(without_shared("Code | Rate\n1 | 2%", "Code | Rate\n2 | 3%"), "2 | 3%");
    }
}
