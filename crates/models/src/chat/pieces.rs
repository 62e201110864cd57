//! A reply while it comes: reads the body, keeps the time limits, and holds the call's place until its end.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use http::header::CONTENT_TYPE;
use ibid_core::model::{
    CallProgress, ChatPart, Finish, ModelError, ProgressListener, ReadingProgress, Usage,
};
use ibid_egress::{Error, Response, SseDecoder};
use serde_json::Value;
use tokio::time::{Instant, Sleep, sleep_until};

use super::decode::{Decoder, words_only};
use super::remote::TELLING;
use super::speed::{CallTiming, LearnedSpeed};
use super::tokens::Tokenizer;
use crate::governor::{Failure, Permit};
use crate::provider::Provider;

/// How long the end of a body may take to come after the end of the answer.
const DRAINING: Duration = Duration::from_secs(2);

/// A reply that has begun.
pub(super) struct Pieces {
    provider: Arc<Provider>,
    body: BoxStream<'static, Result<Bytes, Error>>,
    events: SseDecoder,
    /// A body that is no stream of events is collected here and read as a whole.
    whole: Option<Vec<u8>>,
    decoder: Option<Decoder>,
    ready: VecDeque<ChatPart>,
    /// How many pieces of the answer have come.
    decoded: u64,
    permit: Option<Permit>,
    meter: Meter,
    end: Option<(Finish, Usage)>,
    /// What went wrong, told after everything that came before it.
    failed: Option<ModelError>,
    /// Tells when the model may have taken too long. One for the whole reply, set anew only when it rings, since to do so for
    /// each piece costs more than the piece.
    clock: Option<Pin<Box<Sleep>>>,
    /// How far the model has read, if its server tells.
    reading: Option<ReadingProgress>,
}

/// A piece of a reply.
enum Piece<'a> {
    /// Nothing but words.
    Words(Cow<'a, str>),
    /// Whatever else.
    Any(Value),
}

/// Counts what a reply takes, in case the provider does not say or the reply is stopped.
pub(super) struct Meter {
    pub(super) tokenizer: Tokenizer,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) clock: CallClock,
}

/// Learns from a call how fast its model is.
pub(super) struct CallClock {
    speed: Arc<LearnedSpeed>,
    /// How many tokens the server may have kept from the call before.
    kept: u64,
    asked: Instant,
    begun: Option<Instant>,
    told: Option<CallTiming>,
}

impl CallClock {
    /// The model is asked now.
    pub(super) fn start(speed: Arc<LearnedSpeed>, kept: u64) -> Self {
        Self { speed, kept, asked: Instant::now(), begun: None, told: None }
    }

    /// The answer has ended.
    fn stop(&self, counted: u64, usage: &Usage) {
        let Some(begun) = self.begun else { return };
        if !usage.estimated {
            self.speed.compare(counted, usage.input_tokens);
        }
        let kept = self.kept.max(usage.cached_tokens);
        let seen = CallTiming {
            read: usage.input_tokens.saturating_sub(kept),
            reading: begun - self.asked,
            written: usage.output_tokens,
            writing: begun.elapsed(),
        };
        self.speed.learn(self.told.unwrap_or(seen));
    }
}

impl Pieces {
    /// Waits until the model begins to answer.
    pub(super) async fn begin(
        provider: Arc<Provider>,
        response: Response,
        tools: Vec<String>,
        meter: Meter,
        listener: Option<ProgressListener>,
    ) -> Result<Self, Failure> {
        let media_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let whole = media_type.is_some_and(|kind| kind.starts_with("application/json")).then(Vec::new);
        let mut pieces = Self {
            provider,
            body: response.into_stream().boxed(),
            events: SseDecoder::default(),
            whole,
            decoder: Some(Decoder::new(tools)),
            ready: VecDeque::new(),
            decoded: 0,
            permit: None,
            meter,
            end: None,
            failed: None,
            clock: None,
            reading: None,
        };
        let mut told = None;
        while pieces.decoder.as_ref().is_some_and(|decoder| !decoder.has_begun()) {
            pieces.read().await?;
            let is_due = told.is_none_or(|told: Instant| told.elapsed() >= TELLING);
            if let (Some(listener), Some(reading)) = (&listener, pieces.reading.take().filter(|_| is_due)) {
                told = Some(Instant::now());
                listener.tell(CallProgress::Reading(reading));
            }
        }
        pieces.meter.clock.begun = Some(Instant::now());
        Ok(pieces)
    }

    /// How long the model took to its first token.
    pub(super) fn to_first_token(&self) -> Duration {
        let CallClock { asked, begun, .. } = &self.meter.clock;
        begun.map_or(Duration::ZERO, |begun| begun - *asked)
    }

    /// Whether the whole answer has come.
    pub(super) fn is_complete(&self) -> bool {
        self.end.is_some()
    }

    /// From here on the reply holds its place among the calls under way.
    pub(super) fn holding(mut self, mut permit: Permit) -> Self {
        match &self.end {
            Some((_, usage)) => (permit.usage, permit.complete) = (*usage, true),
            None => permit.usage = self.meter.usage(),
        }
        self.permit = Some(permit);
        self
    }

    /// The next part. The last one is followed by nothing; [`Pieces::ended`] then says how it ended.
    pub(super) async fn next(&mut self) -> Option<Result<ChatPart, ModelError>> {
        let limit: Duration = self.provider.limits().between_tokens;
        let mut deadline = Instant::now() + limit;
        loop {
            if let Some(part) = self.ready.pop_front() {
                return Some(Ok(part));
            }
            if let Some(failure) = self.failed.take() {
                return Some(Err(failure));
            }
            self.decoder.as_ref()?;
            let before = self.decoded;
            let mut clock = self.clock.take().unwrap_or_else(|| Box::pin(sleep_until(deadline)));
            let read = tokio::select! {
                biased;
                read = self.read() => Some(read),
                () = clock.as_mut() => None,
            };
            let rang = read.is_none();
            if rang {
                clock.as_mut().reset(deadline);
            }
            self.clock = Some(clock);
            if rang && Instant::now() < deadline {
                continue;
            }
            let complete = self.decoder.as_ref().is_some_and(Decoder::is_complete);
            if complete && !matches!(read, Some(Ok(()))) && self.finish(false).is_ok() {
                // Everything was said; how the connection ends does not matter.
                continue;
            }
            let failure = match read {
                Some(Ok(())) => {
                    // Signs of life that say nothing do not count: some providers send them for ever.
                    if self.decoded > before {
                        deadline = Instant::now() + limit;
                    }
                    continue;
                }
                Some(Err(failure)) => failure.into_error(self.provider.name()),
                None => self.provider.too_slow("to go on with its answer", limit),
            };
            if let Some(mut permit) = self.permit.take() {
                permit.broke(&failure.to_string());
            }
            if let Some(decoder) = self.decoder.take() {
                self.ready.extend(decoder.cut_off());
            }
            self.failed = Some(failure);
        }
    }

    /// How the reply ended, after its last part. The place is free from here on.
    pub(super) fn ended(&mut self) -> Option<(Finish, Usage)> {
        self.permit = None;
        self.end.take()
    }

    /// Reads what comes next into `ready`.
    async fn read(&mut self) -> Result<(), Failure> {
        match self.body.next().await {
            Some(Ok(piece)) => {
                if let Some(whole) = &mut self.whole {
                    whole.extend_from_slice(&piece);
                } else {
                    let long = |_| Failure::Final(self.provider.nonsense("an event is too long"));
                    self.events.push(&piece).map_err(long)?;
                    self.decode()?;
                }
                Ok(())
            }
            Some(Err(error)) => Err(self.provider.broken(&error)),
            None => {
                if let Some(whole) = self.whole.take() {
                    self.decode_one(&String::from_utf8_lossy(&whole))?;
                } else {
                    self.events.end();
                    self.decode()?;
                }
                self.finish(false)
            }
        }
    }

    /// Reads the rest of the body, which is nothing but its end, so that the connection can be used again.
    fn drain(&mut self) {
        let mut rest = std::mem::replace(&mut self.body, stream::empty().boxed());
        tokio::spawn(async move {
            let end = async { while rest.next().await.is_some() {} };
            let _ = tokio::time::timeout(DRAINING, end).await;
        });
    }

    fn decode(&mut self) -> Result<(), Failure> {
        while let Some(data) = self.events.pop() {
            if self.decoder.is_none() {
                return Ok(());
            }
            if data == "[DONE]" {
                self.drain();
                return self.finish(true);
            }
            self.decode_one(&data)?;
        }
        Ok(())
    }

    fn decode_one(&mut self, data: &str) -> Result<(), Failure> {
        let piece = match words_only(data) {
            Some(words) => Piece::Words(words),
            None => {
                let chunk: Value = serde_json::from_str(data)
                    .map_err(|error| Failure::Passing(self.provider.nonsense(&error.to_string()), None))?;
                if let Some(failure) = self.provider.failure_in(&chunk) {
                    return Err(failure);
                }
                if let Some(reading) = chunk.get("prompt_progress").and_then(reading) {
                    self.reading = Some(reading);
                    return Ok(());
                }
                if let Some(told) = chunk.get("timings").and_then(CallTiming::told) {
                    self.meter.clock.told = Some(told);
                }
                Piece::Any(chunk)
            }
        };
        self.decoded += 1;
        if let Some(decoder) = &mut self.decoder {
            let parts = match &piece {
                Piece::Words(words) => decoder.push_words(words),
                Piece::Any(chunk) => decoder.push(chunk),
            };
            self.meter.count(&parts);
            self.ready.extend(parts);
            // The account is right whenever the reply is stopped.
            if let Some(permit) = &mut self.permit {
                permit.usage = self.meter.usage();
            }
        }
        Ok(())
    }

    /// The last piece has come; `told` if the provider said so itself.
    fn finish(&mut self, told: bool) -> Result<(), Failure> {
        let Some(decoder) = self.decoder.take() else { return Ok(()) };
        let complete = decoder.is_complete() || (told && decoder.has_begun());
        if !complete {
            self.ready.extend(decoder.cut_off());
            return Err(Failure::Passing(self.provider.cut("the answer breaks off"), None));
        }
        let ended = decoder.end();
        self.meter.count(&ended.parts);
        self.ready.extend(ended.parts);
        let usage = ended.usage.unwrap_or_else(|| self.meter.usage());
        self.meter.clock.stop(self.meter.input_tokens, &usage);
        self.end = Some((ended.finish, usage));
        if let Some(permit) = &mut self.permit {
            permit.usage = usage;
            permit.complete = true;
        }
        Ok(())
    }
}

/// How far a server of llama.cpp has read.
fn reading(progress: &Value) -> Option<ReadingProgress> {
    let number = |name: &str| progress[name].as_u64();
    let (tokens, read) = (number("total")?, number("processed")?);
    let (cached, took) = (number("cache").unwrap_or_default(), number("time_ms").unwrap_or_default());
    let done = read.saturating_sub(cached);
    // What it has read so far tells how fast it is; what it knew already does not.
    let left = (done > 0 && took > 0).then(|| tokens.saturating_sub(read) * took / done / 1000);
    Some(ReadingProgress { tokens, read: Some(read), seconds_left: left })
}

impl Meter {
    fn count(&mut self, parts: &[ChatPart]) {
        for part in parts {
            self.output_tokens += match part {
                // Pieces are about a token each; a whole reply in one piece is counted.
                ChatPart::Text(text) | ChatPart::Reasoning(text) if text.len() < 16 => 1,
                ChatPart::Text(text) | ChatPart::Reasoning(text) => self.tokenizer.count(text) as u64,
                ChatPart::Call(call) => self.tokenizer.count(&call.arguments.to_string()) as u64 + 5,
                _ => 0,
            };
        }
    }

    fn usage(&self) -> Usage {
        let (input_tokens, output_tokens) = (self.input_tokens, self.output_tokens);
        Usage { input_tokens, output_tokens, cached_tokens: 0, estimated: true }
    }
}
