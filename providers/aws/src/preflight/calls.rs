//! The permissions that the calls of each type need, as policies name them: what the operations in `kind/` send, and what
//! AWS asks for beside it, as `iam:PassRole` where machines get a role.

use std::collections::BTreeSet;

use slipway_aws_model::types::Kind;
use slipway_resource::Value;
use slipway_resource::provider::PreflightItem;

use super::{makes, wanted};

/// A permission, and the attribute without which its call is not made; always made without one.
type Need = (&'static str, &'static str);

/// What one type needs.
struct Calls {
    /// To be looked at, before and after each change.
    read: &'static [&'static str],
    /// To be made, with the tags that all objects get.
    make: &'static [Need],
    /// To be changed in place.
    change: &'static [&'static str],
    /// To be deleted.
    delete: &'static [&'static str],
}

const fn of(
    read: &'static [&'static str],
    make: &'static [Need],
    change: &'static [&'static str],
    delete: &'static [&'static str],
) -> Calls {
    Calls { read, make, change, delete }
}

/// To let machines be launched.
const RUN: &str = "ec2:RunInstances";
/// To give machines a role.
pub(super) const PASS_ROLE: &str = "iam:PassRole";

const TAG: Need = ("ec2:CreateTags", "");
const TAGGED: &[&str] = &["ec2:CreateTags", "ec2:DeleteTags"];

/// The calls of a type.
const fn calls(kind: Kind) -> Calls {
    match kind {
        Kind::AutoscalingGroup => of(
            &[
                "autoscaling:DescribeAutoScalingGroups",
                "autoscaling:DescribeScalingActivities",
                "autoscaling:DescribeWarmPool",
                "ec2:DescribeInstances",
                "ec2:DescribeLaunchTemplateVersions",
                "iam:GetInstanceProfile",
            ],
            &[
                ("autoscaling:CreateAutoScalingGroup", ""),
                ("autoscaling:CreateOrUpdateTags", ""),
                ("autoscaling:EnableMetricsCollection", "enabled_metrics"),
                ("autoscaling:PutWarmPool", "warm_pool"),
                ("autoscaling:SuspendProcesses", "suspended_processes"),
                // Of the machines that Auto Scaling launches for the caller.
                TAG,
                ("ec2:RunInstances", ""),
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
                "ec2:RunInstances",
                "ec2:TerminateInstances",
            ],
            &["autoscaling:DeleteAutoScalingGroup", "ec2:TerminateInstances"],
        ),
        Kind::AutoscalingLifecycleHook => of(
            &["autoscaling:DescribeLifecycleHooks"],
            &[("autoscaling:PutLifecycleHook", ""), ("iam:PassRole", "role_arn")],
            &["autoscaling:PutLifecycleHook"],
            &["autoscaling:DeleteLifecycleHook"],
        ),
        Kind::CloudwatchEventRule => of(
            &["events:ListRules", "events:ListTagsForResource"],
            &[("events:PutRule", ""), ("events:TagResource", "")],
            &["events:PutRule", "events:TagResource", "events:UntagResource"],
            &["events:DeleteRule"],
        ),
        Kind::CloudwatchEventTarget => of(
            &["events:ListTargetsByRule"],
            &[("events:PutTargets", "")],
            &["events:PutTargets"],
            &["events:RemoveTargets"],
        ),
        Kind::EbsVolume => of(
            &["ec2:DescribeTags", "ec2:DescribeVolumes"],
            &[("ec2:CreateVolume", ""), TAG],
            &["ec2:CreateTags", "ec2:DeleteTags", "ec2:ModifyVolume"],
            &["ec2:DeleteVolume"],
        ),
        Kind::EgressOnlyInternetGateway => of(
            &["ec2:DescribeEgressOnlyInternetGateways", "ec2:DescribeTags"],
            &[("ec2:CreateEgressOnlyInternetGateway", ""), TAG],
            TAGGED,
            &["ec2:DeleteEgressOnlyInternetGateway"],
        ),
        Kind::Eip => of(
            &["ec2:DescribeAddresses", "ec2:DescribeTags"],
            &[("ec2:AllocateAddress", ""), TAG],
            TAGGED,
            &["ec2:ReleaseAddress"],
        ),
        Kind::IamInstanceProfile => of(
            &["iam:GetInstanceProfile"],
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
        Kind::IamOpenidConnectProvider => of(
            &["iam:GetOpenIDConnectProvider", "iam:ListOpenIDConnectProviders"],
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
        Kind::IamRole => of(
            &["iam:GetRole"],
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
        Kind::IamRolePolicy => of(
            &["iam:GetRolePolicy"],
            &[("iam:PutRolePolicy", "")],
            &["iam:PutRolePolicy"],
            &["iam:DeleteRolePolicy"],
        ),
        Kind::IamRolePolicyAttachment => of(
            &["iam:ListAttachedRolePolicies"],
            &[("iam:AttachRolePolicy", "")],
            &[],
            &["iam:DetachRolePolicy"],
        ),
        Kind::Instance => {
            of(&["ec2:DescribeInstances", "ec2:DescribeTags"], &[], &[], &["ec2:TerminateInstances"])
        }
        Kind::InternetGateway => of(
            &["ec2:DescribeInternetGateways", "ec2:DescribeTags"],
            &[("ec2:AttachInternetGateway", "vpc_id"), ("ec2:CreateInternetGateway", ""), TAG],
            &["ec2:AttachInternetGateway", "ec2:CreateTags", "ec2:DeleteTags", "ec2:DetachInternetGateway"],
            &["ec2:DeleteInternetGateway", "ec2:DetachInternetGateway"],
        ),
        Kind::KeyPair => of(
            &["ec2:DescribeKeyPairs", "ec2:DescribeTags"],
            &[("ec2:ImportKeyPair", ""), TAG],
            TAGGED,
            &["ec2:DeleteKeyPair"],
        ),
        Kind::LaunchTemplate => of(
            &["ec2:DescribeLaunchTemplateVersions", "ec2:DescribeLaunchTemplates", "ec2:DescribeTags"],
            &[("ec2:CreateLaunchTemplate", ""), TAG, ("iam:PassRole", "iam_instance_profile")],
            &["ec2:CreateLaunchTemplateVersion", "ec2:CreateTags", "ec2:DeleteTags"],
            &["ec2:DeleteLaunchTemplate"],
        ),
        Kind::Lb => of(
            &[
                "elasticloadbalancing:DescribeLoadBalancerAttributes",
                "elasticloadbalancing:DescribeLoadBalancers",
                "elasticloadbalancing:DescribeTags",
            ],
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
        Kind::LbListener => of(
            &["elasticloadbalancing:DescribeListeners", "elasticloadbalancing:DescribeTags"],
            &[("elasticloadbalancing:AddTags", ""), ("elasticloadbalancing:CreateListener", "")],
            &[
                "elasticloadbalancing:AddTags",
                "elasticloadbalancing:ModifyListener",
                "elasticloadbalancing:RemoveTags",
            ],
            &["elasticloadbalancing:DeleteListener"],
        ),
        Kind::LbTargetGroup => of(
            &[
                "elasticloadbalancing:DescribeTags",
                "elasticloadbalancing:DescribeTargetGroupAttributes",
                "elasticloadbalancing:DescribeTargetGroups",
            ],
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
        Kind::NatGateway => of(
            &["ec2:DescribeNatGateways", "ec2:DescribeTags"],
            &[("ec2:CreateNatGateway", ""), TAG],
            TAGGED,
            &["ec2:DeleteNatGateway"],
        ),
        Kind::Route => of(
            &["ec2:DescribeRouteTables"],
            &[("ec2:CreateRoute", "")],
            &["ec2:ReplaceRoute"],
            &["ec2:DeleteRoute"],
        ),
        Kind::Route53Record => of(
            &["route53:GetChange", "route53:ListResourceRecordSets"],
            &[("route53:ChangeResourceRecordSets", "")],
            &["route53:ChangeResourceRecordSets"],
            &["route53:ChangeResourceRecordSets"],
        ),
        Kind::Route53Zone => of(
            &["route53:GetHostedZone", "route53:ListHostedZonesByName", "route53:ListTagsForResource"],
            &[("route53:ChangeTagsForResource", ""), ("route53:CreateHostedZone", "")],
            &[
                "route53:AssociateVPCWithHostedZone",
                "route53:ChangeTagsForResource",
                "route53:DisassociateVPCFromHostedZone",
                "route53:UpdateHostedZoneComment",
            ],
            &["route53:DeleteHostedZone"],
        ),
        Kind::Route53ZoneAssociation => of(
            &["route53:GetHostedZone", "route53:ListHostedZonesByVPC"],
            &[("route53:AssociateVPCWithHostedZone", "")],
            &[],
            &["route53:DisassociateVPCFromHostedZone"],
        ),
        Kind::RouteTable => of(
            &["ec2:DescribeRouteTables", "ec2:DescribeTags"],
            &[("ec2:CreateRouteTable", ""), TAG],
            TAGGED,
            &["ec2:DeleteRouteTable"],
        ),
        Kind::RouteTableAssociation => of(
            &["ec2:DescribeRouteTables"],
            &[("ec2:AssociateRouteTable", "")],
            &["ec2:ReplaceRouteTableAssociation"],
            &["ec2:DisassociateRouteTable"],
        ),
        Kind::S3Object => of(
            &["s3:GetObject"],
            &[("s3:PutObject", ""), ("s3:PutObjectAcl", "acl")],
            &["s3:PutObject", "s3:PutObjectAcl"],
            &["s3:DeleteObject"],
        ),
        Kind::SecurityGroup => of(
            &["ec2:DescribeSecurityGroupRules", "ec2:DescribeSecurityGroups", "ec2:DescribeTags"],
            &[("ec2:CreateSecurityGroup", ""), TAG, ("ec2:RevokeSecurityGroupEgress", "")],
            &[
                "ec2:CreateTags",
                "ec2:DeleteTags",
                "ec2:RevokeSecurityGroupEgress",
                "ec2:RevokeSecurityGroupIngress",
            ],
            &["ec2:DeleteSecurityGroup"],
        ),
        Kind::SecurityGroupRule => of(
            &["ec2:DescribeSecurityGroupRules", "ec2:DescribeSecurityGroups"],
            &[TAG],
            &[
                "ec2:CreateTags",
                "ec2:DeleteTags",
                "ec2:UpdateSecurityGroupRuleDescriptionsEgress",
                "ec2:UpdateSecurityGroupRuleDescriptionsIngress",
            ],
            &["ec2:RevokeSecurityGroupEgress", "ec2:RevokeSecurityGroupIngress"],
        ),
        Kind::SqsQueue => of(
            &["sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:ListQueueTags"],
            &[("sqs:CreateQueue", ""), ("sqs:TagQueue", "")],
            &["sqs:SetQueueAttributes", "sqs:TagQueue", "sqs:UntagQueue"],
            &["sqs:DeleteQueue"],
        ),
        Kind::Subnet => of(
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
        ),
        Kind::Vpc => of(
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
        ),
        Kind::VpcDhcpOptions => of(
            &["ec2:DescribeDhcpOptions", "ec2:DescribeTags"],
            &[("ec2:CreateDhcpOptions", ""), TAG],
            TAGGED,
            &["ec2:DeleteDhcpOptions"],
        ),
        Kind::VpcDhcpOptionsAssociation => {
            of(&["ec2:DescribeVpcs"], &[("ec2:AssociateDhcpOptions", "")], &[], &["ec2:AssociateDhcpOptions"])
        }
        Kind::VpcIpv4CidrBlockAssociation => of(
            &["ec2:DescribeVpcs"],
            &[("ec2:AssociateVpcCidrBlock", ""), TAG],
            &[],
            &["ec2:DeleteTags", "ec2:DisassociateVpcCidrBlock"],
        ),
    }
}

/// What the changes of a plan need.
#[derive(Debug, Default)]
pub(super) struct Needed {
    /// To make something: what no policy grants will fail.
    pub make: BTreeSet<&'static str>,
    /// To change or delete something, as far as that may need it: only what a policy denies is sure to fail.
    pub other: BTreeSet<&'static str>,
    /// To look at what is made, changed and deleted.
    pub read: BTreeSet<&'static str>,
}

/// The permissions that changes need.
pub(super) fn needed(items: &[PreflightItem]) -> Needed {
    let mut needed = Needed::default();
    for item in items {
        let Some(calls) = Kind::of(item.address.kind()).map(calls) else { continue };
        needed.read.extend(calls.read);
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
    // Whoever lets a group launch machines gives them the role of the group's launch template.
    if needed.make.contains(RUN) && launch_with_role(items) {
        needed.make.insert(PASS_ROLE);
    } else if needed.other.contains(RUN) && launch_with_role(items) {
        needed.other.insert(PASS_ROLE);
    }
    needed
}

/// Whether machines that groups launch get a role: as the launch templates of the plan say, and else probably.
fn launch_with_role(items: &[PreflightItem]) -> bool {
    let mut templates =
        wanted(items, "aws_launch_template").map(|item| is_set(&item.desired, "iam_instance_profile"));
    match templates.next() {
        None => true,
        Some(first) => first || templates.any(|has_role| has_role),
    }
}

/// Whether an attribute says anything.
fn is_set(attributes: &Value, name: &str) -> bool {
    match attributes.get(name) {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::List(items)) => !items.is_empty(),
        Some(_) => true,
    }
}

/// The permissions that making one object needs.
pub(super) fn to_make(item: &PreflightItem) -> BTreeSet<&'static str> {
    let mut names = BTreeSet::new();
    let Some(calls) = Kind::of(item.address.kind()).map(calls) else { return names };
    names.extend(
        calls
            .make
            .iter()
            .filter(|(_, when)| when.is_empty() || is_set(&item.desired, when))
            .map(|(name, _)| *name),
    );
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// What policies call the families of calls.
    const SERVICES: [(&str, &str); 8] = [
        ("Ec2Read", "ec2"),
        ("Ec2Write", "ec2"),
        ("AutoScaling", "autoscaling"),
        ("Balancing", "elasticloadbalancing"),
        ("Iam", "iam"),
        ("Route53", "route53"),
        ("Sqs", "sqs"),
        ("Events", "events"),
    ];
    /// Calls that look for what is in the way of a deletion, or for a cluster whose state is lost. Nothing fails without them.
    const HELPFUL: [&str; 6] = [
        "ec2:DescribeNetworkInterfaces",
        "iam:ListInstanceProfiles",
        "iam:ListInstanceProfilesForRole",
        "iam:ListRolePolicies",
        "iam:ListRoles",
        "sqs:ListQueues",
    ];

    /// The calls in the source of the types, by service: each is `(Class::Iam, "GetRole"`, however the line is broken.
    fn in_source(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                in_source(&path, found);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            for part in text.split("Class::").skip(1) {
                let Some((class, rest)) = part.split_once(',') else { continue };
                let Some((_, service)) = SERVICES.iter().find(|(name, _)| *name == class) else { continue };
                let name = rest.trim_start().strip_prefix('"').and_then(|rest| rest.split('"').next());
                found.extend(name.map(|name| format!("{service}:{name}")));
            }
        }
    }

    #[test]
    fn every_call_of_a_type_is_declared() {
        let declared: BTreeSet<&str> = Kind::ALL
            .iter()
            .map(|kind| calls(*kind))
            .flat_map(|calls| {
                let make = calls.make.iter().map(|(name, _)| name);
                make.chain(calls.read).chain(calls.change).chain(calls.delete).copied().collect::<Vec<_>>()
            })
            .collect();
        let mut found = BTreeSet::new();
        in_source(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/kind"), &mut found);
        assert!(found.len() > 80, "{found:?}");
        let undeclared: Vec<&String> = found
            .iter()
            .filter(|name| !declared.contains(name.as_str()) && !HELPFUL.contains(&name.as_str()))
            .collect();
        assert!(undeclared.is_empty(), "{undeclared:?}");
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
