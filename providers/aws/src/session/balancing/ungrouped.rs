//! Network load balancers without a security group, which another controller created for a Service, such as an older
//! `cloud-provider-aws`. They are not changed, and are deleted with their Service.

use std::collections::BTreeSet;

use aws_sdk_ec2::types::{IpPermission, IpRange, SecurityGroup};
use aws_sdk_elasticloadbalancingv2::types::LoadBalancer as Sdk;
use slipway_aws_model::tags::membership;
use slipway_resource::provider::BalancerKey;
use slipway_resource::{ErrorClass, ProviderError};
use tokio::time::Instant;

use super::{RELEASED, released, security_group, target_groups};
use crate::cloud::Cloud;
use crate::error::{error, incomplete};
use crate::kind::{if_any, tags_of};
use crate::look::filter;
use crate::rate::Class;

/// Refuses a load balancer of another cluster. Where the caller may not read its tags, as with the policies of kOps clusters, AWS itself
/// checks them: these policies allow changes of objects of the cluster only.
///
/// # Errors
/// `conflict` if the tags do not name the cluster; when they cannot be read.
pub(super) async fn check(cloud: &Cloud, key: &BalancerKey, balancer: &Sdk) -> Result<(), ProviderError> {
    let tags = match tags_of(cloud, arn_of(balancer)?).await {
        Ok(tags) => tags,
        Err(error) if matches!(error.class, ErrorClass::Permission { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    if tags.is_some_and(|tags| tags.get(&membership(&key.cluster)).is_some_and(|value| value == "owned")) {
        return Ok(());
    }
    let text = format!("load balancer {} has no security group, and no tag of this cluster", key.name);
    Err(error(ErrorClass::Conflict, text).with_hint(format!(
        "delete the load balancer in AWS, or give it the tag {}=owned",
        membership(&key.cluster)
    )))
}

/// Deletes the load balancer with its target groups, and the rules by which nodes let it in.
///
/// # Errors
/// As [`check`]; by class.
pub(super) async fn delete(cloud: &Cloud, key: &BalancerKey, balancer: &Sdk) -> Result<(), ProviderError> {
    check(cloud, key, balancer).await?;
    let arn = arn_of(balancer)?;
    let request = cloud.balancing().describe_target_groups().load_balancer_arn(arn);
    let call = "DescribeTargetGroups";
    let groups = if_any(cloud.read(Class::Balancing, call, || request.clone().send()).await)?;
    // A repeated deletion does not find the rules any more once the load balancer is deleted.
    close(cloud, key).await?;
    let request = cloud.balancing().delete_load_balancer().load_balancer_arn(arn);
    if_any(cloud.write(Class::Balancing, "DeleteLoadBalancer", || request.clone().send()).await)?;
    let end = Instant::now() + RELEASED;
    for group in groups.iter().flat_map(|page| page.target_groups()) {
        if let Some(arn) = group.target_group_arn() {
            released(end, || target_groups::delete(cloud, arn)).await?;
        }
    }
    Ok(())
}

fn arn_of(balancer: &Sdk) -> Result<&str, ProviderError> {
    balancer.load_balancer_arn().ok_or_else(|| incomplete("DescribeLoadBalancers", "ARN"))
}

/// Revokes the rules of the load balancer in the security groups of the cluster.
async fn close(cloud: &Cloud, key: &BalancerKey) -> Result<(), ProviderError> {
    let groups = security_group::describe(cloud, vec![filter("tag-key", [membership(&key.cluster)])]).await?;
    for group in groups {
        let rules = rules_of(&group, &key.name);
        if !rules.is_empty() {
            security_group::revoke(cloud, security_group::id_of(&group)?, rules).await?;
        }
    }
    Ok(())
}

/// The rules of a group for a load balancer. `cloud-provider-aws` describes the ranges of clients, health checks and messages about
/// sizes of packets as `kubernetes.io/rule/nlb/client=NAME`, `health=NAME` and `mtu=NAME`.
fn rules_of(group: &SecurityGroup, balancer: &str) -> Vec<IpPermission> {
    let names: BTreeSet<String> =
        ["client", "health", "mtu"].map(|what| format!("kubernetes.io/rule/nlb/{what}={balancer}")).into();
    let is_named = |range: &&IpRange| range.description().is_some_and(|text| names.contains(text));
    let mut rules = Vec::new();
    for rule in group.ip_permissions() {
        let ranges: Vec<IpRange> = rule.ip_ranges().iter().filter(is_named).cloned().collect();
        if !ranges.is_empty() {
            let part = IpPermission::builder()
                .set_ip_protocol(rule.ip_protocol().map(str::to_owned))
                .set_from_port(rule.from_port())
                .set_to_port(rule.to_port())
                .set_ip_ranges(Some(ranges));
            rules.push(part.build());
        }
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_rules_of_the_load_balancer_are_revoked() {
        let range = |cidr: &str, text: &str| IpRange::builder().cidr_ip(cidr).description(text).build();
        let rule = IpPermission::builder()
            .ip_protocol("tcp")
            .from_port(30_080)
            .to_port(30_080)
            .ip_ranges(range("0.0.0.0/0", "kubernetes.io/rule/nlb/client=a1"))
            .ip_ranges(range("10.0.0.0/16", "kubernetes.io/rule/nlb/health=a1"))
            .ip_ranges(range("10.1.0.0/16", "kubernetes.io/rule/nlb/client=a12"))
            .ip_ranges(range("10.2.0.0/16", "from the office"))
            .build();
        let group = SecurityGroup::builder().ip_permissions(rule).build();
        let found = rules_of(&group, "a1");
        let [rule] = found.as_slice() else { panic!("{found:?}") };
        let ranges: Vec<_> = rule.ip_ranges().iter().filter_map(|range| range.cidr_ip()).collect();
        assert_eq!((ranges.as_slice(), rule.from_port()), (&["0.0.0.0/0", "10.0.0.0/16"][..], Some(30_080)));
        assert!(rules_of(&group, "a2").is_empty());
    }
}
