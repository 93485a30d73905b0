//! Permissions for the writer of DNS records: the cluster's own controller, or external-dns.

use crate::policy::{Condition, Grants, Scope, Text};

/// Records of one zone, given by its id.
pub(crate) fn dns(grants: &mut Grants, scope: &Scope<'_>, zone: Text) {
    grants.anywhere(["route53:ListHostedZones", "route53:ListTagsForResource"]);
    let changes = format!("arn:{}:route53:::change/*", scope.partition);
    grants.allow([changes], &Condition::none(), ["route53:GetChange"]);
    grants.allow(
        [zone],
        &Condition::none(),
        ["route53:ChangeResourceRecordSets", "route53:GetHostedZone", "route53:ListResourceRecordSets"],
    );
}
