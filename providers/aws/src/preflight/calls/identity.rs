//! Roles, instance profiles, identity providers, and the key that wraps the keys of the cluster.

use super::{Calls, of};

pub(super) const IAM_INSTANCE_PROFILE: Calls = of(
    &["iam:GetInstanceProfile"],
    &[
        ("iam:AddRoleToInstanceProfile", "role"),
        ("iam:CreateInstanceProfile", ""),
        ("iam:PassRole", "role"),
        ("iam:TagInstanceProfile", ""),
    ],
    &[
        "iam:AddRoleToInstanceProfile",
        "iam:PassRole",
        "iam:RemoveRoleFromInstanceProfile",
        "iam:TagInstanceProfile",
        "iam:UntagInstanceProfile",
    ],
    &["iam:DeleteInstanceProfile", "iam:RemoveRoleFromInstanceProfile"],
);

pub(super) const IAM_OPENID_CONNECT_PROVIDER: Calls = of(
    &["iam:GetOpenIDConnectProvider", "iam:ListOpenIDConnectProviders"],
    &[("iam:CreateOpenIDConnectProvider", ""), ("iam:TagOpenIDConnectProvider", "")],
    &[
        "iam:AddClientIDToOpenIDConnectProvider",
        "iam:RemoveClientIDFromOpenIDConnectProvider",
        "iam:TagOpenIDConnectProvider",
        "iam:UntagOpenIDConnectProvider",
        "iam:UpdateOpenIDConnectProviderThumbprint",
    ],
    &["iam:DeleteOpenIDConnectProvider"],
);

pub(super) const IAM_ROLE: Calls = of(
    &["iam:GetRole"],
    &[
        ("iam:CreateRole", ""),
        ("iam:PutRolePermissionsBoundary", "permissions_boundary"),
        ("iam:TagRole", ""),
    ],
    &[
        "iam:DeleteRolePermissionsBoundary",
        "iam:PutRolePermissionsBoundary",
        "iam:TagRole",
        "iam:UntagRole",
        "iam:UpdateAssumeRolePolicy",
        "iam:UpdateRole",
    ],
    &["iam:DeleteRole"],
);

pub(super) const IAM_ROLE_POLICY: Calls = of(
    &["iam:GetRolePolicy"],
    &[("iam:PutRolePolicy", "")],
    &["iam:PutRolePolicy"],
    &["iam:DeleteRolePolicy"],
);

pub(super) const IAM_ROLE_POLICY_ATTACHMENT: Calls =
    of(&["iam:ListAttachedRolePolicies"], &[("iam:AttachRolePolicy", "")], &[], &["iam:DetachRolePolicy"]);

pub(super) const KMS_KEY: Calls = of(
    &["kms:DescribeKey", "kms:GetKeyPolicy", "kms:ListAliases", "kms:ListKeys", "kms:ListResourceTags"],
    &[
        ("kms:CreateAlias", ""),
        ("kms:CreateKey", ""),
        // The same plan encrypts the keys of the cluster for it.
        ("kms:Encrypt", ""),
        ("kms:TagResource", ""),
    ],
    &[
        "kms:CreateAlias",
        "kms:DeleteAlias",
        "kms:DisableKey",
        "kms:EnableKey",
        "kms:PutKeyPolicy",
        "kms:TagResource",
        "kms:UntagResource",
        "kms:UpdateKeyDescription",
    ],
    &["kms:DeleteAlias", "kms:ScheduleKeyDeletion"],
);
