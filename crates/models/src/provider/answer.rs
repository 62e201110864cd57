//! What an answer that is no success means.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, StatusCode};
use ibid_core::model::ModelError;
use serde_json::Value;

use super::Provider;
use crate::governor::Failure;

/// The longest wait that a provider can ask for and be believed.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);
/// How much of a reason is passed on.
const REASON_LETTERS: usize = 500;

pub(super) fn failure_of(
    provider: &Provider,
    status: StatusCode,
    headers: &HeaderMap,
    reason: String,
) -> Failure {
    let name = provider.name().to_owned();
    let after = retry_after(headers, SystemTime::now());
    let number = status.as_u16();
    match number {
        // An account without credit is refused like one in a hurry, but waiting does not help it.
        429 if reason.contains("insufficient_quota") => {
            Failure::Final(ModelError::Refused { provider: name, status: number, reason })
        }
        429 => Failure::Limited(after),
        // The model, not the request, was wrong: it may do better the next time.
        400 if reason.contains("tool_use_failed") || reason.contains("json_validate_failed") => {
            Failure::Passing(ModelError::Failed { provider: name, status: number, reason }, None)
        }
        // A server that was started without something says so as if it had failed.
        500 | 501 if reason.contains("requires --") || reason.contains("not supported") => {
            Failure::Final(ModelError::Refused { provider: name, status: number, reason })
        }
        401 | 403 => Failure::Final(provider.wrong_key(&reason)),
        408 | 425 | 500..=599 => {
            Failure::Passing(ModelError::Failed { provider: name, status: number, reason }, after)
        }
        _ => Failure::Final(ModelError::Refused { provider: name, status: number, reason }),
    }
}

/// What a provider says went wrong: the message in its JSON, or the beginning of whatever it sent.
pub(super) fn reason_in(body: &str) -> String {
    let json: Value = serde_json::from_str(body).unwrap_or_default();
    let error = &json["error"];
    let message =
        [&error["message"], error, &json["message"], &json["detail"]].into_iter().find_map(Value::as_str);
    let mut reason = message.unwrap_or(body).trim().to_owned();
    if let Some(code) = error["code"].as_str().filter(|code| !reason.contains(code)) {
        reason = format!("{reason} ({code})");
    }
    if reason.is_empty() {
        return "it did not say why".to_owned();
    }
    reason.chars().filter(|letter| !letter.is_control() || *letter == '\n').take(REASON_LETTERS).collect()
}

/// When a provider wants to be asked again: milliseconds, seconds, or a date.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let seconds = |number: f64| Duration::try_from_secs_f64(number).ok();
    let millis = text("retry-after-ms").and_then(|value| value.parse().ok()).map(|value: f64| value / 1e3);
    let wait = millis.and_then(seconds).or_else(|| {
        let value = text("retry-after")?;
        match value.parse::<f64>() {
            Ok(number) => seconds(number),
            Err(_) => Some(httpdate::parse_http_date(value).ok()?.duration_since(now).unwrap_or_default()),
        }
    })?;
    Some(wait.min(LONGEST_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_comes_as_seconds_as_a_date_or_as_milliseconds() {
        let now = SystemTime::now();
        let check = |name: &'static str, value: &str, expected: Option<f64>| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            let seconds = retry_after(&headers, now).map(|wait| wait.as_secs_f64());
            assert_eq!(seconds, expected, "{name}: {value}");
        };
        check("retry-after", "7", Some(7.0));
        check("retry-after", "0.5", Some(0.5));
        check("retry-after-ms", "250", Some(0.25));
        check("retry-after", "soon", None);
        check("retry-after", "-3", None);
        check("retry-after", "NaN", None);
        check("retry-after", "1e99", None);
        check("retry-after", "Mon, 01 Jan 2001 00:00:00 GMT", Some(0.0));
        check("retry-after", "99999999", Some(86400.0));
        let date = httpdate::fmt_http_date(now + Duration::from_secs(10));
        let mut headers = HeaderMap::new();
        headers.insert("retry-after", date.parse().unwrap());
        let wait = retry_after(&headers, now).unwrap();
        assert!((8.9..=10.1).contains(&wait.as_secs_f64()), "{wait:?}");
    }

    #[test]
    fn a_reason_is_found_wherever_providers_put_it() {
        let check = |body: &str, expected: &str| assert_eq!(reason_in(body), expected);
        check(
            r#"{"error":{"message":"no credit","code":"insufficient_quota"}}"#,
            "no credit (insufficient_quota)",
        );
        check(r#"{"error":"model not found"}"#, "model not found");
        check(r#"{"message":"wrong"}"#, "wrong");
        check(r#"{"detail":"also wrong"}"#, "also wrong");
        check("<html>Bad Gateway</html>\u{1b}[2J", "<html>Bad Gateway</html>[2J");
        check("", "it did not say why");
    }
}
