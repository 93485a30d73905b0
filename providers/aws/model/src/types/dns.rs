//! Hosted zones, records, and the networks that may resolve them.

use slipway_resource::schema::OwnershipKind;
use slipway_resource::{Attribute, Form, Type};

use super::builder::{
    BOOL, Builder, INTEGER, Named, TEXT, blocks, default, formed, may_compute, must, texts,
};
use super::rate::ROUTE53;

pub(super) fn types() -> Vec<Named> {
    vec![zone(), record(), zone_association()]
}

fn zone() -> Named {
    let network = Type::object([
        must("vpc_id", TEXT, "The VPC."),
        may_compute("vpc_region", TEXT, "The region it is in."),
    ]);
    Builder::new("aws_route53_zone", ROUTE53, "A hosted zone: a domain whose names Route 53 answers for.")
        .read_by_identity()
        .arn()
        .tags()
        .idempotent()
        .fixed("name", TEXT, "The domain.")
        .optional("comment", TEXT, "Free text that describes the object.")
        .optional("vpc", Type::set(network), "The VPCs that see a private zone; none for a public one.")
        .computed("zone_id", TEXT, "The id, under the name that records use.")
        .computed("name_servers", Type::list(TEXT), "The servers that answer for a public zone.")
        .takes(30_000, 5_000, 5_000)
        .forms(&["name"], &[Form::Domain])
        .build()
}

fn record() -> Named {
    let alias = blocks([
        formed(
            must("name", TEXT, "The DNS name that the record stands for."),
            [Form::Domain, Form::Prefix("dualstack.".to_owned())],
        ),
        formed(must("zone_id", TEXT, "The hosted zone of that name."), [Form::LastSegment]),
        default(
            "evaluate_target_health",
            BOOL,
            false,
            "Whether a name without healthy targets has no answer.",
        ),
    ]);
    Builder::new("aws_route53_record", ROUTE53, "DNS record of a hosted zone.")
        .read_by_identity()
        .id("The zone's id, the name and the type, with underscores between them.")
        .owned_by(OwnershipKind::Name)
        .idempotent()
        .fixed("zone_id", TEXT, "The hosted zone.")
        .fixed("name", TEXT, "The name.")
        .fixed("type", TEXT, "A, AAAA, CNAME, TXT or another type.")
        .attribute(
            "set_identifier",
            Attribute::optional(TEXT).immutable(),
            "Tells records of one name and type apart.",
        )
        .optional("ttl", INTEGER, "For how long an answer may be kept, in seconds.")
        .optional("records", texts(), "The answers.")
        .optional("alias", alias, "The AWS resource whose addresses are the answer.")
        .computed("fqdn", TEXT, "The whole name.")
        .exclusive(["zone_id", "name", "type"])
        .takes(20_000, 20_000, 20_000)
        .forms(&["zone_id"], &[Form::LastSegment])
        .forms(&["name"], &[Form::Domain])
        .forms(&["type"], &[Form::Case])
        .forms(&["records"], &[Form::Quoted, Form::Domain])
        .build()
}

fn zone_association() -> Named {
    Builder::new("aws_route53_zone_association", ROUTE53, "Lets a VPC see a private hosted zone.")
        .read_by_identity()
        .id("The zone's id and the VPC's, with a colon between them.")
        .owned_by(OwnershipKind::Parent)
        .idempotent()
        .fixed("zone_id", TEXT, "The private hosted zone.")
        .fixed("vpc_id", TEXT, "The VPC.")
        .attribute("vpc_region", Attribute::optional_computed(TEXT).immutable(), "The region of the VPC.")
        .takes(20_000, 1_000, 20_000)
        .forms(&["zone_id"], &[Form::LastSegment])
        .build()
}
