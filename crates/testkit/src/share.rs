//! A share of many cases. The longest lists are tried in shares where everything is tested: each commit has its own.

use std::env;

/// The variable with the share, such as `2/3` for the second of three.
pub const SHARE: &str = "SLIPWAY_SHARE";

/// Whether a case belongs to the share that this run tries. Without [`SHARE`] every case does.
#[must_use]
pub fn has(case: &str) -> bool {
    env::var(SHARE).map_or(true, |share| is_in(case, &share))
}

/// The number of the share, from 1, and how many there are.
fn parse(text: &str) -> Option<(u64, u64)> {
    let (number, count) = text.split_once('/')?;
    let (number, count) = (number.parse().ok()?, count.parse().ok()?);
    (1..=count).contains(&number).then_some((number, count))
}

/// Whether a case belongs to a share, such as `2/3`; every case belongs to what is no share. Cases are dealt by their names, so that
/// an added one moves no other.
fn is_in(case: &str, share: &str) -> bool {
    let Some((number, count)) = parse(share) else { return true };
    // FNV-1a of 64 bits, as http://www.isthe.com/chongo/tech/comp/fnv/ has it.
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    case.bytes().fold(0xcbf2_9ce4_8422_2325, step) % count == number - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_case_is_in_one_share() {
        assert_eq!(parse("2/3"), Some((2, 3)));
        for text in ["0/3", "4/3", "3", "a/b", "1/0"] {
            assert_eq!(parse(text), None, "{text}");
        }
        let cases: Vec<String> = (0..300).map(|number| format!("spec.field{number}")).collect();
        for case in &cases {
            assert_eq!(["1/3", "2/3", "3/3"].iter().filter(|share| is_in(case, share)).count(), 1, "{case}");
        }
        for share in ["1/3", "2/3", "3/3"] {
            assert!(cases.iter().filter(|case| is_in(case, share)).count() > 70);
        }
        assert!(is_in("a", "all"));
    }
}
