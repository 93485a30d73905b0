//! Load balancers.

use super::{Calls, of};

pub(super) const LB: Calls = of(
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
);

pub(super) const LB_LISTENER: Calls = of(
    &["elasticloadbalancing:DescribeListeners", "elasticloadbalancing:DescribeTags"],
    &[("elasticloadbalancing:AddTags", ""), ("elasticloadbalancing:CreateListener", "")],
    &[
        "elasticloadbalancing:AddTags",
        "elasticloadbalancing:ModifyListener",
        "elasticloadbalancing:RemoveTags",
    ],
    &["elasticloadbalancing:DeleteListener"],
);

pub(super) const LB_TARGET_GROUP: Calls = of(
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
);
