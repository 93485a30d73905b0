//! The address of a host that an endpoint gets.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::api::{AddressType, EndpointElection, HostAddress, IpFamily, MachineAddress};

/// The order of types when the cluster names none.
const PREFERENCE: [AddressType; 5] = [
    AddressType::InternalIP,
    AddressType::ExternalIP,
    AddressType::InternalDNS,
    AddressType::ExternalDNS,
    AddressType::Hostname,
];

/// The rules of an election cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("spec.endpointElection.cidr: `{0}` is not a network such as 10.0.0.0/16")]
pub struct InvalidNetwork(String);

/// Rules for the choice of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    types: Vec<AddressType>,
    network: Option<IpNet>,
    interface: Option<String>,
    family: Option<IpFamily>,
}

impl Rules {
    /// The rules of a cluster.
    ///
    /// # Errors
    /// When the network cannot be read.
    pub fn new(election: Option<&EndpointElection>) -> Result<Self, InvalidNetwork> {
        let election = election.cloned().unwrap_or_default();
        let network = election.cidr.map(|text| text.parse().map_err(|_| InvalidNetwork(text)));
        Ok(Self {
            types: if election.address_types.is_empty() {
                PREFERENCE.to_vec()
            } else {
                election.address_types
            },
            network: network.transpose()?,
            interface: election.interface,
            family: election.ip_family,
        })
    }

    /// The address with the most preferred type; the first of them in the order of the host. `None` if no address keeps
    /// the rules.
    #[must_use]
    pub fn choose<'a>(&self, addresses: &'a [HostAddress]) -> Option<&'a str> {
        let of_type = |kind: &AddressType| {
            addresses.iter().find(|address| address.kind == *kind && self.allows(address))
        };
        self.types.iter().find_map(of_type).map(|address| address.address.as_str())
    }

    fn allows(&self, address: &HostAddress) -> bool {
        let ip: Option<IpAddr> = address.address.parse().ok();
        let in_network = self.network.is_none_or(|network| ip.is_some_and(|ip| network.contains(&ip)));
        let of_family = self.family.is_none_or(|family| {
            ip.is_some_and(|ip| {
                matches!((family, ip), (IpFamily::IPv4, IpAddr::V4(_)) | (IpFamily::IPv6, IpAddr::V6(_)))
            })
        });
        let of_interface = self.interface.is_none() || self.interface == address.interface;
        !address.address.is_empty() && in_network && of_family && of_interface
    }
}

/// The addresses of a host as Cluster API reads them.
#[must_use]
pub fn of_machine(addresses: &[HostAddress]) -> Vec<MachineAddress> {
    addresses.iter().map(|one| MachineAddress { kind: one.kind, address: one.address.clone() }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn chosen(rules: Json) -> Result<Option<String>, InvalidNetwork> {
        let addresses: Vec<HostAddress> = serde_json::from_value(json!([
            {"type": "Hostname", "address": "host-1"},
            {"type": "ExternalIP", "address": "198.51.100.7", "interface": "eth1"},
            {"type": "InternalIP", "address": "fd00::7", "interface": "eth0"},
            {"type": "InternalIP", "address": "10.0.0.7", "interface": "eth0"},
            {"type": "InternalIP", "address": "10.9.0.7", "interface": "eth2"},
        ]))
        .unwrap();
        let election: EndpointElection = serde_json::from_value(rules).unwrap();
        Ok(Rules::new(Some(&election))?.choose(&addresses).map(str::to_owned))
    }

    #[test]
    fn an_address_keeps_all_rules() {
        let cases = [
            (json!({}), Some("fd00::7")),
            (json!({"ipFamily": "IPv4"}), Some("10.0.0.7")),
            (json!({"addressTypes": ["ExternalIP", "InternalIP"]}), Some("198.51.100.7")),
            (json!({"addressTypes": ["ExternalIP", "InternalIP"], "ipFamily": "IPv6"}), Some("fd00::7")),
            (json!({"cidr": "10.9.0.0/16"}), Some("10.9.0.7")),
            (json!({"interface": "eth2"}), Some("10.9.0.7")),
            (json!({"interface": "eth9"}), None),
            (json!({"cidr": "192.0.2.0/24"}), None),
            (json!({"addressTypes": ["Hostname"]}), Some("host-1")),
            (json!({"addressTypes": ["Hostname"], "ipFamily": "IPv4"}), None),
            (json!({"addressTypes": ["InternalDNS"]}), None),
        ];
        for (rules, expected) in cases {
            assert_eq!(chosen(rules.clone()).unwrap().as_deref(), expected, "{rules}");
        }
        assert_eq!(chosen(json!({"cidr": "10.0.0.0/99"})), Err(InvalidNetwork("10.0.0.0/99".to_owned())));
        assert_eq!(Rules::new(None).unwrap().choose(&[]), None);
    }
}
