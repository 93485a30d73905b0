//! The name and the addresses of the host that the agent runs on.

use std::net::IpAddr;

use crate::api::{AddressType, HostAddress};

/// The host name of the system, in lower case, as Nodes have it.
pub(super) fn hostname() -> String {
    rustix::system::uname().nodename().to_string_lossy().to_lowercase()
}

/// Network interfaces of containers and virtual machines, by the beginning of their name. Their addresses are in no
/// network that other hosts reach.
const VIRTUAL: [&str; 8] = ["cni", "docker", "flannel", "veth", "cali", "cilium", "kube-", "virbr"];

/// The addresses of the interfaces, then the name. Loopback and link-local addresses are left out.
pub(super) fn all(name: &str) -> Vec<HostAddress> {
    let mut all: Vec<HostAddress> = nix::ifaddrs::getifaddrs()
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let storage = entry.address?;
            let four = storage.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
            let ip = four.or_else(|| storage.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))?;
            is_usable(ip, &entry.interface_name).then(|| HostAddress {
                kind: AddressType::InternalIP,
                address: ip.to_string(),
                interface: Some(entry.interface_name),
            })
        })
        .collect();
    all.push(HostAddress { kind: AddressType::Hostname, address: name.to_owned(), interface: None });
    all
}

fn is_usable(ip: IpAddr, interface: &str) -> bool {
    let is_local = match ip {
        IpAddr::V4(ip) => ip.is_loopback() || ip.is_link_local() || ip.is_unspecified(),
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unspecified() || ip.segments()[0] & 0xffc0 == 0xfe80,
    };
    !is_local && !VIRTUAL.iter().any(|prefix| interface.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_that_others_reach_are_reported() {
        let usable = |ip: &str, interface| is_usable(ip.parse().unwrap(), interface);
        assert!(usable("10.0.0.1", "eth0") && usable("fd00::1", "eth0") && usable("198.51.100.1", "eth1"));
        for (ip, interface) in [
            ("127.0.0.1", "lo"),
            ("::1", "lo"),
            ("169.254.0.1", "eth0"),
            ("fe80::1", "eth0"),
            ("10.244.0.1", "cni0"),
        ] {
            assert!(!usable(ip, interface), "{ip}");
        }
        assert_eq!(all("host-1").last().unwrap().address, "host-1");
    }
}
