//! The cluster autoscaler.

use crate::policy::{Grants, Scope};

/// Sizes of the cluster's auto-scaling groups.
pub(crate) fn autoscaler(grants: &mut Grants, scope: &Scope<'_>) {
    grants.anywhere([
        "autoscaling:DescribeAutoScalingGroups",
        "autoscaling:DescribeAutoScalingInstances",
        "autoscaling:DescribeLaunchConfigurations",
        "autoscaling:DescribeScalingActivities",
        "ec2:DescribeImages",
        "ec2:DescribeInstanceTypes",
        "ec2:DescribeLaunchTemplateVersions",
        "ec2:GetInstanceTypesFromInstanceRequirements",
    ]);
    grants
        .tagged(scope, ["autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup"]);
}
