//! Security groups and their rules.

use slipway_resource::schema::OwnershipKind;
use slipway_resource::{Attribute, Form, Type};

use super::builder::{BOOL, Builder, INTEGER, Named, TEXT, texts};
use super::rate::EC2;

pub(super) fn types() -> Vec<Named> {
    vec![security_group(), security_group_rule()]
}

fn security_group() -> Named {
    Builder::new("aws_security_group", EC2, "Security group: the connections that its members accept and open.")
        .arn()
        .tags()
        .idempotent()
        .fixed("name", TEXT, "Its name, once in a VPC.")
        .attribute(
            "description",
            Attribute::optional(TEXT).immutable().default_to("Managed by Slipway"),
            "Free text that describes the object.",
        )
        .fixed("vpc_id", TEXT, "The VPC.")
        .computed("owner_id", TEXT, "The account that owns it.")
        .optional(
            "foreign_rules",
            texts(),
            "Rules that neither Slipway nor a controller of the cluster created, as Terraform imports them. Never set by a spec.",
        )
        .exclusive(["name"])
        .takes(2_000, 1_000, 2_000)
        .build()
}

fn security_group_rule() -> Named {
    let ranges = || Type::list(TEXT);
    let same = |number: &str, name: &str| Form::Same(number.to_owned(), name.to_owned());
    Builder::new("aws_security_group_rule", EC2, "One thing that a security group allows.")
        .imported_as(concat!(
            "{security_group_id}_{type}_{protocol}_{from_port}_{to_port}_",
            "{source_security_group_id|cidr_blocks|ipv6_cidr_blocks|prefix_list_ids}",
        ))
        .owned_by(OwnershipKind::Parent)
        // A group cannot go as long as a rule of another one refers to it.
        .removed_with("aws_security_group", "security_group_id")
        .unless("source_security_group_id")
        .idempotent()
        .fixed("security_group_id", TEXT, "The group whose members it is about.")
        .fixed("type", TEXT, "ingress, for what may come in, or egress.")
        .fixed("protocol", TEXT, "tcp, udp, icmp, icmpv6, -1 for all, or a protocol's number.")
        .attribute(
            "from_port",
            Attribute::required(INTEGER).immutable().own_form(),
            "The first port, or the ICMP type; 0 for all protocols.",
        )
        .attribute(
            "to_port",
            Attribute::required(INTEGER).immutable().own_form(),
            "The last port, or the ICMP code; 0 for all protocols.",
        )
        .optional_fixed("cidr_blocks", ranges(), "The IPv4 ranges on the other side.")
        .optional_fixed("ipv6_cidr_blocks", ranges(), "The IPv6 ranges on the other side.")
        .optional_fixed("prefix_list_ids", ranges(), "The prefix lists on the other side.")
        .optional_fixed("source_security_group_id", TEXT, "The group on the other side.")
        .attribute(
            "self",
            Attribute::optional(BOOL).immutable().default_to(false),
            "Whether the group itself is on the other side.",
        )
        .optional("description", TEXT, "Free text that describes the object.")
        .computed("security_group_rule_id", TEXT, "The id that AWS has given it.")
        .forms(&["cidr_blocks", "ipv6_cidr_blocks"], &[Form::Range])
        .forms(
            &["protocol"],
            &[
                Form::Case,
                same("all", "-1"),
                same("1", "icmp"),
                same("6", "tcp"),
                same("17", "udp"),
                same("58", "icmpv6"),
            ],
        )
        .build()
}
