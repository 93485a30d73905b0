//! Failures in the classes of the contract.

use std::io;
use std::path::Path;

use slipway_resource::{ErrorClass, ProviderError};

/// The request itself is wrong.
pub(crate) fn invalid(message: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorClass::Invalid, message)
}

/// Something else has the place.
pub(crate) fn conflict(message: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorClass::Conflict, message)
}

/// An error that repetition does not resolve.
pub(crate) fn permanent(message: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorClass::Permanent, message)
}

/// An error that may pass; the call had no effect.
pub(crate) fn transient(message: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorClass::Transient, message)
}

/// The object is not there.
pub(crate) fn not_found(message: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorClass::NotFound, message)
}

/// An error of the operating system about a path, with the class for the engine.
pub(crate) fn of_path(path: &Path, doing: &str, error: &io::Error) -> ProviderError {
    let text = format!("{}: cannot {doing}: {error}", path.display());
    let class = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            ErrorClass::Permission { action: doing.to_owned() }
        }
        io::ErrorKind::NotFound => ErrorClass::NotFound,
        io::ErrorKind::DirectoryNotEmpty => ErrorClass::Dependency { blockers: Vec::new() },
        io::ErrorKind::Interrupted | io::ErrorKind::ResourceBusy => ErrorClass::Transient,
        _ => ErrorClass::Permanent,
    };
    ProviderError::new(class, text)
}
