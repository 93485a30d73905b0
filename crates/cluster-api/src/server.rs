//! A server of an API: its URL, how it is trusted, its credentials, and the addresses at which it may be.

use slipway_resource::SecretText;
use slipway_trust::Reach;

/// How a server is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// A server whose certificate one of these authorities has signed; in PEM.
    Authorities(String),
    /// A server that the system trusts.
    System,
    /// Any server. Only for documents that are verified otherwise, as `cluster-info` by its signature and the
    /// pins.
    Anybody,
}

/// The credentials for a server.
#[derive(Clone, Debug, Default)]
pub enum Credentials {
    /// No credentials.
    #[default]
    Anonymous,
    /// By a bearer token.
    Token(SecretText),
    /// By a client certificate and its key, in PEM.
    Certificate {
        /// The certificate, with those between it and its authority.
        certificate: String,
        /// The key.
        key: SecretText,
    },
}

/// A server of an API.
#[derive(Clone, Debug)]
pub struct Server {
    /// Its URL, as `https://10.0.0.1:6443`.
    pub url: String,
    /// How it is trusted.
    pub trust: Trust,
    /// The credentials for it.
    pub credentials: Credentials,
    /// The addresses at which it may be.
    pub reach: Reach,
}
