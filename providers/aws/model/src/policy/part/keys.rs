//! Use of encryption keys for volumes and objects, through the services that encrypt with them only.

use crate::policy::{Condition, Grants, Scope};

/// Volumes and objects under keys of one's own.
pub(super) fn keys(grants: &mut Grants, scope: &Scope<'_>) {
    let for_a_service = Condition::none().and("Bool", "kms:GrantIsForAWSResource", ["true"]);
    grants.allow(["*"], &for_a_service, ["kms:CreateGrant"]);
    let volumes = format!("ec2.{}.amazonaws.com", scope.region);
    let through =
        Condition::none().and("StringLike", "kms:ViaService", [volumes.as_str(), "s3.*.amazonaws.com"]);
    grants.allow(
        ["*"],
        &through,
        ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"],
    );
}
