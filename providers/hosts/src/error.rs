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

pub(crate) fn not_found(text: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorClass::NotFound, text)
}
