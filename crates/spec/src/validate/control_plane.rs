use super::{
    context::{Context, error, warning},
    names::dns_name,
};
use crate::{
    diagnostic::code::{CONTRADICTION, CONTROL_PLANE, ENDPOINT},
    model::{DnsKind, Endpoint, Hosting, IpFamily, Profile, Role, VirtualIpHolder, VirtualIpMode},
};

/// There is a control plane, of a size that survives losses, and an endpoint that works.
pub(super) fn check(context: &mut Context<'_>) {
    size(context);
    match &context.cluster.control_plane.endpoint {
        Endpoint::Given(given) => {
            let host = given.host.as_str();
            let address =
                host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>().is_ok();
            if !address && dns_name(host).is_some() {
                let bare = host.split_once("://").map_or(host, |(_, rest)| rest);
                let bare = bare.split(['/', ':']).next().unwrap_or(bare);
                let complaint = error(
                    ENDPOINT,
                    format!("the endpoint's host `{host}` is neither a DNS name nor an address"),
                    format!("write the bare host, `host: {bare}`, and the port in `port`"),
                );
                context.at("controlPlane.endpoint.given.host", complaint);
            }
        }
        Endpoint::VirtualIp(_) => virtual_ip(context),
        Endpoint::LoadBalancer(balancer) => {
            if balancer.tls_policy.is_some() && balancer.certificate.is_none() {
                let complaint = error(
                    CONTRADICTION,
                    "the load balancer has a TLS policy and no certificate",
                    "add `certificate`, or remove `tlsPolicy`: without a certificate the API server ends TLS",
                );
                context.at("controlPlane.endpoint.loadBalancer.tlsPolicy", complaint);
            }
        }
        Endpoint::Elected {} => {}
    }
    balancer(context);
    hosting(context);
    soak(context);
    dns(context);
}

/// Node-local balancers are installed on machines of Host documents only.
fn balancer(context: &mut Context<'_>) {
    if context.cluster.control_plane.node_local_balancer.is_none() {
        return;
    }
    let made = context.cluster.pools.iter().find(|pool| pool.role.is_node() && pool.hosts.is_none());
    let Some(pool) = made.map(|pool| pool.name.clone()) else { return };
    let complaint = error(
        CONTRADICTION,
        format!("the pool `{pool}` selects no hosts, and only machines of Host documents have a node-local balancer"),
        "remove `nodeLocalBalancer`: nodes that a provider makes use the endpoint",
    )
    .related("the pool", format!("pools[{pool}]"));
    context.at("controlPlane.nodeLocalBalancer", complaint);
}

/// A control plane hosts itself on machines of Host documents only, and not where kubeadm works with its static pods.
fn hosting(context: &mut Context<'_>) {
    const FIELD: &str = "controlPlane.hosting";
    if context.cluster.control_plane.hosting != Hosting::SelfHosted {
        return;
    }
    if context.cluster.profile == Profile::Kubeadm {
        let complaint = error(
            CONTRADICTION,
            "a cluster with the profile `kubeadm` cannot have a self-hosted control plane: kubeadm upgrades static pods only",
            "remove `hosting`, or use the profile `slipway`",
        );
        context.at(FIELD, complaint);
        return;
    }
    let made = context.cluster.pools_with(Role::ControlPlane).find(|pool| pool.hosts.is_none());
    let Some(pool) = made.map(|pool| pool.name.clone()) else { return };
    let complaint = error(
        CONTRADICTION,
        format!("the pool `{pool}` selects no hosts, and only machines of Host documents have a self-hosted control plane"),
        "remove `hosting`: machines that a provider makes run static pods",
    )
    .related("the pool", format!("pools[{pool}]"));
    context.at(FIELD, complaint);
}

/// Only control planes on machines of Host documents emulate a version.
fn soak(context: &mut Context<'_>) {
    let control_plane = &context.cluster.control_plane;
    let written =
        [("soak", control_plane.soak.is_some()), ("onBrokenGate", control_plane.on_broken_gate.is_some())];
    let made = context.cluster.pools_with(Role::ControlPlane).find(|pool| pool.hosts.is_none());
    let Some(pool) = made.map(|pool| pool.name.clone()) else { return };
    for (field, _) in written.into_iter().filter(|(_, is_written)| *is_written) {
        let complaint = error(
            CONTRADICTION,
            format!("the pool `{pool}` selects no hosts, and only control planes on machines of Host documents emulate a version"),
            format!("remove `{field}`: machines that a provider makes are replaced by an upgrade"),
        )
        .related("the pool", format!("pools[{pool}]"));
        context.at(&format!("controlPlane.{field}"), complaint);
    }
}

fn size(context: &mut Context<'_>) {
    let cluster = context.cluster;
    let nodes: u32 = cluster.pools_with(Role::ControlPlane).map(|pool| pool.size.max()).sum();
    if !context.trusts("pools") && nodes == 0 {
        return;
    }
    if nodes == 0 {
        let complaint = error(
            CONTROL_PLANE,
            format!("the cluster `{}` has no control-plane nodes", cluster.name),
            "add a NodePool with `role: controlPlane`",
        );
        context.at("name", complaint);
        return;
    }
    if nodes.is_multiple_of(2) {
        let complaint = warning(
            CONTROL_PLANE,
            format!("{nodes} control-plane nodes survive no more losses than {}", nodes - 1),
            "etcd needs a majority: use 1, 3 or 5 control-plane nodes",
        );
        let last =
            cluster.pools_with(Role::ControlPlane).last().map(|pool| pool.name.clone()).unwrap_or_default();
        context.at(&format!("pools[{last}].size.fixed"), complaint);
    }
    for pool in cluster.pools_with(Role::ControlPlane) {
        if pool.size.is_autoscaled() {
            let complaint = error(
                CONTROL_PLANE,
                format!(
                    "the control-plane pool `{}` has a size of {} to {}",
                    pool.name,
                    pool.size.min(),
                    pool.size.max()
                ),
                format!("etcd members are fixed: write `size: {{ fixed: {} }}`", pool.size.max().max(1)),
            );
            context.at(&format!("pools[{}].size.bounds", pool.name), complaint);
        }
    }
}

fn virtual_ip(context: &mut Context<'_>) {
    let Endpoint::VirtualIp(virtual_ip) = &context.cluster.control_plane.endpoint else { return };
    for (part, mode, given) in [
        ("bgp", VirtualIpMode::Bgp, virtual_ip.bgp.is_some()),
        ("wireguard", VirtualIpMode::Wireguard, virtual_ip.wireguard.is_some()),
    ] {
        if (virtual_ip.mode == mode) == given {
            continue;
        }
        let path = if given {
            format!("controlPlane.endpoint.virtualIp.{part}")
        } else {
            "controlPlane.endpoint.virtualIp.mode".to_owned()
        };
        let complaint = if given {
            let text = format!("`{part}` is set, and has no effect in this mode");
            error(ENDPOINT, text, format!("write `mode: {part}`, or remove `{part}`"))
        } else {
            let needs = if part == "bgp" {
                "bgp: { peers: [{ address: 10.0.0.1 }] }"
            } else {
                "wireguard: { tunnels: … }"
            };
            error(ENDPOINT, format!("the mode `{part}` needs its settings"), format!("add `{needs}`"))
        };
        context.at(&path, complaint);
    }
    held_by_slipway(context);
    let network = &context.cluster.network;
    let address = virtual_ip.address;
    let path = "controlPlane.endpoint.virtualIp.address";
    let family = match network.ip_family {
        IpFamily::Ipv4 => Some(false),
        IpFamily::Ipv6 => Some(true),
        IpFamily::DualStack => None,
    };
    if family.is_some_and(|ipv6| ipv6 != address.is_ipv6()) && context.trusts("network.ipFamily") {
        let complaint = error(
            ENDPOINT,
            format!("the virtual address {address} is not of the cluster's family"),
            "choose an address of the family in `network.ipFamily`, or change the family",
        )
        .related("the family", "network.ipFamily");
        context.at(path, complaint);
        return;
    }
    let ranges: Vec<_> = network
        .subnets
        .iter()
        .filter_map(|subnet| if address.is_ipv6() { subnet.ipv6_cidr } else { subnet.cidr })
        .collect();
    let wanted = if ranges.is_empty() { network.cidr.into_iter().collect() } else { ranges };
    let on_link = virtual_ip.mode == VirtualIpMode::Arp;
    if on_link
        && !wanted.is_empty()
        && !wanted.iter().any(|range| range.contains(&address))
        && context.trusts("network")
    {
        let texts: Vec<String> = wanted.iter().map(ToString::to_string).collect();
        let complaint = error(
            ENDPOINT,
            format!("the virtual address {address} is in none of the subnets {}", texts.join(", ")),
            "choose a free address of a subnet with control-plane nodes, or announce it with `mode: bgp`",
        );
        context.at(path, complaint);
    }
    for range in network.pod_cidrs.iter().chain(&network.service_cidrs) {
        if range.contains(&address) {
            let complaint = error(
                ENDPOINT,
                format!("the virtual address {address} lies in {range}, which belongs to pods or services"),
                "choose an address of the nodes' network",
            );
            context.at(path, complaint);
        }
    }
}

/// The port of the API servers on machines.
const API_PORT: u16 = 6443;

/// Slipway's own service hands addresses over on one layer-2 network, among machines of Host documents.
fn held_by_slipway(context: &mut Context<'_>) {
    let Endpoint::VirtualIp(virtual_ip) = &context.cluster.control_plane.endpoint else { return };
    if virtual_ip.holder != VirtualIpHolder::Slipway {
        return;
    }
    let made = context.cluster.pools.iter().find(|pool| pool.role.is_node() && pool.hosts.is_none());
    let mut complaints = Vec::new();
    if let Some(pool) = made.map(|pool| pool.name.clone()) {
        let complaint = error(
            ENDPOINT,
            format!(
                "the pool `{pool}` selects no hosts, and only machines of Host documents hand over a virtual address by \
                 themselves"
            ),
            "remove `holder`, or use another endpoint: nodes that a provider makes have load balancers",
        )
        .related("the pool", format!("pools[{pool}]"));
        complaints.push(("holder", complaint));
    }
    if virtual_ip.mode != VirtualIpMode::Arp {
        let complaint = error(
            ENDPOINT,
            "`holder: slipway` announces an address by ARP and neighbour advertisements only",
            "remove `mode`, or write `holder: kubeVip`",
        );
        complaints.push(("mode", complaint));
    }
    if virtual_ip.port != API_PORT {
        let complaint = error(
            ENDPOINT,
            format!(
                "the API servers listen on port {API_PORT}, and the virtual address has {}",
                virtual_ip.port
            ),
            format!("remove `port`: with `holder: slipway` it is {API_PORT}"),
        );
        complaints.push(("port", complaint));
    }
    if virtual_ip.image.is_some() {
        let complaint = error(
            ENDPOINT,
            "`image` is set, and has no effect with `holder: slipway`",
            "remove `image`, or write `holder: kubeVip`",
        );
        complaints.push(("image", complaint));
    }
    for (field, complaint) in complaints {
        context.at(&format!("controlPlane.endpoint.virtualIp.{field}"), complaint);
    }
}

fn dns(context: &mut Context<'_>) {
    let dns = &context.cluster.control_plane.dns;
    let kind = match dns.kind {
        DnsKind::None => {
            if let Some(zone) = &dns.zone {
                let complaint = error(
                    CONTRADICTION,
                    format!("the DNS zone `{zone}` is given, and the kind `none` makes no records"),
                    "write `kind: public` or `kind: private`, or remove the zone",
                );
                context.at("controlPlane.dns.zone", complaint);
            }
            return;
        }
        DnsKind::Public => "public",
        DnsKind::Private => "private",
    };
    if dns.zone.is_none() {
        let complaint = error(
            CONTRADICTION,
            format!("{kind} DNS records need a zone"),
            "add `zone: example.com` beside `kind`, or write `kind: none`",
        );
        context.at("controlPlane.dns.kind", complaint);
    }
}
