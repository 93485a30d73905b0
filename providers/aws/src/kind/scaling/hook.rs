//! Lifecycle hooks. They have no tags: a hook is its group's, and its address follows from both names.

use std::collections::BTreeMap;

use async_trait::async_trait;
use aws_sdk_autoscaling::types::LifecycleHook as Sdk;
use futures_util::future::try_join_all;
use slipway_resource::{Identity, ProviderError, Value};

use super::group::Owned;
use crate::act::Act;
use crate::batch::Family;
use crate::cloud::Cloud;
use crate::kind::attribute::{need, number32, some, text};
use crate::kind::{Found, Kind, child};
use crate::look::Look;
use crate::owner::Tags;
use crate::rate::Class;

/// `aws_autoscaling_lifecycle_hook`.
pub(in crate::kind) struct LifecycleHook;

/// The hooks of a group, by its name.
struct Hooks;

#[async_trait]
impl Family for Hooks {
    type Item = Vec<Sdk>;
    /// AWS lists the hooks of one group.
    const LIMIT: usize = 1;

    async fn fetch(cloud: &Cloud, keys: &[String]) -> Result<BTreeMap<String, Vec<Sdk>>, ProviderError> {
        let mut found = BTreeMap::new();
        for group in keys {
            let request = cloud.autoscaling().describe_lifecycle_hooks().auto_scaling_group_name(group);
            let answer =
                cloud.read(Class::AutoScaling, "DescribeLifecycleHooks", || request.clone().send()).await;
            // A group that is gone is an invalid request to some, and has no hooks to others.
            let answer = super::group::if_there(cloud, group, answer).await?;
            found.extend(answer.map(|answer| (group.clone(), answer.lifecycle_hooks().to_vec())));
        }
        Ok(found)
    }
}

#[async_trait]
impl Kind for LifecycleHook {
    fn name(&self) -> &'static str {
        "aws_autoscaling_lifecycle_hook"
    }

    async fn list(&self, look: &Look) -> Result<Vec<Found>, ProviderError> {
        let groups = look.listing::<Owned>().await?;
        let reads = groups.0.iter().map(|group| async {
            let hooks = look.cloud.get::<Hooks>(group.identity.as_str()).await?;
            let hooks = hooks.iter().flat_map(|hooks| hooks.iter());
            Ok(hooks
                .map(|hook| {
                    let owner = group.owner.as_ref().map(|owner| {
                        let address = child::hook(owner, hook.lifecycle_hook_name().unwrap_or_default());
                        let mut of_hook = owner.clone();
                        (of_hook.address, of_hook.token) = (address, None);
                        of_hook
                    });
                    Found { owner, ..found(hook) }
                })
                .collect::<Vec<_>>())
        });
        Ok(try_join_all(reads).await?.into_iter().flatten().collect())
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        let Some((group, name)) = id.as_str().split_once('/') else { return Ok(None) };
        let hooks = cloud.get::<Hooks>(group).await?;
        let mut hooks = hooks.iter().flat_map(|hooks| hooks.iter());
        Ok(hooks.find(|hook| hook.lifecycle_hook_name() == Some(name)).map(found))
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
        let Some((group, name)) = id.as_str().split_once('/') else { return Ok(()) };
        let request = act
            .cloud
            .autoscaling()
            .delete_lifecycle_hook()
            .auto_scaling_group_name(group)
            .lifecycle_hook_name(name);
        let deleted =
            act.cloud.write(Class::AutoScaling, "DeleteLifecycleHook", || request.clone().send()).await;
        super::group::if_there(act.cloud, group, deleted).await.map(drop)
    }

    async fn made(&self, act: &Act<'_>, desired: &Value) -> Result<Option<Identity>, ProviderError> {
        let id = identity(desired)?;
        Ok(self.read(act.cloud, &id).await?.map(|_| id))
    }

    fn is_idempotent(&self) -> bool {
        true
    }
}

fn identity(desired: &Value) -> Result<Identity, ProviderError> {
    Ok(Identity::new(format!("{}/{}", need(desired, "autoscaling_group_name")?, need(desired, "name")?)))
}

fn found(hook: &Sdk) -> Found {
    let (group, name) =
        (hook.auto_scaling_group_name().unwrap_or_default(), hook.lifecycle_hook_name().unwrap_or_default());
    let id = format!("{group}/{name}");
    let attributes = Value::map([
        ("id", Value::from(id.as_str())),
        ("autoscaling_group_name", group.into()),
        ("name", name.into()),
        ("lifecycle_transition", some(hook.lifecycle_transition())),
        ("default_result", some(hook.default_result())),
        ("heartbeat_timeout", hook.heartbeat_timeout().map(i64::from).into()),
        ("notification_metadata", some(hook.notification_metadata())),
        ("notification_target_arn", some(hook.notification_target_arn())),
        ("role_arn", some(hook.role_arn())),
    ]);
    Found::ready(&id, attributes, &Tags::new())
}

/// Makes a hook or changes it.
async fn put(cloud: &Cloud, desired: &Value) -> Result<(), ProviderError> {
    let owned = |name: &str| text(desired, name).map(str::to_owned);
    let request = cloud
        .autoscaling()
        .put_lifecycle_hook()
        .auto_scaling_group_name(need(desired, "autoscaling_group_name")?)
        .lifecycle_hook_name(need(desired, "name")?)
        .lifecycle_transition(need(desired, "lifecycle_transition")?)
        .set_default_result(owned("default_result"))
        .set_heartbeat_timeout(number32(desired, "heartbeat_timeout"))
        .set_notification_metadata(owned("notification_metadata"))
        .set_notification_target_arn(owned("notification_target_arn"))
        .set_role_arn(owned("role_arn"));
    cloud.write(Class::AutoScaling, "PutLifecycleHook", || request.clone().send()).await.map(drop)
}
