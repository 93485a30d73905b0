use std::{fmt, str::FromStr};

use super::{Format, Malformed, format::string_value};

/// A time span written with units, as in `15m`, `1h30m`, `90d` or `500ms`; printed in the same form.
///
/// Units are `ms`, `s`, `m`, `h` and `d` (24 hours), each at most once, from large to small. The smallest step is a
/// millisecond. A bare `0` is the empty span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(std::time::Duration);

const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// The longest span, in milliseconds.
const LONGEST: u64 = slipway_limits::count::SECONDS * 1_000;

impl Duration {
    /// A span of whole seconds.
    #[must_use]
    pub const fn from_secs(seconds: u64) -> Self {
        Self(std::time::Duration::from_secs(seconds))
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
    pub const fn get(self) -> std::time::Duration {
        self.0
    }

    /// Whether the span is empty.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0.is_zero()
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_millis();
        if rest == 0 {
            return formatter.write_str("0s");
        }
        for (unit, size) in UNITS {
            let count = rest / u128::from(size);
            rest %= u128::from(size);
            if count > 0 {
                write!(formatter, "{count}{unit}")?;
            }
        }
        Ok(())
    }
}

impl FromStr for Duration {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let how = "write numbers with the units d, h, m, s or ms, as in 15m or 1h30m";
        if text == "0" {
            return Ok(Self::default());
        }
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Malformed::new("has no unit", format!("did you mean {text}s or {text}m?")));
        }
        if let Some(meant) = spelled_otherwise(text) {
            return Err(Malformed::new("is not a duration", format!("did you mean {meant}?")));
        }
        let mut total: u64 = 0;
        let mut rest = text;
        let mut units = UNITS.iter();
        while !rest.is_empty() {
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (number, tail) = rest.split_at(digits);
            let letters = tail.len() - tail.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
            let (unit, tail) = tail.split_at(letters);
            let number: u64 = number.parse().map_err(|_| Malformed::new("is not a duration", how))?;
            let (_, size) = units.find(|(name, _)| *name == unit).ok_or_else(|| {
                if UNITS.iter().any(|(name, _)| *name == unit) {
                    Malformed::new(
                        "has its units out of order",
                        "write large units first, each once, as in 1h30m",
                    )
                } else {
                    match unit {
                        "" => Malformed::new("is not a duration", how),
                        _ => Malformed::new(format!("has the unknown unit {unit:?}"), how),
                    }
                }
            })?;
            total = number
                .checked_mul(*size)
                .and_then(|span| total.checked_add(span))
                .filter(|total| *total <= LONGEST)
                .ok_or_else(|| Malformed::new("is too long", "write at most 36600d, 100 years"))?;
            rest = tail;
        }
        if text.is_empty() {
            return Err(Malformed::new("is empty", how));
        }
        Ok(Self(std::time::Duration::from_millis(total)))
    }
}

/// The duration that a text with spaces or with long names of units means: `15m` for `15 min`.
fn spelled_otherwise(text: &str) -> Option<String> {
    const LONG: [(&str, &[&str]); 5] = [
        ("d", &["day", "days"]),
        ("h", &["hr", "hrs", "hour", "hours"]),
        ("m", &["min", "mins", "minute", "minutes"]),
        ("s", &["sec", "secs", "second", "seconds"]),
        ("ms", &["millisecond", "milliseconds"]),
    ];
    let mut meant = String::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (number, tail) = rest.split_at(rest.find(|letter: char| !letter.is_ascii_digit())?);
        let tail = tail.trim_start();
        let end = tail.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(end);
        let unit = unit.to_ascii_lowercase();
        let short = LONG.iter().find(|(short, long)| *short == unit || long.contains(&unit.as_str()))?.0;
        if number.is_empty() {
            return None;
        }
        meant.push_str(number);
        meant.push_str(short);
        rest = tail.trim_start();
    }
    (meant != text && !meant.is_empty()).then_some(meant)
}

string_value!(Duration, Format::Duration, "Duration", "A time span with units: d, h, m, s, ms.");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_what_it_reads() {
        for text in ["15m", "1h30m", "90d", "500ms", "0s", "1d2h3m4s5ms"] {
            assert_eq!(text.parse::<Duration>().unwrap().to_string(), text);
        }
        assert_eq!("90m".parse::<Duration>().unwrap().to_string(), "1h30m");
    }

    #[test]
    fn refuses_with_a_way_out() {
        let hint = |text: &str| text.parse::<Duration>().unwrap_err().hint;
        assert_eq!(hint("15"), "did you mean 15s or 15m?");
        assert_eq!(hint("15 min"), "did you mean 15m?");
        assert_eq!(hint("1 hour 30 minutes"), "did you mean 1h30m?");
        let message = |text: &str| text.parse::<Duration>().unwrap_err().message;
        assert_eq!(message("15-"), "is not a duration");
        assert_eq!(message("15x"), "has the unknown unit \"x\"");
        assert!(hint("15 minutes").contains("15m"));
        assert!(hint("5s1h").contains("1h30m"));
        assert!(hint("").contains("15m"));
        assert_eq!("36600d".parse::<Duration>().unwrap().get().as_secs(), slipway_limits::count::SECONDS);
        for text in ["36600d1ms", "9999999999999999h", "99999999999999999999h"] {
            assert!(text.parse::<Duration>().is_err(), "{text}");
        }
    }
}
