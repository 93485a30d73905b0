//! The load balancer in front of the API servers.

use slipway_cluster_input::{LoadBalancer, Scheme, Subnet};
use slipway_resource::{ProviderError, Value};

use super::parts::{Listener, TargetGroup, way_in};
use super::{address_type, subnets_for};
use crate::expand::build::{Builder, id_of};
use crate::expand::links::{balancer_security_group, subnet_id};
use crate::expand::refuse;
use crate::expand::topology::{has_cilium_etcd, load_balancer, node_bootstrap, without_dns};
use crate::names;

const FIELD: &str = "controlPlane.endpoint.loadBalancer";

const TCP: TargetGroup = TargetGroup { prefix: "tcp", port: 443, protocol: "TCP", health: ("TCP", None) };
const TLS: TargetGroup = TargetGroup { prefix: "tls", port: 443, protocol: "TLS", health: ("TCP", None) };
const NODE_BOOTSTRAP: TargetGroup = TargetGroup {
    prefix: "kops-controller",
    port: 3988,
    protocol: "TCP",
    health: ("HTTPS", Some("/healthz")),
};
const CILIUM_ETCD: TargetGroup =
    TargetGroup { prefix: "etcd-cilium", port: 4003, protocol: "TCP", health: ("TCP", None) };

/// Adds the load balancer with its listeners and target groups.
pub(super) fn api(builder: &mut Builder<'_>) -> Result<(), ProviderError> {
    let cluster = builder.cluster;
    let Some(balancer) = load_balancer(cluster) else { return Ok(()) };
    let (name, title) = (names::hashed("api", &cluster.name), builder.named("api"));
    let field = |name: &str| format!("{FIELD}.{name}");
    let logs = balancer.access_log.as_ref().map(|log| {
        let prefix = log.prefix.as_deref();
        Value::list([Value::map([
            ("bucket", Value::from(log.bucket.as_str())),
            ("prefix", prefix.into()),
            ("enabled", true.into()),
        ])])
    });
    let public = balancer.scheme == Scheme::Public;
    let subnets = subnets(builder, balancer)?;
    let mut draft = builder
        .draft("aws_lb", &title, FIELD)
        .fix("name", name)
        .fix("load_balancer_type", "network")
        .set("internal", !public, field("scheme"))
        .set("security_groups", security_groups(builder, balancer), field("additionalSecurityGroups"))
        .set("subnet_mapping", subnet_mapping(builder, &subnets), field("subnets"))
        .set("enable_cross_zone_load_balancing", balancer.cross_zone, field("crossZone"))
        .set("ip_address_type", address_type(builder, &subnets), "network.ipFamily")
        .set("access_logs", logs, field("accessLog"))
        .tags(builder.tags(&title));
    if public {
        draft = draft.after(way_in(builder));
    }
    builder.add(draft);
    if balancer.idle_timeout.is_some() {
        builder.note(
            field("idleTimeout"),
            "a network load balancer keeps idle connections for 350 seconds; this time has no effect",
        );
    }
    listeners(builder, balancer);
    Ok(())
}

fn listeners(builder: &mut Builder<'_>, balancer: &LoadBalancer) {
    TCP.add(builder, FIELD);
    let certificate_field = format!("{FIELD}.certificate");
    let listener = |port, target_group, certificate, origin| Listener {
        balancer: "api",
        port,
        target_group,
        certificate,
        origin,
    };
    match balancer.certificate.as_deref() {
        None => listener(443, "tcp", None, FIELD).add(builder),
        Some(certificate) => {
            TLS.add(builder, &certificate_field);
            let presented = Some((certificate, balancer.tls_policy.as_deref()));
            listener(443, "tls", presented, &certificate_field).add(builder);
            listener(8443, "tcp", None, &certificate_field).add(builder);
        }
    }
    if let Some(field) = node_bootstrap(builder.cluster) {
        NODE_BOOTSTRAP.add(builder, field);
        listener(3988, "kops-controller", None, field).add(builder);
    }
    if without_dns(builder.cluster) && has_cilium_etcd(builder.cluster) {
        let field = "controlPlane.dns.kind";
        CILIUM_ETCD.add(builder, field);
        listener(4003, "etcd-cilium", None, field).add(builder);
    }
}

fn security_groups(builder: &Builder<'_>, balancer: &LoadBalancer) -> Value {
    let own = match &builder.settings.api.load_balancer.security_group_override {
        Some(id) => id.as_str().into(),
        None => id_of(&balancer_security_group(builder, "api")),
    };
    let more = balancer.additional_security_groups.iter().map(|id| Value::from(id.as_str()));
    Value::list(std::iter::once(own).chain(more))
}

/// The subnets that the spec names, or one for each zone. Without private subnets, an internal load balancer
/// is in the subnets of the control plane, where it has private addresses, too.
fn subnets<'a>(builder: &Builder<'a>, balancer: &LoadBalancer) -> Result<Vec<&'a Subnet>, ProviderError> {
    let field = format!("{FIELD}.subnets");
    let own = &builder.settings.api.load_balancer.subnets;
    let named: Vec<&str> = match balancer.subnets.as_slice() {
        [] => own.iter().map(|subnet| subnet.name.as_str()).collect(),
        names => names.iter().map(String::as_str).collect(),
    };
    let subnets = if named.is_empty() {
        match subnets_for(builder, balancer.scheme) {
            none if none.is_empty() && balancer.scheme == Scheme::Internal => {
                subnets_for(builder, Scheme::Public)
            }
            found => found,
        }
    } else {
        let find = |name: &&str| {
            builder.cluster.subnet(name).ok_or_else(|| {
                refuse(&field, &format!("there is no subnet {name}"), "name one of the network's subnets")
            })
        };
        named.iter().map(find).collect::<Result<_, _>>()?
    };
    if subnets.is_empty() {
        let message =
            "a load balancer with public addresses lives in utility or public subnets, and there is none";
        return Err(refuse(&field, message, "add a subnet of that kind, or make the load balancer internal"));
    }
    Ok(subnets)
}

/// Where the load balancer lives, with the addresses that the spec names.
fn subnet_mapping(builder: &Builder<'_>, subnets: &[&Subnet]) -> Value {
    let own = &builder.settings.api.load_balancer.subnets;
    let mapping = |subnet: &&Subnet| {
        let addresses = own.iter().find(|own| own.name == subnet.name);
        Value::map([
            ("subnet_id", subnet_id(builder, subnet)),
            ("allocation_id", addresses.and_then(|own| own.allocation_id.as_deref()).into()),
            ("private_ipv4_address", addresses.and_then(|own| own.private_ipv4_address.as_deref()).into()),
        ])
    };
    Value::list(subnets.iter().map(mapping))
}
