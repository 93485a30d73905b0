use crate::pki::Pin;

/// Why a cluster is not trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The ConfigMap has no kubeconfig.
    #[error(
        "the ConfigMap cluster-info has no kubeconfig: this API server is not set up for joining by token"
    )]
    NoKubeconfig,
    /// There is no signature with the token.
    #[error(
        "the cluster does not know the token {0:?}, or its time is over: make a new one on a control plane with `slipway node token create`"
    )]
    NoSignature(String),
    /// A signature with the token is wrong: its author does not know the token.
    #[error(
        "the signature of cluster-info with the token {0:?} is wrong: the server does not know the token's secret, or the signed data was changed"
    )]
    WrongSignature(String),
    /// The signed text is not a kubeconfig of a cluster with a CA.
    #[error("the kubeconfig of the cluster cannot be used: {0}")]
    Kubeconfig(String),
    /// None of the cluster's CAs is pinned.
    #[error(
        "none of the cluster's CAs is pinned: theirs are {}",
        found.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    )]
    NoPinFits {
        /// The pins of the cluster's CAs.
        found: Vec<Pin>,
    },
    /// The second read differs.
    #[error(
        "cluster-info, read again over TLS with the pinned CA, is not what was read first: somebody stands between"
    )]
    Changed,
}

impl Error {
    /// The stable code, with a page in `docs/errors/`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoKubeconfig => "DISCOVERY0001",
            Self::NoSignature(_) => "DISCOVERY0002",
            Self::WrongSignature(_) => "DISCOVERY0003",
            Self::Kubeconfig(_) => "DISCOVERY0004",
            Self::NoPinFits { .. } => "DISCOVERY0005",
            Self::Changed => "DISCOVERY0006",
        }
    }
}
