//! Permissions: the answer of the policy simulator about the caller's policies, for all actions at once.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_iam::types::{ContextEntry, ContextKeyTypeEnum, EvaluationResult, PolicyEvaluationDecisionType};
use futures_util::future::try_join_all;
use slipway_aws_model::types::Kind;
use slipway_resource::provider::{PreflightFinding, PreflightItem};
use slipway_resource::{ErrorClass, ProviderError};

use super::calls::{Needed, PASS_ROLE, needed, to_make};
use super::{dry_run, finding, makes, unanswered};
use crate::cloud::Cloud;
use crate::kind::attribute::text;
use crate::owner::wanted;
use crate::rate::Class;

/// How many objects one request names.
const AT_ONCE: usize = 50;

/// Permissions that the caller certainly lacks. If the caller may not use the policy simulator, dry runs are
/// used (`dry_run.rs`).
pub(super) async fn missing(
    cloud: &Cloud,
    items: &[PreflightItem],
) -> Result<Vec<PreflightFinding>, ProviderError> {
    let Needed { make, other, read } = needed(items);
    let names: BTreeSet<&'static str> = make.iter().chain(&other).chain(&read).copied().collect();
    let Some(caller) = cloud.caller().filter(|_| !names.is_empty()) else { return Ok(Vec::new()) };
    let (principal, results) = match ask(cloud, caller, &names).await {
        Ok(answer) => answer,
        Err(error) => {
            // The caller may not use the simulator, or the role of the session cannot be looked up.
            let may_not_ask = matches!(error.class, ErrorClass::Permission { .. })
                || error.class == ErrorClass::NotFound && session_role(caller).is_some();
            if may_not_ask {
                return dry_run::missing(cloud, items).await;
            }
            return unanswered("permissions", error).map(|()| Vec::new());
        }
    };
    let is_denied = |result: &&EvaluationResult| {
        *result.eval_decision() == PolicyEvaluationDecisionType::ExplicitDeny
            && result.missing_context_values().is_empty()
    };
    let mut found: Vec<PreflightFinding> =
        results.iter().filter(is_denied).map(|result| refused(result.eval_action_name(), DENIED)).collect();
    let blind = results.iter().filter(|result| is_blind(result)).map(EvaluationResult::eval_action_name);
    found.extend(blind.map(|name| refused(name, NOT_GRANTED)));
    // A policy that names objects or has conditions denies an action on `*`. These actions are checked again,
    // with the new objects.
    let is_open = |result: &&EvaluationResult| {
        *result.eval_decision() == PolicyEvaluationDecisionType::ImplicitDeny
            && make.contains(result.eval_action_name())
    };
    let open: BTreeSet<&str> =
        results.iter().filter(is_open).map(|result| result.eval_action_name()).collect();
    let answers = questions(cloud, items, &open).into_iter().map(|question| async {
        let Question { names, arns, context } = question;
        let answer = simulate(cloud, &principal, names.into_iter(), arns, context).await;
        match answer {
            Ok(results) => Ok(results.iter().filter_map(lacking).collect::<Vec<_>>()),
            Err(error) => {
                unanswered("permissions for what is to be made", error)?;
                Ok::<_, ProviderError>(Vec::new())
            }
        }
    });
    for finding in try_join_all(answers).await?.into_iter().flatten() {
        if !found.contains(&finding) {
            found.push(finding);
        }
    }
    Ok(found)
}

/// Whether nothing grants a call that only looks. AWS knows no names in permissions for these, so that the answer on everything
/// is the answer.
fn is_blind(result: &EvaluationResult) -> bool {
    let looks = ["autoscaling:Describe", "ec2:Describe", "elasticloadbalancing:Describe"];
    looks.iter().any(|look| result.eval_action_name().starts_with(look))
        && *result.eval_decision() == PolicyEvaluationDecisionType::ImplicitDeny
        && result.missing_context_values().is_empty()
}

/// A request about new objects.
struct Question {
    names: Vec<&'static str>,
    arns: Vec<String>,
    context: Vec<ContextEntry>,
}

/// The second requests: by type, with the new objects; and for roles that are passed to machines, with the
/// roles.
fn questions(cloud: &Cloud, items: &[PreflightItem], open: &BTreeSet<&str>) -> Vec<Question> {
    let mut of_kind: BTreeMap<&str, Vec<&PreflightItem>> = BTreeMap::new();
    for item in items.iter().filter(|item| makes(item)) {
        of_kind.entry(item.address.kind()).or_default().push(item);
    }
    let mut questions = Vec::new();
    for (kind, made) in &of_kind {
        let names: BTreeSet<&'static str> = made.iter().flat_map(|item| to_make(item)).collect();
        // Actions that Auto Scaling runs in EC2 for the caller do not concern the group.
        let is_of_it =
            |name: &str| *kind != Kind::AutoscalingGroup.name() || name.starts_with("autoscaling:");
        let names: Vec<&'static str> = names
            .into_iter()
            .filter(|name| *name != PASS_ROLE && open.contains(name) && is_of_it(name))
            .collect();
        questions.push(Question { names, arns: arns(cloud, made), context: context(cloud, made) });
    }
    if open.contains(PASS_ROLE)
        && let Some(roles) = of_kind.get("aws_iam_role")
    {
        let service = ContextEntry::builder()
            .context_key_name("iam:PassedToService")
            .context_key_type(ContextKeyTypeEnum::String)
            .context_key_values("ec2.amazonaws.com")
            .build();
        questions.push(Question { names: vec![PASS_ROLE], arns: arns(cloud, roles), context: vec![service] });
    }
    questions.retain(|question| !question.names.is_empty() && !question.arns.is_empty());
    questions
}

/// Asks for all actions at once. The ARN of a session does not have its role's path, as roles of AWS' single sign-on have
/// one: the role of that name then says its own.
async fn ask(
    cloud: &Cloud,
    caller: &str,
    names: &BTreeSet<&'static str>,
) -> Result<(String, Vec<EvaluationResult>), ProviderError> {
    let whose = principal(caller);
    match simulate(cloud, &whose, names.iter().copied(), Vec::new(), Vec::new()).await {
        Err(error) if error.class == ErrorClass::NotFound => {
            let Some(role) = session_role(caller) else { return Err(error) };
            let request = cloud.iam().get_role().role_name(role);
            let answer = cloud.read(Class::Iam, "GetRole", || request.clone().send()).await?;
            let Some(whose) = answer.role().map(|role| role.arn().to_owned()) else { return Err(error) };
            let results = simulate(cloud, &whose, names.iter().copied(), Vec::new(), Vec::new()).await?;
            Ok((whose, results))
        }
        answer => answer.map(|results| (whose, results)),
    }
}

/// Simulates the caller's policies for actions, on all objects or on those of the ARNs.
async fn simulate(
    cloud: &Cloud,
    principal: &str,
    actions: impl Iterator<Item = &'static str>,
    arns: Vec<String>,
    context: Vec<ContextEntry>,
) -> Result<Vec<EvaluationResult>, ProviderError> {
    let request = cloud
        .iam()
        .simulate_principal_policy()
        .policy_source_arn(principal)
        .set_action_names(Some(actions.map(str::to_owned).collect()))
        .set_resource_arns(Some(arns).filter(|arns| !arns.is_empty()))
        .set_context_entries(Some(context).filter(|context| !context.is_empty()))
        .max_items(1_000);
    let answer = cloud.read(Class::Iam, "SimulatePrincipalPolicy", || request.clone().send()).await?;
    Ok(answer.evaluation_results().to_vec())
}

/// The ARNs of new objects: by name if there is one, otherwise for any new object of the type.
fn arns(cloud: &Cloud, made: &[&PreflightItem]) -> Vec<String> {
    let (partition, region, account) = (cloud.partition(), cloud.region(), cloud.account());
    let of = |item: &&PreflightItem| {
        let name = text(&item.desired, "name");
        let global = |resource: &str| Some(format!("arn:{partition}:iam::{account}:{resource}/{}", name?));
        let regional = |service: &str, resource: String| {
            Some(format!("arn:{partition}:{service}:{region}:{account}:{resource}"))
        };
        let new = |resource: &str| Some(cloud.ec2_arn(None, resource, "*"));
        match Kind::of(item.address.kind())? {
            Kind::EbsVolume => new("volume"),
            Kind::EgressOnlyInternetGateway => new("egress-only-internet-gateway"),
            Kind::Eip => new("elastic-ip"),
            Kind::InternetGateway => new("internet-gateway"),
            Kind::KeyPair => new("key-pair"),
            Kind::LaunchTemplate => new("launch-template"),
            Kind::NatGateway => new("natgateway"),
            Kind::RouteTable => new("route-table"),
            Kind::SecurityGroup => new("security-group"),
            Kind::Subnet => new("subnet"),
            Kind::Vpc => new("vpc"),
            Kind::VpcDhcpOptions => new("dhcp-options"),
            Kind::IamRole => global("role"),
            Kind::IamInstanceProfile => global("instance-profile"),
            Kind::AutoscalingGroup => {
                regional("autoscaling", format!("autoScalingGroup:*:autoScalingGroupName/{}", name?))
            }
            Kind::Lb => regional("elasticloadbalancing", format!("loadbalancer/net/{}/*", name?)),
            Kind::LbTargetGroup => regional("elasticloadbalancing", format!("targetgroup/{}/*", name?)),
            Kind::SqsQueue => regional("sqs", name?.to_owned()),
            Kind::CloudwatchEventRule => regional("events", format!("rule/{}", name?)),
            // Policies name these by their parents, or by ids that AWS chooses.
            Kind::AutoscalingLifecycleHook
            | Kind::CloudwatchEventTarget
            | Kind::IamOpenidConnectProvider
            | Kind::IamRolePolicy
            | Kind::IamRolePolicyAttachment
            | Kind::Instance
            | Kind::KmsKey
            | Kind::LbListener
            | Kind::Route
            | Kind::Route53Record
            | Kind::Route53Zone
            | Kind::Route53ZoneAssociation
            | Kind::RouteTableAssociation
            | Kind::S3Object
            | Kind::SecurityGroupRule
            | Kind::VpcDhcpOptionsAssociation
            | Kind::VpcIpv4CidrBlockAssociation => None,
        }
    };
    let arns: BTreeSet<String> = made.iter().filter_map(of).collect();
    arns.into_iter().take(AT_ONCE).collect()
}

/// The context keys that conditions may use: the region, and the tags of the creating calls.
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

/// The action that is not granted for the new objects; `None` if a condition could not be evaluated.
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

/// The finding about an action that the caller may not do.
pub(super) fn refused(action: &str, why: &str) -> PreflightFinding {
    let text = format!("the caller may not {action}: {why}");
    let class = ErrorClass::Permission { action: action.to_owned() };
    finding(None, class, text, "use other credentials, or change the policy")
}

/// The principal whose policies count: the role of a session.
fn principal(caller: &str) -> String {
    let parts: Vec<&str> = caller.splitn(6, ':').collect();
    match (parts.as_slice(), session_role(caller)) {
        ([arn, partition, _, _, account, _], Some(role)) => {
            format!("{arn}:{partition}:iam::{account}:role/{role}")
        }
        _ => caller.to_owned(),
    }
}

/// The name of the role behind a session.
fn session_role(caller: &str) -> Option<&str> {
    let parts: Vec<&str> = caller.splitn(6, ':').collect();
    let [_, _, "sts", _, _, rest] = parts.as_slice() else { return None };
    match rest.split('/').collect::<Vec<_>>().as_slice() {
        ["assumed-role", role, _] => Some(*role),
        _ => None,
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
        assert_eq!((session_role(session), session_role("arn:aws:iam::1:user/x")), (Some("admin"), None));
    }
}
