//! Hosted zones and their records.

use super::{Calls, of};

pub(super) const ROUTE53_RECORD: Calls = of(
    &["route53:GetChange", "route53:ListResourceRecordSets"],
    &[("route53:ChangeResourceRecordSets", "")],
    &["route53:ChangeResourceRecordSets"],
    &["route53:ChangeResourceRecordSets"],
);

pub(super) const ROUTE53_ZONE: Calls = of(
    &["route53:GetHostedZone", "route53:ListHostedZonesByName", "route53:ListTagsForResource"],
    &[("route53:ChangeTagsForResource", ""), ("route53:CreateHostedZone", "")],
    &[
        "route53:AssociateVPCWithHostedZone",
        "route53:ChangeTagsForResource",
        "route53:DisassociateVPCFromHostedZone",
        "route53:UpdateHostedZoneComment",
    ],
    &["route53:DeleteHostedZone"],
);

pub(super) const ROUTE53_ZONE_ASSOCIATION: Calls = of(
    &["route53:GetHostedZone", "route53:ListHostedZonesByVPC"],
    &[("route53:AssociateVPCWithHostedZone", "")],
    &[],
    &["route53:DisassociateVPCFromHostedZone"],
);
