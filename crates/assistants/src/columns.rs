//! Columns of tables by the names that an assistant gives them.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use ibid_core::Scope;
use ibid_core::evidence::{DocumentId, DocumentName, Evidence, EvidenceError, Index, Passage, Question};
use ibid_core::table_query::{TableAnswer, TableQuery};

/// The same documents, with other names for some columns of their tables.
pub fn named_columns(index: Arc<dyn Index>, names: &BTreeMap<String, String>) -> Arc<dyn Index> {
    if names.is_empty() {
        return index;
    }
    Arc::new(NamedColumns { index, names: names.clone() })
}

struct NamedColumns {
    index: Arc<dyn Index>,
    names: BTreeMap<String, String>,
}

impl NamedColumns {
    fn named(&self, mut passages: Vec<Passage>) -> Vec<Passage> {
        let columns =
            passages.iter_mut().flat_map(|passage| &mut passage.tables).flat_map(|table| &mut table.columns);
        for column in columns {
            if let Some(name) = self.names.get(&column.name) {
                column.name.clone_from(name);
            }
        }
        passages
    }
}

#[async_trait]
impl Index for NamedColumns {
    async fn retrieve(&self, scope: &Scope, question: &Question) -> Result<Evidence, EvidenceError> {
        let Evidence { passages } = self.index.retrieve(scope, question).await?;
        Ok(Evidence { passages: self.named(passages) })
    }

    async fn page(
        &self,
        scope: &Scope,
        document: &DocumentId,
        page: u32,
    ) -> Result<Vec<Passage>, EvidenceError> {
        Ok(self.named(self.index.page(scope, document, page).await?))
    }

    async fn relevance(&self, scope: &Scope, text: &str) -> Result<Option<f32>, EvidenceError> {
        self.index.relevance(scope, text).await
    }

    async fn table(
        &self,
        scope: &Scope,
        document: &DocumentId,
        table: u32,
        most: usize,
    ) -> Result<Vec<Passage>, EvidenceError> {
        Ok(self.named(self.index.table(scope, document, table, most).await?))
    }

    async fn query_tables(&self, scope: &Scope, query: &TableQuery) -> Result<TableAnswer, EvidenceError> {
        let query = TableQuery { names: self.names.clone(), ..query.clone() };
        let answer = self.index.query_tables(scope, &query).await?;
        Ok(TableAnswer { passages: self.named(answer.passages), ..answer })
    }

    async fn documents(&self, scope: &Scope, most: usize) -> Result<Vec<DocumentName>, EvidenceError> {
        self.index.documents(scope, most).await
    }
}
