//! Ways in and out of a network: gateways, addresses, route tables, routes.

use slipway_resource::schema::OwnershipKind;
use slipway_resource::{Attribute, Form};

use super::builder::{Builder, Named, TEXT};
use super::rate::EC2;

pub(super) fn types() -> Vec<Named> {
    vec![
        internet_gateway(),
        egress_only_internet_gateway(),
        nat_gateway(),
        elastic_address(),
        route_table(),
        route(),
        route_table_association(),
    ]
}

fn internet_gateway() -> Named {
    Builder::new("aws_internet_gateway", EC2, "The way of a VPC to the internet.")
        .arn()
        .tags()
        .optional("vpc_id", TEXT, "The VPC it is attached to.")
        .computed("owner_id", TEXT, "The account that owns it.")
        .takes(2_000, 2_000, 3_000)
        .build()
}

fn egress_only_internet_gateway() -> Named {
    Builder::new(
        "aws_egress_only_internet_gateway",
        EC2,
        "The way of IPv6 connections out of a VPC, and of none in.",
    )
    .tags()
    .idempotent()
    .fixed("vpc_id", TEXT, "The VPC it is attached to.")
    .takes(1_500, 1_000, 1_500)
    .build()
}

fn nat_gateway() -> Named {
    Builder::new("aws_nat_gateway", EC2, "Translates the addresses of private subnets.")
        .tags()
        .idempotent()
        .fixed("subnet_id", TEXT, "The subnet it is in: a public one, for the way to the internet.")
        .optional_fixed("allocation_id", TEXT, "The elastic IP that it uses.")
        .attribute(
            "connectivity_type",
            Attribute::optional(TEXT).immutable().default_to("public"),
            "Where it leads: public (to the internet) or private (to other networks).",
        )
        .attribute("private_ip", Attribute::optional_computed(TEXT).immutable(), "Its address in the subnet.")
        .computed("public_ip", TEXT, "Its address on the internet.")
        .computed("network_interface_id", TEXT, "Its network interface.")
        .computed("association_id", TEXT, "The id of the association with the elastic IP.")
        .takes(110_000, 1_000, 60_000)
        .build()
}

fn elastic_address() -> Named {
    Builder::new("aws_eip", EC2, "A public IPv4 address that stays.")
        .arn()
        .tags()
        .attribute(
            "domain",
            Attribute::optional(TEXT).immutable().default_to("vpc"),
            "Where it is used; vpc is the only choice.",
        )
        .attribute(
            "public_ipv4_pool",
            Attribute::optional_computed(TEXT).immutable(),
            "The pool it comes from.",
        )
        .attribute(
            "network_border_group",
            Attribute::optional_computed(TEXT).immutable(),
            "The zones from which AWS announces it.",
        )
        .computed("allocation_id", TEXT, "The id, under the name that NAT gateways and load balancers use.")
        .computed("association_id", TEXT, "The id of the association with what uses it.")
        .computed("public_ip", TEXT, "The address itself.")
        .build()
}

fn route_table() -> Named {
    Builder::new("aws_route_table", EC2, "Routes that subnets share.")
        .arn()
        .tags()
        .idempotent()
        .fixed("vpc_id", TEXT, "The VPC.")
        .computed("owner_id", TEXT, "The account that owns it.")
        .build()
}

fn route() -> Named {
    Builder::new("aws_route", EC2, "Where a route table sends the packets for a range.")
        .id("The table's id and the destination, with an underscore between them.")
        .imported_as("{route_table_id}_{destination_cidr_block|destination_ipv6_cidr_block|destination_prefix_list_id}")
        .owned_by(OwnershipKind::Parent)
        // A route to what is gone stays in its table, and is one to nowhere.
        .removed_with("aws_route_table", "route_table_id")
        .lets_go()
        .idempotent()
        .fixed("route_table_id", TEXT, "The table.")
        .optional_fixed("destination_cidr_block", TEXT, "The IPv4 range.")
        .optional_fixed("destination_ipv6_cidr_block", TEXT, "The IPv6 range.")
        .optional_fixed("destination_prefix_list_id", TEXT, "The prefix list that has the ranges.")
        .optional("gateway_id", TEXT, "The internet gateway or virtual private gateway that they go to.")
        .optional("nat_gateway_id", TEXT, "The NAT gateway that they go to.")
        .optional("egress_only_gateway_id", TEXT, "The egress-only internet gateway that they go to.")
        .optional("transit_gateway_id", TEXT, "The transit gateway that they go to.")
        .optional("vpc_peering_connection_id", TEXT, "The peering connection that they go to.")
        .optional("vpc_endpoint_id", TEXT, "The VPC endpoint that they go to.")
        .optional("carrier_gateway_id", TEXT, "The carrier gateway that they go to.")
        .optional("local_gateway_id", TEXT, "The local gateway that they go to.")
        .optional("core_network_arn", TEXT, "The core network that they go to.")
        .optional_computed("instance_id", TEXT, "The instance that they go to.")
        .optional_computed("network_interface_id", TEXT, "The network interface that they go to.")
        .computed("origin", TEXT, "How the route came to be.")
        .computed("state", TEXT, "active, or blackhole when what it leads to is gone.")
        .forms(&["destination_cidr_block", "destination_ipv6_cidr_block"], &[Form::Range])
        .build()
}

fn route_table_association() -> Named {
    Builder::new("aws_route_table_association", EC2, "Association of a subnet with a route table.")
        .imported_as("{subnet_id|gateway_id}/{route_table_id}")
        .owned_by(OwnershipKind::Parent)
        .idempotent()
        .optional_fixed("subnet_id", TEXT, "The subnet.")
        .optional_fixed("gateway_id", TEXT, "The gateway, where it is one that uses the table.")
        .attribute("route_table_id", Attribute::required(TEXT).holds(), "The table.")
        .build()
}
