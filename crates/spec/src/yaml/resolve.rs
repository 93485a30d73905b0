use serde_json::Number;

use super::Value;

/// The value of a plain scalar in YAML 1.2's core schema, with the number forms that `serde_yaml` reads.
pub(super) fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => number(text).map_or_else(|| Value::Text(text.to_owned()), Value::Number),
    }
}

/// A number; `None` for texts, infinities and what has leading zeros.
pub(super) fn number(text: &str) -> Option<Number> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if let Some(number) = integer(negative, digits) {
        return Some(number);
    }
    let first = digits.bytes().next()?;
    let zeros = digits.len() > 1 && first == b'0' && digits.as_bytes()[1].is_ascii_digit();
    let float = (first.is_ascii_digit() || first == b'.')
        && digits.bytes().any(|byte| byte.is_ascii_digit())
        && digits.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    if !float || zeros {
        return None;
    }
    let value: f64 = digits.parse().ok()?;
    Number::from_f64(if negative { -value } else { value })
}

fn integer(negative: bool, digits: &str) -> Option<Number> {
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x', ..] => (16, &digits[2..]),
        [b'0', b'o', ..] => (8, &digits[2..]),
        [b'0', b'b', ..] => (2, &digits[2..]),
        [b'0', _, ..] => return None,
        _ => (10, digits),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| char::from(byte).is_digit(radix)) {
        return None;
    }
    let value = i128::from_str_radix(digits, radix).ok()?;
    if negative {
        i64::try_from(-value).ok().map(Number::from)
    } else {
        u64::try_from(value).ok().map(Number::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_to_the_core_schema() {
        for text in ["yes", "No", "on", "0123", "1.2.3", "1_000", "0x", "-", "e5", "10.0.0.0/8", "."] {
            assert_eq!(plain(text), Value::Text(text.to_owned()), "{text}");
        }
        assert_eq!(plain("~"), Value::Null);
        assert_eq!(plain("True"), Value::Bool(true));
        assert_eq!(plain("0x1F"), Value::Number(31.into()));
        assert_eq!(plain("-7"), Value::Number((-7).into()));
        assert_eq!(plain("1.5"), Value::Number(Number::from_f64(1.5).unwrap()));
    }
}
