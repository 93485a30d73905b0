//! `--target` and `--replace`: patterns of addresses, where `*` matches any characters.

use slipway_resource::pattern::matches;
use slipway_resource::{Address, validate};

use crate::error::Error;

/// Checks that every pattern names something.
///
/// # Errors
/// On the first that does not, with what was probably meant.
pub(crate) fn check(patterns: &[String], addresses: &[&Address]) -> Result<(), Error> {
    for pattern in patterns {
        if !addresses.iter().any(|address| matches(pattern, &address.to_string())) {
            let names: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            let suggestion = validate::nearest(pattern, names.iter().map(String::as_str));
            return Err(Error::NoSuchTarget { pattern: pattern.clone(), suggestion });
        }
    }
    Ok(())
}

/// Whether any pattern fits an address.
pub(crate) fn any(patterns: &[String], address: &Address) -> bool {
    !patterns.is_empty() && {
        let text = address.to_string();
        patterns.iter().any(|pattern| matches(pattern, &text))
    }
}
