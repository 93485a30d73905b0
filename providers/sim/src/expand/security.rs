//! Security groups by role, and their rules.

use slipway_cluster_input::Role;
use slipway_cluster_input::value::AccessSource;
use slipway_resource::{Address, Value};

use super::address;
use super::build::{Builder, id_of};
use super::endpoint::{API_PORT, Reached};
use super::network::network_address;
use super::topology::{role_name, roles};

/// The other side of a rule.
enum Side<'a> {
    Group(&'a Address),
    Source(&'a AccessSource),
    Range(String),
}

/// The ports of a rule.
struct Ports {
    protocol: &'static str,
    range: Option<(u16, u16)>,
}

const ALL: Ports = Ports { protocol: "all", range: None };

const fn port(protocol: &'static str, port: u16) -> Ports {
    Ports { protocol, range: Some((port, port)) }
}

/// The security group of a role.
pub(super) fn group_of(role: Role) -> Address {
    // Further API servers are reached as the control plane is.
    let role = if role == Role::ApiServer { Role::ControlPlane } else { role };
    address("sim_security_group", role_name(role))
}

/// Adds the groups and their rules.
pub(super) fn groups(builder: &mut Builder<'_>, reached: &Reached) {
    let cluster = builder.cluster;
    let roles = roles(cluster);
    let mut groups: Vec<Address> = Vec::new();
    for role in &roles {
        let group = group_of(*role);
        if builder.has(&group) {
            continue;
        }
        let draft = builder
            .draft("sim_security_group", group.name(), "pools")
            .set("name", format!("{}.{}", group.name(), cluster.name), "name")
            .fix("description", format!("{} machines", group.name()))
            .set("network_id", id_of(&network_address()), "network.id");
        builder.add(draft);
        groups.push(group);
    }
    for group in groups.iter().chain(&reached.balancer_group) {
        egress(builder, group);
    }
    let control_plane = group_of(Role::ControlPlane);
    let worker = group_of(Role::Worker);
    let has = |group: &Address| groups.contains(group);
    for group in [&control_plane, &worker] {
        if has(group) {
            allow(builder, group, ALL, &Side::Group(group), "network.cni", "own");
        }
    }
    if has(&control_plane) && has(&worker) {
        allow(builder, &worker, ALL, &Side::Group(&control_plane), "network.cni", "control-plane");
        for ports in control_plane_ports(&cluster.network.cni.name) {
            allow(builder, &control_plane, ports, &Side::Group(&worker), "network.cni.name", "worker");
        }
    }
    if has(&control_plane) {
        api(builder, reached, &control_plane);
    }
    if has(&worker) {
        node_ports(builder, &worker);
    }
    ssh(builder, &groups);
}

/// The ports of the control plane that workers and the pod network need.
fn control_plane_ports(cni: &str) -> Vec<Ports> {
    let mut ports = vec![port("tcp", API_PORT), port("tcp", 3988)];
    match cni {
        "cilium" => ports.extend([port("udp", 8472), port("tcp", 4240)]),
        "calico" => ports.extend([port("tcp", 179), Ports { protocol: "4", range: None }]),
        "flannel" => ports.push(port("udp", 8472)),
        "kube-router" => ports.push(port("tcp", 179)),
        "none" => {}
        // An unknown plugin may need any port.
        _ => ports.push(Ports { protocol: "all", range: None }),
    }
    ports
}

fn api(builder: &mut Builder<'_>, reached: &Reached, control_plane: &Address) {
    let cluster = builder.cluster;
    let front = reached.balancer_group.as_ref().unwrap_or(control_plane);
    let mut ports = vec![if reached.balancer_group.is_some() { API_PORT } else { reached.port }];
    if builder.has(&address("sim_listener", "api-tls")) {
        ports.push(443);
    }
    for source in &cluster.control_plane.access {
        for number in &ports {
            allow(builder, front, port("tcp", *number), &Side::Source(source), "controlPlane.access", "api");
        }
    }
    let Some(balancer) = &reached.balancer_group else { return };
    allow(
        builder,
        control_plane,
        port("tcp", API_PORT),
        &Side::Group(balancer),
        "controlPlane.endpoint.loadBalancer",
        "balancer",
    );
    // Health checks come from the balancer's addresses.
    for (range, field) in network_ranges(builder) {
        allow(builder, control_plane, port("tcp", API_PORT), &Side::Range(range), field, "health");
    }
}

fn node_ports(builder: &mut Builder<'_>, worker: &Address) {
    let range = builder.cluster.network.node_port_range;
    for (source, _) in network_ranges(builder) {
        for protocol in ["tcp", "udp"] {
            let ports = Ports { protocol, range: Some((range.first(), range.last())) };
            allow(
                builder,
                worker,
                ports,
                &Side::Range(source.clone()),
                "network.nodePortRange",
                "node-ports",
            );
        }
    }
}

fn network_ranges(builder: &Builder<'_>) -> Vec<(String, &'static str)> {
    let network = &builder.cluster.network;
    let first = network.cidr.iter().map(|cidr| (cidr.to_string(), "network.cidr"));
    let more = network.additional_cidrs.iter().map(|cidr| (cidr.to_string(), "network.additionalCidrs"));
    let ipv6 = network.ipv6_cidr.iter().map(|cidr| (cidr.to_string(), "network.ipv6Cidr"));
    first.chain(more).chain(ipv6).collect()
}

fn ssh(builder: &mut Builder<'_>, groups: &[Address]) {
    let bastion = group_of(Role::Bastion);
    let has_bastion = groups.contains(&bastion);
    for source in &builder.cluster.ssh.access {
        for group in groups.iter().filter(|group| !has_bastion || **group == bastion) {
            allow(builder, group, port("tcp", 22), &Side::Source(source), "ssh.access", "ssh");
        }
    }
    if has_bastion {
        for group in groups.iter().filter(|group| **group != bastion) {
            allow(builder, group, port("tcp", 22), &Side::Group(&bastion), "pools", "ssh");
        }
    }
}

fn egress(builder: &mut Builder<'_>, group: &Address) {
    let ipv6 = super::topology::has_ipv6(builder.cluster);
    for range in ["0.0.0.0/0"].into_iter().chain(ipv6.then_some("::/0")) {
        let draft = builder
            .draft("sim_security_group_rule", &format!("{}-out-{range}", group.name()), "pools")
            .fix("security_group_id", id_of(group))
            .fix("direction", "egress")
            .fix("protocol", "all")
            .fix("cidr", range);
        builder.add(draft);
    }
}

fn allow(builder: &mut Builder<'_>, group: &Address, ports: Ports, side: &Side<'_>, field: &str, what: &str) {
    let (attribute, value, other) = match side {
        Side::Group(other) => ("source_group_id", id_of(other), other.name().to_owned()),
        Side::Source(AccessSource::PrefixList(id)) => ("prefix_list", Value::from(id.as_str()), id.clone()),
        Side::Source(source) => ("cidr", Value::from(source.to_string()), source.to_string()),
        Side::Range(range) => ("cidr", Value::from(range.as_str()), range.clone()),
    };
    let ports_text = match ports.range {
        Some((first, last)) if first == last => format!("-{first}"),
        Some((first, last)) => format!("-{first}-{last}"),
        None => String::new(),
    };
    let name = format!("{}-{what}-{}{ports_text}-{other}", group.name(), ports.protocol);
    let mut draft = builder
        .draft("sim_security_group_rule", &name, field)
        .fix("security_group_id", id_of(group))
        .fix("protocol", ports.protocol)
        .set(attribute, value, field)
        .fix("description", what);
    if let Some((first, last)) = ports.range {
        draft = draft.set("from_port", i64::from(first), field).set("to_port", i64::from(last), field);
    }
    // Two parts of the spec may ask for the same thing: an access list that holds the network's own range.
    builder.add_once(draft, &["security_group_id", "protocol", "from_port", "to_port", attribute]);
}
