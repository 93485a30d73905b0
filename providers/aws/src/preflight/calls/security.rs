//! Security groups and their rules.

use super::{Calls, TAG, of};

pub(super) const SECURITY_GROUP: Calls = of(
    &["ec2:DescribeSecurityGroupRules", "ec2:DescribeSecurityGroups", "ec2:DescribeTags"],
    &[("ec2:CreateSecurityGroup", ""), TAG, ("ec2:RevokeSecurityGroupEgress", "")],
    &["ec2:CreateTags", "ec2:DeleteTags", "ec2:RevokeSecurityGroupEgress", "ec2:RevokeSecurityGroupIngress"],
    &["ec2:DeleteSecurityGroup"],
);

pub(super) const SECURITY_GROUP_RULE: Calls = of(
    &["ec2:DescribeSecurityGroupRules", "ec2:DescribeSecurityGroups"],
    &[TAG],
    &[
        "ec2:CreateTags",
        "ec2:DeleteTags",
        "ec2:UpdateSecurityGroupRuleDescriptionsEgress",
        "ec2:UpdateSecurityGroupRuleDescriptionsIngress",
    ],
    &["ec2:RevokeSecurityGroupEgress", "ec2:RevokeSecurityGroupIngress"],
);
