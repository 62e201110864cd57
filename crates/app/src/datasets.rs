//! Datasets that are made from conversations: a turn becomes a question with what is expected of its answer.

use ibid_core::answer::QuoteMatch;
use ibid_core::{Role, RunId, Scope, TurnOptions};
use ibid_engine::{FactsRange, MessageWindow};
use ibid_evals::{DatasetItem, DatasetMessage, ExpectedPage};

use crate::app::App;
use crate::error::Error;

/// So many messages before a question are kept with it.
const HISTORY: usize = 20;

impl App {
    /// A turn as a question of a dataset. What is expected is what the turn did: the pages that it cites, or that it did not
    /// know. Whoever picks it says whether that was right.
    ///
    /// # Errors
    /// Fails when there is no such turn, or when nothing was asked in it.
    pub async fn dataset_item_of(&self, scope: &Scope, run: RunId) -> Result<DatasetItem, Error> {
        let engine = self.engine()?;
        let found = engine.run(scope, run).await?;
        let end = found.output.end.max(found.input.end);
        let limit = usize::try_from(end - found.input.start).unwrap_or(usize::MAX).saturating_add(HISTORY);
        let window = MessageWindow { before: Some(end), limit };
        let said = engine.messages(scope, found.thread, window).await?;
        let mut item = DatasetItem { id: run.to_string(), ..DatasetItem::default() };
        for one in said {
            let message = one.message;
            if one.position < found.input.start {
                if matches!(message.role, Role::User | Role::Assistant) {
                    item.history.push(DatasetMessage { role: message.role, text: message.text });
                }
            } else if found.input.contains(&one.position) && message.role == Role::User {
                item.question = message.text;
            } else if let Some(metadata) = message.metadata {
                item.refusal = metadata.unanswered.then_some(true);
                for citation in metadata.citations.iter().filter(|one| one.found != QuoteMatch::NotFound) {
                    let page = citation
                        .page
                        .map(|page| ExpectedPage { document: citation.document_id.clone(), page });
                    item.pages.extend(page.filter(|page| !item.pages.contains(page)));
                }
            }
        }
        if item.question.trim().is_empty() {
            return Err(Error::Unknown(format!("nothing was asked in the turn {run}")));
        }
        item.scope = TurnOptions::narrowing_in(found.options.as_map()).as_map().clone();
        item.scope.remove("cache");
        (item.mode, item.format) =
            (found.options.mode().map(str::to_owned), found.options.format().map(str::to_owned));
        Ok(item)
    }

    /// Keeps a question in a dataset of the scope's tenant; one that has its id is replaced.
    ///
    /// # Errors
    /// Fails when the store cannot be written.
    pub async fn add_to_dataset(
        &self,
        scope: &Scope,
        dataset: &str,
        item: &DatasetItem,
    ) -> Result<(), Error> {
        let content = serde_json::to_value(item).map_err(Error::other)?;
        Ok(self.engine()?.put_dataset_item(scope, dataset, &item.id, content).await?)
    }

    /// Keeps the turns behind a figure in a dataset, as far as their conversations are there; says how many.
    ///
    /// # Errors
    /// Fails as [`App::add_to_dataset`] does.
    pub async fn add_turns_to_dataset(
        &self,
        scope: &Scope,
        dataset: &str,
        range: FactsRange,
    ) -> Result<usize, Error> {
        let mut added = 0;
        for turn in self.engine()?.turn_facts(scope, range).await? {
            let Some(run) = turn.run else { continue };
            let Ok(mut item) = self.dataset_item_of(scope, run).await else { continue };
            if turn.bad > 0 {
                // What it did was not right; what is, is not known.
                item.pages.clear();
                item.refusal = None;
            }
            self.add_to_dataset(scope, dataset, &item).await?;
            added += 1;
        }
        Ok(added)
    }

    /// The questions of a dataset.
    ///
    /// # Errors
    /// Fails when the store cannot be read.
    pub async fn dataset(&self, scope: &Scope, dataset: &str) -> Result<Vec<DatasetItem>, Error> {
        let items = self.engine()?.dataset_items(scope, dataset).await?;
        items.into_iter().map(|item| serde_json::from_value(item).map_err(Error::other)).collect()
    }
}
