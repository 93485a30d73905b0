//! Failures by their class.

use slipway_resource::{ErrorClass, ProviderError};

pub(crate) fn invalid(text: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorClass::Invalid, text)
}

pub(crate) fn conflict(text: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorClass::Conflict, text)
}

pub(crate) fn transient(text: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorClass::Transient, text)
}

pub(crate) fn permanent(text: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorClass::Permanent, text)
}

/// Several failures as one, so that all are known at once: all messages, and every way out once.
pub(crate) fn together(mut failures: Vec<ProviderError>) -> Option<ProviderError> {
    if failures.len() < 2 {
        return failures.pop();
    }
    let lines = |texts: Vec<String>| {
        let mut known: Vec<String> = Vec::new();
        for text in texts {
            if !known.contains(&text) {
                known.push(text);
            }
        }
        known.join("; ")
    };
    let message = lines(failures.iter().map(|failure| failure.message.clone()).collect());
    let hint = lines(failures.iter().filter_map(|failure| failure.hint.clone()).collect());
    // A lasting failure decides about the class, even if other failures may pass.
    let lasting = failures.iter().position(|failure| !failure.class.is_retryable()).unwrap_or_default();
    let ProviderError { class, field, .. } = failures.swap_remove(lasting);
    let failure = ProviderError { field, ..ProviderError::new(class, message) };
    Some(if hint.is_empty() { failure } else { failure.with_hint(hint) })
}

/// A failure about a host, with the field of the spec that says how the host is reached; one that names a field keeps it.
pub(crate) fn about_host(failure: ProviderError, host: &str) -> ProviderError {
    if failure.field.is_some() { failure } else { failure.with_field(format!("hosts[{host}].ssh")) }
}

pub(crate) fn not_found(text: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorClass::NotFound, text)
}
