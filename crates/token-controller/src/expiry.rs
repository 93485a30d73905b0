//! The end of a token.

use std::time::Duration;

use jiff::Timestamp;
use slipway_controller::k8s_openapi::api::core::v1::Secret;

/// How long a token is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remaining {
    /// It has no end.
    Unlimited,
    /// Its time from now.
    Time(Duration),
    /// Its time is over. That is also the case if its end cannot be read: nobody could tell when it is over.
    Nothing,
}

/// How long the token of a Secret is still valid, by its field `expiration`.
#[must_use]
pub fn remaining(secret: &Secret, now: Timestamp) -> Remaining {
    let field = secret.data.as_ref().and_then(|data| data.get("expiration"));
    let Some(field) = field.filter(|field| !field.0.is_empty()) else { return Remaining::Unlimited };
    let end = std::str::from_utf8(&field.0).ok().and_then(|text| text.parse::<Timestamp>().ok());
    match end.map(|end| Duration::try_from(end.duration_since(now))) {
        Some(Ok(left)) if !left.is_zero() => Remaining::Time(left),
        _ => Remaining::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use slipway_controller::k8s_openapi::ByteString;

    use super::*;

    #[test]
    fn a_token_ends_at_its_expiration() {
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        let of = |text: &str| {
            let field = ("expiration".to_owned(), ByteString(text.as_bytes().to_vec()));
            remaining(&Secret { data: Some([field].into()), ..Secret::default() }, now)
        };
        assert_eq!(remaining(&Secret::default(), now), Remaining::Unlimited);
        assert_eq!(of(""), Remaining::Unlimited);
        assert_eq!(of("2026-01-01T00:01:00Z"), Remaining::Time(Duration::from_secs(60)));
        assert_eq!(of("2026-01-01T02:01:00+02:00"), Remaining::Time(Duration::from_secs(60)));
        for over in ["2026-01-01T00:00:00Z", "2025-12-31T23:59:59Z", "tomorrow"] {
            assert_eq!(of(over), Remaining::Nothing, "{over}");
        }
    }
}
