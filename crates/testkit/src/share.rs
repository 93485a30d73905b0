//! A share of many cases. The longest lists are tried in shares where everything is tested: each commit has its own.

use std::env;
use std::fmt;
use std::str::FromStr;

use anyhow::{Context as _, Error, Result};

/// The variable with the share, such as `2/3` for the second of three.
pub const SHARE: &str = "SLIPWAY_SHARE";

/// A share of cases, written `2/3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Its number, from 1.
    number: u64,
    /// How many shares there are.
    count: u64,
}

impl Share {
    /// The share of a number, which may be any, of so many, at least one.
    #[must_use]
    pub const fn of(number: u64, count: u64) -> Self {
        let count = if count == 0 { 1 } else { count };
        Self { number: number % count + 1, count }
    }

    /// The share that [`SHARE`] names; `None` without the variable.
    ///
    /// # Errors
    /// When the variable names no share.
    pub fn given() -> Result<Option<Self>> {
        env::var_os(SHARE).map(|text| text.to_string_lossy().parse()).transpose()
    }

    /// Whether a case belongs to it. Cases are dealt by their names, so that an added one moves no other.
    #[must_use]
    pub fn has(self, case: &str) -> bool {
        // FNV-1a of 64 bits, as http://www.isthe.com/chongo/tech/comp/fnv/ has it.
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        case.bytes().fold(0xcbf2_9ce4_8422_2325, step) % self.count == self.number - 1
    }

    /// Whether the case of this index belongs to it, where cases are dealt in their order, one to each share.
    #[must_use]
    pub const fn deals(self, index: u64) -> bool {
        index % self.count == self.number - 1
    }
}

impl FromStr for Share {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parse = || {
            let (number, count) = text.split_once('/')?;
            let (number, count) = (number.parse().ok()?, count.parse().ok()?);
            (1..=count).contains(&number).then_some(Self { number, count })
        };
        parse().with_context(|| {
            format!("{SHARE}={text}: write 2/3 for the second of three, or 1/1 for everything")
        })
    }
}

impl fmt::Display for Share {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.number, self.count)
    }
}

/// Whether a case belongs to the share that this run tries. Without [`SHARE`], and with what is no share, every case does.
#[must_use]
pub fn has(case: &str) -> bool {
    Share::given().ok().flatten().is_none_or(|share| share.has(case))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_number_of_a_count() {
        assert_eq!("2/3".parse::<Share>().unwrap(), Share::of(1, 3));
        assert_eq!(Share::of(7, 3).to_string(), "2/3");
        for text in ["0/3", "4/3", "3", "a/b", "1/0", "all"] {
            assert!(text.parse::<Share>().is_err(), "{text}");
        }
    }

    #[test]
    fn each_case_is_in_one_share() {
        let shares = [0, 1, 2].map(|number| Share::of(number, 3));
        let cases: Vec<String> = (0..300).map(|number| format!("spec.field{number}")).collect();
        for (index, case) in (0..).zip(&cases) {
            assert_eq!(shares.iter().filter(|share| share.has(case)).count(), 1, "{case}");
            assert_eq!(shares.iter().filter(|share| share.deals(index)).count(), 1, "{case}");
        }
        for share in shares {
            assert!(cases.iter().filter(|case| share.has(case)).count() > 70);
        }
    }
}
