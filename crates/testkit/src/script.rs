//! What a scripted server does with each request.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::reply::Reply;
use crate::seen::Seen;

type When = Box<dyn Fn(&Seen) -> bool + Send + Sync>;
type Answer = Box<dyn Fn(&Seen) -> Reply + Send + Sync>;

/// What a server does with each request: the first rule that fits answers, unless a limit or bad luck does.
#[derive(Default)]
pub struct Script {
    rules: Vec<Rule>,
    limit: Option<(usize, Duration)>,
    taken: Mutex<VecDeque<Instant>>,
    trouble: Option<(f64, Mutex<StdRng>)>,
}

struct Rule {
    when: When,
    /// Whether it is for some requests only.
    is_special: bool,
    left: Mutex<Option<usize>>,
    answer: Answer,
}

impl Script {
    /// Answers every request with status 404 until it is told more.
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers every request alike.
    #[must_use]
    pub fn always(self, reply: Reply) -> Self {
        self.with(|_| true, false, None, move |_| reply.clone())
    }

    /// Answers the next request that no earlier rule takes; further ones go to the next rule.
    #[must_use]
    pub fn once(self, reply: Reply) -> Self {
        self.with(|_| true, false, Some(1), move |_| reply.clone())
    }

    /// Answers requests for which `when` holds.
    #[must_use]
    pub fn when(self, when: impl Fn(&Seen) -> bool + Send + Sync + 'static, reply: Reply) -> Self {
        self.with(when, true, None, move |_| reply.clone())
    }

    /// Answers requests for which `when` holds with what `answer` makes of them.
    #[must_use]
    pub fn when_by(
        self,
        when: impl Fn(&Seen) -> bool + Send + Sync + 'static,
        answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    ) -> Self {
        self.with(when, true, None, answer)
    }

    /// Answers with what `answer` makes of the request.
    #[must_use]
    pub fn by(self, answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        self.with(|_| true, false, None, answer)
    }

    fn with(
        mut self,
        when: impl Fn(&Seen) -> bool + Send + Sync + 'static,
        is_special: bool,
        times: Option<usize>,
        answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    ) -> Self {
        self.rules.push(Rule {
            when: Box::new(when),
            is_special,
            left: Mutex::new(times),
            answer: Box::new(answer),
        });
        self
    }

    /// Takes at most so many requests in any such time, and refuses the others with 429 and `Retry-After` in
    /// whole seconds.
    #[must_use]
    pub fn at_most(mut self, requests: usize, within: Duration) -> Self {
        self.limit = Some((requests, within));
        self
    }

    /// Meets this share of the requests that it takes with a 503, a stall or a cut connection.
    #[must_use]
    pub fn trouble(mut self, share: f64, seed: u64) -> Self {
        self.trouble = Some((share, Mutex::new(StdRng::seed_from_u64(seed))));
        self
    }

    /// Whether a request is one that nobody scripted and that means nothing to a test: what a server can be asked about
    /// itself.
    pub(crate) fn is_aside(&self, seen: &Seen) -> bool {
        let about_itself = seen.path == "/v1/models" || !seen.path.starts_with("/v1/");
        about_itself && !self.rules.iter().any(|rule| rule.is_special && (rule.when)(seen))
    }

    pub(crate) fn play(&self, seen: &Seen) -> Reply {
        if let Some(refusal) = self.refusal() {
            return refusal;
        }
        for rule in &self.rules {
            if !(rule.when)(seen) {
                continue;
            }
            let mut left = rule.left.lock().expect("no test panics while it holds this");
            match left.as_mut() {
                Some(0) => continue,
                Some(left) => *left -= 1,
                None => {}
            }
            return self.with_trouble((rule.answer)(seen));
        }
        Reply::status(404, "the script has no answer to this")
    }

    fn refusal(&self) -> Option<Reply> {
        let (most, within) = self.limit?;
        let mut taken = self.taken.lock().expect("no test panics while it holds this");
        let now = Instant::now();
        while taken.front().is_some_and(|first| now.duration_since(*first) >= within) {
            taken.pop_front();
        }
        if taken.len() < most {
            taken.push_back(now);
            return None;
        }
        let free = within.saturating_sub(now.duration_since(*taken.front()?));
        let seconds = free.as_secs_f64().ceil().max(1.0);
        Some(Reply::status(429, "slow down").header("retry-after", &format!("{seconds}")))
    }

    fn with_trouble(&self, reply: Reply) -> Reply {
        let Some((share, random)) = &self.trouble else { return reply };
        let mut random = random.lock().expect("no test panics while it holds this");
        if !random.random_bool(*share) {
            return reply;
        }
        match random.random_range(0..4) {
            0 => Reply::status(503, "overloaded"),
            1 => reply.stall_after(0),
            2 => reply.cut_after(0),
            _ => Reply::stalled(),
        }
    }
}
