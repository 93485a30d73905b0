//! cert-manager, which proves the ownership of names by records in zones.

use crate::policy::{Condition, Grants, Scope};

/// Records of these zones, given by their ids.
pub(crate) fn cert_manager(grants: &mut Grants, scope: &Scope<'_>, zones: &[String]) {
    let partition = scope.partition;
    grants.anywhere(["route53:ListHostedZonesByName"]);
    let changes = format!("arn:{partition}:route53:::change/*");
    grants.allow([changes], &Condition::none(), ["route53:GetChange"]);
    grants.allow(
        zones.iter().map(|zone| format!("arn:{partition}:route53:::hostedzone/{zone}")),
        &Condition::none(),
        ["route53:ChangeResourceRecordSets", "route53:ListResourceRecordSets"],
    );
}
