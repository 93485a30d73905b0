//! The rules for access from outside the cluster.

use slipway_cluster_input::value::AccessSource;
use slipway_cluster_input::{Endpoint, Scheme};

use super::group::Group;
use super::rule::{Ports, Source, let_in};
use crate::expand::build::Builder;
use crate::expand::topology::{has_bastion, load_balancer};

/// All addresses of each family.
const EVERYWHERE: [&str; 2] = ["0.0.0.0/0", "::/0"];

/// SSH unless there is a bastion, the API unless there is a load balancer, and requested ports of services.
pub(super) fn outside(builder: &mut Builder<'_>, masters: &[Group], nodes: &[Group]) {
    let cluster = builder.cluster;
    name_open_api(builder);
    if !has_bastion(cluster) {
        for (index, access) in cluster.ssh.access.iter().enumerate() {
            let (source, field) = (Source::of(access), format!("ssh.access[{index}]"));
            let_in(builder, masters, &source, &[Ports::SSH], &field);
            let_in(builder, nodes, &source, &[Ports::SSH], &field);
        }
    }
    if load_balancer(cluster).is_none() {
        let port = match &cluster.control_plane.endpoint {
            Endpoint::Given(given) => Ports::tcp(given.port.into(), given.port.into()),
            Endpoint::VirtualIp(address) => Ports::tcp(address.port.into(), address.port.into()),
            Endpoint::LoadBalancer(_) | Endpoint::Elected {} => Ports::API,
        };
        for (index, access) in cluster.control_plane.access.iter().enumerate() {
            let field = format!("controlPlane.access[{index}]");
            let_in(builder, masters, &Source::of(access), &[port], &field);
        }
    }
    let range = cluster.network.node_port_range;
    let (first, last) = (i64::from(range.first()), i64::from(range.last()));
    for text in &builder.settings.node_port_access {
        match text.parse::<AccessSource>() {
            Ok(access) => {
                let ports = [Ports::tcp(first, last), Ports::udp(first, last)];
                let_in(builder, nodes, &Source::of(&access), &ports, "network.nodePortRange");
            }
            Err(_) => builder.note(
                "provider.config.nodePortAccess",
                format!("{text} is neither a range of addresses nor a prefix list; it opens nothing"),
            ),
        }
    }
}

/// Adds a note if the API is open to all addresses, which is the default.
fn name_open_api(builder: &mut Builder<'_>) {
    let cluster = builder.cluster;
    let is_internal = load_balancer(cluster).is_some_and(|balancer| balancer.scheme == Scheme::Internal);
    let open: Vec<String> = cluster.control_plane.access.iter().map(ToString::to_string).collect();
    let open: Vec<&str> =
        open.iter().map(String::as_str).filter(|range| EVERYWHERE.contains(range)).collect();
    if is_internal || open.is_empty() {
        return;
    }
    let message = format!(
        "the API is reachable from everywhere ({}): list the ranges that need it in controlPlane.access",
        open.join(", ")
    );
    builder.note("controlPlane.access", message);
}
