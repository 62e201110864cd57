//! The place of a piece of work in a trace, as the W3C writes it in the header `traceparent`.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use uuid::Uuid;

/// A trace, and the span in it that others are children of; none if it has yet to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    trace: u128,
    span: Option<NonZeroU64>,
    sampled: bool,
}

/// Why a text is no `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is no traceparent; one looks like 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0b1902b7-01")]
pub struct InvalidTraceParent;

impl TraceParent {
    /// The place of a span in its trace, unless that is zero, which stands for none.
    pub fn new(trace: u128, span: u64, sampled: bool) -> Option<Self> {
        (trace != 0).then_some(Self { trace, span: NonZeroU64::new(span), sampled })
    }

    /// A new trace, which has yet to begin.
    pub fn begin() -> Self {
        // Two, since each has bits that say what kind of id it is, and a sampler goes by bits that are all random.
        let (one, other) = (Uuid::new_v4().as_u128(), Uuid::new_v4().as_u128().rotate_left(64));
        Self { trace: (one ^ other).max(1), span: None, sampled: false }
    }

    /// What the header of a request says, if it names a trace and a span.
    pub fn from_header(text: &str) -> Option<Self> {
        text.parse().ok().filter(|parent: &Self| parent.span.is_some())
    }

    /// The trace, as it is written.
    pub fn trace_id(&self) -> String {
        format!("{:032x}", self.trace)
    }

    /// The trace, as a number.
    pub fn trace_number(&self) -> u128 {
        self.trace
    }

    /// The span, as a number; none if the trace has yet to begin.
    pub fn span_number(&self) -> Option<u64> {
        self.span.map(NonZeroU64::get)
    }

    /// Whether the trace is kept.
    pub fn is_sampled(&self) -> bool {
        self.sampled
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "00-{:032x}-{:016x}-{:02x}",
            self.trace,
            self.span_number().unwrap_or_default(),
            u8::from(self.sampled)
        )
    }
}

impl FromStr for TraceParent {
    type Err = InvalidTraceParent;

    fn from_str(text: &str) -> Result<Self, InvalidTraceParent> {
        let mut parts = text.trim().split('-');
        let mut part = |length: usize| {
            let part = parts.next().filter(|part| part.len() == length).ok_or(InvalidTraceParent)?;
            // A number may begin with a sign, and this may not.
            let plain = part.bytes().all(|byte| byte.is_ascii_hexdigit());
            plain.then_some(part).ok_or(InvalidTraceParent)
        };
        let (version, trace, span, flags) = (part(2)?, part(32)?, part(16)?, part(2)?);
        let number = |text: &str| u128::from_str_radix(text, 16).map_err(|_| InvalidTraceParent);
        // Later versions may have more parts, and begin with these.
        if version == "ff" || (version == "00" && parts.next().is_some()) {
            return Err(InvalidTraceParent);
        }
        let span = u64::try_from(number(span)?).map_err(|_| InvalidTraceParent)?;
        Self::new(number(trace)?, span, number(flags)? & 1 == 1).ok_or(InvalidTraceParent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_and_written() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0b1902b7-01";
        let parent: TraceParent = text.parse().unwrap();
        assert_eq!(parent.to_string(), text);
        assert_eq!(parent.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert!(parent.is_sampled());
        let later: TraceParent =
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0b1902b7-00-more".parse().unwrap();
        assert!(!later.is_sampled());
    }

    #[test]
    fn what_is_no_header_is_refused() {
        let refused = [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0b1902b7",
            "00-00000000000000000000000000000000-00f067aa0b1902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0b1902b7-01",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0b1902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0b1902b7-01-more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0b1902b7-01",
        ];
        for text in refused {
            assert_eq!(TraceParent::from_header(text), None, "{text}");
        }
    }

    #[test]
    fn a_trace_that_has_yet_to_begin_is_kept() {
        let new = TraceParent::begin();
        assert_eq!((new.span_number(), new.to_string().parse()), (None, Ok(new)));
    }

    #[test]
    fn every_bit_of_a_new_trace_is_random() {
        let traces: Vec<u128> = (0..400).map(|_| TraceParent::begin().trace_number()).collect();
        for bit in 0..128 {
            let set = traces.iter().filter(|trace| *trace >> bit & 1 == 1).count();
            assert!((100..300).contains(&set), "bit {bit} is set in {set} of 400");
        }
    }
}
