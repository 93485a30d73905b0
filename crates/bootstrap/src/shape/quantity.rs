//! Amounts in the form that Kubernetes gives them.

/// Suffixes of powers of ten, by their exponents.
const DECIMAL: [(&str, i32); 10] =
    [("E", 18), ("P", 15), ("T", 12), ("G", 9), ("M", 6), ("k", 3), ("", 0), ("m", -3), ("u", -6), ("n", -9)];

/// Suffixes of powers of 1024, by their powers.
const BINARY: [(&str, u32); 6] = [("Ei", 6), ("Pi", 5), ("Ti", 4), ("Gi", 3), ("Mi", 2), ("Ki", 1)];

/// The amount with a whole number and the largest suffix that loses nothing: `1000m` is `1`, `1.5Gi` is `1536Mi`. A text
/// that is no amount, or none that is finer than 10⁻⁹, is returned as it is.
pub(super) fn canonical(text: &str) -> String {
    rewritten(text.trim()).unwrap_or_else(|| text.to_owned())
}

fn rewritten(text: &str) -> Option<String> {
    let end =
        text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '+' | '-'))).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (sign, digits) = match number.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", number.strip_prefix('+').unwrap_or(number)),
    };
    if let Some((_, power)) = BINARY.iter().find(|(name, _)| *name == suffix) {
        let nanos = scaled(digits, 9)?.checked_mul(1024_i128.checked_pow(*power)?)?;
        return Some(format!("{sign}{}", binary(nanos)));
    }
    if let Some(exponent) = suffix.strip_prefix(['e', 'E']).filter(|exponent| !exponent.is_empty()) {
        let (value, exponent) = reduced(scaled(digits, 9)?, exponent.parse::<i32>().ok()? - 9);
        let (value, exponent) = thousands(value, exponent)?;
        let tail = if exponent == 0 { String::new() } else { format!("e{exponent}") };
        return Some(format!("{sign}{value}{tail}"));
    }
    let (_, exponent) = DECIMAL.iter().find(|(name, _)| *name == suffix)?;
    let (value, exponent) = reduced(scaled(digits, 9)?, exponent - 9);
    let (value, exponent) = thousands(value, exponent)?;
    let (name, _) = DECIMAL.iter().find(|(_, power)| *power == exponent)?;
    Some(format!("{sign}{value}{name}"))
}

/// The digits, with a point or without, times ten to the power of `places`; none when that is not whole.
fn scaled(digits: &str, places: u32) -> Option<i128> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let kept = fraction.trim_end_matches('0');
    let missing = places.checked_sub(u32::try_from(kept.len()).ok()?)?;
    format!("0{whole}{kept}").parse::<i128>().ok()?.checked_mul(10_i128.checked_pow(missing)?)
}

/// The same amount with as large an exponent as can be.
fn reduced(mut value: i128, mut exponent: i32) -> (i128, i32) {
    if value == 0 {
        return (0, 0);
    }
    while value % 10 == 0 {
        value /= 10;
        exponent += 1;
    }
    (value, exponent)
}

/// The same amount with an exponent that is a multiple of three, at most 18.
fn thousands(value: i128, exponent: i32) -> Option<(i128, i32)> {
    let target = exponent.min(18).div_euclid(3) * 3;
    let factor = 10_i128.checked_pow(u32::try_from(exponent - target).ok()?)?;
    Some((value.checked_mul(factor)?, target))
}

/// An amount in 10⁻⁹ with the largest binary suffix; without one, and rounded up, below one.
fn binary(nanos: i128) -> String {
    let whole = nanos / 1_000_000_000 + i128::from(nanos % 1_000_000_000 != 0);
    BINARY
        .iter()
        .find(|(_, power)| whole != 0 && whole % 1024_i128.pow(*power) == 0)
        .map_or_else(|| whole.to_string(), |(name, power)| format!("{}{name}", whole / 1024_i128.pow(*power)))
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn amounts_are_whole_and_short() {
        for (text, expected) in [
            ("1000m", "1"),
            ("100m", "100m"),
            ("0.5", "500m"),
            ("1.5Gi", "1536Mi"),
            ("1024Mi", "1Gi"),
            ("1000Mi", "1000Mi"),
            ("64Mi", "64Mi"),
            ("1000k", "1M"),
            ("2000", "2k"),
            ("128974848", "128974848"),
            ("1e3", "1e3"),
            ("12e4", "120e3"),
            ("0", "0"),
            ("0Mi", "0"),
            ("-1.5", "-1500m"),
            ("much", "much"),
        ] {
            assert_eq!(canonical(text), expected, "{text}");
        }
    }
}
