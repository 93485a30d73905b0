//! Target groups of load balancers, and the instances in them.

use std::collections::BTreeSet;

use aws_sdk_elasticloadbalancingv2::types::{
    TargetDescription, TargetGroup as Sdk, TargetGroupAttribute, TargetHealthStateEnum, TargetTypeEnum,
};
use slipway_resource::ProviderError;
use slipway_resource::provider::BalancerKey;

use super::desired::{TargetGroup, target_group_prefix};
use crate::cloud::Cloud;
use crate::error::incomplete;
use crate::kind::{if_any, to_tags};
use crate::owner::Tags;
use crate::rate::Class;

/// How many targets a call may have.
const TARGETS: usize = 200;

/// The target groups of a load balancer, also after the load balancer is gone.
///
/// # Errors
/// When they cannot be read.
pub(super) async fn find(cloud: &Cloud, key: &BalancerKey) -> Result<Vec<Sdk>, ProviderError> {
    let prefix = target_group_prefix(key);
    let request = cloud.balancing().describe_target_groups();
    let send = |marker| request.clone().set_marker(marker).send();
    let pages =
        cloud.pages(Class::Balancing, "DescribeTargetGroups", send, |page| page.next_marker()).await?;
    let all = pages.iter().flat_map(|page| page.target_groups());
    let is_of_key = |group: &&Sdk| group.target_group_name().is_some_and(|name| name.starts_with(&prefix));
    Ok(all.filter(is_of_key).cloned().collect())
}

/// The ARN of the group with a name.
pub(super) fn arn_of<'g>(groups: &'g [Sdk], name: &str) -> Option<&'g str> {
    groups.iter().find(|group| group.target_group_name() == Some(name))?.target_group_arn()
}

/// Creates a target group where there is none; returns its ARN.
///
/// # Errors
/// By class.
pub(super) async fn ensure(
    cloud: &Cloud,
    existing: &[Sdk],
    desired: &TargetGroup,
    (vpc, tags): (&str, &Tags),
) -> Result<String, ProviderError> {
    let arn = match arn_of(existing, &desired.name) {
        Some(arn) => arn.to_owned(),
        None => create(cloud, desired, vpc, tags).await?,
    };
    // Sent also for a group that exists: the attempt that created it may have ended before.
    if !desired.attributes.is_empty() {
        let pairs = desired.attributes.iter();
        let attributes =
            pairs.map(|(key, value)| TargetGroupAttribute::builder().key(*key).value(*value).build());
        let request = cloud
            .balancing()
            .modify_target_group_attributes()
            .target_group_arn(&arn)
            .set_attributes(Some(attributes.collect()));
        let call = "ModifyTargetGroupAttributes";
        cloud.write(Class::Balancing, call, || request.clone().send()).await?;
    }
    Ok(arn)
}

async fn create(
    cloud: &Cloud,
    desired: &TargetGroup,
    vpc: &str,
    tags: &Tags,
) -> Result<String, ProviderError> {
    let check = &desired.check;
    let request = cloud
        .balancing()
        .create_target_group()
        .name(&desired.name)
        .port(i32::from(desired.port))
        .protocol(desired.protocol.clone())
        .vpc_id(vpc)
        .target_type(TargetTypeEnum::Instance)
        .health_check_enabled(true)
        .health_check_protocol(check.protocol.clone())
        .health_check_port(&check.port)
        .set_health_check_path(check.path.clone())
        .health_check_interval_seconds(check.interval)
        .health_check_timeout_seconds(check.timeout)
        .healthy_threshold_count(check.healthy)
        .unhealthy_threshold_count(check.unhealthy)
        .set_tags(Some(to_tags(tags)));
    let answer = cloud.write(Class::Balancing, "CreateTargetGroup", || request.clone().send()).await?;
    let arn = answer.target_groups().first().and_then(Sdk::target_group_arn);
    Ok(arn.ok_or_else(|| incomplete("CreateTargetGroup", "ARN"))?.to_owned())
}

/// The instances of a target group: all of `nodes`, and no others. Those that do not run yet, or not any more, stay if they are in the
/// group, and cannot be added to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Members {
    /// Ids of all instances.
    pub nodes: BTreeSet<String>,
    /// Ids of instances that run.
    pub running: BTreeSet<String>,
}

/// Registers and deregisters instances.
///
/// # Errors
/// By class.
pub(super) async fn set_members(cloud: &Cloud, arn: &str, members: &Members) -> Result<(), ProviderError> {
    let request = cloud.balancing().describe_target_health().target_group_arn(arn);
    let answer = cloud.read(Class::Balancing, "DescribeTargetHealth", || request.clone().send()).await?;
    let mut registered = BTreeSet::new();
    for described in answer.target_health_descriptions() {
        let state = described.target_health().and_then(|health| health.state());
        let id = described.target().and_then(|target| target.id());
        if let Some(id) = id
            && state != Some(&TargetHealthStateEnum::Draining)
        {
            registered.insert(id.to_owned());
        }
    }
    let missing: Vec<&String> = members.running.difference(&registered).collect();
    for part in missing.chunks(TARGETS) {
        let request =
            cloud.balancing().register_targets().target_group_arn(arn).set_targets(Some(targets(part)));
        cloud.write(Class::Balancing, "RegisterTargets", || request.clone().send()).await?;
    }
    let surplus: Vec<&String> = registered.difference(&members.nodes).collect();
    for part in surplus.chunks(TARGETS) {
        let request =
            cloud.balancing().deregister_targets().target_group_arn(arn).set_targets(Some(targets(part)));
        cloud.write(Class::Balancing, "DeregisterTargets", || request.clone().send()).await?;
    }
    Ok(())
}

fn targets(ids: &[&String]) -> Vec<TargetDescription> {
    ids.iter().map(|id| TargetDescription::builder().id(id.as_str()).build()).collect()
}

/// Deletes a target group.
///
/// # Errors
/// `dependency` while a listener uses it.
pub(super) async fn delete(cloud: &Cloud, arn: &str) -> Result<(), ProviderError> {
    let request = cloud.balancing().delete_target_group().target_group_arn(arn);
    if_any(cloud.write(Class::Balancing, "DeleteTargetGroup", || request.clone().send()).await).map(drop)
}
