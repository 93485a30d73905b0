//! The cluster autoscaler.

use crate::policy::{Grants, Scope};

/// Sizes of the cluster's auto-scaling groups. With `own_types` it knows the types of machines by itself.
pub(crate) fn autoscaler(grants: &mut Grants, scope: &Scope<'_>, own_types: bool) {
    grants.anywhere([
        "autoscaling:DescribeAutoScalingGroups",
        "autoscaling:DescribeAutoScalingInstances",
        "autoscaling:DescribeLaunchConfigurations",
        "autoscaling:DescribeScalingActivities",
        "ec2:DescribeImages",
        "ec2:DescribeLaunchTemplateVersions",
        "ec2:GetInstanceTypesFromInstanceRequirements",
    ]);
    if !own_types {
        grants.anywhere(["ec2:DescribeInstanceTypes"]);
    }
    grants
        .tagged(scope, ["autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup"]);
}
