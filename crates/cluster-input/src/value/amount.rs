use std::{borrow::Cow, fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{Format, Malformed};

/// A count, or a percentage of a whole: `2` or `25%`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Amount {
    /// So many.
    Count(u32),
    /// So many of a hundred, 0 to 100.
    Percent(u8),
}

impl Amount {
    /// The count out of `total`, a percentage rounded down (as for `maxUnavailable` in Kubernetes).
    #[must_use]
    pub fn of_rounded_down(self, total: u32) -> u32 {
        match self {
            Self::Count(count) => count,
            Self::Percent(percent) => percent_of(percent, total, 0),
        }
    }

    /// The count out of `total`, a percentage rounded up (as for `maxSurge` in Kubernetes).
    #[must_use]
    pub fn of_rounded_up(self, total: u32) -> u32 {
        match self {
            Self::Count(count) => count,
            Self::Percent(percent) => percent_of(percent, total, 99),
        }
    }

    /// Whether the amount is nothing, of whatever whole.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        matches!(self, Self::Count(0) | Self::Percent(0))
    }
}

fn percent_of(percent: u8, total: u32, round: u64) -> u32 {
    // At most `total` for 0..=100 percent, so the conversion cannot fail.
    u32::try_from((u64::from(percent) * u64::from(total) + round) / 100).unwrap_or(total)
}

impl fmt::Display for Amount {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(formatter, "{count}"),
            Self::Percent(percent) => write!(formatter, "{percent}%"),
        }
    }
}

impl FromStr for Amount {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let how = "write a count, as in 2, or a percentage of 0% to 100%, as in 25%";
        if let Some(percent) = text.strip_suffix('%') {
            return match percent.parse::<u8>() {
                Ok(percent @ 0..=100) => Ok(Self::Percent(percent)),
                _ => Err(Malformed::new("is not a percentage of 0% to 100%", how)),
            };
        }
        text.parse().map(Self::Count).map_err(|_| Malformed::new("is neither a count nor a percentage", how))
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Count(count) => serializer.serialize_u32(*count),
            Self::Percent(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Amount;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a count or a percentage")
            }

            fn visit_u64<E: de::Error>(self, count: u64) -> Result<Amount, E> {
                u32::try_from(count).map(Amount::Count).map_err(|_| E::custom("the count is too large"))
            }

            fn visit_i64<E: de::Error>(self, count: i64) -> Result<Amount, E> {
                u32::try_from(count)
                    .map(Amount::Count)
                    .map_err(|_| E::custom("the count is negative or too large"))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Amount, E> {
                text.parse().map_err(|malformed| E::custom(format_args!("{text:?} {malformed}")))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl schemars::JsonSchema for Amount {
    fn schema_name() -> Cow<'static, str> {
        "Amount".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": ["integer", "string"],
            "format": Format::Amount.name(),
            "minimum": 0,
            "description": "A count, or a percentage of the whole.",
            "examples": [1, "25%"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_as_kubernetes_does() {
        assert_eq!(Amount::Percent(25).of_rounded_up(3), 1);
        assert_eq!(Amount::Percent(25).of_rounded_down(3), 0);
        assert_eq!(Amount::Percent(100).of_rounded_up(7), 7);
        assert_eq!(Amount::Count(9).of_rounded_down(3), 9);
    }

    #[test]
    fn survives_json() {
        for amount in [Amount::Count(2), Amount::Percent(25)] {
            let json = serde_json::to_string(&amount).unwrap();
            assert_eq!(serde_json::from_str::<Amount>(&json).unwrap(), amount);
        }
        assert!(serde_json::from_str::<Amount>("\"101%\"").is_err());
        assert!(serde_json::from_str::<Amount>("-1").is_err());
    }
}
