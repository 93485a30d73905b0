//! The AWS load balancer controller.

use super::cloud_controller::security_groups;
use crate::policy::{Grants, Scope};

const SEEN: [&str; 26] = [
    "acm:DescribeCertificate",
    "acm:ListCertificates",
    "cognito-idp:DescribeUserPoolClient",
    "ec2:DescribeAccountAttributes",
    "ec2:DescribeAvailabilityZones",
    "ec2:DescribeInstances",
    "ec2:DescribeInternetGateways",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcPeeringConnections",
    "ec2:DescribeVpcs",
    "ec2:GetSecurityGroupsForVpc",
    "elasticloadbalancing:DescribeCapacityReservation",
    "elasticloadbalancing:DescribeListenerAttributes",
    "elasticloadbalancing:DescribeListenerCertificates",
    "elasticloadbalancing:DescribeListeners",
    "elasticloadbalancing:DescribeLoadBalancerAttributes",
    "elasticloadbalancing:DescribeLoadBalancers",
    "elasticloadbalancing:DescribeRules",
    "elasticloadbalancing:DescribeTags",
    "elasticloadbalancing:DescribeTargetGroupAttributes",
    "elasticloadbalancing:DescribeTargetGroups",
    "elasticloadbalancing:DescribeTargetHealth",
    "elasticloadbalancing:DescribeTrustStores",
    "elasticloadbalancing:SetRulePriorities",
];

const OWN: [&str; 23] = [
    "ec2:AuthorizeSecurityGroupIngress",
    "ec2:DeleteSecurityGroup",
    "ec2:RevokeSecurityGroupIngress",
    "elasticloadbalancing:AddListenerCertificates",
    "elasticloadbalancing:AddTags",
    "elasticloadbalancing:DeleteListener",
    "elasticloadbalancing:DeleteLoadBalancer",
    "elasticloadbalancing:DeleteRule",
    "elasticloadbalancing:DeleteTargetGroup",
    "elasticloadbalancing:DeregisterTargets",
    "elasticloadbalancing:ModifyCapacityReservation",
    "elasticloadbalancing:ModifyListener",
    "elasticloadbalancing:ModifyListenerAttributes",
    "elasticloadbalancing:ModifyLoadBalancerAttributes",
    "elasticloadbalancing:ModifyRule",
    "elasticloadbalancing:ModifyTargetGroup",
    "elasticloadbalancing:ModifyTargetGroupAttributes",
    "elasticloadbalancing:RegisterTargets",
    "elasticloadbalancing:RemoveListenerCertificates",
    "elasticloadbalancing:RemoveTags",
    "elasticloadbalancing:SetIpAddressType",
    "elasticloadbalancing:SetSecurityGroups",
    "elasticloadbalancing:SetSubnets",
];

/// Protection services in front of its load balancers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Protection {
    /// The regional web application firewall of the first generation.
    pub(crate) waf: bool,
    /// The web application firewall.
    pub(crate) waf_v2: bool,
    /// Protection from denial of service.
    pub(crate) shield: bool,
}

/// Load balancers of services and ingresses.
pub(crate) fn load_balancer_controller(grants: &mut Grants, scope: &Scope<'_>, protection: Protection) {
    grants.anywhere(SEEN);
    grants.tagging(
        scope,
        [
            "elasticloadbalancing:CreateListener",
            "elasticloadbalancing:CreateLoadBalancer",
            "elasticloadbalancing:CreateRule",
            "elasticloadbalancing:CreateTargetGroup",
        ],
    );
    grants.tagged(scope, OWN);
    security_groups(grants, scope);
    let firewall = |service: &str| {
        ["AssociateWebACL", "DisassociateWebACL", "GetWebACL", "GetWebACLForResource"]
            .map(|action| format!("{service}:{action}"))
    };
    for (wanted, service) in [(protection.waf, "waf-regional"), (protection.waf_v2, "wafv2")] {
        if wanted {
            grants.anywhere(["elasticloadbalancing:SetWebACL"]);
            grants.anywhere(firewall(service).iter().map(String::as_str));
        }
    }
    if protection.shield {
        grants.anywhere([
            "shield:CreateProtection",
            "shield:DeleteProtection",
            "shield:DescribeProtection",
            "shield:GetSubscriptionState",
        ]);
    }
}
