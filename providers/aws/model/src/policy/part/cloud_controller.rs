//! The cloud controller: nodes' addresses and zones, and load balancers of services.

use crate::policy::{Condition, Grants, Scope};

const SEEN: [&str; 18] = [
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeTags",
    "ec2:DescribeAvailabilityZones",
    "ec2:DescribeInstanceTopology",
    "ec2:DescribeInstances",
    "ec2:DescribeRegions",
    "ec2:DescribeRouteTables",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcs",
    "elasticloadbalancing:DescribeListeners",
    "elasticloadbalancing:DescribeLoadBalancerAttributes",
    "elasticloadbalancing:DescribeLoadBalancerPolicies",
    "elasticloadbalancing:DescribeLoadBalancers",
    "elasticloadbalancing:DescribeTargetGroupAttributes",
    "elasticloadbalancing:DescribeTargetGroups",
    "elasticloadbalancing:DescribeTargetHealth",
    "iam:CreateServiceLinkedRole",
];

const OWN: [&str; 25] = [
    "ec2:AuthorizeSecurityGroupIngress",
    "ec2:DeleteSecurityGroup",
    "ec2:ModifyInstanceAttribute",
    "ec2:RevokeSecurityGroupIngress",
    "elasticloadbalancing:AddTags",
    "elasticloadbalancing:ApplySecurityGroupsToLoadBalancer",
    "elasticloadbalancing:AttachLoadBalancerToSubnets",
    "elasticloadbalancing:ConfigureHealthCheck",
    "elasticloadbalancing:CreateLoadBalancerListeners",
    "elasticloadbalancing:CreateLoadBalancerPolicy",
    "elasticloadbalancing:DeleteListener",
    "elasticloadbalancing:DeleteLoadBalancer",
    "elasticloadbalancing:DeleteLoadBalancerListeners",
    "elasticloadbalancing:DeleteTargetGroup",
    "elasticloadbalancing:DeregisterInstancesFromLoadBalancer",
    "elasticloadbalancing:DeregisterTargets",
    "elasticloadbalancing:DetachLoadBalancerFromSubnets",
    "elasticloadbalancing:ModifyListener",
    "elasticloadbalancing:ModifyLoadBalancerAttributes",
    "elasticloadbalancing:ModifyTargetGroup",
    "elasticloadbalancing:ModifyTargetGroupAttributes",
    "elasticloadbalancing:RegisterInstancesWithLoadBalancer",
    "elasticloadbalancing:RegisterTargets",
    "elasticloadbalancing:SetLoadBalancerPoliciesForBackendServer",
    "elasticloadbalancing:SetLoadBalancerPoliciesOfListener",
];

/// The cloud controller. With `routes` it also writes the routes of nodes' pod ranges.
pub(crate) fn cloud_controller(grants: &mut Grants, scope: &Scope<'_>, routes: bool) {
    grants.anywhere(SEEN);
    grants.anywhere(["kms:DescribeKey"]);
    grants.tagging(
        scope,
        [
            "elasticloadbalancing:CreateListener",
            "elasticloadbalancing:CreateLoadBalancer",
            "elasticloadbalancing:CreateTargetGroup",
        ],
    );
    grants.tagged(scope, OWN);
    security_groups(grants, scope);
    if routes {
        grants.tagged(scope, ["ec2:CreateRoute", "ec2:DeleteRoute"]);
    }
}

/// Security groups of one's own, in any VPC: these need not carry the cluster's tag.
pub(super) fn security_groups(grants: &mut Grants, scope: &Scope<'_>) {
    grants.tagging(scope, ["ec2:CreateSecurityGroup"]);
    grants.tags_of(scope, &["security-group"], &["CreateSecurityGroup"]);
    grants.allow([scope.ec2("vpc")], &Condition::none(), ["ec2:CreateSecurityGroup"]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The actions of the load balancers that the provider creates for Services, beside those of tags.
    const USED: [&str; 23] = [
        "ec2:AuthorizeSecurityGroupIngress",
        "ec2:CreateSecurityGroup",
        "ec2:DeleteSecurityGroup",
        "ec2:DescribeInstances",
        "ec2:DescribeSecurityGroups",
        "ec2:DescribeSubnets",
        "ec2:RevokeSecurityGroupIngress",
        "elasticloadbalancing:CreateListener",
        "elasticloadbalancing:CreateLoadBalancer",
        "elasticloadbalancing:CreateTargetGroup",
        "elasticloadbalancing:DeleteListener",
        "elasticloadbalancing:DeleteLoadBalancer",
        "elasticloadbalancing:DeleteTargetGroup",
        "elasticloadbalancing:DeregisterTargets",
        "elasticloadbalancing:DescribeListeners",
        "elasticloadbalancing:DescribeLoadBalancerAttributes",
        "elasticloadbalancing:DescribeLoadBalancers",
        "elasticloadbalancing:DescribeTargetGroups",
        "elasticloadbalancing:DescribeTargetHealth",
        "elasticloadbalancing:ModifyListener",
        "elasticloadbalancing:ModifyLoadBalancerAttributes",
        "elasticloadbalancing:ModifyTargetGroupAttributes",
        "elasticloadbalancing:RegisterTargets",
    ];

    #[test]
    fn control_planes_may_create_load_balancers_for_services() {
        let mut grants = Grants::default();
        let scope = Scope { cluster: "a.example.com", partition: "aws", region: "us-east-1" };
        cloud_controller(&mut grants, &scope, false);
        let granted = format!("{grants:?}");
        for action in USED {
            assert!(granted.contains(&format!("\"{action}\"")), "{action} is not granted");
        }
    }
}
