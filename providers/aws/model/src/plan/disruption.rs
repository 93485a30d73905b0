//! The disruption of a cluster's users by a change.

use slipway_resource::provider::{Disruption, PlanItem};

use crate::types::Kind;

/// The disruption when a resource is deleted or replaced.
pub(super) fn of_removal(item: &PlanItem) -> Disruption {
    if item.observed.is_none() {
        return Disruption::None;
    }
    let Some(kind) = Kind::of(item.address.kind()) else { return Disruption::None };
    match kind {
        Kind::Vpc | Kind::Subnet | Kind::Lb | Kind::EbsVolume | Kind::AutoscalingGroup => Disruption::Outage,
        Kind::InternetGateway
        | Kind::EgressOnlyInternetGateway
        | Kind::NatGateway
        | Kind::Eip
        | Kind::Route
        | Kind::RouteTable
        | Kind::RouteTableAssociation
        | Kind::SecurityGroup
        | Kind::SecurityGroupRule
        | Kind::LbListener
        | Kind::LbTargetGroup
        | Kind::Route53Record
        | Kind::Route53ZoneAssociation
        | Kind::IamRole
        | Kind::IamRolePolicy
        | Kind::IamRolePolicyAttachment
        | Kind::IamInstanceProfile
        | Kind::IamOpenidConnectProvider
        | Kind::Instance => Disruption::Brief,
        Kind::AutoscalingLifecycleHook
        | Kind::CloudwatchEventRule
        | Kind::CloudwatchEventTarget
        | Kind::KeyPair
        | Kind::KmsKey
        | Kind::LaunchTemplate
        | Kind::Route53Zone
        | Kind::S3Object
        | Kind::SqsQueue
        | Kind::VpcDhcpOptions
        | Kind::VpcDhcpOptionsAssociation
        | Kind::VpcIpv4CidrBlockAssociation => Disruption::None,
    }
}

/// When attributes change in place.
pub(super) fn of_update(kind: &str, changed: &[String]) -> Disruption {
    let changes = |names: &[&str]| changed.iter().any(|changed| names.contains(&changed.as_str()));
    let Some(kind) = Kind::of(kind) else { return Disruption::None };
    let is_felt = match kind {
        // Connections through the old way end.
        Kind::Route => changes(&[
            "gateway_id",
            "nat_gateway_id",
            "egress_only_gateway_id",
            "transit_gateway_id",
            "instance_id",
            "network_interface_id",
        ]),
        Kind::RouteTableAssociation => changes(&["route_table_id"]),
        Kind::LbListener => changes(&["port", "protocol", "default_action", "certificate_arn"]),
        Kind::Lb => changes(&["security_groups"]),
        Kind::AutoscalingGroup
        | Kind::AutoscalingLifecycleHook
        | Kind::CloudwatchEventRule
        | Kind::CloudwatchEventTarget
        | Kind::EbsVolume
        | Kind::EgressOnlyInternetGateway
        | Kind::Eip
        | Kind::IamInstanceProfile
        | Kind::IamOpenidConnectProvider
        | Kind::IamRole
        | Kind::IamRolePolicy
        | Kind::IamRolePolicyAttachment
        | Kind::Instance
        | Kind::InternetGateway
        | Kind::KeyPair
        | Kind::KmsKey
        | Kind::LaunchTemplate
        | Kind::LbTargetGroup
        | Kind::NatGateway
        | Kind::Route53Record
        | Kind::Route53Zone
        | Kind::Route53ZoneAssociation
        | Kind::RouteTable
        | Kind::S3Object
        | Kind::SecurityGroup
        | Kind::SecurityGroupRule
        | Kind::SqsQueue
        | Kind::Subnet
        | Kind::Vpc
        | Kind::VpcDhcpOptions
        | Kind::VpcDhcpOptionsAssociation
        | Kind::VpcIpv4CidrBlockAssociation => false,
    };
    if is_felt { Disruption::Brief } else { Disruption::None }
}
