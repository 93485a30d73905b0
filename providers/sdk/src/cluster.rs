//! The cluster that Catalog and Expand receive, read as the contract requires.

use serde_json::Value as Json;
use slipway_cluster_input::{ClusterInput, ReadError, UnknownField};
use slipway_resource::provider::ExpandNote;
use slipway_resource::{ErrorClass, ProviderError};

pub use slipway_cluster_input::NOT_UNDERSTOOD;

/// A cluster, and the notes that Expand must return with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    /// The cluster.
    pub cluster: ClusterInput,
    /// One note for each field that was ignored, because this provider does not know it.
    pub notes: Vec<ExpandNote>,
}

/// Reads the cluster of a request.
///
/// # Errors
/// `invalid` with the code `PROVIDER0020` for an unknown field that must be understood, and with `PROVIDER0021` for a message
/// of another version or with an unknown value of a known field.
pub fn read(message: &Json) -> Result<Received, ProviderError> {
    let reading = ClusterInput::read(message).map_err(refusal)?;
    Ok(Received { cluster: reading.cluster, notes: reading.unknown.into_iter().map(note).collect() })
}

/// Checks the cluster of a request without reading it: for a provider that makes nothing of it. Returns the notes that Expand
/// must return.
///
/// # Errors
/// `invalid`, as [`read`] for the version of the message and for unknown fields that must be understood.
pub fn check(message: &Json) -> Result<Vec<ExpandNote>, ProviderError> {
    Ok(ClusterInput::check(message).map_err(refusal)?.into_iter().map(note).collect())
}

fn note(field: UnknownField) -> ExpandNote {
    let message = format!("this version of the provider does not know `{}` and ignores it", field.path);
    ExpandNote { field: field.path, message }
}

fn refusal(error: ReadError) -> ProviderError {
    let mut refused = ProviderError::new(ErrorClass::Invalid, error.to_string()).with_code(error.code());
    refused.field = error.field().map(str::to_owned);
    match error {
        ReadError::NotUnderstood(_) => {
            refused.with_hint("install a newer version of the provider, or remove the field from the spec")
        }
        ReadError::Version { .. } | ReadError::Malformed(_) => {
            refused.with_hint("install the versions of Slipway and of the provider that belong together")
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_that_must_be_understood_is_refused_by_name() {
        let message =
            json!({ "pools": [{ "name": "workers", "lanes": 2 }], "mustUnderstand": ["/pools/0/lanes"] });
        let refused = read(&message).unwrap_err();
        assert_eq!(refused.class, ErrorClass::Invalid);
        assert_eq!(refused.code.as_deref(), Some("PROVIDER0020"));
        assert_eq!(refused.field.as_deref(), Some("pools[workers].lanes"));
        assert_eq!(
            refused.message,
            "this provider does not know `pools[workers].lanes`, which it must understand"
        );
    }

    #[test]
    fn another_version_is_refused() {
        let refused = read(&json!({ "apiVersion": "provider.slipway.dev/v7" })).unwrap_err();
        assert_eq!(refused.code.as_deref(), Some("PROVIDER0021"));
        assert!(refused.message.contains("v7"), "{refused}");
    }
}
