use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A machine that exists already and can become a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Host {
    /// The host's name, a DNS name: that of its node, and unique in its inventory.
    pub name: String,
    /// Labels by which pools select hosts.
    pub labels: BTreeMap<String, String>,
    /// The inventory that the host belongs to. A host is claimed by one cluster at a time, whoever keeps its state there.
    pub inventory: String,
    /// The failure domain of the host. Pools spread over failure domains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// The region of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Labels of its node, beside those of its pool and before them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_labels: BTreeMap<String, String>,
    /// The host's addresses, the preferred one of each type first.
    pub addresses: Vec<HostAddressEntry>,
    /// How the host is entered by SSH; absent when an agent runs there already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssh: Option<HostSsh>,
    /// How the agent that runs on the host is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<HostAgent>,
    /// Whether the machine is lost for ever: Slipway does not connect to it any more, and what was on it is given up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
}

/// One address of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostAddressEntry {
    /// From where it is reached.
    #[serde(default, rename = "type")]
    pub kind: HostAddressType,
    /// The address.
    #[schemars(schema_with = "crate::schema::address")]
    pub address: std::net::IpAddr,
    /// The interface that has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
}

/// From where an address is reached.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum HostAddressType {
    /// From the network that the hosts share.
    #[default]
    Internal,
    /// From everywhere.
    Public,
}

impl HostAddressType {
    /// The name in the JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Internal => "internal",
            Self::Public => "public",
        }
    }
}

/// How a host is entered by SSH.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostSsh {
    /// The address or DNS name to enter by; absent takes the first address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The port, 1 to 65535.
    #[serde(default = "ssh_port")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: u16,
    /// The user; anybody but root must be able to become root by `sudo -n`.
    #[serde(default = "ssh_user")]
    pub user: String,
    /// The public keys of the host, as in `ssh-ed25519 AAAA…`: a host with another key is refused.
    #[serde(default)]
    pub host_keys: Vec<String>,
    /// The file with the private key to enter with, relative to the spec file; absent leaves it to the SSH client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity_file: Option<String>,
}

impl Default for HostSsh {
    fn default() -> Self {
        Self { address: None, port: ssh_port(), user: ssh_user(), host_keys: Vec::new(), identity_file: None }
    }
}

const fn ssh_port() -> u16 {
    22
}

fn ssh_user() -> String {
    "root".to_owned()
}

/// How the agent that runs on a host is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostAgent {
    /// The unix socket that the agent serves, on the machine that runs Slipway.
    pub socket: String,
}

/// Which of a host's addresses its node has: the first that fits.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AddressRule {
    /// The type of address; absent prefers an internal one.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<HostAddressType>,
    /// The interface that has it; absent for any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
}

impl AddressRule {
    /// The address of a host that fits; none when no one does.
    #[must_use]
    pub fn choose(&self, host: &Host) -> Option<std::net::IpAddr> {
        let fits = |entry: &&HostAddressEntry| {
            self.kind.is_none_or(|kind| kind == entry.kind)
                && self.interface.as_ref().is_none_or(|name| entry.interface.as_ref() == Some(name))
        };
        // Sorting keeps the order of the spec among addresses of one type.
        let mut fitting: Vec<&HostAddressEntry> = host.addresses.iter().filter(fits).collect();
        fitting.sort_by_key(|entry| entry.kind);
        fitting.first().map(|entry| entry.address)
    }
}
