/// A result of this module.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of keys and certificates. No message has any part of a private key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A text or bytes do not have the expected form.
    #[error("this is no {what}: {reason}")]
    Malformed {
        /// The expected form.
        what: &'static str,
        /// Why not.
        reason: String,
    },
    /// A key or signature has an algorithm that is not supported.
    #[error("{what} has an algorithm that is not supported: {algorithm}")]
    Unsupported {
        /// The key or signature.
        what: &'static str,
        /// The algorithm, by its object identifier or name.
        algorithm: String,
    },
    /// The source of randomness or the crypto library refused.
    #[error("{0} failed in the crypto library")]
    Crypto(&'static str),
    /// A requested certificate would not be usable.
    #[error("a certificate cannot be made: {0}")]
    Template(String),
    /// A signature does not match the signed content.
    #[error("the signature of {0} does not fit: it was not made with that key, or what it signs was changed")]
    BadSignature(String),
}

impl Error {
    /// The stable code, with a page in `docs/errors/`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Malformed { .. } => "PKI0001",
            Self::Unsupported { .. } => "PKI0002",
            Self::Crypto(_) => "PKI0003",
            Self::Template(_) => "PKI0004",
            Self::BadSignature(_) => "PKI0005",
        }
    }
}

/// An error of the DER coder about `what`.
pub(super) fn malformed(what: &'static str) -> impl Fn(der::Error) -> Error {
    move |error| Error::Malformed { what, reason: error.to_string() }
}
