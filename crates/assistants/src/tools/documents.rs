//! Tools that search documents: anything, product descriptions in the tariff schedule, duties, and what agencies require.

use std::sync::Arc;

use async_trait::async_trait;
use ibid_core::Scope;
use ibid_core::evidence::{Index, Question};
use ibid_core::model::ToolSpec;
use ibid_core::tool::{Tool, ToolError, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{ToolContext, arguments, failure, spec};
use crate::definition::Retrieval;

/// The most passages that one call gives back.
const MOST: usize = 20;
/// The longest text that is searched with, in characters.
const LONGEST: usize = 500;

const SCHEDULE: &str = "hts_schedule";
const SECTION_301: &str = "section301_tariff";

/// Makes a query of arguments.
type Query = fn(Value) -> Result<Question, ToolError>;

struct DocumentTool {
    spec: ToolSpec,
    query: Query,
    index: Arc<dyn Index>,
    retrieval: Retrieval,
}

fn tool<T: JsonSchema>(
    context: &ToolContext<'_>,
    name: &str,
    description: &str,
    query: Query,
) -> Arc<dyn Tool> {
    let (index, retrieval) = (context.index.clone(), context.retrieval.clone());
    Arc::new(DocumentTool { spec: spec::<T>(name, description), query, index, retrieval })
}

/// `search_documents`.
pub(super) fn search_documents(context: &ToolContext<'_>) -> Result<Arc<dyn Tool>, String> {
    Ok(tool::<SearchDocuments>(
        context,
        "search_documents",
        "Searches all documents for what they say on a subject.",
        search_documents_query,
    ))
}

/// `search_knowledge`.
pub(super) fn search_knowledge(context: &ToolContext<'_>) -> Result<Arc<dyn Tool>, String> {
    Ok(tool::<SearchKnowledge>(
        context,
        "search_knowledge",
        "Searches the documents, if wanted only those of one type.",
        search_knowledge_query,
    ))
}

/// `lookup_hts_code`.
pub(super) fn lookup_hts_code(context: &ToolContext<'_>) -> Result<Arc<dyn Tool>, String> {
    Ok(tool::<LookupHtsCode>(
        context,
        "lookup_hts_code",
        "Finds the codes, units and duty rates of a product in the tariff schedule.",
        lookup_hts_code_query,
    ))
}

/// `check_tariffs`.
pub(super) fn check_tariffs(context: &ToolContext<'_>) -> Result<Arc<dyn Tool>, String> {
    Ok(tool::<CheckTariffs>(
        context,
        "check_tariffs",
        "Finds the duty rates of a code, and additional duties for a country of origin.",
        check_tariffs_query,
    ))
}

/// `check_agency_requirements`.
pub(super) fn check_agency_requirements(context: &ToolContext<'_>) -> Result<Arc<dyn Tool>, String> {
    Ok(tool::<CheckAgencyRequirements>(
        context,
        "check_agency_requirements",
        "Finds what agencies require for the import of a kind of product.",
        check_agency_requirements_query,
    ))
}

#[async_trait]
impl Tool for DocumentTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, scope: &Scope, arguments: Value) -> Result<ToolOutput, ToolError> {
        let mut question = (self.query)(arguments)?;
        for phrasing in &mut question.phrasings {
            *phrasing = phrasing.chars().take(LONGEST).collect();
        }
        if question.phrasings.iter().all(|phrasing| phrasing.trim().is_empty()) {
            return Err(ToolError::Arguments("there is nothing to search for".to_owned()));
        }
        let Retrieval { top, neighbours, types, rerank } = &self.retrieval;
        (question.neighbours, question.rerank) = (*neighbours, *rerank);
        question.top = if question.top == Question::new("").top { *top } else { question.top };
        // What the assistant does not search, its tools do not search either.
        if !types.is_empty() {
            let asked = std::mem::take(&mut question.kinds);
            question.kinds =
                types.iter().filter(|kind| asked.is_empty() || asked.contains(kind)).cloned().collect();
            if question.kinds.is_empty() {
                return Ok(ToolOutput::Found(Vec::new()));
            }
        }
        let found = self.index.retrieve(scope, &question).await;
        let found = found.map_err(|error| failure("the search in the documents", error))?;
        Ok(ToolOutput::Found(found.passages))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchDocuments {
    /// What to look for.
    query: String,
    /// Only documents of this type, such as hts_schedule.
    #[serde(default)]
    doc_type: Option<String>,
    /// How many passages; 5 unless said.
    #[serde(default)]
    max_results: Option<usize>,
}

fn search_documents_query(given: Value) -> Result<Question, ToolError> {
    let SearchDocuments { query, doc_type, max_results } = arguments(given)?;
    let mut question = Question::new(query);
    question.kinds = doc_type.into_iter().filter(|kind| !kind.trim().is_empty()).collect();
    question.top = max_results.unwrap_or(question.top).clamp(1, MOST);
    Ok(question)
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

fn search_knowledge_query(given: Value) -> Result<Question, ToolError> {
    let SearchKnowledge { query, document_type } = arguments(given)?;
    let mut question = Question::new(query);
    question.kinds = document_type.into_iter().filter(|kind| !kind.trim().is_empty()).collect();
    Ok(question)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LookupHtsCode {
    /// The product, in a few words, or a code.
    product_description: String,
}

fn lookup_hts_code_query(given: Value) -> Result<Question, ToolError> {
    let LookupHtsCode { product_description } = arguments(given)?;
    let mut question = Question::new(product_description);
    question.kinds = vec![SCHEDULE.to_owned()];
    Ok(question)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CheckTariffs {
    /// The code, such as 8539.52.
    hts_code: String,
    /// The country where the product is made.
    country_of_origin: String,
}

fn check_tariffs_query(given: Value) -> Result<Question, ToolError> {
    let CheckTariffs { hts_code, country_of_origin } = arguments(given)?;
    let mut question = Question::new(format!("{hts_code} rate of duty"));
    question.phrasings.push(format!("{hts_code} additional duty {country_of_origin}"));
    question.kinds = vec![SCHEDULE.to_owned(), SECTION_301.to_owned()];
    Ok(question)
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

fn check_agency_requirements_query(given: Value) -> Result<Question, ToolError> {
    let CheckAgencyRequirements { product_type, agencies } = arguments(given)?;
    let mut question = Question::new(format!("requirements for the import of {product_type}"));
    let agencies = agencies.unwrap_or_default();
    let each = agencies.iter().take(4).map(|agency| format!("{agency} requirements {product_type}"));
    question.phrasings.extend(each);
    question.kinds =
        ["agency_regulation", "cbp_guide", "gov_publication", "general"].map(str::to_owned).to_vec();
    Ok(question)
}
