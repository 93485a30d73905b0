//! Failures of the cluster's API.

use std::path::PathBuf;

/// Why the cluster's API did not answer as it should.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The endpoint is no URL that can be called.
    #[error("{endpoint} is not the URL of an API server")]
    Endpoint {
        /// What was given.
        endpoint: String,
    },
    /// A token would travel in clear.
    #[error("a token is sent over https alone, and {endpoint} is http")]
    TokenInClear {
        /// The endpoint.
        endpoint: String,
    },
    /// The file with certificates or with the token cannot be read.
    #[error("{} cannot be read", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Nobody answers, or the connection broke. A request that changes something may have had its effect.
    #[error("the cluster's API at {endpoint} does not answer: {text}")]
    Unreachable {
        /// The endpoint.
        endpoint: String,
        /// What happened, with its causes.
        text: String,
    },
    /// The API refuses.
    #[error("{method} {path}: {status} {reason}: {message}")]
    Refused {
        /// The method.
        method: String,
        /// The path.
        path: String,
        /// The HTTP status.
        status: u16,
        /// The reason of the answer's `Status`, as `NotFound`.
        reason: String,
        /// Its message.
        message: String,
    },
    /// The answer is not what the API documents.
    #[error("the answer to {path} cannot be read: {text}")]
    Answer {
        /// The path.
        path: String,
        /// What is wrong with it.
        text: String,
    },
}

impl Error {
    /// Whether the object does not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
    }

    /// Whether the same request may succeed later: no server answers, or the server is busy or fails.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Refused { status: 408 | 429 | 500.., .. })
    }
}
