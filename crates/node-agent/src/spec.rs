//! The spec of a machine, kept in its state, so that a later plan needs no document.

use serde::{Deserialize, Serialize};
use slipway_bootstrap::configuration::Configuration;
use slipway_bootstrap::expand::Discovered;
use slipway_bootstrap::preflight::Purpose;

use crate::code;
use crate::error::Error;

/// The name under which the machine's own state knows it.
pub const CLUSTER: &str = "node";

/// The desired state of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeSpec {
    /// Its part in the cluster.
    pub role: Purpose,
    /// Everything about the node and its cluster, without the text of any secret.
    pub configuration: Configuration,
    /// Whether shared certificates are uploaded when the cluster begins.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub upload_certificates: bool,
    /// The facts about the cluster that it joined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joined: Option<Joined>,
    /// The shared certificates that it got by an upload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_files: Vec<String>,
    /// Phases that were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
    /// From what it booted, where a bootstrap document made it a node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<Boot>,
}

/// From what a machine boots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Boot {
    /// The path of its bootstrap document.
    pub document: String,
    /// The digest of the document.
    pub digest: String,
    /// The address of the cluster, `host` or `host:port`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The URL of the state store, where it is not that of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The path of the kubeconfig with which a worker joins.
    pub credential: String,
    /// The authorities of the cluster as base64 of PEM, by which a worker trusts the control plane that it asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority: Option<String>,
    /// The provider id of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
}

/// The facts about a cluster that were read during the join.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Joined {
    /// The URL of its API.
    pub server: String,
    /// Its CAs, in PEM.
    pub authority: String,
    /// The members of etcd that were there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub etcd_endpoints: Vec<String>,
    /// The file with the client certificate and key with which the kubelet requested its own, if it had no
    /// token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_certificate: Option<String>,
}

impl Joined {
    /// The facts that the expansion of a joining machine needs.
    pub fn discovered(&self) -> Discovered {
        Discovered {
            server: self.server.clone(),
            authority: self.authority.clone(),
            client_certificate: self.client_certificate.clone(),
        }
    }
}

impl NodeSpec {
    /// A machine with a part in a cluster.
    pub fn new(role: Purpose, configuration: Configuration) -> Self {
        Self {
            role,
            configuration,
            upload_certificates: false,
            joined: None,
            shared_files: Vec::new(),
            skipped: Vec::new(),
            boot: None,
        }
    }

    /// As the state keeps it.
    pub fn to_json(&self) -> Result<serde_json::Value, slipway_operations::Error> {
        serde_json::to_value(self).map_err(|error| {
            slipway_operations::Error::internal("the node's configuration cannot be written as JSON", error)
        })
    }

    /// From what the state keeps.
    pub fn from_json(document: &serde_json::Value) -> Result<Self, Error> {
        Self::deserialize(document).map_err(|error| {
            Error::new(code::NO_STATE, "the state of this machine does not say what it was made by")
                .cause(error.to_string())
                .hint("name the configuration with --config FILE")
        })
    }
}
