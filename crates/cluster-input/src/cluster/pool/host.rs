use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cluster::{AddressRule, Host, HostAddressEntry, HostAddressType, HostSsh};

/// Which existing hosts become nodes of a pool.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HostSelection {
    /// The inventory that hosts are claimed from; absent uses the listed ones only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inventory: Option<String>,
    /// Labels that a host of the inventory must have.
    pub match_labels: BTreeMap<String, String>,
    /// Hosts by address, in the order of the spec.
    pub addresses: Vec<HostAddress>,
    /// Which of a host's addresses its node has.
    pub address: AddressRule,
}

impl HostSelection {
    /// Whether a host is one that the pool may take.
    #[must_use]
    pub fn fits(&self, host: &Host) -> bool {
        !host.lost
            && self.inventory.as_ref() == Some(&host.inventory)
            && self.match_labels.iter().all(|(name, value)| host.labels.get(name) == Some(value))
    }
}

/// One existing host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostAddress {
    /// The node's name; unique in the cluster.
    pub name: String,
    /// The address or DNS name under which it is reached.
    pub address: String,
    /// The SSH port, 1 to 65535.
    #[serde(default = "ssh_port")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: u16,
    /// The SSH user.
    #[serde(default = "ssh_user")]
    pub user: String,
}

impl HostAddress {
    /// The same as a host of an inventory: entered by SSH, at an address that is its node's too, unless it is a DNS name.
    #[must_use]
    pub fn to_host(&self) -> Host {
        let address = self.address.parse().ok();
        let entry = |address| HostAddressEntry { kind: HostAddressType::default(), address, interface: None };
        Host {
            name: self.name.clone(),
            labels: BTreeMap::new(),
            inventory: "default".to_owned(),
            zone: None,
            region: None,
            node_labels: BTreeMap::new(),
            addresses: address.map(entry).into_iter().collect(),
            ssh: Some(HostSsh {
                address: Some(self.address.clone()),
                port: self.port,
                user: self.user.clone(),
                ..HostSsh::default()
            }),
            agent: None,
            lost: false,
        }
    }
}

const fn ssh_port() -> u16 {
    22
}

fn ssh_user() -> String {
    "root".to_owned()
}
