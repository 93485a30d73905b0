//! Listeners of load balancers.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_elasticloadbalancingv2::types::{Action, ActionTypeEnum, Listener};
use slipway_resource::ProviderError;

use super::desired::Port;
use crate::cloud::Cloud;
use crate::kind::{if_any, to_tags};
use crate::owner::Tags;
use crate::rate::Class;

/// A desired listener, and the ARN of its target group.
pub(super) type Wanted<'d> = (&'d Port, String);

/// Makes the listeners of a load balancer as they are desired.
///
/// # Errors
/// By class.
pub(super) async fn ensure(
    cloud: &Cloud,
    balancer: &str,
    desired: &[Wanted<'_>],
    tags: &Tags,
) -> Result<(), ProviderError> {
    let by_port: BTreeMap<i32, &Wanted<'_>> =
        desired.iter().map(|wanted| (i32::from(wanted.0.number), wanted)).collect();
    let mut kept = BTreeSet::new();
    for listener in find(cloud, balancer).await? {
        let number = listener.port().unwrap_or_default();
        match by_port.get(&number) {
            Some((port, group)) if listener.protocol() == Some(&port.protocol) => {
                if group_of(&listener) != Some(group.as_str()) {
                    forward(cloud, &listener, group).await?;
                }
                kept.insert(number);
            }
            Some(_) | None => delete(cloud, &listener).await?,
        }
    }
    for (number, (port, group)) in by_port {
        if !kept.contains(&number) {
            create(cloud, balancer, port, (group.as_str(), tags)).await?;
        }
    }
    Ok(())
}

async fn find(cloud: &Cloud, balancer: &str) -> Result<Vec<Listener>, ProviderError> {
    let request = cloud.balancing().describe_listeners().load_balancer_arn(balancer);
    let send = |marker| request.clone().set_marker(marker).send();
    let pages = cloud.pages(Class::Balancing, "DescribeListeners", send, |page| page.next_marker()).await?;
    Ok(pages.iter().flat_map(|page| page.listeners()).cloned().collect())
}

/// The target group of a listener. A single one may be in the form for several.
fn group_of(listener: &Listener) -> Option<&str> {
    let action = listener.default_actions().first()?;
    let forward = action.forward_config().and_then(|forward| forward.target_groups().first());
    action.target_group_arn().or_else(|| forward.and_then(|group| group.target_group_arn()))
}

fn action(group: &str) -> Action {
    Action::builder().r#type(ActionTypeEnum::Forward).target_group_arn(group).build()
}

async fn create(
    cloud: &Cloud,
    balancer: &str,
    port: &Port,
    (group, tags): (&str, &Tags),
) -> Result<(), ProviderError> {
    let request = cloud
        .balancing()
        .create_listener()
        .load_balancer_arn(balancer)
        .port(i32::from(port.number))
        .protocol(port.protocol.clone())
        .default_actions(action(group))
        .set_tags(Some(to_tags(tags)));
    cloud.write(Class::Balancing, "CreateListener", || request.clone().send()).await.map(drop)
}

async fn forward(cloud: &Cloud, listener: &Listener, group: &str) -> Result<(), ProviderError> {
    let request = cloud
        .balancing()
        .modify_listener()
        .set_listener_arn(listener.listener_arn().map(str::to_owned))
        .default_actions(action(group));
    cloud.write(Class::Balancing, "ModifyListener", || request.clone().send()).await.map(drop)
}

async fn delete(cloud: &Cloud, listener: &Listener) -> Result<(), ProviderError> {
    let request =
        cloud.balancing().delete_listener().set_listener_arn(listener.listener_arn().map(str::to_owned));
    if_any(cloud.write(Class::Balancing, "DeleteListener", || request.clone().send()).await).map(drop)
}
