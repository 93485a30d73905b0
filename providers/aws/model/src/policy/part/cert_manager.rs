//! cert-manager, which proves the ownership of names by records in zones.

use crate::policy::{Condition, Grants, Scope};

/// Records of these zones, given by their ids: reading all of them, and writing the texts by which names are proved.
pub(crate) fn cert_manager(grants: &mut Grants, scope: &Scope<'_>, zones: &[String]) {
    let partition = scope.partition;
    grants.anywhere(["route53:ListHostedZonesByName"]);
    let changes = format!("arn:{partition}:route53:::change/*");
    grants.allow([changes], &Condition::none(), ["route53:GetChange"]);
    let zones = || zones.iter().map(|zone| format!("arn:{partition}:route53:::hostedzone/{zone}"));
    grants.allow(zones(), &Condition::none(), ["route53:ListResourceRecordSets"]);
    let of_challenges = Condition::none()
        .and(
            "ForAllValues:StringLike",
            "route53:ChangeResourceRecordSetsNormalizedRecordNames",
            ["_acme-challenge.*"],
        )
        .and("ForAllValues:StringEquals", "route53:ChangeResourceRecordSetsRecordTypes", ["TXT"]);
    grants.allow(zones(), &of_challenges, ["route53:ChangeResourceRecordSets"]);
}
