//! Measures the models crate: the way of a first token, the governor under load, and models that run here.

pub(crate) mod here;
mod load;
mod quality;
mod token;

use std::path::Path;

use ibid_core::Tenant;
use ibid_core::model::{Caller, ChatRequest, Prompt};
use ibid_models::{Chat, ChatSettings, Provider, ProviderSettings, RemoteChat};

/// Everything about models.
pub(crate) fn measure() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        token::measure().await?;
        load::measure().await
    })?;
    here::measure()
}

/// How the multilingual models find, as a table.
pub(crate) fn quality(xquad: &Path) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(quality::measure(xquad))
}

fn chat(settings: ProviderSettings) -> anyhow::Result<Chat> {
    let provider = Provider::new(settings, None)?;
    let mut model = ChatSettings::new("bench", "tiny");
    model.max_output_tokens = Some(16);
    Ok(Chat::new(RemoteChat::new(provider, model), Vec::new()))
}

fn asking(caller: Caller, text: &str) -> ChatRequest {
    ChatRequest::new(caller, vec![Prompt::User(text.to_owned())])
}

fn person() -> Caller {
    Caller::chat(Tenant::local())
}

/// The value at a share of the sorted values.
pub(crate) fn percentile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = ((values.len() as f64 * share).ceil() as usize).clamp(1, values.len().max(1));
    values.get(place - 1).copied().unwrap_or(f64::NAN)
}
