//! Time spans in arguments.

use std::time::Duration;

use jiff::SignedDuration;

/// Reads a time span above zero, as `5m`, `1m30s` or `500ms`.
///
/// # Errors
/// When the text is none, as a sentence for the user.
pub fn time_span(text: &str) -> Result<Duration, String> {
    let parsed: SignedDuration =
        text.parse().map_err(|_| format!("`{text}` is not a time span such as 5m or 90s"))?;
    let duration = Duration::try_from(parsed).map_err(|_| format!("`{text}` is negative"))?;
    if duration.is_zero() { Err("it must be greater than 0".to_owned()) } else { Ok(duration) }
}
