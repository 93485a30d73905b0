//! Durations in arguments.

/// Reads a duration such as `30s`, `10m` or `1h30m`, in the form that specs have.
pub(crate) fn parse_duration(text: &str) -> Result<std::time::Duration, String> {
    if text.is_empty() {
        // An empty variable of a script: do not wait.
        return Ok(std::time::Duration::ZERO);
    }
    let span: slipway_spec::value::Duration =
        text.parse().map_err(|error: slipway_spec::value::Malformed| format!("{error}; {}", error.hint))?;
    Ok(span.get())
}

#[cfg(test)]
mod tests {
    use super::parse_duration;

    #[test]
    fn a_span_is_neither_wrapped_nor_endless() {
        assert_eq!(parse_duration("1h30m").unwrap().as_secs(), 5_400);
        assert_eq!(parse_duration("36600d").unwrap().as_secs(), slipway_limits::count::SECONDS);
        for text in ["36601d", "9999999999999999h", "99999999999999999999s", "10", "1x", "-1s"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
