//! The console output of an instance.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use slipway_resource::{ErrorClass, ProviderError, Value};

use crate::cloud::Cloud;
use crate::rate::Class;

/// The largest part of the output that is returned.
const LONGEST: usize = 4096;

/// The end of the console output of an instance; null for an instance that has said nothing or is gone.
///
/// # Errors
/// As the call says.
pub(super) async fn read(cloud: &Cloud, id: &str) -> Result<Value, ProviderError> {
    let read = |latest: bool| async move {
        let request = cloud.ec2().get_console_output().instance_id(id).set_latest(latest.then_some(true));
        cloud.read(Class::Ec2Read, "GetConsoleOutput", || request.clone().send()).await
    };
    // Only instances on Nitro tell what they say now. The others tell what they said when they started.
    let answer = match read(true).await {
        Err(error) if error.class == ErrorClass::Invalid => read(false).await,
        answer => answer,
    };
    let answer = match answer {
        Err(error) if error.class == ErrorClass::NotFound => return Ok(Value::Null),
        answer => answer?,
    };
    Ok(answer.output().and_then(end).map_or(Value::Null, Value::from))
}

/// The end of an output in base64, from the beginning of a line.
fn end(output: &str) -> Option<String> {
    let bytes = STANDARD.decode(output).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_end();
    let Some(cut) = text.len().checked_sub(LONGEST) else { return Some(text.to_owned()) };
    let first = (cut..text.len()).find(|place| text.is_char_boundary(*place))?;
    let text = text.get(first..)?;
    Some(text.split_once('\n').map_or(text, |(_, rest)| rest).to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_long_output_begins_with_a_whole_line() {
        assert_eq!(end(&STANDARD.encode("one\ntwo\n")).as_deref(), Some("one\ntwo"));
        let long = format!("{}\nwaits for a mirror\n", "é".repeat(LONGEST));
        assert_eq!(end(&STANDARD.encode(long)).as_deref(), Some("waits for a mirror"));
        assert_eq!(end("not base64"), None);
    }
}
