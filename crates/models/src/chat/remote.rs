//! One model of one provider: from a request to a reply that has begun.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ibid_core::model::{
    CallProgress, Caller, ChatRequest, ModelError, Prompt, ReadingProgress, ReadingSpeed, ToolChoice,
};

use super::abilities::Abilities;
use super::fit::{fit, question_in};
use super::pieces::{CallClock, Meter, Pieces};
use super::settings::{ChatSettings, WindowSource};
use super::speed::{LearnedSpeed, ModelSpeed};
use super::wire;
use crate::governor::{Ask, CallMeasure, Failure};
use crate::provider::Provider;
use tokio::sync::OnceCell;

const PATH: &str = "chat/completions";
/// So often it is told how far a model has read.
pub(super) const TELLING: Duration = Duration::from_secs(2);

/// A chat model behind any server that speaks OpenAI's protocol.
pub struct RemoteChat {
    pub(super) provider: Arc<Provider>,
    pub(super) settings: ChatSettings,
    abilities: Mutex<Abilities>,
    /// What its server told of its window.
    told: OnceCell<usize>,
    /// How often it was asked for that.
    asked: AtomicU8,
    /// How fast it reads and writes.
    speed: Arc<LearnedSpeed>,
}

/// So often a server is asked for its window: at the start, and with the first call if it was not up yet.
const MOST_ASKED: u8 = 2;

impl RemoteChat {
    /// A model of a provider.
    pub fn new(provider: Arc<Provider>, settings: ChatSettings) -> Arc<Self> {
        let abilities = Mutex::new(Abilities::new(settings.tools, settings.schema));
        let speed = provider.speed_of(&settings.model);
        Arc::new(Self {
            provider,
            settings,
            abilities,
            told: OnceCell::new(),
            asked: AtomicU8::new(0),
            speed,
        })
    }

    /// Its provider.
    pub fn provider(&self) -> &Arc<Provider> {
        &self.provider
    }

    /// Its name at the provider.
    pub fn model(&self) -> &str {
        &self.settings.model
    }

    /// Asks its server for its window, unless that is known or set. What cannot be told now is asked for again with the first
    /// call.
    pub async fn learn_window(&self) {
        if self.settings.window == WindowSource::Settings || self.told.initialized() {
            return;
        }
        if self.asked.fetch_add(1, Ordering::Relaxed) >= MOST_ASKED {
            self.asked.store(MOST_ASKED, Ordering::Relaxed);
            return;
        }
        if let Some(window) = self.provider.window(&self.settings.model).await {
            let configured = self.settings.context_tokens;
            if self.settings.window == WindowSource::ServerAtMost && window < configured {
                let name = &self.settings.name;
                tracing::warn!("the server of `{name}` takes {window} tokens at once, not {configured}");
            }
            let _ = self.told.set(window);
        }
    }

    /// How many tokens it can read and write in one call.
    pub fn context_tokens(&self) -> usize {
        let configured = self.settings.context_tokens;
        match (self.settings.window, self.told.get()) {
            (WindowSource::Server, Some(told)) => *told,
            (WindowSource::ServerAtMost, Some(told)) => configured.min(*told),
            _ => configured,
        }
    }

    /// How fast it reads and writes, as far as its answers have told.
    pub fn speed(&self) -> ModelSpeed {
        self.speed.known()
    }

    /// How fast it reads, if it runs where that matters: elsewhere reading takes next to no time.
    pub(super) fn reading_speed(&self) -> ReadingSpeed {
        if self.provider.is_near() { self.speed.reading() } else { ReadingSpeed::Fast }
    }

    /// How many tokens its server told that it takes.
    pub fn told_window(&self) -> Option<usize> {
        self.told.get().copied()
    }

    /// How many tokens are kept free for the answer.
    fn reserved_for_answer(&self, wanted: Option<usize>) -> usize {
        let window = self.context_tokens();
        let usual = (window / 4).min(2048);
        wanted.or(self.settings.max_output_tokens).unwrap_or(usual).min(window)
    }

    /// The request as this model is asked: with its own limit, and as much of the conversation as it can hold.
    /// Returns how many tokens that takes, too.
    pub(super) fn fitted(&self, request: ChatRequest) -> Result<(ChatRequest, usize), ModelError> {
        let question = question_in(&request.prompts);
        self.fitted_around(request, question)
    }

    /// The request that tells the model what was wrong with its answer. The question is still the one before that.
    pub(super) fn repairing(
        &self,
        mut request: ChatRequest,
        answer: &str,
        repair: Prompt,
    ) -> Result<(ChatRequest, usize), ModelError> {
        let question = question_in(&request.prompts);
        // An answer without a word is no message that every provider takes.
        let answer = if answer.trim().is_empty() { "(nothing)" } else { answer };
        request.prompts.push(Prompt::assistant(answer));
        request.prompts.push(repair);
        self.fitted_around(request, question)
    }

    fn fitted_around(
        &self,
        mut request: ChatRequest,
        question: usize,
    ) -> Result<(ChatRequest, usize), ModelError> {
        let ChatSettings { name, tokenizer, max_output_tokens, .. } = &self.settings;
        request.max_output_tokens = request.max_output_tokens.or(*max_output_tokens);
        // Both may have to stand in the prompt, with words around them.
        const AROUND: usize = 120;
        let tools: usize = request.tools.iter().map(|tool| tokenizer.count_tool(tool)).sum();
        let schema = request.schema.as_ref().map_or(0, |schema| tokenizer.count(&schema.schema.to_string()));
        let extra = [tools, schema]
            .into_iter()
            .filter(|tokens| *tokens > 0)
            .map(|tokens| tokens + AROUND)
            .sum::<usize>();
        let answer = self.reserved_for_answer(request.max_output_tokens);
        let room = self.context_tokens().saturating_sub(answer + extra);
        let (prompts, used) = fit(name, tokenizer, std::mem::take(&mut request.prompts), question, room)?;
        request.prompts = prompts;
        Ok((request, used + extra))
    }

    /// Asks, and comes back when the model begins to answer. What the provider refuses to take is left out from
    /// then on and put into the prompt.
    pub(super) async fn begin(
        &self,
        request: &ChatRequest,
        input_tokens: usize,
        has_fallback: bool,
    ) -> Result<Pieces, ModelError> {
        let caller = &request.caller;
        let answer = self.reserved_for_answer(request.max_output_tokens);
        let tokens = (input_tokens + answer) as u64;
        let before = self.abilities();
        let mut abilities = before;
        loop {
            let mut extra = self.settings.extra.clone();
            if request.progress.is_some() && self.provider.tells_progress() {
                extra.insert("return_progress".to_owned(), true.into());
            }
            let body = wire::body(&self.settings.model, request, abilities, &extra);
            let attempt = || self.attempt(&body, request, input_tokens);
            let ask = Ask { caller, tokens, has_fallback, progress: request.progress.as_ref() };
            match self.provider.governor().call(ask, attempt).await {
                Ok((pieces, mut permit)) => {
                    // What was left out is believed to be lacking only now that it goes without.
                    self.abilities.lock().unwrap_or_else(PoisonError::into_inner).learn(before, abilities);
                    permit.measure = Some(self.measure(&pieces, caller));
                    return Ok(pieces.holding(permit));
                }
                Err(ModelError::Refused { reason, provider, status }) => {
                    let Some(changed) = abilities.without_refused(&reason, &body) else {
                        return Err(ModelError::Refused { reason, provider, status });
                    };
                    tracing::info!(
                        model = self.settings.name,
                        reason,
                        "the provider lacks something; it is replaced"
                    );
                    abilities = changed;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn measure(&self, pieces: &Pieces, caller: &Caller) -> CallMeasure {
        CallMeasure {
            model: self.settings.name.clone(),
            tenant: caller.tenant.clone(),
            prices: self.settings.prices,
            first_token: pieces.to_first_token(),
            // An answer that came in one piece says nothing of how fast the model writes.
            begun: (!pieces.is_complete()).then(Instant::now),
            broken: false,
        }
    }

    async fn attempt(
        &self,
        body: &serde_json::Value,
        request: &ChatRequest,
        input_tokens: usize,
    ) -> Result<Pieces, Failure> {
        let beginning = async {
            let response = self.provider.post(PATH, body).await?;
            let tokenizer = self.settings.tokenizer.clone();
            let kept = self.speed.kept(&tokenizer, &request.prompts);
            let clock = CallClock::start(self.speed.clone(), kept);
            let meter = Meter { tokenizer, input_tokens: input_tokens as u64, output_tokens: 0, clock };
            let told = request.progress.clone();
            Pieces::begin(self.provider.clone(), response, callable(request), meter, told).await
        };
        let limit = self.provider.limits().first_token;
        let begun = tokio::select! {
            begun = tokio::time::timeout(limit, beginning) => begun,
            never = self.tell_while_reading(request, input_tokens as u64) => match never {},
        };
        match begun {
            Ok(begun) => begun,
            // What a server here has taken long for, it is still working on: to ask again would only add to it.
            Err(_) if self.provider.is_near() => {
                Err(Failure::Final(self.provider.too_slow("to begin its answer", limit)))
            }
            Err(_) => Err(Failure::Passing(self.provider.too_slow("to begin its answer", limit), None)),
        }
    }

    /// Tells how long the model may still read, as far as its speed is known. A server that tells it itself knows better.
    async fn tell_while_reading(&self, request: &ChatRequest, tokens: u64) -> Infallible {
        let began = Instant::now();
        let listener = request.progress.as_ref().filter(|_| self.provider.is_near());
        let Some(listener) = listener.filter(|_| !self.provider.tells_progress()) else {
            return std::future::pending().await;
        };
        loop {
            tokio::time::sleep(TELLING).await;
            let whole = self.speed.time_for(tokens);
            let seconds_left = whole.map(|whole| whole.saturating_sub(began.elapsed()).as_secs().max(1));
            listener.tell(CallProgress::Reading(ReadingProgress { tokens, read: None, seconds_left }));
        }
    }

    fn abilities(&self) -> Abilities {
        *self.abilities.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The names of the tools that may be called.
fn callable(request: &ChatRequest) -> Vec<String> {
    if request.tool_choice == ToolChoice::None {
        return Vec::new();
    }
    request.tools.iter().map(|tool| tool.name.clone()).collect()
}
