use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// The ranges of services and pods, and the DNS domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Networking {
    /// The range of services, as written: one range, or one of each family with a comma between.
    pub service_subnet: String,
    /// The range of pods, as written, in the same form; empty when the controller manager hands out no ranges.
    pub pod_subnet: String,
    /// The domain of the cluster's DNS names.
    pub dns_domain: String,
}

impl Default for Networking {
    fn default() -> Self {
        Self {
            service_subnet: "10.96.0.0/12".to_owned(),
            pod_subnet: String::new(),
            dns_domain: "cluster.local".to_owned(),
        }
    }
}

impl Networking {
    /// The ranges of services, the first family first. Invalid ranges are left out (reading refuses them).
    #[must_use]
    pub fn service_subnets(&self) -> Vec<IpNet> {
        ranges(&self.service_subnet)
    }

    /// The ranges of pods, in the same way.
    #[must_use]
    pub fn pod_subnets(&self) -> Vec<IpNet> {
        ranges(&self.pod_subnet)
    }

    /// The address of the service `kubernetes`: the first of the first range of services.
    #[must_use]
    pub fn api_server_service_address(&self) -> Option<IpAddr> {
        nth(self.service_subnets().first()?, 1)
    }

    /// The address of the DNS service: the tenth of the first range of services.
    #[must_use]
    pub fn dns_service_address(&self) -> Option<IpAddr> {
        nth(self.service_subnets().first()?, 10)
    }
}

fn ranges(text: &str) -> Vec<IpNet> {
    text.split(',').filter_map(|range| range.trim().parse().ok()).collect()
}

/// The address with this index in a range, its network address being number 0; `None` outside of the range.
#[must_use]
pub(crate) fn nth(range: &IpNet, index: u32) -> Option<IpAddr> {
    let address = match range.network() {
        IpAddr::V4(first) => IpAddr::V4(u32::from(first).checked_add(index)?.into()),
        IpAddr::V6(first) => IpAddr::V6(u128::from(first).checked_add(u128::from(index))?.into()),
    };
    range.contains(&address).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_have_fixed_places() {
        let networking = Networking::default();
        assert_eq!(networking.api_server_service_address().unwrap().to_string(), "10.96.0.1");
        assert_eq!(networking.dns_service_address().unwrap().to_string(), "10.96.0.10");
        let dual = Networking { service_subnet: "fd00:10::/112,10.96.0.0/12".to_owned(), ..networking };
        assert_eq!(dual.dns_service_address().unwrap().to_string(), "fd00:10::a");
        assert_eq!(dual.service_subnets().len(), 2);
        let small = Networking { service_subnet: "10.96.0.0/30".to_owned(), ..dual };
        assert_eq!(small.dns_service_address(), None);
    }
}
