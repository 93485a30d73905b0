use crate::{
    model::{Egress, Subnet, SubnetKind, Topology},
    value::Cidr,
};

/// Cuts a subnet layout from the network's range: the range falls into eight blocks, of which the first is cut into
/// eight again for utility subnets, and the others are the zones'. A network has room for seven zones.
///
/// Subnets' IPv6 ranges are the provider's to assign. In a private topology every zone has a private and a utility subnet, in a public one a public subnet.
pub(in crate::v1alpha1) fn cut(range: Option<Cidr>, zones: &[String], topology: Topology) -> Vec<Subnet> {
    let Some(blocks) = range.and_then(eighths) else {
        return Vec::new();
    };
    let small = blocks.first().and_then(|first| eighths(*first)).unwrap_or_default();
    let (kind, egress) = match topology {
        Topology::Private => (SubnetKind::Private, Egress::NatGateway { id: None, elastic_ip: None }),
        Topology::Public => (SubnetKind::Public, Egress::InternetGateway {}),
    };
    let mut subnets: Vec<Subnet> = zones
        .iter()
        .zip(blocks.iter().skip(1))
        .map(|(zone, range)| subnet(zone.clone(), zone, kind, *range, egress.clone()))
        .collect();
    if topology == Topology::Private {
        subnets.extend(zones.iter().zip(&small).map(|(zone, range)| {
            subnet(format!("utility-{zone}"), zone, SubnetKind::Utility, *range, Egress::InternetGateway {})
        }));
    }
    subnets
}

fn subnet(name: String, zone: &str, kind: SubnetKind, range: Cidr, egress: Egress) -> Subnet {
    Subnet {
        name,
        zone: zone.to_owned(),
        kind,
        cidr: Some(range),
        ipv6_cidr: None,
        id: None,
        egress,
        additional_routes: Vec::new(),
    }
}

fn eighths(range: Cidr) -> Option<Vec<Cidr>> {
    let prefix = range.prefix_len().checked_add(3)?;
    match range.net() {
        ipnet::IpNet::V4(net) => {
            Some(net.subnets(prefix).ok()?.map(|net| Cidr::new(ipnet::IpNet::V4(net))).collect())
        }
        ipnet::IpNet::V6(_) => None,
    }
}

/// How a subnet reaches the outside: nodes without public addresses go through a gateway of their zone, if it can be.
pub(in crate::v1alpha1) fn egress(kind: SubnetKind, gateway_in_zone: bool) -> Egress {
    match kind {
        SubnetKind::Public | SubnetKind::Utility => Egress::InternetGateway {},
        SubnetKind::Private if gateway_in_zone => Egress::NatGateway { id: None, elastic_ip: None },
        SubnetKind::Private => Egress::None {},
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_without_overlap() {
        let range: Cidr = "10.0.0.0/16".parse().unwrap();
        let zones: Vec<String> = ["a", "b", "c"].map(ToOwned::to_owned).to_vec();
        let subnets = cut(Some(range), &zones, Topology::Private);
        assert_eq!(subnets.len(), 6);
        assert_eq!(subnets[0].cidr.unwrap().to_string(), "10.0.32.0/19");
        assert_eq!(subnets[3].cidr.unwrap().to_string(), "10.0.0.0/22");
        for (index, one) in subnets.iter().enumerate() {
            for other in &subnets[index + 1..] {
                assert!(!one.cidr.unwrap().overlaps(&other.cidr.unwrap()));
            }
        }
    }
}
