//! Whether those answer whose models are used.

use std::collections::BTreeSet;
use std::sync::Arc;

use ibid_models::Provider;

use super::{CheckResult, HealthCheck, provider_check};
use crate::models::ModelCatalog;
use crate::settings::{ModelSettings, Settings};

/// One check for each provider, and one for each set of providers of which a model needs only one.
pub(super) fn checks(settings: &Settings, models: &ModelCatalog) -> Vec<HealthCheck> {
    let chains = provider_chains(settings);
    let alone = |name: &str| {
        let mut with = chains.iter().filter(|chain| chain.contains(name)).peekable();
        with.peek().is_none() || with.any(|chain| chain.len() == 1)
    };
    let each = models.providers().map(|provider| {
        let (name, provider) = (provider.name(), provider.clone());
        HealthCheck::new(&format!("models of {name}"), alone(name), move || {
            let provider = provider.clone();
            async move { provider_check(&provider).await }
        })
    });
    let any = chains.iter().filter(|chain| chain.len() > 1).map(|chain| {
        let of: Vec<Arc<Provider>> =
            models.providers().filter(|provider| chain.contains(provider.name())).cloned().collect();
        let names: Vec<&str> = chain.iter().copied().collect();
        HealthCheck::new(&format!("models of {}", names.join(" or ")), true, move || {
            let of = of.clone();
            async move {
                let asked = of.iter().map(|provider| provider_check(provider));
                let mut found = futures_util::future::join_all(asked).await;
                let fine = found.iter().position(|found| matches!(found, CheckResult::Fine { .. }));
                found.swap_remove(fine.unwrap_or_default())
            }
        })
    });
    each.chain(any).collect()
}

/// The providers of each chat model and of what stands in for it, and that of the embedding model. A model that only stands in
/// for others has none of its own; one that is called `small` works beside the one that answers.
fn provider_chains(settings: &Settings) -> BTreeSet<BTreeSet<&str>> {
    let stands_in = |name: &String| {
        name != "small" && settings.models.values().any(|model| model.fallback.contains(name))
    };
    let first = settings.models.iter().filter(|(name, _)| !stands_in(name));
    let of = |model: &'_ ModelSettings| {
        let others = model.fallback.iter().filter_map(|name| settings.models.get(name));
        others.map(|other| other.provider.as_str()).collect::<BTreeSet<_>>()
    };
    let chains = first.map(|(_, model)| of(model).into_iter().chain([model.provider.as_str()]).collect());
    let embedding = settings.embedding.provider.iter().map(|provider| BTreeSet::from([provider.as_str()]));
    chains.chain(embedding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_with_a_fallback_needs_one_of_two_providers() {
        let settings: Settings = toml::from_str(
            r#"
            [models.answer]
            provider = "far"
            model = "large"
            fallback = ["spare"]
            [models.spare]
            provider = "near"
            model = "small"
            [models.title]
            provider = "near"
            model = "tiny"
            "#,
        )
        .unwrap();
        let chains = provider_chains(&settings);
        assert_eq!(chains, BTreeSet::from([BTreeSet::from(["far", "near"]), BTreeSet::from(["near"])]));
    }
}
