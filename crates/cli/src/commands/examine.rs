//! What a running server looks at to see whether it can work, and what it tells of how it is set up.

use std::collections::BTreeMap;
use std::sync::Arc;

use ibid_core::evidence::DocumentId;
use ibid_engine::{Engine, LocalEngine, ThreadFilter};
use ibid_server::{Check, Facts, Finding, Model};

use super::{doctor, scope};
use crate::assistants::Lineup;
use crate::config::Config;
use crate::library::Library;

/// Looks at something that the configuration names.
type Look = fn(&Config) -> Finding;

/// What is looked at: what the server cannot do without, and what else `ibid doctor` would say.
pub(super) fn checks(
    config: &Config,
    turns: &LocalEngine,
    loads: &LocalEngine,
    library: &Library<'_>,
    lineup: &Lineup,
) -> anyhow::Result<Vec<Check>> {
    let engine = |name: &str, holds: &'static str, engine: &LocalEngine| {
        let engine = engine.clone();
        check(name, true, move || {
            let engine = engine.clone();
            async move {
                match engine.count_threads(&scope(), ThreadFilter::default()).await {
                    Ok(_) => Finding::fine(holds),
                    Err(error) => Finding::wrong(error.to_string(), "see whether its file can be written"),
                }
            }
        })
    };
    let (store, place) = (library.store.clone(), config.store_place());
    let store = check("store", true, move || {
        let (store, place) = (store.clone(), place.clone());
        async move {
            match store.document(&scope(), &DocumentId(String::new())).await {
                Ok(_) => Finding::fine(format!("{place} can be read")),
                Err(error) => Finding::wrong(error.to_string(), "see whether its place can be reached"),
            }
        }
    });
    let mut checks = vec![
        engine("turns", "conversations are kept", turns),
        engine("loads", "documents can be loaded", loads),
        store,
    ];
    let able = able(lineup);
    checks.push(check("assistants", false, move || std::future::ready(able.clone())));
    checks.extend(library.parts.providers().map(|provider| {
        let provider = provider.clone();
        check(&format!("models of {}", provider.name()), true, move || {
            let provider = provider.clone();
            async move { doctor::answers(&provider).await }
        })
    }));
    let embedder = library.embedder.clone();
    checks.push(check("embedding", false, move || {
        let embedder = embedder.clone();
        async move { doctor::embeds(embedder.as_ref()).await }
    }));
    let reranker = library.parts.reranker()?;
    checks.push(check("reranking", false, move || {
        let reranker = reranker.clone();
        async move { doctor::reranks(reranker.as_deref()).await }
    }));
    let config = Arc::new(config.clone());
    let quick: [(&str, Look); 3] = [
        ("data folder", |config| doctor::data_folder(&config.data)),
        ("PDFs", doctor::pdfs),
        ("scanned pages", doctor::scanned),
    ];
    checks.extend(quick.map(|(name, look)| {
        let config = config.clone();
        check(name, false, move || {
            let config = config.clone();
            async move {
                let looked = tokio::task::spawn_blocking(move || look(&config)).await;
                looked.unwrap_or_else(|error| Finding::wrong(error.to_string(), "see the log"))
            }
        })
    }));
    Ok(checks)
}

/// Whether every assistant can answer, as it was found at the start.
fn able(lineup: &Lineup) -> Finding {
    let obstacles = lineup.obstacles();
    if obstacles.is_empty() {
        return Finding::fine(format!("{} can answer", lineup.ready.len()));
    }
    Finding::wrong(obstacles.join("\n"), "mend this, then start ibid again")
}

fn check<F>(name: &str, vital: bool, look: impl Fn() -> F + Send + Sync + 'static) -> Check
where
    F: Future<Output = Finding> + Send + 'static,
{
    Check { name: name.to_owned(), vital, look: Box::new(move || Box::pin(look())) }
}

/// What the server is set up with.
pub(super) fn facts(config: &Config, library: &Library<'_>) -> Facts {
    let mut models: Vec<Model> = config
        .models
        .iter()
        .map(|(name, model)| Model {
            name: name.clone(),
            provider: model.provider.clone(),
            model: model.model.clone(),
            context: model.context,
            input_price: model.input_price,
            output_price: model.output_price,
        })
        .collect();
    if let Some((provider, model)) = library.parts.chat_in_use() {
        let context = crate::config::ModelConfig::default().context;
        let (name, provider, model) = ("answer".to_owned(), provider.to_owned(), model.to_owned());
        models.push(Model { name, provider, model, context, input_price: None, output_price: None });
    }
    let mut limits = BTreeMap::from([
        ("ingest.largest_mb".to_owned(), config.ingest.largest_mb.to_string()),
        ("ingest.at_once".to_owned(), config.ingest.at_once.to_string()),
    ]);
    let mut limit = |name: String, value: Option<String>| {
        limits.insert(name, value.unwrap_or_else(|| "none".to_owned()));
    };
    limit("serve.per_minute".to_owned(), config.serve.per_minute.map(|limit| limit.to_string()));
    limit("budget.tokens_per_day".to_owned(), config.budget.tokens_per_day.map(|limit| limit.to_string()));
    for (name, provider) in &config.providers {
        limit(format!("providers.{name}.concurrent"), Some(provider.concurrent.to_string()));
    }
    Facts { models, limits }
}
