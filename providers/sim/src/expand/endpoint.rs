//! The address under which the API servers are reached, and its DNS records.

use slipway_cluster_input::{DnsKind, Endpoint, LoadBalancer, Scheme};
use slipway_resource::{Address, ProviderError, Reference, TemplatePart, Value};

use super::build::{Builder, id_of, millis, word};
use super::network::{network_address, subnet_address};
use super::refuse;
use super::topology::{balancer_subnets, has_ipv6};

/// The port of the API servers themselves.
pub(super) const API_PORT: u16 = 6443;

/// How the API servers are reached.
pub(super) struct Reached {
    /// The host in texts: a literal, or a reference.
    pub(super) host: TemplatePart,
    /// The port.
    pub(super) port: u16,
    /// The target group that control-plane machines join.
    pub(super) target_group: Option<Address>,
    /// The security group of the load balancer.
    pub(super) balancer_group: Option<Address>,
}

/// Adds what the endpoint needs.
pub(super) fn endpoint(builder: &mut Builder<'_>) -> Result<Reached, ProviderError> {
    let mut reached = match &builder.cluster.control_plane.endpoint {
        Endpoint::Given(given) => plain(given.host.clone(), given.port),
        Endpoint::VirtualIp(virtual_ip) => plain(virtual_ip.address.to_string(), virtual_ip.port),
        Endpoint::Elected {} => elected(builder),
        Endpoint::LoadBalancer(balancer) => load_balancer(builder, balancer),
    };
    if let Some(name) = records(builder, &reached.host)? {
        reached.host = TemplatePart::Text(name);
    }
    Ok(reached)
}

fn plain(host: String, port: u16) -> Reached {
    Reached { host: TemplatePart::Text(host), port, target_group: None, balancer_group: None }
}

fn attribute(address: &Address, name: &str) -> TemplatePart {
    TemplatePart::Reference(Reference { address: address.clone(), path: slipway_resource::Path::key(name) })
}

fn elected(builder: &mut Builder<'_>) -> Reached {
    let draft = builder
        .draft("sim_endpoint", "api", "controlPlane.endpoint.elected")
        .set("cluster", builder.cluster.name.as_str(), "name")
        .fix("port", i64::from(API_PORT));
    let elected = builder.add(draft);
    Reached { host: attribute(&elected, "host"), ..plain(String::new(), API_PORT) }
}

fn load_balancer(builder: &mut Builder<'_>, balancer: &LoadBalancer) -> Reached {
    let cluster = builder.cluster;
    let field = |name: &str| format!("controlPlane.endpoint.loadBalancer.{name}");
    let group = builder
        .draft("sim_security_group", "api", "controlPlane.endpoint.loadBalancer")
        .set("name", format!("api.{}", cluster.name), "name")
        .fix("description", "load balancer of the API servers")
        .set("network_id", id_of(&network_address()), "network.id");
    let group = builder.add(group);
    let groups = std::iter::once(id_of(&group))
        .chain(balancer.additional_security_groups.iter().map(|id| Value::from(id.as_str())));
    let names: Vec<&str> = if balancer.subnets.is_empty() {
        let chosen = balancer_subnets(cluster, balancer.scheme == Scheme::Public);
        chosen.into_iter().map(|subnet| subnet.name.as_str()).collect()
    } else {
        balancer.subnets.iter().map(String::as_str).collect()
    };
    let subnets = names.iter().map(|name| id_of(&subnet_address(name)));
    let log = balancer.access_log.as_ref().map_or(Value::Null, |log| {
        Value::map([("bucket", Value::from(log.bucket.as_str())), ("prefix", log.prefix.clone().into())])
    });
    let draft = builder
        .draft("sim_load_balancer", "api", "controlPlane.endpoint.loadBalancer")
        .set("name", format!("api-{}", cluster.name.replace('.', "-")), "name")
        .set("scheme", word(&balancer.scheme), field("scheme"))
        .set("subnet_ids", Value::list(subnets), field("subnets"))
        .set("security_group_ids", Value::list(groups), field("additionalSecurityGroups"))
        .set("cross_zone", balancer.cross_zone, field("crossZone"))
        .set("idle_timeout_ms", balancer.idle_timeout.map(millis), field("idleTimeout"))
        .set("access_log", log, field("accessLog"))
        .set("address_family", if has_ipv6(cluster) { "dualstack" } else { "ipv4" }, "network.ipFamily")
        .protected(cluster.deletion_protection);
    let made = builder.add(draft);
    let targets = builder
        .draft("sim_target_group", "api", "controlPlane.endpoint.loadBalancer")
        .fix("name", format!("api.{}", cluster.name))
        .set("network_id", id_of(&network_address()), "network.id")
        .fix("port", i64::from(API_PORT));
    let targets = builder.add(targets);
    listener(builder, &made, &targets, "api", API_PORT, None, None);
    if balancer.certificate.is_some() || balancer.tls_policy.is_some() {
        let (certificate, policy) = (balancer.certificate.as_deref(), balancer.tls_policy.as_deref());
        listener(builder, &made, &targets, "api-tls", 443, certificate, policy);
    }
    Reached {
        host: attribute(&made, "dns_name"),
        port: API_PORT,
        target_group: Some(targets),
        balancer_group: Some(group),
    }
}

fn listener(
    builder: &mut Builder<'_>,
    balancer: &Address,
    targets: &Address,
    name: &str,
    port: u16,
    certificate: Option<&str>,
    tls_policy: Option<&str>,
) {
    let field = "controlPlane.endpoint.loadBalancer";
    let draft = builder
        .draft("sim_listener", name, field)
        .set("load_balancer_id", id_of(balancer), field)
        .fix("port", i64::from(port))
        .fix("protocol", if port == 443 { "tls" } else { "tcp" })
        .set("certificate", certificate, format!("{field}.certificate"))
        .set("tls_policy", tls_policy, format!("{field}.tlsPolicy"))
        .set("target_group_id", id_of(targets), field);
    builder.add(draft);
}

/// Adds the DNS records; returns the name that nodes use.
fn records(builder: &mut Builder<'_>, host: &TemplatePart) -> Result<Option<String>, ProviderError> {
    let cluster = builder.cluster;
    let dns = &cluster.control_plane.dns;
    if dns.kind == DnsKind::None {
        if dns.zone.is_some() {
            builder.note("controlPlane.dns.zone", "no records are made, so the zone is not used");
        }
        return Ok(None);
    }
    let Some(zone) = &dns.zone else {
        return Err(refuse("controlPlane.dns.zone", "records need a zone")
            .with_hint("name the zone, or set controlPlane.dns.kind to none"));
    };
    let kind = word(&dns.kind);
    let draft = builder
        .draft("sim_dns_zone", &kind, "controlPlane.dns.zone")
        .set("name", zone.as_str(), "controlPlane.dns.zone")
        .set("private", dns.kind == DnsKind::Private, "controlPlane.dns.kind")
        .existing(zone);
    let zone = builder.add(draft);
    let internal = format!("api.internal.{}", cluster.name);
    let public = format!("api.{}", cluster.name);
    let names = match dns.kind {
        DnsKind::Public => vec![public, internal.clone()],
        _ => vec![internal.clone()],
    };
    for name in names {
        record(builder, &zone, &name, host);
    }
    // A given name stays the one that certificates are made for.
    let given = matches!(cluster.control_plane.endpoint, Endpoint::Given(_));
    Ok((!given).then_some(internal))
}

fn record(builder: &mut Builder<'_>, zone: &Address, name: &str, host: &TemplatePart) {
    let (kind, value) = match host {
        TemplatePart::Reference(reference) => ("CNAME", Value::from(reference.clone())),
        TemplatePart::Text(text) => {
            let kind = match text.parse::<std::net::IpAddr>() {
                Ok(std::net::IpAddr::V4(_)) => "A",
                Ok(std::net::IpAddr::V6(_)) => "AAAA",
                Err(_) => "CNAME",
            };
            (kind, Value::from(text.as_str()))
        }
    };
    let draft = builder
        .draft("sim_dns_record", name, "controlPlane.dns")
        .set("zone_id", id_of(zone), "controlPlane.dns.zone")
        .set("name", name, "name")
        .set("type", kind, "controlPlane.endpoint")
        .set("values", Value::list([value]), "controlPlane.endpoint");
    builder.add(draft);
}
