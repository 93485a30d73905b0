//! Targets of rules.

use std::collections::BTreeMap;

use async_trait::async_trait;
use aws_sdk_eventbridge::types::{SqsParameters, Target};
use slipway_resource::{Address, ErrorClass, Identity, ProviderError, Value};

use super::{DEFAULT_BUS, Owned, bus_and_name, rule_id};
use crate::act::Act;
use crate::batch::Family;
use crate::cloud::Cloud;
use crate::code::{Fault, fault_of};
use crate::error::{error, invalid};
use crate::kind::attribute::{block, need, some, text};
use crate::kind::by_name::if_any;
use crate::kind::{Condition, Found, Kind};
use crate::look::Look;
use crate::rate::Class;

/// `aws_cloudwatch_event_target`.
pub(in crate::kind) struct EventTarget;

/// The targets of a rule, by its id.
pub(super) struct Targets;

#[async_trait]
impl Family for Targets {
    type Item = Vec<Target>;
    const LIMIT: usize = 1;

    async fn fetch(cloud: &Cloud, keys: &[String]) -> Result<BTreeMap<String, Vec<Target>>, ProviderError> {
        let mut found = BTreeMap::new();
        for key in keys {
            if let Some(targets) = if_any(targets(cloud, key).await)? {
                found.insert(key.clone(), targets);
            }
        }
        Ok(found)
    }
}

async fn targets(cloud: &Cloud, rule: &str) -> Result<Vec<Target>, ProviderError> {
    let (bus, name) = bus_and_name(rule);
    let request = cloud.events().list_targets_by_rule().event_bus_name(bus).rule(name);
    let send = |token| request.clone().set_next_token(token).send();
    let pages = cloud.pages(Class::Events, "ListTargetsByRule", send, |page| page.next_token()).await?;
    Ok(pages.iter().flat_map(|page| page.targets()).cloned().collect())
}

#[async_trait]
impl Kind for EventTarget {
    fn name(&self) -> &'static str {
        "aws_cloudwatch_event_target"
    }

    async fn list(&self, look: &Look) -> Result<Vec<Found>, ProviderError> {
        let mut all = Vec::new();
        for rule in &look.listing::<Owned>().await?.0 {
            let targets = look.cloud.get::<Targets>(rule.identity.as_str()).await?;
            for target in targets.iter().flat_map(|targets| targets.iter()) {
                let owner = rule.owner.as_ref().and_then(|owner| {
                    let name = format!("{}-Target", owner.address.as_ref()?.name());
                    Some(owner.at(Address::new(self.name(), name)))
                });
                all.push(Found { owner, ..found(rule.identity.as_str(), target) });
            }
        }
        Ok(all)
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        let (rule, target) = parts(id)?;
        let targets = cloud.get::<Targets>(rule).await?;
        let target = targets.iter().flat_map(|targets| targets.iter()).find(|found| found.id() == target);
        Ok(target.map(|target| found(rule, target)))
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        put(act.cloud, desired).await?;
        identity(desired)
    }

    async fn update(
        &self,
        act: &Act<'_>,
        _id: &Identity,
        _prior: &Value,
        desired: &Value,
    ) -> Result<(), ProviderError> {
        put(act.cloud, desired).await
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let (rule, target) = parts(id)?;
        let (bus, name) = bus_and_name(rule);
        let request = act.cloud.events().remove_targets().event_bus_name(bus).rule(name).ids(target);
        let answer = act.cloud.write(Class::Events, "RemoveTargets", || request.clone().send()).await?;
        match answer.failed_entries().first() {
            None => Ok(()),
            Some(failed) => Err(refused("RemoveTargets", failed.error_code(), failed.error_message())),
        }
    }

    async fn made(&self, act: &Act<'_>, desired: &Value) -> Result<Option<Identity>, ProviderError> {
        let id = identity(desired)?;
        Ok(self.read(act.cloud, &id).await?.map(|_| id))
    }

    fn is_idempotent(&self) -> bool {
        true
    }
}

async fn put(cloud: &Cloud, desired: &Value) -> Result<(), ProviderError> {
    let (bus, name) = bus_and_name(need(desired, "rule")?);
    let bus = text(desired, "event_bus_name").unwrap_or(bus);
    let group = block(desired, "sqs_target").and_then(|queue| text(queue, "message_group_id"));
    let target = Target::builder()
        .id(target_id(desired))
        .arn(need(desired, "arn")?)
        .set_input(text(desired, "input").map(str::to_owned))
        .set_input_path(text(desired, "input_path").map(str::to_owned))
        .set_role_arn(text(desired, "role_arn").map(str::to_owned))
        .set_sqs_parameters(group.map(|group| SqsParameters::builder().message_group_id(group).build()))
        .build()
        .map_err(|error| invalid(format!("the target is not complete: {error}")))?;
    let request = cloud.events().put_targets().event_bus_name(bus).rule(name).targets(target);
    let answer = cloud.write(Class::Events, "PutTargets", || request.clone().send()).await?;
    match answer.failed_entries().first() {
        None => Ok(()),
        Some(failed) => Err(refused("PutTargets", failed.error_code(), failed.error_message())),
    }
}

/// An entry that was refused, although the call was accepted.
fn refused(action: &str, code: Option<&str>, message: Option<&str>) -> ProviderError {
    let (code, message) = (code.unwrap_or_default(), message.unwrap_or_default());
    let class = match fault_of(code, 0) {
        Fault::Busy | Fault::Broken | Fault::Throttled => ErrorClass::Transient,
        Fault::NotFound => ErrorClass::NotFound,
        Fault::Quota => ErrorClass::Quota { name: code.to_owned(), limit: 0, used: 0 },
        _ => ErrorClass::Permanent,
    };
    error(class, format!("{action}: {code}: {message}"))
}

fn found(rule: &str, target: &Target) -> Found {
    let id = format!("{rule}/{}", target.id());
    let group = target.sqs_parameters().and_then(SqsParameters::message_group_id);
    let attributes = Value::map([
        ("id", Value::from(id.as_str())),
        ("rule", rule.into()),
        ("event_bus_name", bus_and_name(rule).0.into()),
        ("target_id", target.id().into()),
        ("arn", target.arn().into()),
        ("input", some(target.input())),
        ("input_path", some(target.input_path())),
        ("role_arn", some(target.role_arn())),
        ("sqs_target", group.map(|group| Value::list([Value::map([("message_group_id", group)])])).into()),
    ]);
    Found { identity: Identity::new(id), attributes, owner: None, condition: Condition::Ready }
}

fn target_id(desired: &Value) -> &str {
    text(desired, "target_id").unwrap_or("1")
}

fn identity(desired: &Value) -> Result<Identity, ProviderError> {
    let (bus, name) = bus_and_name(need(desired, "rule")?);
    let bus = text(desired, "event_bus_name").filter(|bus| *bus != DEFAULT_BUS).unwrap_or(bus);
    Ok(Identity::new(format!("{}/{}", rule_id(bus, name), target_id(desired))))
}

fn parts(id: &Identity) -> Result<(&str, &str), ProviderError> {
    id.as_str()
        .rsplit_once('/')
        .ok_or_else(|| invalid(format!("{id} is not a rule's name, a slash and a target's id")))
}
