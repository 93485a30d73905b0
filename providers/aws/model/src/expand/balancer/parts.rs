//! The common parts of both load balancers.

use slipway_resource::{Address, Value};

use crate::expand::build::{Builder, address, id_of};
use crate::expand::links::{self, vpc_id};
use crate::names;

/// A group of machines behind a listener.
pub(super) struct TargetGroup {
    pub(super) prefix: &'static str,
    pub(super) port: i64,
    pub(super) protocol: &'static str,
    /// The protocol of health checks, and the path that they ask for.
    pub(super) health: (&'static str, Option<&'static str>),
}

impl TargetGroup {
    /// Adds it; a target is in or out within twenty seconds.
    pub(super) fn add(&self, builder: &mut Builder<'_>, origin: &str) -> Address {
        let name = names::hashed(self.prefix, &builder.cluster.name);
        let (protocol, path) = self.health;
        let health = Value::map([
            ("protocol", Value::from(protocol)),
            ("path", path.into()),
            ("healthy_threshold", Value::Integer(2)),
            ("unhealthy_threshold", Value::Integer(2)),
            ("interval", Value::Integer(10)),
        ]);
        let draft = builder
            .draft("aws_lb_target_group", &name, origin)
            .fix("name", name.as_str())
            .fix("port", self.port)
            .fix("protocol", self.protocol)
            .fix("health_check", Value::list([health]))
            .fix("deregistration_delay", "30")
            .fix("connection_termination", true)
            .fix("vpc_id", vpc_id(builder))
            .tags(builder.tags(&name));
        builder.add(draft)
    }
}

/// A port of a load balancer.
pub(super) struct Listener<'a> {
    /// Which load balancer: `api` or `bastion`.
    pub(super) balancer: &'a str,
    pub(super) port: i64,
    pub(super) target_group: &'a str,
    /// The certificate that it presents, and its policy; none passes connections on as they are.
    pub(super) certificate: Option<(&'a str, Option<&'a str>)>,
    pub(super) origin: &'a str,
}

impl Listener<'_> {
    /// Adds it.
    pub(super) fn add(self, builder: &mut Builder<'_>) {
        let balancer = links::balancer(builder, self.balancer);
        let action = Value::map([
            ("type", Value::from("forward")),
            ("target_group_arn", id_of(&links::target_group(builder, self.target_group))),
        ]);
        let name = format!("{}-{}", builder.named(self.balancer), self.port);
        let mut draft = builder
            .draft("aws_lb_listener", &name, self.origin)
            .fix("load_balancer_arn", id_of(&balancer))
            .fix("port", self.port)
            .fix("protocol", if self.certificate.is_some() { "TLS" } else { "TCP" })
            .fix("default_action", Value::list([action]));
        if let Some((certificate, policy)) = self.certificate {
            draft = draft.set("certificate_arn", certificate, self.origin).set(
                "ssl_policy",
                policy,
                format!("{}.tlsPolicy", parent(self.origin)),
            );
        }
        builder.add(draft);
    }
}

fn parent(field: &str) -> &str {
    field.rsplit_once('.').map_or(field, |(parent, _)| parent)
}

/// The objects that must exist before a load balancer with public addresses.
pub(super) fn way_in(builder: &Builder<'_>) -> Vec<Address> {
    let gateway = address("aws_internet_gateway", &builder.cluster.name);
    builder.has(&gateway).then_some(gateway).into_iter().collect()
}
