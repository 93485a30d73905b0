//! Load balancers, listeners and target groups.

use slipway_resource::{Attribute, Form, Type};

use super::builder::{
    BOOL, Builder, INTEGER, Named, TEXT, blocks, default, formed, may, may_compute, must, texts,
};
use super::rate::ELB;

pub(super) fn types() -> Vec<Named> {
    vec![load_balancer(), listener(), target_group()]
}

fn load_balancer() -> Named {
    let mapping = Type::object([
        must("subnet_id", TEXT, "The subnet."),
        may("allocation_id", TEXT, "The elastic IP that it has there."),
        may("private_ipv4_address", TEXT, "The address that it has there, inside of the VPC."),
        may("ipv6_address", TEXT, "The IPv6 address that it has there."),
    ]);
    let access_logs = blocks([
        must("bucket", TEXT, "The bucket that takes the logs."),
        may("prefix", TEXT, "Prefix of the keys of the logs."),
        default("enabled", BOOL, false, "Whether there are logs."),
    ]);
    Builder::new("aws_lb", ELB, "A network load balancer.")
        .read_by_identity()
        .id("Its ARN.")
        .arn()
        .tags()
        .idempotent()
        .fixed("name", TEXT, "Its name, once in a region; at most 32 characters.")
        .attribute(
            "load_balancer_type",
            Attribute::optional(TEXT).immutable().default_to("network"),
            "network is the only choice.",
        )
        .attribute(
            "internal",
            Attribute::optional(BOOL).immutable().default_to(false),
            "Whether its name leads to private addresses alone.",
        )
        .attribute(
            "security_groups",
            Attribute::optional(texts()).holds(),
            "Its security groups; one that begins without has none for ever.",
        )
        .attribute(
            "subnet_mapping",
            Attribute::optional(Type::set(mapping)).holds(),
            "Where it is, with the addresses it has there.",
        )
        .text("ip_address_type", "ipv4", "ipv4 or dualstack.")
        .switch(
            "enable_cross_zone_load_balancing",
            false,
            "Whether it sends packets to targets in all zones.",
        )
        .switch("enable_deletion_protection", false, "Whether it is protected from deletion.")
        .text(
            "dns_record_client_routing_policy",
            "any_availability_zone",
            "Which addresses its name leads to: any_availability_zone, availability_zone_affinity or \
             partial_availability_zone_affinity.",
        )
        .optional_computed(
            "enforce_security_group_inbound_rules_on_private_link_traffic",
            TEXT,
            "Whether security groups hold for what comes through PrivateLink: on or off.",
        )
        .optional("access_logs", access_logs, "Where its access logs go.")
        .computed("dns_name", TEXT, "Its DNS name.")
        .computed("zone_id", TEXT, "The hosted zone of its DNS name, for alias records.")
        .computed("vpc_id", TEXT, "The VPC it is in.")
        .exclusive(["name"])
        .takes(150_000, 2_000, 5_000)
        .forms(&["load_balancer_type", "ip_address_type"], &[Form::Case])
        .forms(&["name"], &[Form::Kept])
        .build()
}

fn listener() -> Named {
    let action = blocks([
        must("type", TEXT, "forward is the only choice."),
        must("target_group_arn", TEXT, "The target group."),
    ]);
    Builder::new("aws_lb_listener", ELB, "A port of a load balancer, and where it leads.")
        .read_by_identity()
        .id("Its ARN.")
        .arn()
        .tags()
        .idempotent()
        .removed_with("aws_lb", "load_balancer_arn")
        .fixed("load_balancer_arn", TEXT, "The load balancer.")
        .required("port", INTEGER, "The port.")
        .required("protocol", TEXT, "TCP, TLS, UDP or TCP_UDP.")
        .optional("certificate_arn", TEXT, "The certificate of a TLS listener.")
        .optional_computed("ssl_policy", TEXT, "Policy for versions and ciphers of TLS.")
        .optional("alpn_policy", TEXT, "Policy for the protocols that are offered inside of TLS.")
        .attribute("default_action", Attribute::required(action).holds(), "Action for connections.")
        .forms(&["protocol"], &[Form::Case])
        .build()
}

fn target_group() -> Named {
    let health_check = blocks([
        default("enabled", BOOL, true, "Whether targets are checked."),
        formed(default("protocol", TEXT, "TCP", "TCP, HTTP or HTTPS."), [Form::Case]),
        default("port", TEXT, "traffic-port", "The port, or traffic-port for the target's own."),
        may_compute("path", TEXT, "The path that HTTP and HTTPS ask for."),
        may_compute("matcher", TEXT, "The status codes that mean healthy."),
        default("interval", INTEGER, 30i64, "How many seconds lie between two checks."),
        may_compute("timeout", INTEGER, "After how many seconds a check has failed."),
        may_compute("healthy_threshold", INTEGER, "After how many good checks a target is healthy."),
        may_compute("unhealthy_threshold", INTEGER, "After how many bad checks a target is not healthy."),
    ]);
    let stickiness = blocks([
        default("type", TEXT, "source_ip", "Kind of stickiness: source_ip."),
        default("enabled", BOOL, true, "Whether a client keeps its target."),
    ]);
    Builder::new("aws_lb_target_group", ELB, "Instances or addresses that a listener leads to.")
        .read_by_identity()
        .id("Its ARN.")
        .arn()
        .tags()
        .idempotent()
        .fixed("name", TEXT, "Its name, once in a region; at most 32 characters.")
        .fixed("port", INTEGER, "The port of the targets.")
        .fixed("protocol", TEXT, "TCP, TLS, UDP or TCP_UDP.")
        .fixed("vpc_id", TEXT, "The VPC of the targets.")
        .attribute(
            "target_type",
            Attribute::optional(TEXT).immutable().default_to("instance"),
            "Kind of targets: instance or ip.",
        )
        .attribute(
            "ip_address_type",
            Attribute::optional(TEXT).immutable().default_to("ipv4"),
            "ipv4 or ipv6.",
        )
        .text(
            "deregistration_delay",
            "300",
            "For how long a target that leaves keeps its connections, in seconds.",
        )
        .switch("connection_termination", false, "Whether connections end when that time is over.")
        .optional_computed(
            "preserve_client_ip",
            TEXT,
            "Whether targets see the client's address: true or false.",
        )
        .switch("proxy_protocol_v2", false, "Whether targets get the proxy protocol's header.")
        .optional_computed("health_check", health_check, "How targets are checked.")
        .optional("stickiness", stickiness, "Whether clients keep their targets.")
        .exclusive(["name"])
        .takes(1_500, 1_000, 1_000)
        .forms(&["protocol", "target_type", "ip_address_type", "preserve_client_ip"], &[Form::Case])
        .forms(&["name"], &[Form::Kept])
        .build()
}
