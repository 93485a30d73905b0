//! Proof of the identity of a cloud machine that requests the credential of a node.

use std::fmt;

use crate::Digest;

/// The largest credential, in bytes.
pub const CREDENTIAL_BYTES: usize = 16 * 1024;

/// The purpose of a credential. The credential is not valid for any other challenge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeChallenge {
    /// The name of the requesting server, as the machine has dialled it.
    pub server: String,
    /// A random text of the server, which it accepts once.
    pub nonce: String,
    /// Digest of the machine's request.
    pub request: Digest,
}

/// Identifies the machine of a cluster that presented a credential.
#[derive(Clone, PartialEq, Eq)]
pub struct VerifyNodeRequest {
    /// The challenge that the credential must match.
    pub challenge: NodeChallenge,
    /// The credential that the machine presented. It may come from any sender.
    pub credential: Vec<u8>,
    /// The name of the cluster that the machine must belong to.
    pub cluster: String,
}

/// A machine whose identity is proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedNode {
    /// The machine, by its provider id.
    pub machine: String,
    /// The names that its node may have.
    pub nodes: Vec<String>,
    /// The pool that it belongs to, if the cloud knows it.
    pub pool: Option<String>,
    /// The name of the role that it has in the cloud, if the cloud has roles of machines.
    pub role: Option<String>,
    /// The id of the template that the cloud launched it from, if the cloud knows it.
    pub template: Option<String>,
    /// Start time of the machine, in seconds since 1970.
    pub started: i64,
}

impl NodeChallenge {
    /// The digest of the whole challenge. A credential covers it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        // No part has a line end: digests, nonces and names never do.
        let text = format!("{}\n{}\n{}\n", self.server, self.nonce, self.request.as_str());
        Digest::of_bytes(text.as_bytes())
    }
}

impl fmt::Debug for VerifyNodeRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("VerifyNodeRequest")
            .field("challenge", &self.challenge)
            .field("cluster", &self.cluster)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn challenge(server: &str, nonce: &str, request: &str) -> NodeChallenge {
        let request = Digest::of_bytes(request.as_bytes());
        NodeChallenge { server: server.to_owned(), nonce: nonce.to_owned(), request }
    }

    #[test]
    fn a_digest_is_of_one_challenge() {
        let one = challenge("api.example.com", "n1", "body");
        assert_eq!(one.digest(), one.clone().digest());
        for other in [
            challenge("api.example.org", "n1", "body"),
            challenge("api.example.com", "n2", "body"),
            challenge("api.example.com", "n1", "another"),
        ] {
            assert_ne!(one.digest(), other.digest());
        }
    }

    #[test]
    fn a_credential_is_not_shown() {
        let challenge = challenge("api.example.com", "n1", "body");
        let request = VerifyNodeRequest { challenge, credential: b"proof".to_vec(), cluster: "c".to_owned() };
        assert!(!format!("{request:?}").contains("credential"));
    }
}
