//! How long a forge asks to wait.
//!
//! Sources: RFC 9110 section 10.2.3 (`Retry-After`); "Rate limits for the REST API" of GitHub's documentation
//! (`x-ratelimit-remaining`, `x-ratelimit-reset`, secondary limits); "Rate limits" of GitLab's documentation.

use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use slipway_limits::count;

/// The pause for a limit that does not say how long it holds. GitHub asks for a minute at least.
const UNSAID: Duration = Duration::from_secs(60);

/// How long an answer asks to wait; `None` for one that is no rate limit.
pub(super) fn asked_for(status: StatusCode, headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<i64>().ok();
    let after = number(RETRY_AFTER.as_str()).and_then(|seconds| u64::try_from(seconds).ok());
    let used_up = ["x-ratelimit-remaining", "ratelimit-remaining"].iter().any(|name| number(name) == Some(0));
    let limited = match status {
        StatusCode::TOO_MANY_REQUESTS => true,
        // GitHub answers so to a limit, but also to a token without rights.
        StatusCode::FORBIDDEN => after.is_some() || used_up,
        StatusCode::SERVICE_UNAVAILABLE => after.is_some(),
        _ => false,
    };
    if !limited {
        return None;
    }
    let reset = number("x-ratelimit-reset").or_else(|| number("ratelimit-reset"));
    let until_reset = || {
        let seconds = reset.filter(|_| used_up)?.saturating_sub(now.as_second());
        // One second more, because the clocks differ.
        Some(u64::try_from(seconds).unwrap_or_default().saturating_add(1))
    };
    let wait = after.or_else(until_reset).map_or(UNSAID, Duration::from_secs);
    Some(wait.min(Duration::from_millis(count::RETRY_AFTER_MILLISECONDS)))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn asked(status: u16, headers: &[(&'static str, &'static str)]) -> Option<u64> {
        let headers =
            headers.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
        let now = Timestamp::from_second(1_000).unwrap();
        asked_for(StatusCode::from_u16(status).unwrap(), &headers.collect(), now).map(|wait| wait.as_secs())
    }

    #[test]
    fn limits_are_told_from_refusals() {
        assert_eq!(asked(429, &[("retry-after", "7")]), Some(7));
        assert_eq!(asked(429, &[]), Some(60));
        assert_eq!(asked(403, &[("retry-after", "30")]), Some(30));
        assert_eq!(asked(403, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1090")]), Some(91));
        assert_eq!(asked(429, &[("ratelimit-remaining", "0"), ("ratelimit-reset", "900")]), Some(1));
        assert_eq!(asked(503, &[("retry-after", "2")]), Some(2));
        assert_eq!(asked(429, &[("retry-after", "99999999")]), Some(3_600));
        assert_eq!(asked(403, &[("x-ratelimit-remaining", "12")]), None);
        assert_eq!(asked(404, &[("retry-after", "2")]), None);
        assert_eq!(asked(503, &[]), None);
    }
}
