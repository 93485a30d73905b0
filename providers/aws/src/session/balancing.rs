//! Load balancers of Services: a network load balancer for each, with the instances of nodes as its targets.
//!
//! A load balancer of the cluster has a security group with the tags of the cluster. The group proves whose the load balancer is, so
//! that no call reads the tags of load balancers, which the policies of kOps clusters do not allow.

mod annotations;
mod desired;
mod listeners;
mod security_group;
mod subnets;
mod target_groups;
mod ungrouped;

pub(super) use security_group::describe as security_groups;
pub(crate) use security_group::shut_out;

use std::collections::BTreeSet;
use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_ec2::types::{InstanceStateName, SecurityGroup};
use aws_sdk_elasticloadbalancingv2::types::{
    LoadBalancer as Sdk, LoadBalancerAttribute, LoadBalancerSchemeEnum, LoadBalancerTypeEnum,
};
use slipway_resource::provider::{
    BalancerKey, DesiredBalancer, Ingress, IngressPoint, LoadBalancer, LoadBalancers, NodeTarget,
};
use slipway_resource::{ErrorClass, ProviderError};
use tokio::time::Instant;

use super::{AwsSession, instances};
use crate::cloud::Cloud;
use crate::error::{error, incomplete, invalid};
use crate::kind::{if_any, to_tags};
use crate::rate::Class;
use desired::NetworkBalancer;
use target_groups::Members;

/// How long the parts of a deleted load balancer are waited for: AWS releases them minutes later. Less than the time that a caller
/// waits for an answer.
const RELEASED: Duration = Duration::from_secs(180);

/// The time between two attempts to delete a part that is still used.
const PAUSE: Duration = Duration::from_secs(3);

const CROSS_ZONE: &str = "load_balancing.cross_zone.enabled";

#[async_trait]
impl LoadBalancers for AwsSession {
    async fn get(&self, key: &BalancerKey) -> Result<Option<LoadBalancer>, ProviderError> {
        let existing = Existing::find(&self.cloud, key).await?;
        if let Some(balancer) = &existing.ungrouped {
            ungrouped::check(&self.cloud, key, balancer).await?;
            return Ok(Some(shown(balancer)));
        }
        match (&existing.balancer, existing.groups.as_slice()) {
            (Some(balancer), _) => Ok(Some(shown(balancer))),
            // A part of it still exists.
            (None, [_, ..]) => Ok(Some(LoadBalancer::default())),
            (None, []) => Ok(None),
        }
    }

    async fn ensure(&self, desired: &DesiredBalancer) -> Result<LoadBalancer, ProviderError> {
        let (cloud, key) = (&self.cloud, &desired.key);
        let wanted = NetworkBalancer::of(desired)?;
        let existing = Existing::find(cloud, key).await?.grouped(key)?;
        let place = match &existing.balancer {
            Some(balancer) => {
                has_scheme(balancer, wanted.internal)?;
                let vpc = balancer.vpc_id().ok_or_else(|| incomplete("DescribeLoadBalancers", "VPC"))?;
                subnets::Place { vpc: vpc.to_owned(), subnets: Vec::new() }
            }
            None => subnets::choose(cloud, &key.cluster, &wanted).await?,
        };
        let nodes = Nodes::of(cloud, &key.cluster, &desired.nodes).await?;
        let group = ensure_group(cloud, key, &wanted, (&existing, place.vpc.as_str())).await?;
        security_group::let_in(cloud, &group, key, &nodes.groups).await?;
        let balancer = match existing.balancer {
            Some(balancer) => balancer,
            None => create(cloud, &wanted, &group, &place.subnets).await?,
        };
        let arn = balancer.load_balancer_arn().ok_or_else(|| incomplete("CreateLoadBalancer", "ARN"))?;
        set_cross_zone(cloud, arn, wanted.cross_zone).await?;

        let groups = target_groups::find(cloud, key).await?;
        let mut listeners = Vec::new();
        for port in &wanted.ports {
            let target = (place.vpc.as_str(), &wanted.tags);
            let group = target_groups::ensure(cloud, &groups, &port.group, target).await?;
            target_groups::set_members(cloud, &group, &nodes.members).await?;
            listeners.push((port, group));
        }
        listeners::ensure(cloud, arn, &listeners, &wanted.tags).await?;
        let end = Instant::now() + RELEASED;
        for group in &groups {
            if let Some(arn) = group.target_group_arn()
                && !listeners.iter().any(|(_, used)| used == arn)
            {
                released(end, || target_groups::delete(cloud, arn)).await?;
            }
        }
        Ok(shown(&balancer))
    }

    async fn update(&self, desired: &DesiredBalancer) -> Result<(), ProviderError> {
        let (cloud, key) = (&self.cloud, &desired.key);
        let wanted = NetworkBalancer::of(desired)?;
        let existing = Existing::find(cloud, key).await?.grouped(key)?;
        let Some(group) = existing.group()? else {
            return Err(error(ErrorClass::NotFound, format!("there is no load balancer {}", key.name)));
        };
        let nodes = Nodes::of(cloud, &key.cluster, &desired.nodes).await?;
        security_group::let_in(cloud, group, key, &nodes.groups).await?;
        let groups = target_groups::find(cloud, key).await?;
        for port in &wanted.ports {
            if let Some(group) = target_groups::arn_of(&groups, &port.group.name) {
                target_groups::set_members(cloud, group, &nodes.members).await?;
            }
        }
        Ok(())
    }

    async fn delete(&self, key: &BalancerKey) -> Result<(), ProviderError> {
        let cloud = &self.cloud;
        let existing = Existing::find(cloud, key).await?;
        if let Some(balancer) = &existing.ungrouped {
            ungrouped::delete(cloud, key, balancer).await?;
        }
        if let Some(arn) = existing.balancer.as_ref().and_then(Sdk::load_balancer_arn) {
            let request = cloud.balancing().delete_load_balancer().load_balancer_arn(arn);
            if_any(cloud.write(Class::Balancing, "DeleteLoadBalancer", || request.clone().send()).await)?;
        }
        let end = Instant::now() + RELEASED;
        for group in target_groups::find(cloud, key).await? {
            if let Some(arn) = group.target_group_arn() {
                released(end, || target_groups::delete(cloud, arn)).await?;
            }
        }
        for group in &existing.groups {
            let id = security_group::id_of(group)?;
            security_group::shut_out(cloud, id).await?;
            released(end, || security_group::delete(cloud, id)).await?;
        }
        Ok(())
    }
}

/// The parts of a load balancer that tell whose it is.
struct Existing {
    /// The load balancer, if it is of the cluster.
    balancer: Option<Sdk>,
    /// Its security groups; several only after its network has changed.
    groups: Vec<SecurityGroup>,
    /// A load balancer of the name without a security group: another controller created it.
    ungrouped: Option<Sdk>,
}

impl Existing {
    async fn find(cloud: &Cloud, key: &BalancerKey) -> Result<Self, ProviderError> {
        let groups = security_group::find(cloud, key).await?;
        let request = cloud.balancing().describe_load_balancers().names(&key.name);
        let call = "DescribeLoadBalancers";
        let page = if_any(cloud.read(Class::Balancing, call, || request.clone().send()).await)?;
        let named = page.as_ref().and_then(|page| page.load_balancers().first());
        let Some(balancer) = named else { return Ok(Self { balancer: None, groups, ungrouped: None }) };
        if balancer.security_groups().is_empty() {
            return Ok(Self { balancer: None, groups, ungrouped: Some(balancer.clone()) });
        }
        let has = |id: &str| balancer.security_groups().iter().any(|other| other == id);
        let is_ours = groups.iter().filter_map(|group| group.group_id()).any(has);
        Ok(Self { balancer: is_ours.then(|| balancer.clone()), groups, ungrouped: None })
    }

    /// Refuses a load balancer without a security group: AWS cannot add one later.
    fn grouped(self, key: &BalancerKey) -> Result<Self, ProviderError> {
        if self.ungrouped.is_none() {
            return Ok(self);
        }
        let text = format!("load balancer {} has no security group: another controller created it", key.name);
        Err(error(ErrorClass::Conflict, text)
            .with_hint("delete the Service, which deletes the load balancer, and create the Service again"))
    }

    /// The id of the group that the load balancer has.
    fn group(&self) -> Result<Option<&str>, ProviderError> {
        let Some(balancer) = &self.balancer else { return Ok(None) };
        for group in &self.groups {
            let id = security_group::id_of(group)?;
            if balancer.security_groups().iter().any(|other| other == id) {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }
}

/// What a load balancer needs of nodes.
struct Nodes {
    members: Members,
    groups: BTreeSet<String>,
}

impl Nodes {
    async fn of(cloud: &Cloud, cluster: &str, nodes: &[NodeTarget]) -> Result<Self, ProviderError> {
        let instances = instances::of_nodes(cloud, cluster, nodes).await?;
        let groups = security_group::of_instances(cloud, cluster, &instances).await?;
        let mut members = Members::default();
        for instance in &instances {
            let id = instance.instance_id().unwrap_or_default().to_owned();
            if instance.state().and_then(|state| state.name()) == Some(&InstanceStateName::Running) {
                members.running.insert(id.clone());
            }
            members.nodes.insert(id);
        }
        Ok(Self { members, groups })
    }
}

/// A load balancer as its Service shows it.
fn shown(balancer: &Sdk) -> LoadBalancer {
    let name = balancer.dns_name().filter(|name| !name.is_empty());
    let at = name.map(|name| IngressPoint::Hostname(name.to_owned()));
    LoadBalancer { ingress: at.into_iter().map(|at| Ingress { at, ports: Vec::new() }).collect() }
}

/// Refuses another scheme: AWS decides it once.
fn has_scheme(balancer: &Sdk, internal: bool) -> Result<(), ProviderError> {
    if (balancer.scheme() == Some(&LoadBalancerSchemeEnum::Internal)) == internal {
        return Ok(());
    }
    let (is, wanted) =
        if internal { ("internet-facing", "internal") } else { ("internal", "internet-facing") };
    Err(invalid(format!("the load balancer is {is}, and cannot become {wanted}"))
        .with_hint("create the Service again under another name, then delete this one"))
}

/// The security group of a load balancer in a network, with its rules; returns its id.
async fn ensure_group(
    cloud: &Cloud,
    key: &BalancerKey,
    wanted: &NetworkBalancer,
    (existing, vpc): (&Existing, &str),
) -> Result<String, ProviderError> {
    let desired = security_group::desired_openings(wanted);
    let there = existing.groups.iter().find(|group| group.vpc_id() == Some(vpc));
    let (id, openings) = match there {
        Some(group) => (security_group::id_of(group)?.to_owned(), security_group::existing_openings(group)),
        None => (security_group::create(cloud, key, wanted, vpc).await?, BTreeSet::new()),
    };
    security_group::open(cloud, &id, &openings, &desired).await?;
    Ok(id)
}

async fn create(
    cloud: &Cloud,
    wanted: &NetworkBalancer,
    group: &str,
    subnets: &[String],
) -> Result<Sdk, ProviderError> {
    let scheme = match wanted.internal {
        true => LoadBalancerSchemeEnum::Internal,
        false => LoadBalancerSchemeEnum::InternetFacing,
    };
    let request = cloud
        .balancing()
        .create_load_balancer()
        .name(&wanted.name)
        .r#type(LoadBalancerTypeEnum::Network)
        .scheme(scheme)
        .security_groups(group)
        .set_subnets(Some(subnets.to_vec()))
        .set_tags(Some(to_tags(&wanted.tags)));
    let answer = cloud.write(Class::Balancing, "CreateLoadBalancer", || request.clone().send()).await?;
    let created = answer.load_balancers().first().cloned();
    created.ok_or_else(|| incomplete("CreateLoadBalancer", "load balancer"))
}

async fn set_cross_zone(cloud: &Cloud, arn: &str, wanted: bool) -> Result<(), ProviderError> {
    let request = cloud.balancing().describe_load_balancer_attributes().load_balancer_arn(arn);
    let call = "DescribeLoadBalancerAttributes";
    let answer = cloud.read(Class::Balancing, call, || request.clone().send()).await?;
    let existing = answer.attributes().iter().find(|attribute| attribute.key() == Some(CROSS_ZONE));
    if (existing.and_then(|attribute| attribute.value()) == Some("true")) == wanted {
        return Ok(());
    }
    let attribute = LoadBalancerAttribute::builder().key(CROSS_ZONE).value(wanted.to_string()).build();
    let request =
        cloud.balancing().modify_load_balancer_attributes().load_balancer_arn(arn).attributes(attribute);
    cloud.write(Class::Balancing, "ModifyLoadBalancerAttributes", || request.clone().send()).await.map(drop)
}

/// Deletes a part that AWS may still release, until a moment.
async fn released<F>(end: Instant, delete: impl Fn() -> F + Send + Sync) -> Result<(), ProviderError>
where
    F: Future<Output = Result<(), ProviderError>> + Send,
{
    loop {
        match delete().await {
            Err(error) if matches!(error.class, ErrorClass::Dependency { .. }) && Instant::now() < end => {
                tokio::time::sleep(PAUSE).await;
            }
            outcome => return outcome,
        }
    }
}
