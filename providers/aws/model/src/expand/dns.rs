//! DNS: the names of load balancers, and the networks that may resolve them.

use slipway_cluster_input::DnsKind;
use slipway_resource::{Address, ProviderError, Value};

use super::build::Builder;
use super::links::{self, vpc_id};
use super::refuse;
use super::topology::{has_bastion, load_balancer};

const ZONE: &str = "controlPlane.dns.zone";

/// Adds the records of the endpoints, and lets the network see a private zone.
pub(super) fn dns(builder: &mut Builder<'_>) -> Result<(), ProviderError> {
    let cluster = builder.cluster;
    if cluster.control_plane.dns.kind == DnsKind::None {
        return Ok(());
    }
    if cluster.control_plane.dns.kind == DnsKind::Private && !is_associated(builder) {
        let name = cluster.control_plane.dns.zone.clone().unwrap_or_else(|| cluster.name.clone());
        let draft = builder
            .draft("aws_route53_zone_association", &name, "controlPlane.dns.kind")
            .set("zone_id", zone_id(builder)?, ZONE)
            .fix("vpc_id", vpc_id(builder));
        builder.add(draft);
    }
    if load_balancer(cluster).is_some() {
        let balancer = links::balancer(builder, "api");
        let public = match &builder.settings.master_public_name {
            Some(name) => name.clone(),
            None => builder.named("api"),
        };
        records(builder, &public, &balancer, "controlPlane.endpoint.loadBalancer")?;
        if builder.settings.api.load_balancer.use_for_internal_api {
            let field = "provider.config.api.loadBalancer.useForInternalApi";
            records(builder, &builder.named("api.internal"), &balancer, field)?;
        }
    }
    if let Some(name) = builder.settings.topology.bastion.bastion_public_name.clone()
        && has_bastion(cluster)
    {
        let field = "provider.config.topology.bastion.bastionPublicName";
        let balancer = links::balancer(builder, "bastion");
        records(builder, &name, &balancer, field)?;
    }
    Ok(())
}

/// Whether the network sees the private zone already. Of an existing network that is assumed as long as the account was
/// not asked.
fn is_associated(builder: &Builder<'_>) -> bool {
    let dns = &builder.cluster.control_plane.dns;
    let Some(network) = &builder.cluster.network.id else { return false };
    let zone = dns.zone.as_deref().and_then(|named| builder.catalog.hosted_zone(named, true));
    zone.is_none_or(|zone| zone.vpcs.contains(network))
}

/// Adds the records of both families.
fn records(
    builder: &mut Builder<'_>,
    name: &str,
    balancer: &Address,
    origin: &str,
) -> Result<(), ProviderError> {
    record(builder, name, "A", balancer, origin)?;
    record(builder, name, "AAAA", balancer, origin)
}

fn record(
    builder: &mut Builder<'_>,
    name: &str,
    kind: &str,
    balancer: &Address,
    origin: &str,
) -> Result<(), ProviderError> {
    let alias = Value::map([
        ("name", Value::reference(balancer.clone(), "dns_name")),
        ("zone_id", Value::reference(balancer.clone(), "zone_id")),
        ("evaluate_target_health", false.into()),
    ]);
    let suffix = if kind == "A" { String::new() } else { format!("-{kind}") };
    let draft = builder
        .draft("aws_route53_record", &format!("{name}{suffix}"), origin)
        .set("name", name, origin)
        .fix("type", kind)
        .set("zone_id", zone_id(builder)?, ZONE)
        .fix("alias", Value::list([alias]));
    builder.add(draft);
    Ok(())
}

/// The id of the hosted zone; unknown before apply where the account's zones are not known.
pub(super) fn zone_id(builder: &Builder<'_>) -> Result<Value, ProviderError> {
    let cluster = builder.cluster;
    let Some(named) = cluster.control_plane.dns.zone.as_deref() else {
        return Err(refuse(ZONE, "records need a hosted zone", "name it by its domain or its id"));
    };
    let private = cluster.control_plane.dns.kind == DnsKind::Private;
    if let Some(zone) = builder.catalog.hosted_zone(named, private) {
        return Ok(zone.id.as_str().into());
    }
    if !named.contains('.') {
        return Ok(named.trim_start_matches("/hostedzone/").into());
    }
    if builder.catalog.is_offline() {
        return Ok(Value::Unknown);
    }
    // The spec names no zone, and its default is the parent of the cluster's name: a wider zone serves as
    // well.
    let around = |zone: &&crate::catalog::HostedZone| {
        zone.private == private && named.ends_with(&format!(".{}", zone.name))
    };
    let derived = cluster.name.split_once('.').is_some_and(|(_, parent)| parent == named);
    let wider = builder.catalog.hosted_zones.iter().filter(around).max_by_key(|zone| zone.name.len());
    match wider.filter(|_| derived) {
        Some(zone) => Ok(zone.id.as_str().into()),
        None => {
            let kind = if private { "private" } else { "public" };
            let message = format!("the account has no {kind} hosted zone {named}");
            Err(refuse(ZONE, &message, "make the zone first, or name one that the account has"))
        }
    }
}
