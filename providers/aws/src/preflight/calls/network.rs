//! Networks: ranges, subnets, gateways and routes.

use super::{Calls, TAG, TAGGED, of};

pub(super) const EGRESS_ONLY_INTERNET_GATEWAY: Calls = of(
    &["ec2:DescribeEgressOnlyInternetGateways", "ec2:DescribeTags"],
    &[("ec2:CreateEgressOnlyInternetGateway", ""), TAG],
    TAGGED,
    &["ec2:DeleteEgressOnlyInternetGateway"],
);

pub(super) const EIP: Calls = of(
    &["ec2:DescribeAddresses", "ec2:DescribeTags"],
    &[("ec2:AllocateAddress", ""), TAG],
    TAGGED,
    &["ec2:ReleaseAddress"],
);

pub(super) const INTERNET_GATEWAY: Calls = of(
    &["ec2:DescribeInternetGateways", "ec2:DescribeTags"],
    &[("ec2:AttachInternetGateway", "vpc_id"), ("ec2:CreateInternetGateway", ""), TAG],
    &["ec2:AttachInternetGateway", "ec2:CreateTags", "ec2:DeleteTags", "ec2:DetachInternetGateway"],
    &["ec2:DeleteInternetGateway", "ec2:DetachInternetGateway"],
);

pub(super) const NAT_GATEWAY: Calls = of(
    &["ec2:DescribeNatGateways", "ec2:DescribeTags"],
    &[("ec2:CreateNatGateway", ""), TAG],
    TAGGED,
    &["ec2:DeleteNatGateway"],
);

pub(super) const ROUTE: Calls =
    of(&["ec2:DescribeRouteTables"], &[("ec2:CreateRoute", "")], &["ec2:ReplaceRoute"], &["ec2:DeleteRoute"]);

pub(super) const ROUTE_TABLE: Calls = of(
    &["ec2:DescribeRouteTables", "ec2:DescribeTags"],
    &[("ec2:CreateRouteTable", ""), TAG],
    TAGGED,
    &["ec2:DeleteRouteTable"],
);

pub(super) const ROUTE_TABLE_ASSOCIATION: Calls = of(
    &["ec2:DescribeRouteTables"],
    &[("ec2:AssociateRouteTable", "")],
    &["ec2:ReplaceRouteTableAssociation"],
    &["ec2:DisassociateRouteTable"],
);

pub(super) const SUBNET: Calls = of(
    &["ec2:DescribeSubnets", "ec2:DescribeTags"],
    &[
        ("ec2:CreateSubnet", ""),
        TAG,
        ("ec2:ModifySubnetAttribute", "assign_ipv6_address_on_creation"),
        ("ec2:ModifySubnetAttribute", "enable_resource_name_dns_a_record_on_launch"),
        ("ec2:ModifySubnetAttribute", "private_dns_hostname_type_on_launch"),
    ],
    &[
        "ec2:AssociateSubnetCidrBlock",
        "ec2:CreateTags",
        "ec2:DeleteTags",
        "ec2:DisassociateSubnetCidrBlock",
        "ec2:ModifySubnetAttribute",
    ],
    &["ec2:DeleteSubnet"],
);

pub(super) const VPC: Calls = of(
    &["ec2:DescribeTags", "ec2:DescribeVpcAttribute", "ec2:DescribeVpcs"],
    &[("ec2:CreateVpc", ""), TAG, ("ec2:ModifyVpcAttribute", "enable_dns_hostnames")],
    &[
        "ec2:AssociateVpcCidrBlock",
        "ec2:CreateTags",
        "ec2:DeleteTags",
        "ec2:DisassociateVpcCidrBlock",
        "ec2:ModifyVpcAttribute",
    ],
    &["ec2:DeleteVpc"],
);

pub(super) const VPC_DHCP_OPTIONS: Calls = of(
    &["ec2:DescribeDhcpOptions", "ec2:DescribeTags"],
    &[("ec2:CreateDhcpOptions", ""), TAG],
    TAGGED,
    &["ec2:DeleteDhcpOptions"],
);

pub(super) const VPC_DHCP_OPTIONS_ASSOCIATION: Calls =
    of(&["ec2:DescribeVpcs"], &[("ec2:AssociateDhcpOptions", "")], &[], &["ec2:AssociateDhcpOptions"]);

pub(super) const VPC_IPV4_CIDR_BLOCK_ASSOCIATION: Calls = of(
    &["ec2:DescribeVpcs"],
    &[("ec2:AssociateVpcCidrBlock", ""), TAG],
    &[],
    &["ec2:DeleteTags", "ec2:DisassociateVpcCidrBlock"],
);
