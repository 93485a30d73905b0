use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{Host, HostAddressEntry, HostAgent, HostSsh};

/// A machine that exists already and can become a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "Host")]
pub struct HostDocument {
    /// `slipway.dev/v1alpha1`.
    #[schemars(extend("const" = super::API_VERSION))]
    pub api_version: String,
    /// `Host`.
    #[schemars(extend("const" = "Host"))]
    pub kind: String,
    /// What the host is called.
    pub metadata: HostMetadata,
    /// What the host is.
    #[serde(default)]
    pub spec: HostSpec,
}

/// What a host is called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostMetadata {
    /// The host's name, a DNS name: that of its node, and unique in its inventory.
    pub name: String,
    /// Labels by which pools select hosts.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

/// What a host is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct HostSpec {
    /// The inventory that the host belongs to. A host is claimed by one cluster at a time, whoever keeps its state there.
    pub inventory: String,
    /// The failure domain of the host. Pools spread over failure domains. Its node is labelled with it
    /// (`topology.kubernetes.io/zone`), but with `profile: kubeadm`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// The region of the host. Its node is labelled with it (`topology.kubernetes.io/region`), but with
    /// `profile: kubeadm`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Labels of its node, beside those of its pool and before them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub node_labels: BTreeMap<String, String>,
    /// The host's addresses, the preferred one of each type first.
    pub addresses: Vec<HostAddressEntry>,
    /// How the host is entered by SSH. Default, without an agent: as root, on port 22, at the first address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssh: Option<HostSsh>,
    /// How the agent that runs on the host is reached; absent enters by SSH.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<HostAgent>,
    /// Whether the machine is lost for ever: Slipway does not connect to it, and removes its node and its member of etcd.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
}

impl Default for HostSpec {
    fn default() -> Self {
        Self {
            inventory: "default".to_owned(),
            zone: None,
            region: None,
            node_labels: BTreeMap::new(),
            addresses: Vec::new(),
            ssh: None,
            agent: None,
            lost: false,
        }
    }
}

impl From<HostDocument> for Host {
    fn from(document: HostDocument) -> Self {
        let HostDocument { metadata, spec, .. } = document;
        let HostSpec { inventory, zone, region, node_labels, addresses, ssh, agent, lost } = spec;
        Self {
            name: metadata.name,
            labels: metadata.labels,
            inventory,
            zone,
            region,
            node_labels,
            addresses,
            ssh: ssh.or_else(|| agent.is_none().then(HostSsh::default)),
            agent,
            lost,
        }
    }
}
