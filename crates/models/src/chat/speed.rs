//! How fast a model reads and writes, learned from the calls that it answered.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ibid_core::model::{Prompt, ReadingSpeed};
use serde_json::Value;

use super::tokens::Tokenizer;

/// A shorter time, and fewer tokens, say little about the model.
const SHORTEST: Duration = Duration::from_millis(500);
const FEWEST: u64 = 100;
const FEWEST_WRITTEN: u64 = 8;
/// How much the newest call counts.
const NEWEST: f64 = 0.4;

/// What is known of a model's speed.
#[derive(Default)]
pub(crate) struct LearnedSpeed(Mutex<Learned>);

#[derive(Default)]
struct Learned {
    speed: ModelSpeed,
    /// How many tokens are counted here for each that the server counts: estimates are never lower.
    counted: Option<f64>,
    /// What it read last, prompt by prompt: what a new call has in common with it from the start is not read again.
    last: Vec<u64>,
}

/// Tokens per second, as far as they are known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ModelSpeed {
    /// How many it reads.
    pub reading: Option<f64>,
    /// How many it writes.
    pub writing: Option<f64>,
}

/// How long a call took.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct CallTiming {
    /// Tokens that were read, without those that the server had kept.
    pub(super) read: u64,
    /// How long that took.
    pub(super) reading: Duration,
    /// Tokens that were written.
    pub(super) written: u64,
    /// And how long that took.
    pub(super) writing: Duration,
}

impl CallTiming {
    /// What a server of llama.cpp tells with the end of its answer.
    pub(super) fn told(timings: &Value) -> Option<Self> {
        let time = |name: &str| {
            timings[name].as_f64().and_then(|time| Duration::try_from_secs_f64(time / 1000.0).ok())
        };
        Some(Self {
            read: timings["prompt_n"].as_u64()?,
            reading: time("prompt_ms")?,
            written: timings["predicted_n"].as_u64()?,
            writing: time("predicted_ms")?,
        })
    }
}

impl LearnedSpeed {
    /// Takes a call into account.
    pub(super) fn learn(&self, call: CallTiming) {
        let mut learned = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ModelSpeed { reading, writing } = &mut learned.speed;
        if call.read >= FEWEST {
            let seen = call.read as f64 / call.reading.max(SHORTEST).as_secs_f64();
            // What took no time was at least so fast.
            match reading {
                Some(known) if call.reading < SHORTEST => *known = known.max(seen),
                _ => take(reading, seen),
            }
        }
        if call.written >= FEWEST_WRITTEN && call.writing >= SHORTEST {
            take(writing, call.written as f64 / call.writing.as_secs_f64());
        }
    }

    /// A prompt has so many tokens as they are counted here, and so many as its server has counted them.
    pub(super) fn compare(&self, here: u64, there: u64) {
        if there >= FEWEST {
            let mut learned = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            take(&mut learned.counted, here as f64 / there as f64);
        }
    }

    /// How many tokens of these prompts the model has read with the call before, from the start.
    pub(super) fn kept(&self, tokenizer: &Tokenizer, prompts: &[Prompt]) -> u64 {
        let hashes: Vec<u64> = prompts.iter().map(hash).collect();
        let mut learned = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let alike = hashes.iter().zip(&learned.last).take_while(|(new, last)| new == last).count();
        learned.last = hashes;
        prompts[..alike].iter().map(|prompt| tokenizer.count_prompt(prompt) as u64).sum()
    }

    /// What is known.
    pub(super) fn known(&self) -> ModelSpeed {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).speed
    }

    /// How long it reads so many tokens.
    pub(super) fn time_for(&self, tokens: u64) -> Option<Duration> {
        let (speed, counted) = self.in_own_tokens();
        Some(Duration::from_secs_f64(tokens as f64 / (speed? * counted).max(0.1)))
    }

    /// How fast it reads, in tokens as they are counted here.
    pub(super) fn reading(&self) -> ReadingSpeed {
        let (speed, counted) = self.in_own_tokens();
        speed.map_or(ReadingSpeed::Unknown, |speed| ReadingSpeed::Measured(speed * counted))
    }

    /// How many tokens it reads in a second, and how many are counted here for one of those.
    fn in_own_tokens(&self) -> (Option<f64>, f64) {
        let learned = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (learned.speed.reading, learned.counted.unwrap_or(1.0))
    }
}

fn take(known: &mut Option<f64>, seen: f64) {
    *known = Some(known.map_or(seen, |known| known + NEWEST * (seen - known)));
}

fn hash(prompt: &Prompt) -> u64 {
    let mut hasher = DefaultHasher::new();
    (std::mem::discriminant(prompt), prompt.text()).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(read: u64, milliseconds: u64) -> CallTiming {
        CallTiming { read, reading: Duration::from_millis(milliseconds), ..CallTiming::default() }
    }

    #[test]
    fn the_speed_is_learned_from_calls_that_tell_something() {
        let speed = LearnedSpeed::default();
        assert_eq!(speed.reading(), ReadingSpeed::Unknown);
        speed.learn(read(10, 20));
        assert_eq!(speed.time_for(1000), None);
        speed.learn(read(1000, 20_000));
        assert_eq!(speed.time_for(3000), Some(Duration::from_secs(60)));
        assert_eq!(speed.reading(), ReadingSpeed::Measured(50.0));
        speed.learn(read(1000, 40_000));
        assert!(speed.time_for(3000).unwrap() > Duration::from_secs(70));
        assert_eq!(speed.known().writing, None);
        speed.compare(1500, 1000);
        assert!(speed.time_for(3000).unwrap() < Duration::from_secs(60), "these are fewer for the model");
        let told =
            serde_json::json!({ "prompt_n": 0, "prompt_ms": 0.0, "predicted_n": 20, "predicted_ms": 2000.0 });
        speed.learn(CallTiming::told(&told).unwrap());
        assert_eq!(speed.known().writing, Some(10.0));
        speed.learn(read(1000, 20));
        assert_eq!(speed.known().reading, Some(2000.0), "at least");
    }

    #[test]
    fn what_was_read_before_is_known() {
        let (speed, tokenizer) = (LearnedSpeed::default(), Tokenizer::Estimate);
        let system = Prompt::System("Answer from the sources.".to_owned());
        let asked = |text: &str| [system.clone(), Prompt::User(text.to_owned())];
        assert_eq!(speed.kept(&tokenizer, &asked("one")), 0);
        assert_eq!(speed.kept(&tokenizer, &asked("two")), tokenizer.count_prompt(&system) as u64);
        assert_eq!(speed.kept(&tokenizer, &[Prompt::User("two".to_owned())]), 0);
    }
}
