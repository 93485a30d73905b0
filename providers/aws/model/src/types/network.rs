//! VPCs, subnets and DHCP options.

use slipway_resource::schema::OwnershipKind;
use slipway_resource::{Attribute, Form, Type};

use super::builder::{BOOL, Builder, INTEGER, Named, TEXT};
use super::rate::EC2;

pub(super) fn types() -> Vec<Named> {
    vec![vpc(), cidr_association(), subnet(), dhcp_options(), dhcp_options_association()]
}

fn vpc() -> Named {
    Builder::new("aws_vpc", EC2, "A virtual network of its own.")
        .arn()
        .tags()
        .fixed("cidr_block", TEXT, "Its first IPv4 range.")
        .attribute(
            "instance_tenancy",
            Attribute::optional(TEXT).immutable().default_to("default"),
            "Whether instances share hosts (default) or not (dedicated).",
        )
        .switch(
            "assign_generated_ipv6_cidr_block",
            false,
            "Whether it has an IPv6 range of 56 bits from Amazon's pool.",
        )
        .switch("enable_dns_support", true, "Whether Amazon's resolver answers in it.")
        .switch("enable_dns_hostnames", false, "Whether instances with public addresses get DNS names.")
        .computed("ipv6_cidr_block", TEXT, "Its IPv6 range.")
        .computed("ipv6_association_id", TEXT, "The id of the association with the IPv6 range.")
        .computed("dhcp_options_id", TEXT, "The DHCP options in use.")
        .computed("owner_id", TEXT, "The account that owns it.")
        .takes(2_500, 1_500, 1_500)
        .forms(&["cidr_block"], &[Form::Range])
        .build()
}

fn cidr_association() -> Named {
    Builder::new("aws_vpc_ipv4_cidr_block_association", EC2, "A further IPv4 range of a VPC.")
        .owned_by(OwnershipKind::Parent)
        .removed_with("aws_vpc", "vpc_id")
        .fixed("vpc_id", TEXT, "The VPC.")
        .fixed("cidr_block", TEXT, "The range.")
        .takes(6_000, 1_000, 6_000)
        .forms(&["cidr_block"], &[Form::Range])
        .build()
}

fn subnet() -> Named {
    Builder::new("aws_subnet", EC2, "A part of a VPC in one zone.")
        .arn()
        .tags()
        .fixed("vpc_id", TEXT, "The VPC.")
        .fixed("availability_zone", TEXT, "Its zone.")
        .optional_fixed("cidr_block", TEXT, "Its IPv4 range; none in a subnet of IPv6 alone.")
        .optional("ipv6_cidr_block", TEXT, "Its IPv6 range of 64 bits.")
        .attribute(
            "ipv6_native",
            Attribute::optional(BOOL).immutable().default_to(false),
            "Whether it has IPv6 alone.",
        )
        .switch(
            "assign_ipv6_address_on_creation",
            false,
            "Whether new network interfaces get IPv6 addresses.",
        )
        .switch("map_public_ip_on_launch", false, "Whether instances get public IPv4 addresses by default.")
        .switch(
            "enable_dns64",
            false,
            "Whether the resolver makes IPv6 addresses for names that have IPv4 alone.",
        )
        .switch(
            "enable_resource_name_dns_a_record_on_launch",
            false,
            "Whether the names of instances resolve to IPv4 addresses.",
        )
        .switch(
            "enable_resource_name_dns_aaaa_record_on_launch",
            false,
            "Whether the names of instances resolve to IPv6 addresses.",
        )
        .optional_computed(
            "private_dns_hostname_type_on_launch",
            TEXT,
            "Form of the host names of instances: ip-name or resource-name.",
        )
        .computed("ipv6_cidr_block_association_id", TEXT, "The id of the association with the IPv6 range.")
        .computed("owner_id", TEXT, "The account that owns it.")
        .exclusive(["cidr_block"])
        .takes(2_500, 1_500, 2_000)
        .forms(&["cidr_block", "ipv6_cidr_block"], &[Form::Range])
        .build()
}

fn dhcp_options() -> Named {
    let servers = || Type::list(TEXT);
    Builder::new("aws_vpc_dhcp_options", EC2, "DHCP options of instances.")
        .arn()
        .tags()
        .optional_fixed("domain_name", TEXT, "The domain that names without a dot are looked up in.")
        .optional_fixed("domain_name_servers", servers(), "DNS servers, or AmazonProvidedDNS.")
        .optional_fixed("ntp_servers", servers(), "Time servers.")
        .optional_fixed("netbios_name_servers", servers(), "NetBIOS name servers.")
        .optional_fixed("netbios_node_type", TEXT, "The NetBIOS node type: 1, 2, 4 or 8.")
        .optional_fixed(
            "ipv6_address_preferred_lease_time",
            INTEGER,
            "For how long an IPv6 address is leased, in seconds.",
        )
        .computed("owner_id", TEXT, "The account that owns them.")
        .create_before_delete()
        .forms(&["domain_name_servers"], &[Form::Case])
        .build()
}

fn dhcp_options_association() -> Named {
    Builder::new("aws_vpc_dhcp_options_association", EC2, "Association of a VPC with DHCP options.")
        .id("The options' id and the VPC's, with a hyphen between them.")
        .imported_as("{vpc_id}")
        .owned_by(OwnershipKind::Parent)
        .removed_with("aws_vpc", "vpc_id")
        .idempotent()
        .fixed("vpc_id", TEXT, "The VPC.")
        .attribute("dhcp_options_id", Attribute::required(TEXT).holds(), "The DHCP options.")
        .build()
}
