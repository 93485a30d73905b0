//! Permissions: what AWS says of the caller's policies when asked for all actions at once.

use std::collections::BTreeSet;

use aws_sdk_iam::types::{EvaluationResult, PolicyEvaluationDecisionType};
use slipway_resource::ErrorClass;
use slipway_resource::provider::{PreflightFinding, PreflightItem};

use super::finding;
use crate::cloud::Cloud;
use crate::rate::Class;

/// What each type needs to be made and deleted, beside what all of its family need.
const ACTIONS: &[(&str, &[&str], &[&str])] = &[
    (
        "aws_autoscaling_group",
        &["autoscaling:CreateAutoScalingGroup"],
        &["autoscaling:DeleteAutoScalingGroup"],
    ),
    (
        "aws_autoscaling_lifecycle_hook",
        &["autoscaling:PutLifecycleHook"],
        &["autoscaling:DeleteLifecycleHook"],
    ),
    ("aws_cloudwatch_event_rule", &["events:PutRule"], &["events:DeleteRule"]),
    ("aws_cloudwatch_event_target", &["events:PutTargets"], &["events:RemoveTargets"]),
    ("aws_ebs_volume", &["ec2:CreateVolume"], &["ec2:DeleteVolume"]),
    (
        "aws_egress_only_internet_gateway",
        &["ec2:CreateEgressOnlyInternetGateway"],
        &["ec2:DeleteEgressOnlyInternetGateway"],
    ),
    ("aws_eip", &["ec2:AllocateAddress"], &["ec2:ReleaseAddress"]),
    ("aws_iam_instance_profile", &["iam:CreateInstanceProfile"], &["iam:DeleteInstanceProfile"]),
    (
        "aws_iam_openid_connect_provider",
        &["iam:CreateOpenIDConnectProvider"],
        &["iam:DeleteOpenIDConnectProvider"],
    ),
    ("aws_iam_role", &["iam:CreateRole"], &["iam:DeleteRole"]),
    ("aws_iam_role_policy", &["iam:PutRolePolicy"], &["iam:DeleteRolePolicy"]),
    ("aws_iam_role_policy_attachment", &["iam:AttachRolePolicy"], &["iam:DetachRolePolicy"]),
    (
        "aws_internet_gateway",
        &["ec2:AttachInternetGateway", "ec2:CreateInternetGateway"],
        &["ec2:DeleteInternetGateway", "ec2:DetachInternetGateway"],
    ),
    ("aws_key_pair", &["ec2:ImportKeyPair"], &["ec2:DeleteKeyPair"]),
    ("aws_launch_template", &["ec2:CreateLaunchTemplate", "ec2:RunInstances"], &["ec2:DeleteLaunchTemplate"]),
    ("aws_lb", &["elasticloadbalancing:CreateLoadBalancer"], &["elasticloadbalancing:DeleteLoadBalancer"]),
    ("aws_lb_listener", &["elasticloadbalancing:CreateListener"], &["elasticloadbalancing:DeleteListener"]),
    (
        "aws_lb_target_group",
        &["elasticloadbalancing:CreateTargetGroup"],
        &["elasticloadbalancing:DeleteTargetGroup"],
    ),
    ("aws_nat_gateway", &["ec2:CreateNatGateway"], &["ec2:DeleteNatGateway"]),
    ("aws_route", &["ec2:CreateRoute"], &["ec2:DeleteRoute"]),
    ("aws_route53_record", &["route53:ChangeResourceRecordSets"], &["route53:ChangeResourceRecordSets"]),
    ("aws_route_table", &["ec2:CreateRouteTable"], &["ec2:DeleteRouteTable"]),
    ("aws_route_table_association", &["ec2:AssociateRouteTable"], &["ec2:DisassociateRouteTable"]),
    (
        "aws_security_group",
        &["ec2:CreateSecurityGroup", "ec2:RevokeSecurityGroupEgress"],
        &["ec2:DeleteSecurityGroup"],
    ),
    (
        "aws_security_group_rule",
        &["ec2:AuthorizeSecurityGroupEgress", "ec2:AuthorizeSecurityGroupIngress"],
        &["ec2:RevokeSecurityGroupEgress", "ec2:RevokeSecurityGroupIngress"],
    ),
    ("aws_sqs_queue", &["sqs:CreateQueue"], &["sqs:DeleteQueue"]),
    ("aws_subnet", &["ec2:CreateSubnet", "ec2:ModifySubnetAttribute"], &["ec2:DeleteSubnet"]),
    ("aws_vpc", &["ec2:CreateVpc", "ec2:ModifyVpcAttribute"], &["ec2:DeleteVpc"]),
    ("aws_vpc_dhcp_options", &["ec2:CreateDhcpOptions"], &["ec2:DeleteDhcpOptions"]),
    ("aws_vpc_dhcp_options_association", &["ec2:AssociateDhcpOptions"], &["ec2:AssociateDhcpOptions"]),
];

/// Permissions that the caller certainly lacks. A policy that names single objects or has conditions cannot be judged
/// without them: there only an explicit denial is certain. Who may not ask is told nothing.
pub(super) async fn missing(cloud: &Cloud, items: &[PreflightItem]) -> Vec<PreflightFinding> {
    let actions = needed(items);
    let Some(caller) = cloud.caller().filter(|_| !actions.is_empty()) else { return Vec::new() };
    let request = cloud
        .iam()
        .simulate_principal_policy()
        .policy_source_arn(principal(caller))
        .set_action_names(Some(actions.iter().map(|action| (*action).to_owned()).collect()))
        .max_items(1_000);
    let answer = cloud.ask(Class::Iam, "SimulatePrincipalPolicy", || request.clone().send()).await;
    match answer {
        Ok(answer) => answer.evaluation_results().iter().filter_map(denied).collect(),
        Err(error) => {
            tracing::debug!(%error, "permissions cannot be simulated");
            Vec::new()
        }
    }
}

fn needed(items: &[PreflightItem]) -> BTreeSet<&'static str> {
    let mut actions = BTreeSet::new();
    for item in items {
        let Some((_, make, delete)) = ACTIONS.iter().find(|(kind, _, _)| *kind == item.address.kind()) else {
            continue;
        };
        if matches!(item.action.as_str(), "create" | "replace") {
            actions.extend(make.iter().copied());
        }
        if matches!(item.action.as_str(), "delete" | "replace") {
            actions.extend(delete.iter().copied());
        }
    }
    actions
}

fn denied(result: &EvaluationResult) -> Option<PreflightFinding> {
    let is_denied = *result.eval_decision() == PolicyEvaluationDecisionType::ExplicitDeny
        && result.missing_context_values().is_empty();
    is_denied.then(|| {
        let action = result.eval_action_name().to_owned();
        let text = format!("the caller may not {action}: a policy denies it");
        finding(None, ErrorClass::Permission { action }, text, "use other credentials, or change the policy")
    })
}

/// Whose policies count: those of the role behind a session.
fn principal(caller: &str) -> String {
    let parts: Vec<&str> = caller.splitn(6, ':').collect();
    match parts.as_slice() {
        [arn, partition, "sts", _, account, rest] => match rest.split('/').collect::<Vec<_>>().as_slice() {
            ["assumed-role", role, _] => format!("{arn}:{partition}:iam::{account}:role/{role}"),
            _ => caller.to_owned(),
        },
        _ => caller.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_the_policies_of_its_role() {
        let session = "arn:aws:sts::123456789012:assumed-role/admin/me";
        assert_eq!(principal(session), "arn:aws:iam::123456789012:role/admin");
        assert_eq!(principal("arn:aws:iam::1:user/x"), "arn:aws:iam::1:user/x");
    }

    #[test]
    fn every_type_is_known() {
        for (kind, _, _) in ACTIONS {
            assert!(slipway_aws_model::types::get(kind).is_some(), "{kind}");
        }
    }
}
