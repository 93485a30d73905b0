use std::net::{IpAddr, Ipv4Addr};

use crate::{
    model::{IpFamily, Profile},
    v1alpha1::NetworkSpec,
    value::Cidr,
};

/// The range of the nodes' network: only where Slipway makes one.
pub(in crate::v1alpha1) fn node_range(spec: &NetworkSpec, zones: &[String]) -> Option<Cidr> {
    if spec.cidr.is_some() || spec.id.is_some() || zones.is_empty() {
        return spec.cidr;
    }
    "10.0.0.0/16".parse().ok()
}

/// The ranges of pod addresses.
pub(in crate::v1alpha1) fn pod_ranges(family: IpFamily, profile: Profile) -> Vec<Cidr> {
    match profile {
        Profile::Slipway | Profile::Hardened => of_family(family, "100.96.0.0/11", "fd00:10:100::/56"),
        Profile::Kubeadm => Vec::new(),
    }
}

/// The ranges of service addresses.
pub(in crate::v1alpha1) fn service_ranges(family: IpFamily, profile: Profile) -> Vec<Cidr> {
    match profile {
        Profile::Slipway | Profile::Hardened => of_family(family, "100.64.0.0/13", "fd00:10:96::/108"),
        Profile::Kubeadm => of_family(family, "10.96.0.0/12", "fd00:10:96::/108"),
    }
}

fn of_family(family: IpFamily, ipv4: &str, ipv6: &str) -> Vec<Cidr> {
    let texts: &[&str] = match family {
        IpFamily::Ipv4 => &[ipv4],
        IpFamily::Ipv6 => &[ipv6],
        IpFamily::DualStack => &[ipv4, ipv6],
    };
    texts.iter().filter_map(|text| text.parse().ok()).collect()
}

/// The address of the cluster's DNS service: the tenth of the first service range, as in kubeadm.
pub(in crate::v1alpha1) fn dns_address(services: &[Cidr]) -> IpAddr {
    services.first().and_then(|range| range.address(10)).unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
}
