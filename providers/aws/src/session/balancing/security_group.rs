//! The security group of a load balancer: who may connect to the load balancer, and that it may connect to nodes.
//!
//! It carries the tags of the cluster, so it proves whose the load balancer is. It is created first and deleted last: as long as it
//! exists, something of the load balancer may exist.

use std::collections::BTreeSet;

use aws_sdk_ec2::types::{Instance as Ec2Instance, IpPermission, IpRange, SecurityGroup, UserIdGroupPair};
use ipnet::IpNet;
use slipway_aws_model::tags;
use slipway_resource::provider::BalancerKey;
use slipway_resource::{ErrorClass, ProviderError};

use super::desired::{NetworkBalancer, security_group_name};
use crate::cloud::Cloud;
use crate::error::{incomplete, invalid};
use crate::kind::if_any;
use crate::look::filter;
use crate::owner::{of_ec2, specification};
use crate::rate::Class;

/// How many values a filter may have.
const VALUES: usize = 200;

/// The groups of a load balancer, one in each network in which it has been created.
///
/// # Errors
/// When they cannot be read.
pub(super) async fn find(cloud: &Cloud, key: &BalancerKey) -> Result<Vec<SecurityGroup>, ProviderError> {
    let filters = vec![
        filter("group-name", [security_group_name(key)]),
        filter("tag-key", [tags::membership(&key.cluster)]),
    ];
    describe(cloud, filters).await
}

/// The groups that filters find.
///
/// # Errors
/// When they cannot be read.
pub(crate) async fn describe(
    cloud: &Cloud,
    filters: Vec<aws_sdk_ec2::types::Filter>,
) -> Result<Vec<SecurityGroup>, ProviderError> {
    let request = cloud.ec2().describe_security_groups().set_filters(Some(filters));
    let send = |token| request.clone().set_next_token(token).send();
    let pages = cloud.pages(Class::Ec2Read, "DescribeSecurityGroups", send, |page| page.next_token()).await?;
    Ok(pages.iter().flat_map(|page| page.security_groups()).cloned().collect())
}

/// The id of a group.
///
/// # Errors
/// When AWS does not tell it.
pub(super) fn id_of(group: &SecurityGroup) -> Result<&str, ProviderError> {
    group.group_id().ok_or_else(|| incomplete("DescribeSecurityGroups", "id"))
}

/// Creates the group of a load balancer in a network; returns its id.
///
/// # Errors
/// By class.
pub(super) async fn create(
    cloud: &Cloud,
    key: &BalancerKey,
    desired: &NetworkBalancer,
    vpc: &str,
) -> Result<String, ProviderError> {
    let description = format!("Security group for Kubernetes ELB {} ({})", key.name, key.service);
    let request = cloud
        .ec2()
        .create_security_group()
        .group_name(security_group_name(key))
        .description(description)
        .vpc_id(vpc)
        .tag_specifications(specification("security-group", &desired.tags));
    let answer = cloud.write(Class::Ec2Write, "CreateSecurityGroup", || request.clone().send()).await?;
    let id = answer.group_id().ok_or_else(|| incomplete("CreateSecurityGroup", "id"))?;
    Ok(id.to_owned())
}

/// Lets the desired ranges connect to the desired ports, and no others.
///
/// # Errors
/// By class.
pub(super) async fn open(
    cloud: &Cloud,
    id: &str,
    existing: &BTreeSet<Opening>,
    desired: &BTreeSet<Opening>,
) -> Result<(), ProviderError> {
    let missing: Vec<IpPermission> = desired.difference(existing).map(Opening::permission).collect();
    if !missing.is_empty() {
        authorize(cloud, id, missing).await?;
    }
    let surplus: Vec<IpPermission> = existing.difference(desired).map(Opening::permission).collect();
    if surplus.is_empty() {
        return Ok(());
    }
    revoke(cloud, id, surplus).await
}

/// Lets a load balancer connect to nodes by a rule in their groups, and to no other group.
///
/// # Errors
/// By class.
pub(super) async fn let_in(
    cloud: &Cloud,
    group: &str,
    key: &BalancerKey,
    nodes: &BTreeSet<String>,
) -> Result<(), ProviderError> {
    let naming = describe(cloud, vec![filter("ip-permission.group-id", [group])]).await?;
    let mut has_rule = BTreeSet::new();
    for other in &naming {
        let id = id_of(other)?;
        if nodes.contains(id) {
            has_rule.insert(id.to_owned());
        } else if id != group {
            revoke(cloud, id, naming_rules(other, group)).await?;
        }
    }
    for node_group in nodes.difference(&has_rule) {
        let pair = UserIdGroupPair::builder()
            .group_id(group)
            .description(format!("kubernetes.io/rule/nlb/client={}", key.name))
            .build();
        let rule = IpPermission::builder().ip_protocol("-1").user_id_group_pairs(pair).build();
        authorize(cloud, node_group, vec![rule]).await?;
    }
    Ok(())
}

/// The groups of nodes to which a load balancer needs a rule: of each instance the one of the cluster, or its only one.
///
/// # Errors
/// `invalid` if no group of an instance can be chosen; when groups cannot be read.
pub(super) async fn of_instances(
    cloud: &Cloud,
    cluster: &str,
    instances: &[Ec2Instance],
) -> Result<BTreeSet<String>, ProviderError> {
    let ids: BTreeSet<&str> = instances.iter().flat_map(groups_of).collect();
    let ids: Vec<&str> = ids.into_iter().collect();
    let mut members = BTreeSet::new();
    for part in ids.chunks(VALUES) {
        for group in describe(cloud, vec![filter("group-id", part.iter().copied())]).await? {
            let tags = of_ec2(group.tags());
            let is_named = tags.get(tags::CLUSTER).is_some_and(|name| name == cluster);
            if is_named || tags.contains_key(&tags::membership(cluster)) {
                members.insert(id_of(&group)?.to_owned());
            }
        }
    }
    let mut chosen = BTreeSet::new();
    for instance in instances {
        let own: Vec<&str> = groups_of(instance).collect();
        let of_cluster = own.iter().find(|id| members.contains(**id));
        match (of_cluster, own.as_slice()) {
            (Some(id), _) | (None, [id]) => {
                chosen.insert((*id).to_owned());
            }
            (None, []) => {}
            (None, _) => {
                let id = instance.instance_id().unwrap_or_default();
                let text = format!("{id} has several security groups, and none with the tag of the cluster");
                let hint = format!("add the tag {} to the one of the nodes", tags::membership(cluster));
                return Err(invalid(text).with_hint(hint));
            }
        }
    }
    Ok(chosen)
}

/// The ids of the groups of an instance, sorted.
fn groups_of(instance: &Ec2Instance) -> impl Iterator<Item = &str> {
    let ids: BTreeSet<&str> =
        instance.security_groups().iter().filter_map(|group| group.group_id()).collect();
    ids.into_iter()
}

/// Removes the rules that name a group from all other groups.
///
/// # Errors
/// By class.
pub(crate) async fn shut_out(cloud: &Cloud, group: &str) -> Result<(), ProviderError> {
    for other in describe(cloud, vec![filter("ip-permission.group-id", [group])]).await? {
        let id = id_of(&other)?;
        if id != group {
            revoke(cloud, id, naming_rules(&other, group)).await?;
        }
    }
    Ok(())
}

/// Deletes a group.
///
/// # Errors
/// `dependency` while something uses it.
pub(super) async fn delete(cloud: &Cloud, id: &str) -> Result<(), ProviderError> {
    let request = cloud.ec2().delete_security_group().group_id(id);
    if_any(cloud.write(Class::Ec2Write, "DeleteSecurityGroup", || request.clone().send()).await).map(drop)
}

/// The rules of a group that name another one, without the others that they name.
fn naming_rules(of: &SecurityGroup, named: &str) -> Vec<IpPermission> {
    let mut rules = Vec::new();
    for rule in of.ip_permissions() {
        for pair in rule.user_id_group_pairs().iter().filter(|pair| pair.group_id() == Some(named)) {
            let pair = UserIdGroupPair::builder()
                .group_id(named)
                .set_description(pair.description().map(str::to_owned))
                .build();
            let naming = IpPermission::builder()
                .set_ip_protocol(rule.ip_protocol().map(str::to_owned))
                .set_from_port(rule.from_port())
                .set_to_port(rule.to_port())
                .user_id_group_pairs(pair);
            rules.push(naming.build());
        }
    }
    rules
}

/// Adds rules. Those of an earlier attempt, which reads do not show yet, are left as they are.
async fn authorize(cloud: &Cloud, id: &str, rules: Vec<IpPermission>) -> Result<(), ProviderError> {
    match send_authorize(cloud, id, rules.clone()).await {
        Err(error) if error.class == ErrorClass::Conflict => {}
        outcome => return outcome,
    }
    // AWS has added none of them.
    for rule in rules {
        match send_authorize(cloud, id, vec![rule]).await {
            Err(error) if error.class != ErrorClass::Conflict => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

async fn send_authorize(cloud: &Cloud, id: &str, rules: Vec<IpPermission>) -> Result<(), ProviderError> {
    let request = cloud.ec2().authorize_security_group_ingress().group_id(id).set_ip_permissions(Some(rules));
    let call = "AuthorizeSecurityGroupIngress";
    cloud.write(Class::Ec2Write, call, || request.clone().send()).await.map(drop)
}

/// Removes rules, also where some of them are gone already.
///
/// # Errors
/// By class.
pub(super) async fn revoke(cloud: &Cloud, id: &str, rules: Vec<IpPermission>) -> Result<(), ProviderError> {
    match send_revoke(cloud, id, rules.clone()).await {
        Err(error) if error.class == ErrorClass::NotFound => {}
        outcome => return outcome,
    }
    for rule in rules {
        if_any(send_revoke(cloud, id, vec![rule]).await)?;
    }
    Ok(())
}

async fn send_revoke(cloud: &Cloud, id: &str, rules: Vec<IpPermission>) -> Result<(), ProviderError> {
    let request = cloud.ec2().revoke_security_group_ingress().group_id(id).set_ip_permissions(Some(rules));
    let call = "RevokeSecurityGroupIngress";
    cloud.write(Class::Ec2Write, call, || request.clone().send()).await.map(drop)
}

/// A range of addresses that may connect to a port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Opening {
    protocol: String,
    from: i32,
    to: i32,
    range: IpNet,
}

impl Opening {
    fn permission(&self) -> IpPermission {
        IpPermission::builder()
            .ip_protocol(&self.protocol)
            .from_port(self.from)
            .to_port(self.to)
            .ip_ranges(IpRange::builder().cidr_ip(self.range.to_string()).build())
            .build()
    }
}

/// The openings that a load balancer needs: its ports, and the messages of ICMP that tell the largest size of packets.
pub(super) fn desired_openings(desired: &NetworkBalancer) -> BTreeSet<Opening> {
    let mut openings = BTreeSet::new();
    for range in &desired.ranges {
        let mut add = |protocol: &str, from: i32, to: i32| {
            openings.insert(Opening { protocol: protocol.to_owned(), from, to, range: *range });
        };
        for port in &desired.ports {
            let number = i32::from(port.number);
            add(&port.protocol.as_str().to_ascii_lowercase(), number, number);
        }
        add("icmp", 3, 4);
    }
    openings
}

/// The openings of a group that exists.
pub(super) fn existing_openings(group: &SecurityGroup) -> BTreeSet<Opening> {
    let rules = group.ip_permissions().iter();
    let openings = rules.flat_map(|rule| {
        let ranges = rule.ip_ranges().iter().filter_map(|range| range.cidr_ip()?.parse::<IpNet>().ok());
        ranges.map(move |range| Opening {
            protocol: rule.ip_protocol().unwrap_or_default().to_owned(),
            from: rule.from_port().unwrap_or(-1),
            to: rule.to_port().unwrap_or(-1),
            range,
        })
    });
    openings.collect()
}
