//! Permissions: what AWS says of the caller's policies when asked for all actions at once.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_iam::types::{ContextEntry, ContextKeyTypeEnum, EvaluationResult, PolicyEvaluationDecisionType};
use futures_util::future::join_all;
use slipway_resource::provider::{PreflightFinding, PreflightItem};
use slipway_resource::{ErrorClass, ProviderError};

use super::{dry_run, finding};
use crate::cloud::Cloud;
use crate::kind::attribute::text;
use crate::owner::wanted;
use crate::rate::Class;

/// How many objects one question names.
const AT_ONCE: usize = 50;

/// What policies call a new object of EC2.
const NEW_IN_EC2: &[(&str, &str)] = &[
    ("aws_ebs_volume", "volume"),
    ("aws_egress_only_internet_gateway", "egress-only-internet-gateway"),
    ("aws_eip", "elastic-ip"),
    ("aws_internet_gateway", "internet-gateway"),
    ("aws_key_pair", "key-pair"),
    ("aws_launch_template", "launch-template"),
    ("aws_nat_gateway", "natgateway"),
    ("aws_route_table", "route-table"),
    ("aws_security_group", "security-group"),
    ("aws_subnet", "subnet"),
    ("aws_vpc", "vpc"),
    ("aws_vpc_dhcp_options", "dhcp-options"),
];

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

/// Permissions that the caller certainly lacks. Who may not ask for all of them at once is answered by calls that only try
/// (`dry_run.rs`).
pub(super) async fn missing(cloud: &Cloud, items: &[PreflightItem]) -> Vec<PreflightFinding> {
    let actions = needed(items);
    let Some(caller) = cloud.caller().filter(|_| !actions.is_empty()) else { return Vec::new() };
    let names = actions.iter().copied();
    let results = match simulate(cloud, caller, names, Vec::new(), Vec::new()).await {
        Ok(results) => results,
        Err(error) if matches!(error.class, ErrorClass::Permission { .. }) => {
            return dry_run::missing(cloud, items).await;
        }
        Err(error) => {
            tracing::debug!(%error, "permissions cannot be simulated");
            return Vec::new();
        }
    };
    let is_denied = |result: &&EvaluationResult| {
        *result.eval_decision() == PolicyEvaluationDecisionType::ExplicitDeny
            && result.missing_context_values().is_empty()
    };
    let mut found: Vec<PreflightFinding> =
        results.iter().filter(is_denied).map(|result| refused(result.eval_action_name(), DENIED)).collect();
    // A policy that names objects or has conditions says no to everything as such: those are asked for once more, with what
    // is to be made.
    let is_open =
        |result: &&EvaluationResult| *result.eval_decision() == PolicyEvaluationDecisionType::ImplicitDeny;
    let open: BTreeSet<&str> =
        results.iter().filter(is_open).map(|result| result.eval_action_name()).collect();
    let asked = ACTIONS.iter().filter_map(|(kind, make, _)| {
        let names: Vec<&'static str> = make.iter().copied().filter(|name| open.contains(name)).collect();
        let made: Vec<&PreflightItem> =
            items.iter().filter(|item| makes(item) && item.address.kind() == *kind).collect();
        (!names.is_empty() && !made.is_empty()).then_some((names, made))
    });
    let answers = asked.map(|(names, made)| async move {
        let arns = arns(cloud, &made);
        if arns.is_empty() {
            return Vec::new();
        }
        let answer = simulate(cloud, caller, names.into_iter(), arns, context(cloud, &made)).await;
        let results = answer.unwrap_or_else(|error| {
            tracing::debug!(%error, "permissions for what is to be made cannot be simulated");
            Vec::new()
        });
        results.iter().filter_map(lacking).collect()
    });
    found.extend(join_all(answers).await.into_iter().flatten());
    found
}

/// Asks what the caller's policies say of actions, on everything or on what the ARNs name.
async fn simulate(
    cloud: &Cloud,
    caller: &str,
    actions: impl Iterator<Item = &'static str>,
    arns: Vec<String>,
    context: Vec<ContextEntry>,
) -> Result<Vec<EvaluationResult>, ProviderError> {
    let request = cloud
        .iam()
        .simulate_principal_policy()
        .policy_source_arn(principal(caller))
        .set_action_names(Some(actions.map(str::to_owned).collect()))
        .set_resource_arns(Some(arns).filter(|arns| !arns.is_empty()))
        .set_context_entries(Some(context).filter(|context| !context.is_empty()))
        .max_items(1_000);
    let answer = cloud.ask(Class::Iam, "SimulatePrincipalPolicy", || request.clone().send()).await?;
    Ok(answer.evaluation_results().to_vec())
}

/// Whether something is made anew.
fn makes(item: &PreflightItem) -> bool {
    matches!(item.action.as_str(), "create" | "replace")
}

fn needed(items: &[PreflightItem]) -> BTreeSet<&'static str> {
    let mut actions = BTreeSet::new();
    for item in items {
        let Some((_, make, delete)) = ACTIONS.iter().find(|(kind, _, _)| *kind == item.address.kind()) else {
            continue;
        };
        if makes(item) {
            actions.extend(make.iter().copied());
        }
        if matches!(item.action.as_str(), "delete" | "replace") {
            actions.extend(delete.iter().copied());
        }
    }
    actions
}

/// What is to be made, as policies name it: by its name where it has one, else any new one of its type.
fn arns(cloud: &Cloud, made: &[&PreflightItem]) -> Vec<String> {
    let (partition, region, account) = (cloud.partition(), cloud.region(), cloud.account());
    let of = |item: &&PreflightItem| {
        let kind = item.address.kind();
        if let Some((_, resource)) = NEW_IN_EC2.iter().find(|(known, _)| *known == kind) {
            return Some(cloud.ec2_arn(None, resource, "*"));
        }
        let name = text(&item.desired, "name")?;
        let global = |resource: String| format!("arn:{partition}:iam::{account}:{resource}");
        let regional = |service: &str, resource: String| {
            format!("arn:{partition}:{service}:{region}:{account}:{resource}")
        };
        Some(match kind {
            "aws_iam_role" => global(format!("role/{name}")),
            "aws_iam_instance_profile" => global(format!("instance-profile/{name}")),
            "aws_autoscaling_group" => {
                regional("autoscaling", format!("autoScalingGroup:*:autoScalingGroupName/{name}"))
            }
            "aws_lb" => regional("elasticloadbalancing", format!("loadbalancer/net/{name}/*")),
            "aws_lb_target_group" => regional("elasticloadbalancing", format!("targetgroup/{name}/*")),
            "aws_sqs_queue" => regional("sqs", name.to_owned()),
            "aws_cloudwatch_event_rule" => regional("events", format!("rule/{name}")),
            _ => return None,
        })
    };
    let arns: BTreeSet<String> = made.iter().filter_map(of).collect();
    arns.into_iter().take(AT_ONCE).collect()
}

/// What conditions may ask for: the region, and the tags of the creating calls.
fn context(cloud: &Cloud, made: &[&PreflightItem]) -> Vec<ContextEntry> {
    let entry = |key: String, kind: ContextKeyTypeEnum, values: Vec<String>| {
        ContextEntry::builder()
            .context_key_name(key)
            .context_key_type(kind)
            .set_context_key_values(Some(values))
            .build()
    };
    let tags: BTreeMap<String, String> = made.iter().flat_map(|item| wanted(&item.desired)).collect();
    let region = vec![cloud.region().to_owned()];
    let mut entries = vec![entry("aws:RequestedRegion".to_owned(), ContextKeyTypeEnum::String, region)];
    entries.push(entry(
        "aws:TagKeys".to_owned(),
        ContextKeyTypeEnum::StringList,
        tags.keys().cloned().collect(),
    ));
    entries.extend(
        tags.into_iter().map(|(key, value)| {
            entry(format!("aws:RequestTag/{key}"), ContextKeyTypeEnum::String, vec![value])
        }),
    );
    entries
}

/// What is not granted for what is to be made; nothing where a condition could not be judged.
fn lacking(result: &EvaluationResult) -> Option<PreflightFinding> {
    let is_denied =
        |decision: &PolicyEvaluationDecisionType| *decision != PolicyEvaluationDecisionType::Allowed;
    let parts = result.resource_specific_results();
    let is_certain = result.missing_context_values().is_empty()
        && parts.iter().all(|part| part.missing_context_values().is_empty());
    let denied = is_denied(result.eval_decision())
        || parts.iter().any(|part| is_denied(part.eval_resource_decision()));
    (denied && is_certain).then(|| refused(result.eval_action_name(), NOT_GRANTED))
}

/// Why an action is refused.
const DENIED: &str = "a policy denies it";
/// Why an action is refused that no policy speaks of.
pub(super) const NOT_GRANTED: &str = "no policy grants it";

/// What is said of an action that the caller may not do.
pub(super) fn refused(action: &str, why: &str) -> PreflightFinding {
    let text = format!("the caller may not {action}: {why}");
    let class = ErrorClass::Permission { action: action.to_owned() };
    finding(None, class, text, "use other credentials, or change the policy")
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
        for kind in ACTIONS.iter().map(|(kind, ..)| kind).chain(NEW_IN_EC2.iter().map(|(kind, _)| kind)) {
            assert!(slipway_aws_model::types::get(kind).is_some(), "{kind}");
        }
    }
}
