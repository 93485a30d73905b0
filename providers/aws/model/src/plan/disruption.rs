//! What users of a cluster notice of a change.

use slipway_resource::provider::{Disruption, PlanItem};

/// When a resource goes, for good or for another in its place.
pub(super) fn of_removal(item: &PlanItem) -> Disruption {
    if item.observed.is_none() {
        return Disruption::None;
    }
    match item.address.kind() {
        "aws_vpc" | "aws_subnet" | "aws_lb" | "aws_ebs_volume" | "aws_autoscaling_group" => {
            Disruption::Outage
        }
        "aws_internet_gateway"
        | "aws_egress_only_internet_gateway"
        | "aws_nat_gateway"
        | "aws_eip"
        | "aws_route"
        | "aws_route_table"
        | "aws_route_table_association"
        | "aws_security_group"
        | "aws_security_group_rule"
        | "aws_lb_listener"
        | "aws_lb_target_group"
        | "aws_route53_record"
        | "aws_route53_zone_association"
        | "aws_iam_role"
        | "aws_iam_role_policy"
        | "aws_iam_role_policy_attachment"
        | "aws_iam_instance_profile"
        | "aws_iam_openid_connect_provider" => Disruption::Brief,
        _ => Disruption::None,
    }
}

/// When attributes change in place.
pub(super) fn of_update(kind: &str, changed: &[String]) -> Disruption {
    let changes = |names: &[&str]| changed.iter().any(|changed| names.contains(&changed.as_str()));
    let is_felt = match kind {
        // Connections through the old way end.
        "aws_route" => changes(&[
            "gateway_id",
            "nat_gateway_id",
            "egress_only_gateway_id",
            "transit_gateway_id",
            "instance_id",
            "network_interface_id",
        ]),
        "aws_route_table_association" => changes(&["route_table_id"]),
        "aws_lb_listener" => changes(&["port", "protocol", "default_action", "certificate_arn"]),
        "aws_lb" => changes(&["security_groups"]),
        _ => false,
    };
    if is_felt { Disruption::Brief } else { Disruption::None }
}
