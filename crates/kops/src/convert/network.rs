use std::net::IpAddr;

use slipway_spec::{
    diagnostic::code,
    model::{Cni, IpFamily, Network, NodePool, ProxyMode, Role, Subnet, SubnetKind, Topology},
    value::{Cidr, PortRange},
};

use super::{Context, carry};
use crate::{code as kops_code, defaults, field::Field, fields::Kind, outcome::Outcome, rules::Treatment};

mod assign;
mod ranges;
mod subnets;

pub(super) use subnets::read as subnets;

/// The plugins by kOps' names; kubenet and GCE have no settings and no add-on of their own.
const PLUGINS: [(&str, &str); 11] = [
    ("amazonvpc", "amazon-vpc"),
    ("calico", "calico"),
    ("cilium", "cilium"),
    ("cni", "none"),
    ("external", "none"),
    ("flannel", "flannel"),
    ("gce", "gcp"),
    ("kindnet", "kindnet"),
    ("kopeio", "kopeio"),
    ("kubenet", "kubenet"),
    ("kuberouter", "kube-router"),
];

/// The networks of nodes, pods and services.
pub(super) fn read(
    context: &Context<'_>,
    mut subnets: Vec<Subnet>,
    pools: &[NodePool],
    outcome: &mut Outcome,
) -> Network {
    let spec = &context.spec;
    let id = spec.at("networkID");
    outcome.wrote("network.id", &id);
    let id = id.filled();
    let cidr = network_cidr(context, id.is_some(), outcome);
    let additional = spec.at("additionalNetworkCIDRs");
    let additional_cidrs = additional.parse_all(outcome);
    outcome.wrote("network.additionalCidrs", &additional);
    for (index, item) in additional.items().iter().enumerate() {
        outcome.wrote(&format!("network.additionalCidrs[{index}]"), item);
    }
    assign::ranges(context, cidr, &mut subnets, outcome);
    let cni = cni(context, outcome);
    let ip_family = if context.is_ipv6() { IpFamily::Ipv6 } else { IpFamily::Ipv4 };
    let ranges = ranges::read(context, cidr, &cni.name, &subnets, outcome);
    let port_range = spec.at("kubeAPIServer.serviceNodePortRange");
    outcome.wrote("network.nodePortRange", &port_range);
    Network {
        id,
        cidr,
        additional_cidrs,
        ipv6_cidr: None,
        ip_family,
        topology: topology(&subnets, pools),
        subnets,
        dns_address: dns_address(context, &ranges.services, outcome),
        pod_cidrs: ranges.pods,
        service_cidrs: ranges.services,
        cluster_domain: cluster_domain(context, outcome),
        node_port_range: port_range.parse(outcome).unwrap_or_else(PortRange::node_ports),
        cni,
        proxy_mode: proxy_mode(context, outcome),
    }
}

fn network_cidr(context: &Context<'_>, shared: bool, outcome: &mut Outcome) -> Option<Cidr> {
    let field = context.spec.at("networkCIDR");
    outcome.wrote("network.cidr", &field);
    if !field.is_given() && context.is_aws() && !shared {
        return defaults::NETWORK_CIDR.parse().ok();
    }
    let cidr = field.parse(outcome);
    if field.filled().is_some() && cidr.is_none() {
        outcome.refused.push("network.cidr".to_owned());
    }
    cidr
}

/// Private when the nodes live in private subnets; what `topology.nodes` says follows from it in kOps too.
fn topology(subnets: &[Subnet], pools: &[NodePool]) -> Topology {
    let kind = |name: &String| subnets.iter().find(|subnet| subnet.name == *name).map(|subnet| subnet.kind);
    let private = pools
        .iter()
        .filter(|pool| pool.role != Role::Bastion)
        .flat_map(|pool| &pool.subnets)
        .any(|name| kind(name) == Some(SubnetKind::Private));
    if private { Topology::Private } else { Topology::Public }
}

fn cluster_domain(context: &Context<'_>, outcome: &mut Outcome) -> String {
    let spec = &context.spec;
    let (own, dns) = (spec.at("clusterDNSDomain"), spec.at("kubeDNS.domain"));
    let field = if own.filled().is_some() { own } else { dns };
    outcome.wrote("network.clusterDomain", &field);
    field.filled().unwrap_or_else(|| defaults::CLUSTER_DOMAIN.to_owned())
}

/// The value of `kubeDNS.serverIP`; otherwise, as in kOps, the tenth address of the service range.
fn dns_address(context: &Context<'_>, services: &[Cidr], outcome: &mut Outcome) -> IpAddr {
    let field = context.spec.at("kubeDNS.serverIP");
    outcome.wrote("network.dnsAddress", &field);
    if let Some(text) = field.filled() {
        match text.parse() {
            Ok(address) => return address,
            Err(_) => {
                let diagnostic = field.malformed(
                    &text,
                    "is not an IP address",
                    "write one address of the service range, or leave it out",
                );
                outcome.refuse("network.dnsAddress", diagnostic);
            }
        }
    }
    let tenth = services.first().and_then(|range| range.address(10));
    tenth.unwrap_or(IpAddr::from([0, 0, 0, 0]))
}

fn proxy_mode(context: &Context<'_>, outcome: &mut Outcome) -> ProxyMode {
    let (enabled, mode) = (context.spec.at("kubeProxy.enabled"), context.spec.at("kubeProxy.proxyMode"));
    if enabled.boolean() == Some(false) {
        outcome.wrote("network.proxyMode", &enabled);
        return ProxyMode::None;
    }
    outcome.wrote("network.proxyMode", &mode);
    match mode.filled().as_deref().map(str::to_ascii_lowercase).as_deref() {
        None | Some("iptables") => ProxyMode::Iptables,
        Some("ipvs") => ProxyMode::Ipvs,
        Some("nftables") => ProxyMode::Nftables,
        Some(other) => {
            let diagnostic = mode
                .error(code::UNKNOWN_VALUE, format!("{} is {other:?}", mode.path()))
                .hint("write iptables, ipvs or nftables, or kubeProxy.enabled: false");
            outcome.refuse("network.proxyMode", diagnostic);
            ProxyMode::Iptables
        }
    }
}

/// The pod network, with its settings in kOps' words under `kops`.
fn cni(context: &Context<'_>, outcome: &mut Outcome) -> Cni {
    let field = context.spec.at("networking");
    let given: Vec<(&str, Field<'_>)> = field.entries();
    outcome.wrote("network.cni", &field);
    let mut chosen = given.iter().filter_map(|(name, field)| {
        let (_, plugin) = PLUGINS.iter().find(|(kops, _)| kops == name)?;
        Some((*plugin, *name, field))
    });
    let Some((plugin, name, section)) = chosen.next() else {
        let removed = given.iter().any(|(name, _)| {
            let path = format!("spec.networking.{name}");
            matches!(context.rules.find(Kind::Cluster, &path), Some((_, Treatment::Refused(_))))
        });
        if !removed {
            let missing = field
                .error(code::MISSING_FIELD, format!("the cluster {} names no pod network", context.name))
                .hint("write one, as in networking: { cilium: {} }");
            outcome.say(missing);
        }
        outcome.refused.push("network.cni".to_owned());
        return Cni::default();
    };
    for (_, other, field) in chosen {
        let two = field
            .error(code::NOT_ONE_OF, format!("networking names two pod networks, {name} and {other}"))
            .hint(format!("leave out {other} or {name}"));
        outcome.say(two);
    }
    outcome.wrote("network.cni.name", section);
    outcome.wrote("network.cni.config", section);
    if plugin == "kopeio" {
        outcome.say(
            section
                .warning(kops_code::LOST, "kopeio is no longer developed and has no add-on here")
                .hint("choose cilium, calico or kindnet, or install it yourself"),
        );
    }
    if plugin == "kubenet" {
        outcome.say(
            section
                .warning(kops_code::LOST, "kubenet has no add-on here: pods get their addresses from the nodes' ranges only when routes are made for them")
                .hint("choose cilium, calico or kindnet"),
        );
    }
    let settings = Some(section.json()).filter(|json| json.as_object().is_some_and(|map| !map.is_empty()));
    Cni { name: plugin.to_owned(), config: carry::wrapped(settings) }
}
