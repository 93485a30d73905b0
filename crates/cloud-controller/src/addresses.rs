//! The addresses in the status of a node: those of its instance, as far as the kubelet and its flags leave them.
//!
//! The rules are those of `k8s.io/cloud-provider` 0.34 (`node/helpers/address.go`).

use std::net::IpAddr;

use slipway_controller::k8s_openapi::api::core::v1::NodeAddress;
use slipway_resource::provider::{NodeAddress as CloudAddress, NodeAddressKind};

/// The annotation with the addresses of the kubelet's flag `--node-ip`: one, or two divided by a comma.
pub const PROVIDED_NODE_IP: &str = "alpha.kubernetes.io/provided-node-ip";

/// The address that the kubelet was given is none of its instance.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It is no IP address.
    #[error("the annotation alpha.kubernetes.io/provided-node-ip of the node is not an IP address: {0}")]
    NoAddress(String),
    /// No address of the instance is equal.
    #[error("provided node ip {0} is not valid: the cloud knows no such address of the instance")]
    NotOfInstance(String),
}

/// The addresses that the status of the node must have; `None` if those that it has stay, because the cloud names none.
///
/// # Errors
/// When the kubelet was given an address that is none of its instance.
pub fn wanted(
    existing: &[NodeAddress],
    provided: Option<&str>,
    cloud: &[CloudAddress],
) -> Result<Option<Vec<NodeAddress>>, AddressError> {
    if cloud.is_empty() {
        return Ok(None);
    }
    let mut wanted = match provided.filter(|text| !text.is_empty()) {
        Some(provided) => preferred(provided, cloud)?,
        None => cloud.iter().map(written).collect(),
    };
    let hostname = NodeAddressKind::Hostname.as_str();
    if !wanted.iter().any(|address| address.type_ == hostname) {
        wanted.extend(existing.iter().find(|address| address.type_ == hostname).cloned());
    }
    Ok(Some(wanted))
}

/// The provided addresses first, as the only ones of their types, then those of other types.
fn preferred(provided: &str, cloud: &[CloudAddress]) -> Result<Vec<NodeAddress>, AddressError> {
    let mut first: Vec<&CloudAddress> = Vec::new();
    for text in provided.split(',') {
        let ip: IpAddr = text.trim().parse().map_err(|_| AddressError::NoAddress(text.to_owned()))?;
        let is_it = |address: &&CloudAddress| address.address.parse::<IpAddr>() == Ok(ip);
        let matching: Vec<&CloudAddress> = cloud.iter().filter(is_it).collect();
        if matching.is_empty() {
            return Err(AddressError::NotOfInstance(text.to_owned()));
        }
        first.extend(matching);
    }
    let is_other = |address: &&CloudAddress| !first.iter().any(|chosen| chosen.kind == address.kind);
    Ok(first.iter().copied().chain(cloud.iter().filter(is_other)).map(written).collect())
}

fn written(address: &CloudAddress) -> NodeAddress {
    NodeAddress { type_: address.kind.as_str().to_owned(), address: address.address.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOUD: [(&str, &str); 6] = [
        ("InternalIP", "10.0.0.1"),
        ("InternalIP", "10.0.0.2"),
        ("InternalIP", "fd00::1"),
        ("ExternalIP", "132.143.154.163"),
        ("ExternalIP", "2001:db8::1"),
        ("InternalDNS", "node.internal"),
    ];

    fn cloud(addresses: &[(&str, &str)]) -> Vec<CloudAddress> {
        let address = |(kind, address): &(&str, &str)| CloudAddress {
            kind: NodeAddressKind::parse(kind).unwrap(),
            address: (*address).to_owned(),
        };
        addresses.iter().map(address).collect()
    }

    fn with(provided: Option<&str>) -> Result<String, AddressError> {
        let kubelets = [NodeAddress { type_: "Hostname".to_owned(), address: "node".to_owned() }];
        let wanted = wanted(&kubelets, provided, &cloud(&CLOUD))?.unwrap();
        let text: Vec<String> = wanted.iter().map(|one| format!("{}={}", one.type_, one.address)).collect();
        Ok(text.join(" "))
    }

    #[test]
    fn a_provided_address_is_the_only_one_of_its_type() {
        let cases = [
            (
                None,
                "InternalIP=10.0.0.1 InternalIP=10.0.0.2 InternalIP=fd00::1 ExternalIP=132.143.154.163 \
                    ExternalIP=2001:db8::1 InternalDNS=node.internal Hostname=node",
            ),
            (
                Some("10.0.0.2"),
                "InternalIP=10.0.0.2 ExternalIP=132.143.154.163 ExternalIP=2001:db8::1 \
                                InternalDNS=node.internal Hostname=node",
            ),
            (
                Some("132.143.154.163"),
                "ExternalIP=132.143.154.163 InternalIP=10.0.0.1 InternalIP=10.0.0.2 \
                                       InternalIP=fd00::1 InternalDNS=node.internal Hostname=node",
            ),
            (
                Some("10.0.0.1,fd00:0::1"),
                "InternalIP=10.0.0.1 InternalIP=fd00::1 ExternalIP=132.143.154.163 \
                                          ExternalIP=2001:db8::1 InternalDNS=node.internal Hostname=node",
            ),
        ];
        for (provided, expected) in cases {
            assert_eq!(with(provided).unwrap(), expected, "{provided:?}");
        }
        assert_eq!(with(Some("10.9.9.9")), Err(AddressError::NotOfInstance("10.9.9.9".to_owned())));
        assert_eq!(with(Some("10.0.0.1,node")), Err(AddressError::NoAddress("node".to_owned())));
    }

    #[test]
    fn a_cloud_without_addresses_leaves_the_node_its_own() {
        let kubelets = [NodeAddress { type_: "InternalIP".to_owned(), address: "10.0.0.9".to_owned() }];
        assert_eq!(wanted(&kubelets, None, &[]), Ok(None));
        let named = cloud(&[("Hostname", "cloud-name")]);
        let wanted = wanted(&kubelets, None, &named).unwrap().unwrap();
        assert_eq!(wanted.len(), 1);
        assert_eq!(wanted[0].address, "cloud-name");
    }
}
