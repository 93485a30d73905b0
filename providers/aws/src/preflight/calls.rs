//! The permissions for the calls of each type, as policies name them: for the calls of the operations in
//! `kind/`, and those that AWS requires in addition, such as `iam:PassRole` if machines get a role.

mod balance;
mod identity;
mod machines;
mod names;
mod network;
mod security;
mod services;

use std::collections::BTreeSet;

use slipway_aws_model::types::Kind;
use slipway_resource::Value;
use slipway_resource::provider::PreflightItem;

use super::{makes, wanted};

/// A permission, and the attribute without which its call is not made; always made without one.
type Need = (&'static str, &'static str);

/// The permissions for one type.
struct Calls {
    /// For reads, before and after each change.
    read: &'static [&'static str],
    /// For the creation, with the tags of all objects.
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
        Kind::AutoscalingGroup => machines::AUTOSCALING_GROUP,
        Kind::AutoscalingLifecycleHook => machines::AUTOSCALING_LIFECYCLE_HOOK,
        Kind::CloudwatchEventRule => services::CLOUDWATCH_EVENT_RULE,
        Kind::CloudwatchEventTarget => services::CLOUDWATCH_EVENT_TARGET,
        Kind::EbsVolume => machines::EBS_VOLUME,
        Kind::EgressOnlyInternetGateway => network::EGRESS_ONLY_INTERNET_GATEWAY,
        Kind::Eip => network::EIP,
        Kind::IamInstanceProfile => identity::IAM_INSTANCE_PROFILE,
        Kind::IamOpenidConnectProvider => identity::IAM_OPENID_CONNECT_PROVIDER,
        Kind::IamRole => identity::IAM_ROLE,
        Kind::IamRolePolicy => identity::IAM_ROLE_POLICY,
        Kind::IamRolePolicyAttachment => identity::IAM_ROLE_POLICY_ATTACHMENT,
        Kind::Instance => machines::INSTANCE,
        Kind::InternetGateway => network::INTERNET_GATEWAY,
        Kind::KeyPair => machines::KEY_PAIR,
        Kind::KmsKey => identity::KMS_KEY,
        Kind::LaunchTemplate => machines::LAUNCH_TEMPLATE,
        Kind::Lb => balance::LB,
        Kind::LbListener => balance::LB_LISTENER,
        Kind::LbTargetGroup => balance::LB_TARGET_GROUP,
        Kind::NatGateway => network::NAT_GATEWAY,
        Kind::Route => network::ROUTE,
        Kind::Route53Record => names::ROUTE53_RECORD,
        Kind::Route53Zone => names::ROUTE53_ZONE,
        Kind::Route53ZoneAssociation => names::ROUTE53_ZONE_ASSOCIATION,
        Kind::RouteTable => network::ROUTE_TABLE,
        Kind::RouteTableAssociation => network::ROUTE_TABLE_ASSOCIATION,
        Kind::S3Object => services::S3_OBJECT,
        Kind::SecurityGroup => security::SECURITY_GROUP,
        Kind::SecurityGroupRule => security::SECURITY_GROUP_RULE,
        Kind::SqsQueue => services::SQS_QUEUE,
        Kind::Subnet => network::SUBNET,
        Kind::Vpc => network::VPC,
        Kind::VpcDhcpOptions => network::VPC_DHCP_OPTIONS,
        Kind::VpcDhcpOptionsAssociation => network::VPC_DHCP_OPTIONS_ASSOCIATION,
        Kind::VpcIpv4CidrBlockAssociation => network::VPC_IPV4_CIDR_BLOCK_ASSOCIATION,
    }
}

/// The permissions for the changes of a plan.
#[derive(Debug, Default)]
pub(super) struct Needed {
    /// For creations: a call that no policy grants will fail.
    pub make: BTreeSet<&'static str>,
    /// For updates and deletions, which may not need all of them: only a denied call is sure to fail.
    pub other: BTreeSet<&'static str>,
    /// For reads of the objects that are created, changed and deleted.
    pub read: BTreeSet<&'static str>,
}

/// The permissions for changes.
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
    // The caller who launches machines through a group passes the role of the group's launch template to
    // them.
    if needed.make.contains(RUN) && launch_with_role(items) {
        needed.make.insert(PASS_ROLE);
    } else if needed.other.contains(RUN) && launch_with_role(items) {
        needed.other.insert(PASS_ROLE);
    }
    needed
}

/// Whether machines that groups launch get a role: by the launch templates of the plan, otherwise probably.
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

    /// The names of call families in policies.
    const SERVICES: [(&str, &str); 9] = [
        ("Ec2Read", "ec2"),
        ("Ec2Write", "ec2"),
        ("AutoScaling", "autoscaling"),
        ("Balancing", "elasticloadbalancing"),
        ("Iam", "iam"),
        ("Route53", "route53"),
        ("Sqs", "sqs"),
        ("Events", "events"),
        ("Kms", "kms"),
    ];
    /// Calls that look for blockers of a deletion, remove what network plugins left behind, look for a cluster whose state is lost, or
    /// read the console output of an instance. No change fails without them. Control planes attach volumes with their own role.
    const HELPFUL: [&str; 9] = [
        "ec2:AttachVolume",
        "ec2:DeleteNetworkInterface",
        "ec2:DescribeNetworkInterfaces",
        "ec2:GetConsoleOutput",
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
