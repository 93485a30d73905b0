//! Keys, authorities and encryption configurations in files: compared by public fingerprints, never overwritten by others.

use slipway_bootstrap::encryption;
use slipway_bootstrap::material::{self, FINGERPRINT};
use slipway_resource::{Path, ProviderError, Value};

use super::content::planned_bytes;
use super::{Place, Work};
use crate::error::conflict;

/// The attribute with the fingerprint of a key that may be overwritten.
pub(super) const REPLACES: &str = "replaces";

/// Whether the attributes declare the content as a key.
fn is_declared(attributes: &Value) -> bool {
    attributes.get(FINGERPRINT).is_some_and(|value| !value.is_null())
}

/// The declared fingerprint of the desired content.
pub(super) fn declared(desired: Option<&Value>) -> Option<&Value> {
    desired?.get(FINGERPRINT).filter(|value| !value.is_null())
}

/// Whether the desired content is known to be the existing key. This also works where the contents cannot be
/// compared, such as after the loss of the cluster's key for comparison.
pub(super) fn is_the_same(observed: &Value, declared: Option<&Value>) -> bool {
    let there = observed.get(FINGERPRINT).and_then(Value::as_str);
    there.is_some() && there == declared.and_then(Value::as_str)
}

/// Plans the fingerprint: that of a known content, otherwise the declared one. It is unknown where a changed
/// content may be another key.
pub(super) fn plan(
    declared: Option<&Value>,
    observed: Option<&Value>,
    planned: &mut Value,
) -> Result<(), ProviderError> {
    let path = planned.get("path").and_then(Value::as_str).unwrap_or_default().to_owned();
    let before = observed.and_then(|observed| observed.get(FINGERPRINT)).cloned().unwrap_or_default();
    let fingerprint = match (planned_bytes(planned)?, declared) {
        (Some(bytes), _) => {
            material::of_file(&path, &bytes, declared.is_some()).map_or(Value::Null, Value::from)
        }
        (None, Some(Value::String(text))) => text.as_str().into(),
        (None, Some(_)) => Value::Unknown,
        (None, None) if is_unchanged(observed, planned) => before.clone(),
        (None, None) if before.is_null() && !material::may_be(&path) => Value::Null,
        (None, None) => Value::Unknown,
    };
    // A key that makes way for no key is a change of the fingerprint too.
    let makes_way = fingerprint.is_null() && !before.is_null();
    planned.set(&Path::key(FINGERPRINT), if makes_way { Value::Unknown } else { fingerprint });
    Ok(())
}

fn is_unchanged(observed: Option<&Value>, planned: &Value) -> bool {
    observed.is_some_and(|observed| {
        ["content", "content_base64"].iter().all(|name| {
            observed.get(name).unwrap_or(&Value::Null) == planned.get(name).unwrap_or(&Value::Null)
        })
    })
}

/// Puts the fingerprint of a file into its attributes.
pub(super) fn show(bytes: &[u8], place: &Place, into: &mut Value) {
    let declared = is_declared(place.wanted().0);
    if let Some(fingerprint) = material::of_file(place.identity.as_str(), bytes, declared) {
        into.set(&Path::key(FINGERPRINT), fingerprint.into());
    }
}

/// Whether both contents are encryption configurations, and the new one has the key that the old one encrypts with: no stored
/// object is lost, as in the stages of a rotation.
fn still_reads(there: Option<&[u8]>, bytes: &[u8]) -> bool {
    let text = |bytes| std::str::from_utf8(bytes).unwrap_or_default();
    there.is_some_and(|there| encryption::reads_what_is_written(text(there), text(bytes)))
}

/// Refuses to overwrite a key with another content, unless the step names the fingerprint of the lost key or nothing depends on
/// it.
pub(super) fn refuse_overwriting(
    work: &Work,
    there: Option<&[u8]>,
    bytes: &[u8],
) -> Result<(), ProviderError> {
    let path = work.identity();
    let wanted = work.wanted();
    let declared = is_declared(wanted.0) || is_declared(work.place.wanted().0);
    let Some(old) = there.and_then(|there| material::of_file(path, there, declared)) else { return Ok(()) };
    let new = material::of_file(path, bytes, declared);
    if new.as_ref() == Some(&old)
        || wanted.optional_text(REPLACES)? == Some(old.as_str())
        || still_reads(there, bytes)
    {
        return Ok(());
    }
    let new = new.unwrap_or_else(|| "another content".to_owned());
    let text = format!("{path} holds the key {old}, and is not overwritten by {new}");
    Err(conflict(text).with_hint(
        "`slipway state rebuild` brings the cluster's keys into its state again; what depends on a key is lost with it",
    ))
}
