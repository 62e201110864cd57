//! The tools that search a catalogue and work out instalments. Whatever a model writes becomes names and numbers of the catalogue;
//! nothing of it becomes a query.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use ibid_core::Scope;
use ibid_core::catalogue::Catalogues;
use ibid_core::model::ToolSpec;
use ibid_core::tool::{Tool, ToolError, ToolOutput};
use ibid_core::value::Decimal;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ToolContext, arguments, failure, spec};
use crate::catalogue::{
    CriteriaChange, CriterionWords, Fields, criteria_in_words, list, money, naming, relaxed, search,
    understand,
};
use crate::concierge::{DownPayment, PaymentWish};
use crate::definition::{CatalogueSettings, FinancingSettings};
use crate::language::Language;
use crate::payment::instalments;

struct CatalogueTool {
    spec: ToolSpec,
    port: Arc<dyn Catalogues>,
    settings: CatalogueSettings,
}

/// `search_catalogue`.
pub(super) fn search_catalogue(context: &ToolContext<'_>) -> Result<Arc<dyn Tool>, String> {
    let port = context.catalogues.ok_or("there are no catalogues here")?.clone();
    let settings = context.definition.catalogue.clone();
    if settings.fields.is_empty() {
        return Err("`search_catalogue` needs `catalogue.fields` in assistant.toml".to_owned());
    }
    let mut spec = spec::<SearchCatalogue>(
        "search_catalogue",
        "Finds what is offered in the catalogue: rows that fulfil criteria, each a field and words such as \"red\" or \
         \"under 200 thousand\". Where nothing fulfils all of them, gives what comes nearest.",
    );
    let fields: Vec<&str> = settings.fields.iter().map(|field| field.name.as_str()).collect();
    spec.parameters["properties"]["criteria"]["items"]["properties"]["field"]["enum"] = json!(fields);
    Ok(Arc::new(CatalogueTool { spec, port, settings }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchCatalogue {
    /// What is looked for.
    criteria: Vec<CriterionWords>,
    /// How many options are wanted.
    #[serde(default)]
    limit: Option<usize>,
}

#[async_trait]
impl Tool for CatalogueTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, scope: &Scope, given: Value) -> Result<ToolOutput, ToolError> {
        let SearchCatalogue { criteria, limit } = arguments(given)?;
        let change = CriteriaChange { criteria, ..CriteriaChange::default() }.bounded();
        let failed = |error: ibid_core::evidence::EvidenceError| failure("the catalogue", error);
        let catalogues = self.port.list(scope).await.map_err(failed)?;
        let Some(first) = naming(&catalogues) else {
            return Ok(ToolOutput::Found {
                passages: Vec::new(),
                note: Some("there is no catalogue".to_owned()),
            });
        };
        let fields = Fields::of(&self.settings, first);
        if let Some(said) = change.criteria.iter().find(|said| fields.get(&said.field).is_none()) {
            let names: Vec<&str> = fields.all().iter().map(|mapped| mapped.field.name.as_str()).collect();
            return Err(ToolError::Arguments(format!(
                "there is no field `{}`; there are {}",
                said.field,
                names.join(", ")
            )));
        }
        let mut understood = understand(&fields, &change, None, &BTreeMap::new());
        understood.criteria.set_limit(limit);
        let found = search(self.port.as_ref(), scope, &catalogues, &self.settings, &understood.criteria)
            .await
            .map_err(failed)?;
        let english = Language::english();
        let mut notes: Vec<String> =
            understood.unknown.iter().map(|words| format!("The catalogue has no {words}.")).collect();
        notes.extend(
            understood
                .unclear
                .iter()
                .map(|unclear| format!("{} may be {}.", unclear.words, unclear.names.join(", "))),
        );
        if !found.relaxed.is_empty() {
            notes.push(format!(
                "Nothing fulfils all criteria; these come nearest, {}.",
                relaxed(&found, &self.settings, english)
            ));
        }
        let wanted = criteria_in_words(&understood.criteria, &self.settings, english);
        notes.push(format!("{} in the catalogue ({}) for: {wanted}", found.count, first.title));
        let text = format!("{}\n{}", notes.join(" "), list(&found.options, &self.settings));
        let data = json!({ "criteria": understood.criteria, "count": found.count, "relaxed": found.relaxed, "options": found.options });
        Ok(ToolOutput::Said { text, data })
    }
}

struct FinancingTool {
    spec: ToolSpec,
    settings: FinancingSettings,
    currency: String,
}

/// `compute_financing`.
pub(super) fn compute_financing(context: &ToolContext<'_>) -> Result<Arc<dyn Tool>, String> {
    let spec = spec::<ComputeFinancing>(
        "compute_financing",
        "Works out monthly instalments for a price, exactly: give the price, and if they are known the down payment and the \
         terms in months.",
    );
    let (settings, currency) =
        (context.definition.financing.clone(), context.definition.catalogue.currency.clone());
    Ok(Arc::new(FinancingTool { spec, settings, currency }))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ComputeFinancing {
    /// The price.
    price: f64,
    /// What is paid at once; the least if left out.
    #[serde(default)]
    down_payment: Option<f64>,
    /// The terms in months; the usual ones if left out.
    #[serde(default)]
    months: Option<Vec<u32>>,
}

#[async_trait]
impl Tool for FinancingTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, _scope: &Scope, given: Value) -> Result<ToolOutput, ToolError> {
        let ComputeFinancing { price, down_payment, months } = arguments(given)?;
        let amount = |name: &str, number: f64| {
            let parsed =
                number.to_string().parse::<Decimal>().ok().filter(|number| *number >= Decimal::from(0));
            parsed.ok_or_else(|| ToolError::Arguments(format!("`{name}` is no amount of money")))
        };
        let price = amount("price", price)?;
        let down_payment = down_payment.map(|paid| amount("down_payment", paid)).transpose()?;
        let allowed = self.settings.least_months..=self.settings.most_months;
        let months = months.unwrap_or_default();
        if let Some(wrong) = months.iter().find(|months| !allowed.contains(months)) {
            let (least, most) = (self.settings.least_months, self.settings.most_months);
            return Err(ToolError::Arguments(format!("{wrong} months are not from {least} to {most}")));
        }
        let wish = PaymentWish {
            option: None,
            price: Some(price),
            down_payment: down_payment.map(DownPayment::Amount),
            months: months.into_iter().take(self.settings.months.len().max(12)).collect(),
        };
        let form = instalments(&self.settings, &self.currency, &wish)
            .ok_or_else(|| ToolError::Arguments("these amounts are too large".to_owned()))?;
        let lines = form.plans.iter().map(|plan| {
            let [instalment, total, interest] =
                [plan.instalment, plan.total, plan.interest].map(|amount| money(amount, &self.currency));
            format!(
                "{} months: {instalment} a month, {total} in all, of which {interest} interest",
                plan.months
            )
        });
        let text = format!(
            "Price {}, down payment {}, yearly rate {} %.\n{}",
            money(form.price, &self.currency),
            money(form.down_payment, &self.currency),
            form.yearly_rate_percent,
            lines.collect::<Vec<_>>().join("\n")
        );
        let data = serde_json::to_value(form).unwrap_or_default();
        Ok(ToolOutput::Said { text, data })
    }
}
