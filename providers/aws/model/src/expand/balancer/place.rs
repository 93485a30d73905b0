//! In which subnets a load balancer lives.

use slipway_cluster_input::{Role, Scheme, Subnet, SubnetKind};

use crate::expand::build::Builder;
use crate::expand::topology::{has_ipv6_range, is_public, subnet_type};

/// Whether bastions are reached from the internet.
pub(crate) fn bastion_scheme(builder: &Builder<'_>) -> Scheme {
    match builder.settings.topology.bastion.load_balancer.kind.as_deref() {
        Some("Internal") => Scheme::Internal,
        _ => Scheme::Public,
    }
}

/// The address type of a load balancer in these subnets: both families if all of them have both, otherwise
/// IPv4, which is the default.
pub(super) fn address_type(builder: &Builder<'_>, subnets: &[&Subnet]) -> Option<&'static str> {
    let both = !subnets.is_empty() && subnets.iter().all(|subnet| has_ipv6_range(builder, subnet));
    both.then_some("dualstack")
}

/// All subnets in which a load balancer of this scheme can live, in the order of the spec.
pub(crate) fn subnets_of<'a>(
    builder: &Builder<'a>,
    scheme: Scheme,
) -> impl Iterator<Item = &'a Subnet> + use<'a> {
    let subnets = &builder.cluster.network.subnets;
    subnets.iter().filter(move |subnet| is_public(subnet) == (scheme == Scheme::Public))
}

/// One subnet for each zone, public ones for a public load balancer and private ones for an internal one.
///
/// If a zone has several, utility subnets come first, then dual-stack subnets, then those of the control
/// plane.
pub(crate) fn subnets_for<'a>(builder: &Builder<'a>, scheme: Scheme) -> Vec<&'a Subnet> {
    let cluster = builder.cluster;
    let control_plane: Vec<&String> =
        cluster.pools_with(Role::ControlPlane).flat_map(|pool| &pool.subnets).collect();
    let score = |subnet: &Subnet| {
        i32::from(control_plane.contains(&&subnet.name))
            + 2 * i32::from(subnet_type(builder, subnet) == "DualStack")
            + 3 * i32::from(subnet.kind == SubnetKind::Utility)
    };
    let mut chosen: Vec<&Subnet> = Vec::new();
    for subnet in subnets_of(builder, scheme) {
        match chosen.iter_mut().find(|other| other.zone == subnet.zone) {
            None => chosen.push(subnet),
            Some(other) => {
                let better = (score(subnet), std::cmp::Reverse(&subnet.name));
                if better > (score(other), std::cmp::Reverse(&other.name)) {
                    *other = subnet;
                }
            }
        }
    }
    chosen
}
