//! Karpenter, which starts and ends machines outside of auto-scaling groups.

use crate::policy::{Condition, Grants, Scope, Text};

/// Machines, launch templates and instance profiles of the cluster, and messages of the interruption queue. `nodes`
/// is the role that its machines take, by ARN.
pub(crate) fn karpenter(grants: &mut Grants, scope: &Scope<'_>, nodes: Text) {
    grants.anywhere([
        "ec2:CreateFleet",
        "ec2:CreateLaunchTemplate",
        "ec2:CreateTags",
        "ec2:DescribeAvailabilityZones",
        "ec2:DescribeImages",
        "ec2:DescribeInstanceTypeOfferings",
        "ec2:DescribeInstanceTypes",
        "ec2:DescribeInstances",
        "ec2:DescribeLaunchTemplates",
        "ec2:DescribeSecurityGroups",
        "ec2:DescribeSpotPriceHistory",
        "ec2:DescribeSubnets",
        "ec2:RunInstances",
        "iam:GetInstanceProfile",
        "pricing:GetProducts",
        "sqs:DeleteMessage",
        "sqs:GetQueueUrl",
        "sqs:ReceiveMessage",
        "ssm:GetParameter",
    ]);
    grants.tagged(scope, ["ec2:DeleteLaunchTemplate", "ec2:TerminateInstances"]);
    let to_machines = Condition::none().and("StringEquals", "iam:PassedToService", ["ec2.amazonaws.com"]);
    grants.allow([nodes], &to_machines, ["iam:PassRole"]);
}
