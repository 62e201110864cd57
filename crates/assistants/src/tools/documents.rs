//! Tools that search documents: anything, product descriptions in the tariff schedule, duties, and what agencies require.

use std::sync::Arc;

use async_trait::async_trait;
use ibid_core::Scope;
use ibid_core::evidence::{Index, Passage, Question};
use ibid_core::model::ToolSpec;
use ibid_core::tool::{Tool, ToolError, ToolOutput};
use ibid_core::value::codes;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::tables::rows_of_code;
use super::{ToolContext, arguments, failure, spec};
use crate::definition::Retrieval;

/// The most passages that one call gives back.
const MOST: usize = 20;
/// The longest text that is searched with, in characters.
const LONGEST: usize = 500;

const SCHEDULE: &str = "hts_schedule";
const SECTION_301: &str = "section301_tariff";
const AGENCIES: [&str; 4] = ["agency_regulation", "cbp_guide", "gov_publication", "general"];

/// Makes a search of arguments.
type Query = fn(Value) -> Result<DocumentSearch, ToolError>;

/// What a call looks for.
struct DocumentSearch {
    phrasings: Vec<String>,
    /// How many passages; as the assistant searches if not given.
    top: Option<usize>,
    types: Types,
    /// The rows of this code come first.
    code: Option<String>,
}

/// Which types of documents a call looks into.
enum Types {
    Any,
    Only(String),
    /// These; and all others where nothing is found in them, or nothing that names the code.
    Preferred(Vec<String>),
}

impl DocumentSearch {
    fn new(phrasings: impl IntoIterator<Item = String>, types: Types) -> Self {
        Self { phrasings: phrasings.into_iter().collect(), top: None, types, code: None }
    }
}

struct DocumentTool {
    spec: ToolSpec,
    /// The argument for which the question can stand.
    asks: Option<&'static str>,
    query: Query,
    index: Arc<dyn Index>,
    retrieval: Retrieval,
}

fn tool<T: JsonSchema>(
    context: &ToolContext<'_>,
    name: &str,
    description: &str,
    (asks, query): (Option<&'static str>, Query),
) -> Arc<dyn Tool> {
    let (index, retrieval) = (context.index.clone(), context.definition.retrieval.clone());
    Arc::new(DocumentTool { spec: spec::<T>(name, description), asks, query, index, retrieval })
}

/// `search_documents`.
pub(super) fn search_documents(context: &ToolContext<'_>) -> Result<Arc<dyn Tool>, String> {
    Ok(tool::<SearchDocuments>(
        context,
        "search_documents",
        "Searches all documents for what they say on a subject.",
        (Some("query"), search_documents_query),
    ))
}

/// `search_knowledge`.
pub(super) fn search_knowledge(context: &ToolContext<'_>) -> Result<Arc<dyn Tool>, String> {
    Ok(tool::<SearchKnowledge>(
        context,
        "search_knowledge",
        "Searches the documents, if wanted only those of one type.",
        (Some("query"), search_knowledge_query),
    ))
}

/// `lookup_hts_code`.
pub(super) fn lookup_hts_code(context: &ToolContext<'_>) -> Result<Arc<dyn Tool>, String> {
    Ok(tool::<LookupHtsCode>(
        context,
        "lookup_hts_code",
        "Finds the codes, units and duty rates of a product in the tariff schedule.",
        (Some("product_description"), lookup_hts_code_query),
    ))
}

/// `check_tariffs`.
pub(super) fn check_tariffs(context: &ToolContext<'_>) -> Result<Arc<dyn Tool>, String> {
    Ok(tool::<CheckTariffs>(
        context,
        "check_tariffs",
        "Finds the duty rates of a code, and additional duties for a country of origin.",
        (None, check_tariffs_query),
    ))
}

/// `check_agency_requirements`.
pub(super) fn check_agency_requirements(context: &ToolContext<'_>) -> Result<Arc<dyn Tool>, String> {
    Ok(tool::<CheckAgencyRequirements>(
        context,
        "check_agency_requirements",
        "Finds what agencies require for the import of a kind of product.",
        (Some("product_type"), check_agency_requirements_query),
    ))
}

#[async_trait]
impl Tool for DocumentTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn question_argument(&self) -> Option<&str> {
        self.asks
    }

    async fn call(&self, scope: &Scope, arguments: Value) -> Result<ToolOutput, ToolError> {
        let search = (self.query)(arguments)?;
        let phrasings = search.phrasings.iter().map(|phrasing| phrasing.chars().take(LONGEST).collect());
        let phrasings: Vec<String> =
            phrasings.filter(|phrasing: &String| !phrasing.trim().is_empty()).collect();
        if phrasings.is_empty() {
            return Err(ToolError::Arguments("there is nothing to search for".to_owned()));
        }
        let mut question = self.retrieval.question(phrasings);
        question.top = search.top.unwrap_or(question.top);
        let mut rows = self.rows(scope, &search).await?;
        let (passages, note) = match search.types {
            Types::Any => (self.find(scope, question, &[]).await?, None),
            Types::Only(kind) => (self.find(scope, question, &[kind]).await?, None),
            Types::Preferred(types) => {
                let passages = self.find(scope, question.clone(), &types).await?;
                let names_code =
                    |passage: &Passage| search.code.as_ref().is_none_or(|code| names(&passage.text, code));
                if passages.iter().any(names_code) {
                    (passages, None)
                } else {
                    let mut all = self.find(scope, question, &[]).await?;
                    // What names the code comes first.
                    all.sort_by_key(|passage| !names_code(passage));
                    let note = format!(
                        "nothing on this is in documents of the types {}; all documents were searched",
                        types.join(", ")
                    );
                    (all, Some(note))
                }
            }
        };
        // What a row was picked out of says nothing more on it.
        let is_new = |passage: &Passage| {
            let holds = |row: &Passage| {
                (&row.document, row.page) == (&passage.document, passage.page)
                    && (passage.chunks.0..=passage.chunks.1).contains(&row.chunks.0)
            };
            !rows.iter().any(holds)
        };
        let passages: Vec<Passage> = passages.into_iter().filter(is_new).collect();
        rows.extend(passages);
        Ok(ToolOutput::Found { passages: rows, note })
    }
}

impl DocumentTool {
    /// These types, of those that the assistant searches: what it does not search, its tools do not search either. None if
    /// that is nothing; an empty list means all.
    fn kinds(&self, types: &[String]) -> Option<Vec<String>> {
        match (self.retrieval.types.as_slice(), types) {
            ([], asked) => Some(asked.to_vec()),
            (own, []) => Some(own.to_vec()),
            (own, asked) => {
                let both: Vec<String> = own.iter().filter(|kind| asked.contains(kind)).cloned().collect();
                Some(both).filter(|both| !both.is_empty())
            }
        }
    }

    /// The rows of the code that is looked for, if there is one.
    async fn rows(&self, scope: &Scope, search: &DocumentSearch) -> Result<Vec<Passage>, ToolError> {
        let (Some(code), Some(kinds)) = (&search.code, self.kinds(&[SCHEDULE.to_owned()])) else {
            return Ok(Vec::new());
        };
        rows_of_code(&self.index, scope, code, kinds).await
    }

    /// The passages in documents of these types; of all types if there are none.
    async fn find(
        &self,
        scope: &Scope,
        mut question: Question,
        types: &[String],
    ) -> Result<Vec<Passage>, ToolError> {
        let Some(kinds) = self.kinds(types) else { return Ok(Vec::new()) };
        question.kinds = kinds;
        let found = self.index.retrieve(scope, &question).await;
        Ok(found.map_err(|error| failure("the search in the documents", error))?.passages)
    }
}

/// Whether a text names a code, however its digits are parted.
fn names(text: &str, code: &str) -> bool {
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    let code = digits(code);
    let parts = text.split(|letter: char| !letter.is_ascii_digit() && letter != '.');
    !code.is_empty() && parts.map(digits).any(|number| number.starts_with(&code))
}

/// A type, if one is given. Models name types that there are not, so all others are searched where it has nothing.
fn preferred(kind: Option<String>) -> Types {
    let kind = kind.filter(|kind| !kind.trim().is_empty());
    kind.map_or(Types::Any, |kind| Types::Preferred(vec![kind]))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchDocuments {
    /// What to look for.
    query: String,
    /// Only documents of this type, such as hts_schedule.
    #[serde(default)]
    doc_type: Option<String>,
    /// How many passages; as many as the assistant searches for unless said.
    #[serde(default)]
    max_results: Option<usize>,
}

fn search_documents_query(given: Value) -> Result<DocumentSearch, ToolError> {
    let SearchDocuments { query, doc_type, max_results } = arguments(given)?;
    let mut search = DocumentSearch::new([query], preferred(doc_type));
    search.top = max_results.map(|most| most.clamp(1, MOST));
    Ok(search)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchKnowledge {
    /// What to look for.
    query: String,
    /// Only documents of this type.
    #[serde(default)]
    document_type: Option<String>,
}

fn search_knowledge_query(given: Value) -> Result<DocumentSearch, ToolError> {
    let SearchKnowledge { query, document_type } = arguments(given)?;
    Ok(DocumentSearch::new([query], preferred(document_type)))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LookupHtsCode {
    /// The product, in a few words, or a code.
    product_description: String,
}

fn lookup_hts_code_query(given: Value) -> Result<DocumentSearch, ToolError> {
    let LookupHtsCode { product_description } = arguments(given)?;
    let code = codes(&product_description).into_iter().next().map(|code| code.written);
    let search = DocumentSearch::new([product_description], Types::Only(SCHEDULE.to_owned()));
    Ok(DocumentSearch { code, ..search })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CheckTariffs {
    /// The code, such as 8539.52.
    hts_code: String,
    /// The country where the product is made.
    country_of_origin: String,
}

fn check_tariffs_query(given: Value) -> Result<DocumentSearch, ToolError> {
    let CheckTariffs { hts_code, country_of_origin } = arguments(given)?;
    let phrasings =
        [format!("{hts_code} rate of duty"), format!("{hts_code} additional duty {country_of_origin}")];
    let types = Types::Preferred([SCHEDULE, SECTION_301].map(str::to_owned).into());
    Ok(DocumentSearch { code: Some(hts_code), ..DocumentSearch::new(phrasings, types) })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CheckAgencyRequirements {
    /// The kind of product.
    product_type: String,
    /// The agencies, such as FDA or FCC; all if left out.
    #[serde(default)]
    agencies: Option<Vec<String>>,
}

fn check_agency_requirements_query(given: Value) -> Result<DocumentSearch, ToolError> {
    let CheckAgencyRequirements { product_type, agencies } = arguments(given)?;
    let agencies = agencies.unwrap_or_default();
    let each = agencies.iter().take(4).map(|agency| format!("{agency} requirements {product_type}"));
    let phrasings = [format!("requirements for the import of {product_type}")].into_iter().chain(each);
    Ok(DocumentSearch::new(phrasings, Types::Preferred(AGENCIES.map(str::to_owned).into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_found_however_it_is_written() {
        for text in ["8539.52.00 | LED lamps", "of 8539520010, new", "heading 8539.52."] {
            assert!(names(text, "8539.52") && names(text, "853952"), "{text}");
        }
        for text in ["8539.51.00 | LED modules", "18539.52", "page 85"] {
            assert!(!names(text, "8539.52"), "{text}");
        }
        assert!(!names("anything", "lamps"));
    }

    #[test]
    fn how_many_passages_are_wanted_is_obeyed() {
        let top = |given: Value| search_documents_query(given).unwrap().top;
        assert_eq!(top(serde_json::json!({ "query": "x" })), None);
        assert_eq!(top(serde_json::json!({ "query": "x", "max_results": 5 })), Some(5));
        assert_eq!(top(serde_json::json!({ "query": "x", "max_results": 5000 })), Some(MOST));
    }
}
