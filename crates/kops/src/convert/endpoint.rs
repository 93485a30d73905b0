use slipway_spec::{
    diagnostic::{closest, code},
    model::{
        AccessLog, ControlPlane, Dns, DnsKind, Endpoint, GivenEndpoint, Hosting, LoadBalancer, Network,
        NodePool, Role, Scheme, SubnetKind,
    },
};

use super::Context;
use crate::{code as kops_code, defaults, field::Field, outcome::Outcome};

/// How the API server is reached, and from which addresses.
pub(super) fn read(
    context: &Context<'_>,
    network: &Network,
    pools: &[NodePool],
    outcome: &mut Outcome,
) -> ControlPlane {
    let spec = &context.spec;
    let access = spec.at("kubernetesApiAccess");
    outcome.wrote("controlPlane.access", &access);
    for (index, item) in access.items().iter().enumerate() {
        outcome.wrote(&format!("controlPlane.access[{index}]"), item);
    }
    if access.items().is_empty() {
        // With an empty list kOps admits no address from outside of the cluster.
        outcome.refused.push("controlPlane.access".to_owned());
        outcome.say(Context::assumed(
            &access,
            "spec.kubernetesApiAccess is empty: the API is reached from inside of the cluster only"
                .to_owned(),
            "list the ranges of those who use the cluster",
        ));
    }
    let sans = spec.at("additionalSans");
    outcome.wrote("controlPlane.additionalSans", &sans);
    let mut additional_sans = sans.texts();
    let kind = dns_kind(context, outcome);
    let public_name = spec.at("masterPublicName");
    let balanced = has_load_balancer(context, network, pools, kind);
    let endpoint = if balanced {
        // Users reach the load balancer by this name, so the API server's certificate must have it.
        if let Some(name) = public_name.filled().filter(|name| !additional_sans.contains(name)) {
            additional_sans.push(name);
        }
        Endpoint::LoadBalancer(load_balancer(context, kind, outcome))
    } else {
        outcome.wrote("controlPlane.endpoint", &spec.at("api"));
        outcome.wrote("controlPlane.endpoint.given.host", &public_name);
        let host = public_name.filled().unwrap_or_else(|| format!("api.{}", context.name));
        Endpoint::Given(GivenEndpoint { host, port: defaults::API_PORT })
    };
    ControlPlane {
        endpoint,
        node_local_balancer: None,
        hosting: Hosting::default(),
        soak: None,
        on_broken_gate: None,
        gates: Vec::new(),
        dns: Dns { kind, zone: zone(context, kind, outcome) },
        additional_sans,
        access: access.parse_all(outcome),
        schedulable: false,
    }
}

/// The value of `api`; without it, whether the control plane's nodes can be reached by their own DNS records.
fn has_load_balancer(context: &Context<'_>, network: &Network, pools: &[NodePool], kind: DnsKind) -> bool {
    let api = context.spec.at("api");
    if api.at("loadBalancer").is_given() {
        return true;
    }
    if api.at("dns").is_given() {
        return false;
    }
    // Where there are machines with nothing but an API server, these are what is reached.
    let apart = pools.iter().any(|pool| pool.role == Role::ApiServer);
    let reached = if apart { Role::ApiServer } else { Role::ControlPlane };
    let private = pools
        .iter()
        .filter(|pool| pool.role == reached)
        .flat_map(|pool| &pool.subnets)
        .filter_map(|name| network.subnets.iter().find(|subnet| subnet.name == *name))
        .any(|subnet| subnet.kind == SubnetKind::Private);
    defaults::has_load_balancer(!private, kind != DnsKind::None)
}

fn load_balancer(context: &Context<'_>, dns: DnsKind, outcome: &mut Outcome) -> LoadBalancer {
    let field = context.spec.at("api.loadBalancer");
    let path = "controlPlane.endpoint.loadBalancer";
    outcome.wrote("controlPlane.endpoint", &field);
    outcome.wrote(path, &field);
    for (kops, model) in [
        ("type", "scheme"),
        ("crossZoneLoadBalancing", "crossZone"),
        ("sslCertificate", "certificate"),
        ("sslPolicy", "tlsPolicy"),
        ("subnets", "subnets"),
        ("additionalSecurityGroups", "additionalSecurityGroups"),
        ("accessLog", "accessLog"),
    ] {
        outcome.wrote(&format!("{path}.{model}"), &field.at(kops));
    }
    let class = field.at("class");
    if class.filled().is_some_and(|class| !class.eq_ignore_ascii_case("network")) {
        let refused = class
            .error(
                kops_code::REFUSED,
                format!("load balancers of the class {} are gone", class.text().unwrap_or_default()),
            )
            .hint("write class: Network");
        outcome.say(refused);
    }
    let subnets = field.at("subnets").items();
    for (index, subnet) in subnets.iter().enumerate() {
        outcome.wrote(&format!("{path}.subnets[{index}]"), &subnet.at("name"));
    }
    let log = field.at("accessLog");
    LoadBalancer {
        scheme: scheme(&field.at("type"), path, outcome),
        cross_zone: cross_zone(&field.at("crossZoneLoadBalancing"), dns, outcome),
        certificate: field.at("sslCertificate").filled(),
        tls_policy: field.at("sslPolicy").filled().or_else(|| {
            let certificate = field.at("sslCertificate").filled().filter(|_| context.is_aws());
            certificate.map(|_| defaults::TLS_POLICY.to_owned())
        }),
        subnets: subnets.iter().filter_map(|subnet| subnet.at("name").filled()).collect(),
        additional_security_groups: field.at("additionalSecurityGroups").texts(),
        idle_timeout: None,
        access_log: log
            .at("bucket")
            .filled()
            .map(|bucket| AccessLog { bucket, prefix: log.at("bucketPrefix").filled() }),
    }
}

/// Without records nodes use one address of it at a time, which must forward to every API server. kOps
/// ensures that whatever the document says.
fn cross_zone(field: &Field<'_>, dns: DnsKind, outcome: &mut Outcome) -> bool {
    if dns == DnsKind::None && field.boolean() == Some(false) {
        let overruled = field.note(
            kops_code::HARMLESS,
            format!("{} has no effect: without DNS requests go to all zones", field.path()),
        );
        outcome.say(overruled.hint(crate::code::HARMLESS_HINT));
    }
    dns == DnsKind::None || field.boolean() == Some(true)
}

fn scheme(field: &Field<'_>, path: &str, outcome: &mut Outcome) -> Scheme {
    match field.filled().as_deref() {
        None | Some("Public") => Scheme::Public,
        Some("Internal") => Scheme::Internal,
        Some(other) => {
            let hint = match closest(other, ["Public", "Internal"]) {
                Some(meant) => format!("did you mean {meant}?"),
                None => "write type: Public or type: Internal".to_owned(),
            };
            let unknown =
                field.error(code::UNKNOWN_VALUE, format!("{} is {other:?}", field.path())).hint(hint);
            outcome.refuse(&format!("{path}.scheme"), unknown);
            Scheme::Internal
        }
    }
}

/// Which records kOps makes. Clusters of gossip, which is gone, have none.
fn dns_kind(context: &Context<'_>, outcome: &mut Outcome) -> DnsKind {
    let field = context.spec.at("topology.dns.type");
    outcome.wrote("controlPlane.dns.kind", &field);
    let kind = match field.filled().as_deref() {
        None | Some("Public") => DnsKind::Public,
        Some("Private") => DnsKind::Private,
        Some("None") => return DnsKind::None,
        Some(other) => {
            let hint = match closest(other, ["Public", "Private", "None"]) {
                Some(meant) => format!("did you mean {meant}?"),
                None => "write type: Public, Private or None".to_owned(),
            };
            let unknown =
                field.error(code::UNKNOWN_VALUE, format!("{} is {other:?}", field.path())).hint(hint);
            outcome.refuse("controlPlane.dns", unknown);
            return DnsKind::None;
        }
    };
    if context.name.ends_with(".k8s.local") {
        let gossip = field
            .warning(
                kops_code::LOST,
                format!(
                    "the name {} asks for gossip, which kOps has removed; no DNS records are made",
                    context.name
                ),
            )
            .hint("write topology: { dns: { type: None } }, as kOps asks for since 1.37");
        outcome.say(gossip);
        return DnsKind::None;
    }
    kind
}

/// `dnsZone`; without it the zone around the cluster's name, where kOps would ask the cloud for the longest that fits.
fn zone(context: &Context<'_>, kind: DnsKind, outcome: &mut Outcome) -> Option<String> {
    let field = context.spec.at("dnsZone");
    if kind == DnsKind::None {
        if field.filled().is_some() {
            let note = field
                .note(kops_code::HARMLESS, "spec.dnsZone has no effect: no DNS records are made")
                .hint(crate::code::HARMLESS_HINT);
            outcome.say(note);
        }
        return None;
    }
    outcome.wrote("controlPlane.dns.zone", &field);
    field.filled().or_else(|| {
        let around = context.name.split_once('.').map(|(_, zone)| zone.to_owned())?;
        Some(around)
    })
}
