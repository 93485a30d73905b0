//! The rules for traffic between the machines of the cluster.

use super::group::Group;
use super::rule::{Ports, Source, let_in};
use crate::expand::build::Builder;
use crate::expand::topology::has_cilium_etcd;

/// Ports of etcd that nodes never reach: peers of `main` and `events`, and their clients of old.
const CLOSED: [i64; 4] = [2380, 2381, 4001, 4002];
/// The peer port of the etcd cluster that Cilium has for itself.
const CLOSED_WITH_CILIUM_ETCD: i64 = 2382;

/// Masters reach masters and nodes, and nodes reach nodes: whatever pods say to each other passes.
pub(super) fn among_machines(builder: &mut Builder<'_>, masters: &[Group], nodes: &[Group]) {
    for from in masters {
        let_in(builder, masters, &from.into(), &[Ports::ALL], &from.origin);
        let_in(builder, nodes, &from.into(), &[Ports::ALL], &from.origin);
    }
    for from in nodes {
        let_in(builder, nodes, &from.into(), &[Ports::ALL], &from.origin);
    }
}

/// Nodes reach everything on masters but etcd, and what the pod network needs beside TCP and UDP.
pub(super) fn from_nodes_to_masters(builder: &mut Builder<'_>, masters: &[Group], nodes: &[Group]) {
    let cluster = builder.cluster;
    let mut closed = CLOSED.to_vec();
    if has_cilium_etcd(cluster) {
        closed.push(CLOSED_WITH_CILIUM_ETCD);
    }
    let mut ports = open_around(&mut closed);
    ports.push(Ports::udp(1, 65535));
    let plugin = cluster.network.cni.name.as_str();
    for from in nodes {
        let source = Source::from(from);
        let_in(builder, masters, &source, &ports, &from.origin);
        match plugin {
            "calico" | "kube-router" => {
                let_in(builder, masters, &source, &[Ports::IP_IN_IP], "network.cni");
            }
            // Pods have addresses of the nodes' network: pods on nodes reach pods on masters directly.
            "amazon-vpc" => let_in(builder, masters, &source, &[Ports::ALL], "network.cni"),
            _ => {}
        }
    }
}

/// The ranges of TCP ports that leave these out.
fn open_around(closed: &mut [i64]) -> Vec<Ports> {
    closed.sort_unstable();
    let mut open = Vec::new();
    let mut first = 1;
    for port in closed.iter().copied().chain([65536]) {
        if first < port {
            open.push(Ports::tcp(first, port - 1));
        }
        first = port + 1;
    }
    open
}
