//! The permissions that the calls of each type need, as policies name them: what the operations in `kind/` send, and what
//! AWS asks for beside it, as `iam:PassRole` where machines get a role.

use std::collections::BTreeSet;

use slipway_resource::Value;
use slipway_resource::provider::PreflightItem;

use super::makes;

/// A permission, and the attribute without which its call is not made; always made without one.
type Need = (&'static str, &'static str);

/// What one type needs.
struct Calls {
    kind: &'static str,
    /// To be made, with the tags that all objects get.
    make: &'static [Need],
    /// To be changed in place.
    change: &'static [&'static str],
    /// To be deleted.
    delete: &'static [&'static str],
}

const fn of(
    kind: &'static str,
    make: &'static [Need],
    change: &'static [&'static str],
    delete: &'static [&'static str],
) -> Calls {
    Calls { kind, make, change, delete }
}

const TAG: Need = ("ec2:CreateTags", "");
const TAGGED: &[&str] = &["ec2:CreateTags", "ec2:DeleteTags"];

const CALLS: &[Calls] = &[
    of(
        "aws_autoscaling_group",
        &[
            ("autoscaling:CreateAutoScalingGroup", ""),
            ("autoscaling:CreateOrUpdateTags", ""),
            ("autoscaling:EnableMetricsCollection", "enabled_metrics"),
            ("autoscaling:PutWarmPool", "warm_pool"),
            ("autoscaling:SuspendProcesses", "suspended_processes"),
        ],
        &[
            "autoscaling:AttachLoadBalancerTargetGroups",
            "autoscaling:AttachLoadBalancers",
            "autoscaling:CreateOrUpdateTags",
            "autoscaling:DeleteTags",
            "autoscaling:DeleteWarmPool",
            "autoscaling:DetachInstances",
            "autoscaling:DetachLoadBalancerTargetGroups",
            "autoscaling:DetachLoadBalancers",
            "autoscaling:DisableMetricsCollection",
            "autoscaling:EnableMetricsCollection",
            "autoscaling:PutWarmPool",
            "autoscaling:ResumeProcesses",
            "autoscaling:SuspendProcesses",
            "autoscaling:TerminateInstanceInAutoScalingGroup",
            "autoscaling:UpdateAutoScalingGroup",
            "ec2:CreateTags",
            "ec2:DeleteTags",
            "ec2:TerminateInstances",
        ],
        &["autoscaling:DeleteAutoScalingGroup", "ec2:TerminateInstances"],
    ),
    of(
        "aws_autoscaling_lifecycle_hook",
        &[("autoscaling:PutLifecycleHook", "")],
        &["autoscaling:PutLifecycleHook"],
        &["autoscaling:DeleteLifecycleHook"],
    ),
    of(
        "aws_cloudwatch_event_rule",
        &[("events:PutRule", ""), ("events:TagResource", "")],
        &["events:PutRule", "events:TagResource", "events:UntagResource"],
        &["events:DeleteRule"],
    ),
    of(
        "aws_cloudwatch_event_target",
        &[("events:PutTargets", "")],
        &["events:PutTargets"],
        &["events:RemoveTargets"],
    ),
    of(
        "aws_ebs_volume",
        &[("ec2:CreateVolume", ""), TAG],
        &["ec2:CreateTags", "ec2:DeleteTags", "ec2:ModifyVolume"],
        &["ec2:DeleteVolume"],
    ),
    of(
        "aws_egress_only_internet_gateway",
        &[("ec2:CreateEgressOnlyInternetGateway", ""), TAG],
        TAGGED,
        &["ec2:DeleteEgressOnlyInternetGateway"],
    ),
    of("aws_eip", &[("ec2:AllocateAddress", ""), TAG], TAGGED, &["ec2:ReleaseAddress"]),
    of(
        "aws_iam_instance_profile",
        &[
            ("iam:AddRoleToInstanceProfile", "role"),
            ("iam:CreateInstanceProfile", ""),
            ("iam:PassRole", "role"),
            ("iam:TagInstanceProfile", ""),
        ],
        &[
            "iam:AddRoleToInstanceProfile",
            "iam:PassRole",
            "iam:RemoveRoleFromInstanceProfile",
            "iam:TagInstanceProfile",
            "iam:UntagInstanceProfile",
        ],
        &["iam:DeleteInstanceProfile", "iam:RemoveRoleFromInstanceProfile"],
    ),
    of(
        "aws_iam_openid_connect_provider",
        &[("iam:CreateOpenIDConnectProvider", ""), ("iam:TagOpenIDConnectProvider", "")],
        &[
            "iam:AddClientIDToOpenIDConnectProvider",
            "iam:RemoveClientIDFromOpenIDConnectProvider",
            "iam:TagOpenIDConnectProvider",
            "iam:UntagOpenIDConnectProvider",
            "iam:UpdateOpenIDConnectProviderThumbprint",
        ],
        &["iam:DeleteOpenIDConnectProvider"],
    ),
    of(
        "aws_iam_role",
        &[
            ("iam:CreateRole", ""),
            ("iam:PutRolePermissionsBoundary", "permissions_boundary"),
            ("iam:TagRole", ""),
        ],
        &[
            "iam:DeleteRolePermissionsBoundary",
            "iam:PutRolePermissionsBoundary",
            "iam:TagRole",
            "iam:UntagRole",
            "iam:UpdateAssumeRolePolicy",
            "iam:UpdateRole",
        ],
        &["iam:DeleteRole"],
    ),
    of(
        "aws_iam_role_policy",
        &[("iam:PutRolePolicy", "")],
        &["iam:PutRolePolicy"],
        &["iam:DeleteRolePolicy"],
    ),
    of("aws_iam_role_policy_attachment", &[("iam:AttachRolePolicy", "")], &[], &["iam:DetachRolePolicy"]),
    of(
        "aws_internet_gateway",
        &[("ec2:AttachInternetGateway", "vpc_id"), ("ec2:CreateInternetGateway", ""), TAG],
        &["ec2:AttachInternetGateway", "ec2:CreateTags", "ec2:DeleteTags", "ec2:DetachInternetGateway"],
        &["ec2:DeleteInternetGateway", "ec2:DetachInternetGateway"],
    ),
    of("aws_key_pair", &[("ec2:ImportKeyPair", ""), TAG], TAGGED, &["ec2:DeleteKeyPair"]),
    of(
        "aws_launch_template",
        &[
            ("ec2:CreateLaunchTemplate", ""),
            TAG,
            ("ec2:RunInstances", ""),
            ("iam:PassRole", "iam_instance_profile"),
        ],
        &["ec2:CreateLaunchTemplateVersion", "ec2:CreateTags", "ec2:DeleteTags", "ec2:RunInstances"],
        &["ec2:DeleteLaunchTemplate"],
    ),
    of(
        "aws_lb",
        &[
            ("elasticloadbalancing:AddTags", ""),
            ("elasticloadbalancing:CreateLoadBalancer", ""),
            ("elasticloadbalancing:ModifyLoadBalancerAttributes", ""),
        ],
        &[
            "elasticloadbalancing:AddTags",
            "elasticloadbalancing:ModifyLoadBalancerAttributes",
            "elasticloadbalancing:RemoveTags",
            "elasticloadbalancing:SetIpAddressType",
            "elasticloadbalancing:SetSecurityGroups",
            "elasticloadbalancing:SetSubnets",
        ],
        &["elasticloadbalancing:DeleteLoadBalancer"],
    ),
    of(
        "aws_lb_listener",
        &[("elasticloadbalancing:AddTags", ""), ("elasticloadbalancing:CreateListener", "")],
        &[
            "elasticloadbalancing:AddTags",
            "elasticloadbalancing:ModifyListener",
            "elasticloadbalancing:RemoveTags",
        ],
        &["elasticloadbalancing:DeleteListener"],
    ),
    of(
        "aws_lb_target_group",
        &[
            ("elasticloadbalancing:AddTags", ""),
            ("elasticloadbalancing:CreateTargetGroup", ""),
            ("elasticloadbalancing:ModifyTargetGroupAttributes", ""),
        ],
        &[
            "elasticloadbalancing:AddTags",
            "elasticloadbalancing:ModifyTargetGroup",
            "elasticloadbalancing:ModifyTargetGroupAttributes",
            "elasticloadbalancing:RemoveTags",
        ],
        &["elasticloadbalancing:DeleteTargetGroup"],
    ),
    of("aws_nat_gateway", &[("ec2:CreateNatGateway", ""), TAG], TAGGED, &["ec2:DeleteNatGateway"]),
    of("aws_route", &[("ec2:CreateRoute", "")], &["ec2:ReplaceRoute"], &["ec2:DeleteRoute"]),
    of(
        "aws_route53_record",
        &[("route53:ChangeResourceRecordSets", "")],
        &["route53:ChangeResourceRecordSets"],
        &["route53:ChangeResourceRecordSets"],
    ),
    of(
        "aws_route53_zone",
        &[("route53:ChangeTagsForResource", ""), ("route53:CreateHostedZone", "")],
        &[
            "route53:AssociateVPCWithHostedZone",
            "route53:ChangeTagsForResource",
            "route53:DisassociateVPCFromHostedZone",
            "route53:UpdateHostedZoneComment",
        ],
        &["route53:DeleteHostedZone"],
    ),
    of(
        "aws_route53_zone_association",
        &[("route53:AssociateVPCWithHostedZone", "")],
        &[],
        &["route53:DisassociateVPCFromHostedZone"],
    ),
    of("aws_route_table", &[("ec2:CreateRouteTable", ""), TAG], TAGGED, &["ec2:DeleteRouteTable"]),
    of(
        "aws_route_table_association",
        &[("ec2:AssociateRouteTable", "")],
        &["ec2:ReplaceRouteTableAssociation"],
        &["ec2:DisassociateRouteTable"],
    ),
    of(
        "aws_s3_object",
        &[("s3:PutObject", ""), ("s3:PutObjectTagging", "")],
        &["s3:PutObject", "s3:PutObjectTagging"],
        &["s3:DeleteObject"],
    ),
    of(
        "aws_security_group",
        &[("ec2:CreateSecurityGroup", ""), TAG, ("ec2:RevokeSecurityGroupEgress", "")],
        TAGGED,
        &["ec2:DeleteSecurityGroup"],
    ),
    of(
        "aws_security_group_rule",
        &[TAG],
        TAGGED,
        &["ec2:RevokeSecurityGroupEgress", "ec2:RevokeSecurityGroupIngress"],
    ),
    of(
        "aws_sqs_queue",
        &[("sqs:CreateQueue", ""), ("sqs:TagQueue", "")],
        &["sqs:SetQueueAttributes", "sqs:TagQueue", "sqs:UntagQueue"],
        &["sqs:DeleteQueue"],
    ),
    of(
        "aws_subnet",
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
    ),
    of(
        "aws_vpc",
        &[("ec2:CreateVpc", ""), TAG, ("ec2:ModifyVpcAttribute", "enable_dns_hostnames")],
        &[
            "ec2:AssociateVpcCidrBlock",
            "ec2:CreateTags",
            "ec2:DeleteTags",
            "ec2:DisassociateVpcCidrBlock",
            "ec2:ModifyVpcAttribute",
        ],
        &["ec2:DeleteVpc"],
    ),
    of("aws_vpc_dhcp_options", &[("ec2:CreateDhcpOptions", ""), TAG], TAGGED, &["ec2:DeleteDhcpOptions"]),
    of(
        "aws_vpc_dhcp_options_association",
        &[("ec2:AssociateDhcpOptions", "")],
        &[],
        &["ec2:AssociateDhcpOptions"],
    ),
    of(
        "aws_vpc_ipv4_cidr_block_association",
        &[("ec2:AssociateVpcCidrBlock", ""), TAG],
        &[],
        &["ec2:DeleteTags", "ec2:DisassociateVpcCidrBlock"],
    ),
];

/// What the changes of a plan need.
#[derive(Debug, Default)]
pub(super) struct Needed {
    /// To make something: what no policy grants will fail.
    pub make: BTreeSet<&'static str>,
    /// To change or delete something, as far as that may need it: only what a policy denies is sure to fail.
    pub other: BTreeSet<&'static str>,
}

/// The permissions that changes need.
pub(super) fn needed(items: &[PreflightItem]) -> Needed {
    let mut needed = Needed::default();
    for item in items {
        let Some(calls) = calls(item.address.kind()) else { continue };
        if makes(item) {
            needed.make.extend(to_make(item));
        }
        if item.action == "update" {
            needed.other.extend(calls.change);
        }
        if matches!(item.action.as_str(), "delete" | "replace") {
            needed.other.extend(calls.delete);
        }
    }
    needed
}

/// The permissions that making one object needs.
pub(super) fn to_make(item: &PreflightItem) -> BTreeSet<&'static str> {
    let mut names = BTreeSet::new();
    let Some(calls) = calls(item.address.kind()) else { return names };
    let is_set = |name: &str| match item.desired.get(name) {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::List(items)) => !items.is_empty(),
        Some(_) => true,
    };
    names
        .extend(calls.make.iter().filter(|(_, when)| when.is_empty() || is_set(when)).map(|(name, _)| *name));
    if item.address.kind() == "aws_security_group_rule" {
        let is_egress = item.desired.get("type").and_then(Value::as_str) == Some("egress");
        names.insert(if is_egress {
            "ec2:AuthorizeSecurityGroupEgress"
        } else {
            "ec2:AuthorizeSecurityGroupIngress"
        });
    }
    names
}

fn calls(kind: &str) -> Option<&'static Calls> {
    CALLS.iter().find(|calls| calls.kind == kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_its_calls() {
        for kind in slipway_aws_model::types::all().keys() {
            assert!(calls(kind).is_some(), "{kind}");
        }
        assert_eq!(CALLS.len(), slipway_aws_model::types::all().len());
    }

    #[test]
    fn what_gives_machines_a_role_needs_to_pass_it() {
        let template = |profile: Value| PreflightItem {
            address: "aws_launch_template.a".parse().unwrap(),
            action: "create".to_owned(),
            desired: Value::map([("iam_instance_profile", profile)]),
        };
        let profile = Value::List(vec![Value::map([("name", "nodes")])]);
        assert!(needed(&[template(profile)]).make.contains("iam:PassRole"));
        assert!(!needed(&[template(Value::Null)]).make.contains("iam:PassRole"));
    }
}
