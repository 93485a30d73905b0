use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// A span of time as Go programs write it: `1h30m0s`, `1.5s`, `100ms`. Never negative; the longest is 292 years.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct GoDuration(Duration);

/// A text that is no span of time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a duration: write numbers with the units h, m, s, ms, us or ns, as in 1h30m")]
pub struct GoDurationError(String);

const SECOND: u64 = 1_000_000_000;
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", SECOND),
    ("m", 60 * SECOND),
    ("h", 3600 * SECOND),
];

impl GoDuration {
    /// A span of whole seconds.
    #[must_use]
    pub const fn from_secs(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    /// A span of whole minutes.
    #[must_use]
    pub const fn from_mins(minutes: u64) -> Self {
        Self::from_secs(minutes * 60)
    }

    /// A span of whole hours.
    #[must_use]
    pub const fn from_hours(hours: u64) -> Self {
        Self::from_secs(hours * 3600)
    }

    /// The span as the standard library's type.
    #[must_use]
    pub const fn get(self) -> Duration {
        self.0
    }

    /// Whether the span is empty.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0.is_zero()
    }
}

impl From<Duration> for GoDuration {
    fn from(duration: Duration) -> Self {
        Self(duration)
    }
}

impl fmt::Display for GoDuration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanoseconds = u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX);
        if nanoseconds == 0 {
            return formatter.write_str("0s");
        }
        if nanoseconds < SECOND {
            let (unit, size) = match nanoseconds {
                ..1_000 => ("ns", 1),
                1_000..1_000_000 => ("\u{b5}s", 1_000),
                _ => ("ms", 1_000_000),
            };
            return write!(formatter, "{}{unit}", decimal(nanoseconds, size));
        }
        let minutes = nanoseconds / (60 * SECOND);
        if minutes >= 60 {
            write!(formatter, "{}h", minutes / 60)?;
        }
        if minutes > 0 {
            write!(formatter, "{}m", minutes % 60)?;
        }
        write!(formatter, "{}s", decimal(nanoseconds % (60 * SECOND), SECOND))
    }
}

/// `value / size` as a decimal number, without zeros at its end.
fn decimal(value: u64, size: u64) -> String {
    let digits = size.ilog10() as usize;
    let fraction = format!("{:0digits$}", value % size);
    let fraction = fraction.trim_end_matches('0');
    if digits == 0 || fraction.is_empty() {
        (value / size).to_string()
    } else {
        format!("{}.{fraction}", value / size)
    }
}

impl FromStr for GoDuration {
    type Err = GoDurationError;

    fn from_str(text: &str) -> Result<Self, GoDurationError> {
        let bare = text.strip_prefix('+').unwrap_or(text);
        if bare == "0" {
            return Ok(Self::default());
        }
        let parsed = if bare.is_empty() { None } else { parse(bare) };
        parsed
            .map(|nanoseconds| Self(Duration::from_nanos(nanoseconds)))
            .ok_or(GoDurationError(text.to_owned()))
    }
}

fn parse(mut rest: &str) -> Option<u64> {
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (whole, tail) = digits(rest);
        let (fraction, tail) = match tail.strip_prefix('.') {
            Some(tail) => digits(tail),
            None => ("", tail),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let length = tail.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(length);
        let (_, size) = UNITS.iter().find(|(name, _)| *name == unit)?;
        let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        total = total.checked_add(whole.checked_mul(*size)?)?;
        let mut place = *size;
        for digit in fraction.bytes() {
            place /= 10;
            total = total.checked_add(u64::from(digit - b'0') * place)?;
        }
        rest = tail;
    }
    (total <= i64::MAX.unsigned_abs()).then_some(total)
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

impl Serialize for GoDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for GoDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_prints_as_go_does() {
        for (text, printed) in [
            ("8760h0m0s", "8760h0m0s"),
            ("4m", "4m0s"),
            ("90m", "1h30m0s"),
            ("1.5s", "1.5s"),
            ("500ms", "500ms"),
            ("1h0m0.25s", "1h0m0.25s"),
            ("1500us", "1.5ms"),
            ("3ns", "3ns"),
            ("2\u{3bc}s", "2\u{b5}s"),
            ("0", "0s"),
            ("1m1h", "1h1m0s"),
            (".5m", "30s"),
        ] {
            assert_eq!(text.parse::<GoDuration>().unwrap().to_string(), printed, "{text}");
        }
    }

    #[test]
    fn refuses_what_go_refuses() {
        for text in ["", "5", "1d", "h", "1h ", "-1h", ".s", "1.h2", "99999999999h"] {
            assert!(text.parse::<GoDuration>().is_err(), "{text}");
        }
    }
}
