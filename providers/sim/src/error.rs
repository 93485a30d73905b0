//! Failures of the simulated cloud, by class.

use slipway_resource::{ErrorClass, ProviderError};

pub(crate) fn invalid(message: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorClass::Invalid, message)
}

pub(crate) fn not_found(message: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorClass::NotFound, message)
}

pub(crate) fn conflict(message: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorClass::Conflict, message)
}

pub(crate) fn permanent(message: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorClass::Permanent, message)
}

pub(crate) fn dependency(message: impl Into<String>, blockers: Vec<String>) -> ProviderError {
    ProviderError::new(ErrorClass::Dependency { blockers }, message)
}

pub(crate) fn unknown_outcome(message: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorClass::OutcomeUnknown, message)
}

/// An action that was stopped on request. Where it has had an effect the caller names the object that is left.
pub(crate) fn stopped(message: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorClass::Cancelled, message)
}
