use crate::pki;

/// A result of this module.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of a kubeconfig. No message has any secret of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A text is no kubeconfig.
    #[error("this is not a kubeconfig: {0}")]
    Malformed(String),
    /// The file does not say which cluster or user is meant.
    #[error("the kubeconfig does not say what is meant: {0}")]
    NoCurrent(String),
    /// A user's file has something else under a name that would be written.
    #[error("the kubeconfig already has another {} of that name: {}", kind, names.join(", "))]
    Taken {
        /// The kind of the names: `cluster`, `user` or `context`.
        kind: &'static str,
        /// The names.
        names: Vec<String>,
    },
    /// A client certificate cannot be made.
    #[error("a client certificate cannot be made")]
    Certificate(#[from] pki::Error),
}

impl Error {
    /// The stable code, with a page in `docs/errors/`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "KUBECONFIG0001",
            Self::NoCurrent(_) => "KUBECONFIG0002",
            Self::Taken { .. } => "KUBECONFIG0003",
            Self::Certificate(error) => error.code(),
        }
    }
}
