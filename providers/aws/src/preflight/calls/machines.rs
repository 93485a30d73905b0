//! Machines: groups, templates, keys and disks.

use super::{Calls, TAG, TAGGED, of};

pub(super) const AUTOSCALING_GROUP: Calls = of(
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
        "elasticloadbalancing:DescribeTargetHealth",
    ],
    &["autoscaling:DeleteAutoScalingGroup", "ec2:TerminateInstances"],
);

pub(super) const AUTOSCALING_LIFECYCLE_HOOK: Calls = of(
    &["autoscaling:DescribeLifecycleHooks"],
    &[("autoscaling:PutLifecycleHook", ""), ("iam:PassRole", "role_arn")],
    &["autoscaling:PutLifecycleHook"],
    &["autoscaling:DeleteLifecycleHook"],
);

pub(super) const EBS_VOLUME: Calls = of(
    &["ec2:DescribeTags", "ec2:DescribeVolumes"],
    &[("ec2:CreateVolume", ""), TAG],
    &["ec2:CreateTags", "ec2:DeleteTags", "ec2:ModifyVolume"],
    &["ec2:DeleteVolume"],
);

pub(super) const INSTANCE: Calls =
    of(&["ec2:DescribeInstances", "ec2:DescribeTags"], &[], &[], &["ec2:TerminateInstances"]);

pub(super) const KEY_PAIR: Calls = of(
    &["ec2:DescribeKeyPairs", "ec2:DescribeTags"],
    &[("ec2:ImportKeyPair", ""), TAG],
    TAGGED,
    &["ec2:DeleteKeyPair"],
);

pub(super) const LAUNCH_TEMPLATE: Calls = of(
    &["ec2:DescribeLaunchTemplateVersions", "ec2:DescribeLaunchTemplates", "ec2:DescribeTags"],
    &[("ec2:CreateLaunchTemplate", ""), TAG, ("iam:PassRole", "iam_instance_profile")],
    &["ec2:CreateLaunchTemplateVersion", "ec2:CreateTags", "ec2:DeleteTags"],
    &["ec2:DeleteLaunchTemplate"],
);
