//! Instances that belong to no auto-scaling group: a roll took them out of a group that does not exist any more. Instances of
//! groups are part of their groups, also those that a roll has taken out.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use aws_sdk_ec2::types::{Instance as Sdk, InstanceStateName};
use futures_util::future::try_join_all;
use slipway_resource::{Address, Identity, ProviderError, Value};

use super::gates::{Detached, by_ids};
use super::group::Groups;
use crate::act::Act;
use crate::batch::Family;
use crate::cloud::Cloud;
use crate::error::invalid;
use crate::kind::attribute::some;
use crate::kind::{Condition, Found, Kind};
use crate::look::Look;
use crate::owner::{of_ec2, visible};
use crate::rate::Class;

/// `aws_instance`.
pub(in crate::kind) struct Instance;

/// Instances by id.
struct Instances;

#[async_trait]
impl Family for Instances {
    type Item = Sdk;
    const LIMIT: usize = 200;

    async fn fetch(cloud: &Cloud, keys: &[String]) -> Result<BTreeMap<String, Sdk>, ProviderError> {
        let ids: Vec<&str> = keys.iter().map(String::as_str).collect();
        let found = by_ids(cloud, &ids).await?.into_iter();
        Ok(found.filter_map(|instance| Some((instance.instance_id()?.to_owned(), instance))).collect())
    }
}

#[async_trait]
impl Kind for Instance {
    fn name(&self) -> &'static str {
        "aws_instance"
    }

    async fn list(&self, look: &Look) -> Result<Vec<Found>, ProviderError> {
        let detached = look.listing::<Detached>().await?;
        let names: BTreeSet<&str> = detached.0.iter().map(|(group, _)| group.as_str()).collect();
        let groups = names.into_iter().map(|name| async move {
            let group = look.cloud.get::<Groups>(name).await?;
            let is_gone = group.is_none_or(|group| group.status().is_some());
            Ok::<_, ProviderError>(is_gone.then_some(name))
        });
        let gone: Vec<&str> = try_join_all(groups).await?.into_iter().flatten().collect();
        let without_group = detached.0.iter().filter(|(group, _)| gone.contains(&group.as_str()));
        Ok(without_group.filter_map(|(_, instance)| found(&look.cloud, instance)).collect())
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        Ok(cloud.get::<Instances>(id.as_str()).await?.and_then(|instance| found(cloud, &instance)))
    }

    async fn create(&self, _: &Act<'_>, _: &Value) -> Result<Identity, ProviderError> {
        Err(invalid("instances are launched by auto-scaling groups"))
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let request = act.cloud.ec2().terminate_instances().instance_ids(id.as_str());
        act.cloud.write(Class::Ec2Write, "TerminateInstances", || request.clone().send()).await.map(drop)
    }

    /// It shuts down.
    fn lingers(&self) -> bool {
        true
    }
}

/// An instance as it is; `None` for one that has ended.
fn found(cloud: &Cloud, instance: &Sdk) -> Option<Found> {
    let id = instance.instance_id()?;
    let tags = of_ec2(instance.tags());
    let groups = instance.security_groups().iter().filter_map(|group| group.group_id());
    let attributes = Value::map([
        ("id", Value::from(id)),
        ("arn", cloud.ec2_arn(None, "instance", id).into()),
        ("availability_zone", some(instance.placement().and_then(|placement| placement.availability_zone()))),
        ("instance_type", instance.instance_type().map(|kind| kind.as_str()).into()),
        ("subnet_id", some(instance.subnet_id())),
        ("vpc_security_group_ids", Value::list(groups)),
        ("tags", visible(&tags)),
    ]);
    let mut found = Found::ready(id, attributes, &tags);
    found.owner = found.owner.map(|owner| owner.at(Address::new("aws_instance", id)));
    match instance.state().and_then(|state| state.name()) {
        Some(InstanceStateName::Terminated) => None,
        Some(InstanceStateName::ShuttingDown) => Some(found.but(Condition::Ending)),
        _ => Some(found),
    }
}
