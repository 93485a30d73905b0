//! Hosts.

use slipway_cluster_input as input;

use super::all;
use crate::model;

impl From<model::Host> for input::Host {
    fn from(from: model::Host) -> Self {
        let model::Host { name, labels, inventory, zone, region, node_labels, addresses, ssh, agent, lost } =
            from;
        Self {
            name,
            labels,
            inventory,
            zone,
            region,
            node_labels,
            addresses: all(addresses),
            ssh: ssh.map(Into::into),
            agent: agent.map(Into::into),
            lost,
        }
    }
}

impl From<model::HostAddressEntry> for input::HostAddressEntry {
    fn from(from: model::HostAddressEntry) -> Self {
        let model::HostAddressEntry { kind, address, interface } = from;
        Self { kind: kind.into(), address, interface }
    }
}

impl From<model::HostSsh> for input::HostSsh {
    fn from(from: model::HostSsh) -> Self {
        let model::HostSsh { address, port, user, host_keys, identity_file } = from;
        Self { address, port, user, host_keys, identity_file }
    }
}

impl From<model::HostAgent> for input::HostAgent {
    fn from(from: model::HostAgent) -> Self {
        let model::HostAgent { socket } = from;
        Self { socket }
    }
}

impl From<model::AddressRule> for input::AddressRule {
    fn from(from: model::AddressRule) -> Self {
        let model::AddressRule { kind, interface } = from;
        Self { kind: kind.map(Into::into), interface }
    }
}

impl From<model::HostAddressType> for input::HostAddressType {
    fn from(from: model::HostAddressType) -> Self {
        match from {
            model::HostAddressType::Internal => Self::Internal,
            model::HostAddressType::Public => Self::Public,
        }
    }
}

impl From<model::HostSelection> for input::HostSelection {
    fn from(from: model::HostSelection) -> Self {
        let model::HostSelection { inventory, match_labels, addresses, address } = from;
        Self { inventory, match_labels, addresses: all(addresses), address: address.into() }
    }
}

impl From<model::HostAddress> for input::HostAddress {
    fn from(from: model::HostAddress) -> Self {
        let model::HostAddress { name, address, port, user } = from;
        Self { name, address, port, user }
    }
}
