//! The endpoint of control planes at which a machine of the cloud gets the credential of its node.
//!
//! `POST /v1/challenge` answers with a [`Challenge`]. The cloud proves the machine's identity for this
//! challenge and for the machine's request. The machine sends the proof as an [`Ask`] to `POST
//! /v1/credential`. It gets a [`Grant`]: a client certificate of its node, and the bootstrap document of its pool if it asks for that. With that, its kubelet requests
//! the certificate that it renews from then on. The provider knows the cloud; this endpoint knows none.

pub mod desk;
mod pools;
mod program;
mod registry;
pub mod server;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use program::Identifier;

/// The port of the endpoint, the one that kOps uses for the same purpose.
pub const PORT: u16 = 3988;
/// The paths of the endpoint.
pub const CHALLENGE: &str = "/v1/challenge";
/// The path at which machines request the credential.
pub const CREDENTIAL: &str = "/v1/credential";
/// By how much the clocks of two machines may differ. Signatures of AWS are good for 15 minutes, certificates begin five
/// minutes back.
pub const CLOCKS: Duration = Duration::from_secs(240);

/// The challenge of the endpoint.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Challenge {
    /// A random text, accepted once.
    pub nonce: String,
    /// The time of the endpoint, in seconds since 1970.
    pub now: i64,
}

/// Asks for the credential of a node.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ask {
    /// The name of the endpoint as the machine has dialled it.
    pub server: String,
    /// The nonce of the challenge.
    pub nonce: String,
    /// A [`Wanted`] as JSON; the credential covers the digest of this text.
    pub request: String,
    /// The proof that the cloud's provider made for the challenge, in base64.
    pub credential: String,
}

/// The request of a machine.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Wanted {
    /// The name of its node.
    pub node: String,
    /// The public key for its certificate, in PEM.
    pub public_key: String,
    /// The digest of the bootstrap document of its pool, if it needs that, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
}

/// The credential of a node.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    /// The client certificate, in PEM.
    pub certificate: String,
    /// The bootstrap document, if the machine asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
}
