//! How long a certificate is valid.

use std::borrow::Cow;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use slipway_bootstrap::configuration::GoDuration;

/// The shortest validity that is accepted. The guide recommends more than ten minutes.
const SHORTEST: Duration = Duration::from_secs(30);
/// The shortest validity that leaves the kubelets time to bring changed certificates to the proxies.
const RECOMMENDED: Duration = Duration::from_secs(600);

/// How long a certificate is valid: a duration of Go, such as `730h`, `1h30m` or `90s`.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Validity(String);

/// The text is not a validity.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{text:?} is not a validity: it is a duration such as 730h or 1h30m, and at least {}s", SHORTEST.as_secs())]
pub struct InvalidValidity {
    text: String,
}

impl Validity {
    /// A validity from its text, which [`Self::duration`] checks.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The duration in whole seconds, as certificates have them.
    ///
    /// # Errors
    /// When it is not a duration, or too short.
    pub fn duration(&self) -> Result<Duration, InvalidValidity> {
        let invalid = || InvalidValidity { text: self.0.clone() };
        let duration = self.0.parse::<GoDuration>().map_err(|_| invalid())?.get();
        if duration < SHORTEST { Err(invalid()) } else { Ok(Duration::from_secs(duration.as_secs())) }
    }

    /// Whether it is so short that changed certificates may reach a proxy too late.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.duration().is_ok_and(|duration| duration <= RECOMMENDED)
    }
}

impl JsonSchema for Validity {
    fn schema_name() -> Cow<'static, str> {
        "Validity".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "maxLength": 32,
            // A text that is no duration is an error of the expression, and refused.
            "x-kubernetes-validations": [{
                "rule": "duration(self) >= duration('30s')",
                "message": "must be a duration such as 730h or 1h30m, and at least 30s",
            }],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_go() {
        for (text, seconds) in [
            ("730h", 2_628_000),
            ("730h0m0s", 2_628_000),
            ("1h30m", 5400),
            ("1.5h", 5400),
            ("30s", 30),
            ("45000ms", 45),
        ] {
            assert_eq!(Validity::new(text).duration(), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "730", "-1h", "29s", "h", "a month", "1 hour", "1h 30m", "1m 5"] {
            assert!(Validity::new(text).duration().is_err(), "{text}");
        }
        assert!(Validity::new("10m").is_short() && !Validity::new("11m").is_short());
    }
}
