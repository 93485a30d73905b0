//! Properties of a cluster that several parts of the expansion need.

use slipway_cluster_input::{
    ClusterInput, DnsKind, Endpoint, IpFamily, LoadBalancer, NodePool, ProgramName, Role, Subnet, SubnetKind,
};
use slipway_resource::ProviderError;

use super::build::Builder;
use super::refuse;

/// The load balancer in front of the API servers.
pub(crate) fn load_balancer(cluster: &ClusterInput) -> Option<&LoadBalancer> {
    match &cluster.control_plane.endpoint {
        Endpoint::LoadBalancer(balancer) => Some(balancer),
        _ => None,
    }
}

/// The region: that of the spec, or that of the first zone, whose name is the region's and a letter.
pub(super) fn region(cluster: &ClusterInput) -> Result<String, ProviderError> {
    let of_zone = |zone: &String| {
        let region = zone.trim_end_matches(|letter: char| letter.is_ascii_lowercase());
        (region.len() < zone.len()).then(|| region.to_owned())
    };
    cluster.region.clone().or_else(|| cluster.zones.first().and_then(of_zone)).ok_or_else(|| {
        refuse(
            "region",
            "neither the region nor a zone of it is named",
            "name the region, as in eu-central-1",
        )
    })
}

/// Whether pods and services have IPv6 addresses, and nodes with them.
pub(crate) fn has_ipv6(cluster: &ClusterInput) -> bool {
    cluster.network.ip_family != IpFamily::Ipv4
}

/// Whether no DNS records are made, so that nodes find the cluster through its load balancer.
pub(crate) fn without_dns(cluster: &ClusterInput) -> bool {
    cluster.control_plane.dns.kind == DnsKind::None
}

/// Whether machines get the provider's program and prove their identity with it.
pub(crate) fn names_machines(cluster: &ClusterInput) -> bool {
    cluster.assets.programs.files.iter().any(|file| file.name == ProgramName::Provider)
}

/// The field because of which nodes request their configuration or credential through the load balancer, if
/// there is one.
pub(crate) fn node_bootstrap(cluster: &ClusterInput) -> Option<&'static str> {
    let fields =
        [(without_dns(cluster), "controlPlane.dns.kind"), (names_machines(cluster), "assets.programs")];
    fields.into_iter().find(|(asks, _)| *asks).map(|(_, field)| field)
}

/// Whether Cilium has an etcd cluster of its own, which nodes reach on masters.
pub(crate) fn has_cilium_etcd(cluster: &ClusterInput) -> bool {
    cluster.etcd.iter().any(|etcd| etcd.name == "cilium")
}

/// Whether operators come in through a bastion.
pub(crate) fn has_bastion(cluster: &ClusterInput) -> bool {
    cluster.pools_with(Role::Bastion).next().is_some()
}

/// The roles that the cluster's pools have.
pub(crate) fn roles(cluster: &ClusterInput) -> Vec<Role> {
    [Role::ControlPlane, Role::ApiServer, Role::Worker, Role::Bastion]
        .into_iter()
        .filter(|role| cluster.pools_with(*role).next().is_some())
        .collect()
}

/// Whether an API server runs on a pool's machines.
pub(crate) fn has_api_server(pool: &NodePool) -> bool {
    matches!(pool.role, Role::ControlPlane | Role::ApiServer)
}

/// The type of a subnet in its tag: a private one that has both families is `DualStack` in a cluster of IPv6.
pub(crate) fn subnet_type(builder: &Builder<'_>, subnet: &Subnet) -> String {
    if let Some(given) = builder.settings.subnet(&subnet.name).and_then(|own| own.kind.clone()) {
        return given;
    }
    match subnet.kind {
        SubnetKind::Public => "Public",
        SubnetKind::Utility => "Utility",
        SubnetKind::Private
            if subnet.cidr.is_some() && has_ipv6_range(builder, subnet) && has_ipv6(builder.cluster) =>
        {
            "DualStack"
        }
        SubnetKind::Private => "Private",
    }
    .to_owned()
}

/// Whether a subnet has IPv6 addresses.
pub(crate) fn has_ipv6_range(builder: &Builder<'_>, subnet: &Subnet) -> bool {
    let own = builder.settings.subnet(&subnet.name).is_some_and(|own| own.ipv6_cidr.is_some());
    let open = has_ipv6(builder.cluster) && builder.cluster.provider.config.get("kops").is_none();
    subnet.ipv6_cidr.is_some() || own || open
}

/// Whether machines in a subnet can have public addresses.
pub(crate) fn is_public(subnet: &Subnet) -> bool {
    matches!(subnet.kind, SubnetKind::Public | SubnetKind::Utility)
}

/// The field of a subnet.
pub(crate) fn subnet_field(subnet: &Subnet, name: &str) -> String {
    format!("network.subnets[{}].{name}", subnet.name)
}
