//! The facts that a cluster needs from a catalog.

use std::collections::BTreeSet;

use slipway_cluster_input::{Architecture, ClusterInput, DnsKind, NodePool};

use super::{Catalog, Image};
use crate::settings::{self, ClusterSettings};

/// The facts that a catalog lacks for a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Needs {
    /// Whether the region's zones are not known.
    pub zones: bool,
    /// Images, as specs name them.
    pub images: BTreeSet<String>,
    /// Types of machines.
    pub instance_types: BTreeSet<String>,
    /// A hosted zone.
    pub hosted_zone: Option<ZoneNeed>,
    /// An existing network, by id.
    pub vpc: Option<String>,
    /// Elastic addresses.
    pub addresses: BTreeSet<String>,
}

/// A hosted zone that a spec names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZoneNeed {
    /// Its id, or its domain.
    pub named: String,
    /// Whether it is one that only networks see.
    pub private: bool,
}

impl Needs {
    /// Whether nothing is lacking.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The image of a pool: as the spec names it, or else the present one of Ubuntu 24.04, by the parameter under which AWS
/// publishes it.
#[must_use]
pub fn image_name(pool: &NodePool) -> String {
    let architecture = match pool.architecture {
        Architecture::Amd64 => "amd64",
        Architecture::Arm64 => "arm64",
    };
    pool.image.clone().unwrap_or_else(|| {
        format!(
            "ssm:/aws/service/canonical/ubuntu/server/24.04/stable/current/{architecture}/hvm/ebs-gp3/ami-id"
        )
    })
}

impl Catalog {
    /// The image of a pool, as far as it is known.
    #[must_use]
    pub fn image(&self, pool: &NodePool) -> Option<&Image> {
        self.images.get(&image_name(pool))
    }

    /// The facts that this catalog lacks for a cluster.
    #[must_use]
    pub fn needs(&self, cluster: &ClusterInput) -> Needs {
        let machines = cluster.pools.iter().flat_map(machine_types);
        let vpc = cluster.network.id.clone().filter(|id| !self.vpcs.contains_key(id));
        Needs {
            zones: self.zones.is_empty(),
            images: cluster
                .pools
                .iter()
                .map(image_name)
                .filter(|name| !self.images.contains_key(name))
                .collect(),
            instance_types: machines.filter(|name| !self.instance_types.contains_key(name)).collect(),
            hosted_zone: self.lacking_zone(cluster),
            vpc,
            addresses: addresses(cluster).filter(|address| !self.addresses.contains_key(address)).collect(),
        }
    }

    fn lacking_zone(&self, cluster: &ClusterInput) -> Option<ZoneNeed> {
        let dns = &cluster.control_plane.dns;
        let named = dns.zone.clone().filter(|_| dns.kind != DnsKind::None)?;
        let private = dns.kind == DnsKind::Private;
        let around = self
            .hosted_zones
            .iter()
            .any(|zone| zone.private == private && named.ends_with(&format!(".{}", zone.name)));
        let is_known = around || self.hosted_zone(&named, private).is_some();
        (!is_known).then_some(ZoneNeed { named, private })
    }
}

/// The elastic addresses that a spec names; none where its settings cannot be read, which is said when they are used.
fn addresses(cluster: &ClusterInput) -> impl Iterator<Item = String> {
    let settings: ClusterSettings =
        settings::read("provider.config", settings::cluster_schema, &cluster.provider.config)
            .unwrap_or_default();
    settings.subnets.into_iter().filter_map(|subnet| subnet.public_ip)
}

/// Every type of machines that a pool may have.
pub(crate) fn machine_types(pool: &NodePool) -> Vec<String> {
    let given = pool.machine_type.iter().flat_map(|given| given.split(','));
    let mixed = pool.mixed_instances.iter().flat_map(|mix| mix.machine_types.iter().map(String::as_str));
    given.chain(mixed).map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}
