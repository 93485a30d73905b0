//! Karpenter, which starts and ends machines outside of auto-scaling groups.

use super::keys::keys;
use crate::policy::{Condition, Grants, Scope, Text};

/// The calls by which Karpenter creates machines.
const CREATES: [&str; 3] = ["ec2:CreateFleet", "ec2:CreateLaunchTemplate", "ec2:RunInstances"];
/// The tag of Karpenter's objects: the name of the pool.
const POOL: &str = "karpenter.sh/nodepool";

/// Machines and launch templates that carry the cluster's tag and the tag of a pool, and messages of the interruption
/// queue. `passed` is the role that its machines take, by ARN.
pub(crate) fn karpenter(grants: &mut Grants, scope: &Scope<'_>, passed: Text) {
    grants.anywhere([
        "ec2:DescribeAvailabilityZones",
        "ec2:DescribeCapacityReservations",
        "ec2:DescribeImages",
        "ec2:DescribeInstanceStatus",
        "ec2:DescribeInstanceTypeOfferings",
        "ec2:DescribeInstanceTypes",
        "ec2:DescribeInstances",
        "ec2:DescribeLaunchTemplates",
        "ec2:DescribePlacementGroups",
        "ec2:DescribeSecurityGroups",
        "ec2:DescribeSpotPriceHistory",
        "ec2:DescribeSubnets",
        "iam:GetInstanceProfile",
        "iam:ListInstanceProfiles",
        "pricing:GetProducts",
        "sqs:DeleteMessage",
        "sqs:GetQueueAttributes",
        "sqs:GetQueueUrl",
        "sqs:ReceiveMessage",
        "ssm:GetParameter",
    ]);
    // Images and snapshots, from which machines are launched, do not have the cluster's tag.
    let shared = |kind: &str| format!("arn:{}:ec2:*::{kind}/*", scope.partition);
    let of_the_account = ["capacity-reservation", "security-group", "subnet"].map(|kind| scope.ec2(kind));
    let used = [shared("image"), shared("snapshot")].into_iter().chain(of_the_account);
    grants.allow(used, &Condition::none(), ["ec2:CreateFleet", "ec2:RunInstances"]);
    let comes = Condition::tagging(scope).and("StringLike", &format!("aws:RequestTag/{POOL}"), ["*"]);
    let is_there = Condition::tagged(scope).and("StringLike", &format!("aws:ResourceTag/{POOL}"), ["*"]);
    grants.allow(["*"], &comes, CREATES);
    let actions = CREATES.map(|action| action.trim_start_matches("ec2:"));
    grants.allow(["*"], &comes.and("StringEquals", "ec2:CreateAction", actions), ["ec2:CreateTags"]);
    grants.allow([scope.ec2("launch-template")], &is_there, ["ec2:CreateFleet", "ec2:RunInstances"]);
    grants.allow(
        ["*"],
        &is_there,
        ["ec2:CreateTags", "ec2:DeleteLaunchTemplate", "ec2:DeleteTags", "ec2:TerminateInstances"],
    );
    let to_machines = if scope.partition == "aws-cn" { "ec2.amazonaws.com.cn" } else { "ec2.amazonaws.com" };
    let to_machines = Condition::none().and("StringEquals", "iam:PassedToService", [to_machines]);
    grants.allow([passed], &to_machines, ["iam:PassRole"]);
}

/// And disks under keys of one's own.
pub(crate) fn karpenter_keys(grants: &mut Grants, scope: &Scope<'_>) {
    keys(grants, scope);
}
