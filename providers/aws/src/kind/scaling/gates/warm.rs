//! A warm pool is renewed before its group takes instances from it, because older ones are not as desired.

use aws_sdk_autoscaling::types as sdk;
use slipway_resource::{ErrorClass, ProviderError};

use super::view::wanted;
use crate::cloud::Cloud;
use crate::kind::scaling::group::Groups;
use crate::rate::Class;

/// Ends what waits in a group's warm pool and is not as new instances are; AWS fills the pool again. Without a warm
/// pool there is nothing to do.
///
/// # Errors
/// As the calls say.
pub(in crate::kind::scaling) async fn renew(cloud: &Cloud, group: &str) -> Result<(), ProviderError> {
    let Some(found) = cloud.get::<Groups>(group).await? else { return Ok(()) };
    let Some((template, version)) = wanted(&found).filter(|_| found.warm_pool_configuration().is_some())
    else {
        return Ok(());
    };
    let is_outdated = |instance: &sdk::Instance| {
        let made_from = instance.launch_template();
        made_from.and_then(|made_from| made_from.launch_template_id()) != Some(template.as_str())
            || made_from.and_then(|made_from| made_from.version()) != Some(version.as_str())
    };
    let is_waiting = |instance: &sdk::Instance| {
        let state = instance.lifecycle_state().map(sdk::LifecycleState::as_str).unwrap_or_default();
        state.starts_with("Warmed") && !state.starts_with("Warmed:Terminat")
    };
    let request = cloud.autoscaling().describe_warm_pool().auto_scaling_group_name(group);
    let send = |token| request.clone().set_next_token(token).send();
    let pages = cloud.pages(Class::AutoScaling, "DescribeWarmPool", send, |page| page.next_token()).await?;
    let outdated: Vec<String> = pages
        .iter()
        .flat_map(|page| page.instances())
        .filter(|instance| is_waiting(instance) && is_outdated(instance))
        .filter_map(|instance| instance.instance_id().map(str::to_owned))
        .collect();
    if outdated.is_empty() {
        return Ok(());
    }
    // Auto Scaling's own call does not take instances of a warm pool.
    let request = cloud.ec2().terminate_instances().set_instance_ids(Some(outdated));
    match cloud.write(Class::Ec2Write, "TerminateInstances", || request.clone().send()).await {
        Err(error) if error.class == ErrorClass::NotFound => Ok(()),
        other => other.map(drop),
    }
}
