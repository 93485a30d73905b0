//! Rules.

use async_trait::async_trait;
use aws_sdk_eventbridge::types::{Rule, RuleState};
use slipway_aws_model::normalise::document::compact;
use slipway_resource::{ErrorClass, Identity, ProviderError, Value};

use super::{DEFAULT_BUS, Owned, Rules, bus_and_name, rule_id, tags, to_tags};
use crate::act::Act;
use crate::cloud::Cloud;
use crate::error::{error, incomplete};
use crate::kind::attribute::{need, some, text};
use crate::kind::by_name::owns;
use crate::kind::{Blockers, Condition, Found, Kind, taken};
use crate::look::Look;
use crate::owner::{Owner, Tags, difference, marks, visible};
use crate::rate::Class;

/// `aws_cloudwatch_event_rule`.
pub(in crate::kind) struct EventRule;

#[async_trait]
impl Kind for EventRule {
    fn name(&self) -> &'static str {
        "aws_cloudwatch_event_rule"
    }

    async fn list(&self, look: &Look) -> Result<Vec<Found>, ProviderError> {
        Ok(look.listing::<Owned>().await?.0.clone())
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        Ok(cloud.get::<Rules>(id.as_str()).await?.map(|rule| found(&rule)))
    }

    /// The creating call would silently change a rule of another owner, so the rule is looked up first.
    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let id = identity(desired)?;
        if let Some(rule) = act.cloud.get::<Rules>(id.as_str()).await? {
            let owner = owner(act.cloud, &rule).await?;
            let ownership = &act.request.ownership;
            let is_ours = owner.is_some_and(|owner| {
                owner.uid == ownership.uid && owner.address.as_ref() == Some(&ownership.address)
            });
            if !is_ours {
                return Err(taken(&format!("rule {id}")));
            }
        }
        put(act.cloud, desired, Some(act.tags(desired))).await?;
        Ok(id)
    }

    async fn update(
        &self,
        act: &Act<'_>,
        id: &Identity,
        _prior: &Value,
        desired: &Value,
    ) -> Result<(), ProviderError> {
        let cloud = act.cloud;
        put(cloud, desired, None).await?;
        let rule = cloud.get::<Rules>(id.as_str()).await?;
        let arn = rule.as_ref().and_then(|rule| rule.arn()).ok_or_else(|| incomplete("ListRules", "ARN"))?;
        let present = tags(cloud, arn).await?.unwrap_or_default();
        let (set, gone) = difference(&Value::map([("tags", visible(&present))]), desired);
        set_tags(cloud, arn, &set).await?;
        if !gone.is_empty() {
            let request = cloud.events().untag_resource().resource_arn(arn).set_tag_keys(Some(gone));
            cloud.write(Class::Events, "UntagResource", || request.clone().send()).await?;
        }
        Ok(())
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let (bus, name) = bus_and_name(id.as_str());
        let request = act.cloud.events().delete_rule().event_bus_name(bus).name(name);
        match act.cloud.write(Class::Events, "DeleteRule", || request.clone().send()).await {
            // A rule with targets is no more than an invalid request to EventBridge.
            Err(failure) if failure.class == ErrorClass::Invalid => {
                let blockers = targets(act.cloud, id).await?;
                if blockers.is_empty() {
                    return Err(failure);
                }
                Err(error(ErrorClass::Dependency { blockers }, failure.message))
            }
            result => result.map(drop),
        }
    }

    async fn tag(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let rule = act.cloud.get::<Rules>(id.as_str()).await?;
        let arn = rule.as_ref().and_then(|rule| rule.arn()).ok_or_else(|| incomplete("ListRules", "ARN"))?;
        set_tags(act.cloud, arn, &marks(&act.request.ownership, None)).await
    }

    async fn made(&self, act: &Act<'_>, desired: &Value) -> Result<Option<Identity>, ProviderError> {
        let id = identity(desired)?;
        let Some(rule) = act.cloud.get::<Rules>(id.as_str()).await? else { return Ok(None) };
        let owner = owner(act.cloud, &rule).await?;
        Ok(owns(act, owner.as_ref()).then_some(id))
    }

    async fn identity(&self, _cloud: &Cloud, desired: &Value) -> Result<Option<Identity>, ProviderError> {
        Ok(identity(desired).ok())
    }

    fn is_idempotent(&self) -> bool {
        true
    }

    async fn blockers(&self, cloud: &Cloud, id: &Identity) -> Result<Blockers, ProviderError> {
        Ok(Blockers { lasting: targets(cloud, id).await?, passing: Vec::new() })
    }
}

/// A rule, without its tags.
pub(super) fn found(rule: &Rule) -> Found {
    let (bus, name) = (rule.event_bus_name().unwrap_or(DEFAULT_BUS), rule.name().unwrap_or_default());
    let id = rule_id(bus, name);
    let attributes = Value::map([
        ("id", Value::from(id.as_str())),
        ("arn", rule.arn().into()),
        ("name", name.into()),
        ("event_bus_name", bus.into()),
        ("event_pattern", some(rule.event_pattern())),
        ("schedule_expression", some(rule.schedule_expression())),
        ("description", some(rule.description())),
        ("state", rule.state().map(RuleState::as_str).into()),
        ("role_arn", some(rule.role_arn())),
    ]);
    Found { identity: Identity::new(id), attributes, owner: None, condition: Condition::Ready }
}

fn identity(desired: &Value) -> Result<Identity, ProviderError> {
    let bus = text(desired, "event_bus_name").unwrap_or(DEFAULT_BUS);
    Ok(Identity::new(rule_id(bus, need(desired, "name")?)))
}

async fn owner(cloud: &Cloud, rule: &Rule) -> Result<Option<Owner>, ProviderError> {
    let tags = tags(cloud, rule.arn().unwrap_or_default()).await?;
    Ok(tags.as_ref().and_then(Owner::of))
}

/// Makes a rule or changes it; tags are taken for a new one only.
async fn put(cloud: &Cloud, desired: &Value, tags: Option<Tags>) -> Result<(), ProviderError> {
    let tags = tags.as_ref().map(to_tags).transpose()?;
    let request = cloud
        .events()
        .put_rule()
        .name(need(desired, "name")?)
        .event_bus_name(text(desired, "event_bus_name").unwrap_or(DEFAULT_BUS))
        .set_event_pattern(text(desired, "event_pattern").map(compact))
        .set_schedule_expression(text(desired, "schedule_expression").map(str::to_owned))
        .set_description(text(desired, "description").map(str::to_owned))
        .set_state(text(desired, "state").map(RuleState::from))
        .set_role_arn(text(desired, "role_arn").map(str::to_owned))
        .set_tags(tags);
    cloud.write(Class::Events, "PutRule", || request.clone().send()).await.map(drop)
}

async fn set_tags(cloud: &Cloud, arn: &str, tags: &Tags) -> Result<(), ProviderError> {
    if tags.is_empty() {
        return Ok(());
    }
    let request = cloud.events().tag_resource().resource_arn(arn).set_tags(Some(to_tags(tags)?));
    cloud.write(Class::Events, "TagResource", || request.clone().send()).await.map(drop)
}

async fn targets(cloud: &Cloud, id: &Identity) -> Result<Vec<String>, ProviderError> {
    let targets = cloud.get::<super::target::Targets>(id.as_str()).await?;
    let names = targets.iter().flat_map(|targets| targets.iter());
    Ok(names.map(|target| format!("target {} of the rule", target.id())).collect())
}
