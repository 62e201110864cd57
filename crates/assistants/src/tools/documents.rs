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

use super::{arguments, failure, spec};
use crate::definition::Retrieval;

/// The most passages that one call gives back.
const MOST: usize = 20;
/// The longest text that is searched with, in characters.
const LONGEST: usize = 500;

const SCHEDULE: &str = "hts_schedule";
const SECTION_301: &str = "section301_tariff";

/// Makes a question of arguments.
type Ask = fn(Value) -> Result<Question, ToolError>;

struct DocumentTool {
    spec: ToolSpec,
    ask: Ask,
    index: Arc<dyn Index>,
    retrieval: Retrieval,
}

/// A tool by its name.
pub(super) fn named(name: &str, index: &Arc<dyn Index>, retrieval: &Retrieval) -> Option<Arc<dyn Tool>> {
    let (spec, ask): (ToolSpec, Ask) = match name {
        "search_documents" => (
            spec::<SearchDocuments>(name, "Searches all documents for what they say on a subject."),
            search_documents,
        ),
        "search_knowledge" => (
            spec::<SearchKnowledge>(name, "Searches the documents, if wanted only those of one type."),
            search_knowledge,
        ),
        "lookup_hts_code" => (
            spec::<LookupHtsCode>(
                name,
                "Finds the codes, units and duty rates of a product in the tariff schedule.",
            ),
            lookup_hts_code,
        ),
        "check_tariffs" => (
            spec::<CheckTariffs>(
                name,
                "Finds the duty rates of a code, and additional duties for a country of origin.",
            ),
            check_tariffs,
        ),
        "check_agency_requirements" => (
            spec::<CheckAgencyRequirements>(
                name,
                "Finds what agencies require for the import of a kind of product.",
            ),
            check_agency_requirements,
        ),
        _ => return None,
    };
    Some(Arc::new(DocumentTool { spec, ask, index: index.clone(), retrieval: retrieval.clone() }))
}

#[async_trait]
impl Tool for DocumentTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, scope: &Scope, arguments: Value) -> Result<ToolOutput, ToolError> {
        let mut question = (self.ask)(arguments)?;
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

fn search_documents(given: Value) -> Result<Question, ToolError> {
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

fn search_knowledge(given: Value) -> Result<Question, ToolError> {
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

fn lookup_hts_code(given: Value) -> Result<Question, ToolError> {
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

fn check_tariffs(given: Value) -> Result<Question, ToolError> {
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

fn check_agency_requirements(given: Value) -> Result<Question, ToolError> {
    let CheckAgencyRequirements { product_type, agencies } = arguments(given)?;
    let mut question = Question::new(format!("requirements for the import of {product_type}"));
    let agencies = agencies.unwrap_or_default();
    let each = agencies.iter().take(4).map(|agency| format!("{agency} requirements {product_type}"));
    question.phrasings.extend(each);
    question.kinds =
        ["agency_regulation", "cbp_guide", "gov_publication", "general"].map(str::to_owned).to_vec();
    Ok(question)
}
