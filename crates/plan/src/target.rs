//! `--target` and `--replace`: patterns of addresses, where `*` stands for anything.

use slipway_resource::{Address, validate};

use crate::error::Error;

/// Whether an address fits a pattern such as `sim_subnet.*`.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(first) = parts.next() else {
        return text.is_empty();
    };
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        if let Some(previous) = last.replace(part) {
            match rest.find(previous) {
                Some(position) => rest = rest.get(position + previous.len()..).unwrap_or_default(),
                None => return false,
            }
        }
    }
    match last {
        None => rest.is_empty(),
        Some(suffix) => rest.ends_with(suffix),
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, text, fits) in [
            ("a.b", "a.b", true),
            ("a.b", "a.bc", false),
            ("a.*", "a.bc", true),
            ("*", "a.b", true),
            ("*.b", "a.b", true),
            ("a*c*e", "abcde", true),
            ("a*c*e", "abde", false),
            ("*b", "a.bc", false),
        ] {
            assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
        }
    }
}
