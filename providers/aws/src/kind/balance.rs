//! Elastic Load Balancing. Objects are read by ARN, many in one call. Their tags name the owner, and are read
//! for twenty objects in one call.

mod balancer;
mod listener;
mod target_group;

pub(super) use balancer::LoadBalancer;
pub(super) use listener::Listener;
pub(super) use target_group::TargetGroup;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use aws_sdk_elasticloadbalancingv2::types as sdk;
use slipway_aws_model::names::hashed;
use slipway_resource::{ErrorClass, Identity, ProviderError, Value};

use super::by_name::{claim, if_any, is_ours};
use super::{Found, Kind, Tagged, taken};
use crate::act::Act;
use crate::batch::{Family, fetch_existing};
use crate::cloud::Cloud;
use crate::error::incomplete;
use crate::look::{Listing, Look};
use crate::owner::{Tags, difference};
use crate::rate::Class;

/// The prefixes of names of a cluster's load balancers.
const BALANCERS: [&str; 2] = ["api", "bastion"];

/// A family whose objects one Describe call reads by ARN.
macro_rules! by_arn {
    ($(#[$meta:meta])* $name:ident, $call:ident, $action:literal, $set:ident, $items:ident, $item:ty, $arn:ident) => {
        $(#[$meta])*
        struct $name;

        #[async_trait]
        impl Family for $name {
            type Item = $item;
            const LIMIT: usize = 20;

            async fn fetch(cloud: &Cloud, keys: &[String]) -> Result<BTreeMap<String, $item>, ProviderError> {
                fetch_existing(keys, |keys| async move {
                    let request = cloud.balancing().$call().$set(Some(keys));
                    let page = cloud.read(Class::Balancing, $action, || request.clone().send()).await?;
                    let items = page.$items().iter();
                    Ok(items.filter_map(|item| Some((item.$arn()?.to_owned(), item.clone()))).collect())
                })
                .await
            }
        }
    };
}

by_arn! {
    /// Load balancers by ARN.
    Balancers, describe_load_balancers, "DescribeLoadBalancers", set_load_balancer_arns, load_balancers,
    sdk::LoadBalancer, load_balancer_arn
}
by_arn! {
    /// Listeners by ARN.
    Listeners, describe_listeners, "DescribeListeners", set_listener_arns, listeners, sdk::Listener, listener_arn
}
by_arn! {
    /// Target groups by ARN.
    TargetGroups, describe_target_groups, "DescribeTargetGroups", set_target_group_arns, target_groups,
    sdk::TargetGroup, target_group_arn
}

/// Tags by the ARN of their object.
struct TagsOf;

#[async_trait]
impl Family for TagsOf {
    type Item = Tags;
    const LIMIT: usize = 20;

    async fn fetch(cloud: &Cloud, keys: &[String]) -> Result<BTreeMap<String, Tags>, ProviderError> {
        fetch_existing(keys, |keys| async move {
            let request = cloud.balancing().describe_tags().set_resource_arns(Some(keys));
            let page = cloud.read(Class::Balancing, "DescribeTags", || request.clone().send()).await?;
            let described = page.tag_descriptions().iter();
            Ok(described
                .filter_map(|entry| Some((entry.resource_arn()?.to_owned(), of_tags(entry.tags()))))
                .collect())
        })
        .await
    }
}

fn of_tags(tags: &[sdk::Tag]) -> Tags {
    tags.iter()
        .filter_map(|tag| Some((tag.key()?.to_owned(), tag.value().unwrap_or_default().to_owned())))
        .collect()
}

/// Tags in the form of Elastic Load Balancing.
pub(crate) fn to_tags(tags: &Tags) -> Vec<sdk::Tag> {
    tags.iter().map(|(key, value)| sdk::Tag::builder().key(key).value(value).build()).collect()
}

async fn set_tags(cloud: &Cloud, arn: &str, tags: &Tags) -> Result<(), ProviderError> {
    if tags.is_empty() {
        return Ok(());
    }
    let request = cloud.balancing().add_tags().resource_arns(arn).set_tags(Some(to_tags(tags)));
    cloud.write(Class::Balancing, "AddTags", || request.clone().send()).await.map(drop)
}

/// Changes the tags of an object from those in `prior` to those in `desired`.
async fn update_tags(cloud: &Cloud, arn: &str, prior: &Value, desired: &Value) -> Result<(), ProviderError> {
    let (set, gone) = difference(prior, desired);
    set_tags(cloud, arn, &set).await?;
    if gone.is_empty() {
        return Ok(());
    }
    let request = cloud.balancing().remove_tags().resource_arns(arn).set_tag_keys(Some(gone));
    cloud.write(Class::Balancing, "RemoveTags", || request.clone().send()).await.map(drop)
}

/// The ARN of the created object; an object that has the name already is claimed.
async fn made_or_claimed(
    kind: &dyn Kind,
    act: &Act<'_>,
    desired: &Value,
    (call, answer): (&str, Result<Option<String>, ProviderError>),
    named: impl Future<Output = Result<Option<String>, ProviderError>> + Send,
) -> Result<Identity, ProviderError> {
    match answer {
        Ok(arn) => arn.map(Identity::new).ok_or_else(|| incomplete(call, "ARN")),
        Err(error) if error.class == ErrorClass::Conflict => {
            let arn = named.await?.ok_or(error)?;
            claim(kind, act, Identity::new(arn), desired).await
        }
        Err(error) => Err(error),
    }
}

/// The desired attributes that the object does not have.
fn missing<T: PartialEq>(wanted: Vec<T>, there: &[T]) -> Vec<T> {
    wanted.into_iter().filter(|pair| !there.contains(pair)).collect()
}

/// Refuses an object of another owner: a creating call succeeds for an existing object with the same
/// settings.
async fn check_owner(act: &Act<'_>, arn: &str) -> Result<(), ProviderError> {
    let cloud = act.patient();
    let Some(tags) = act.rest(cloud.get::<TagsOf>(arn)).await? else { return Ok(()) };
    if is_ours(act, &Found::ready(arn, Value::Null, &tags)) { Ok(()) } else { Err(taken(arn)) }
}

/// Objects with their tags.
async fn with_tags(cloud: &Cloud, arns: Vec<String>) -> Result<Option<Vec<Tagged>>, ProviderError> {
    let reads = arns.iter().map(|arn| cloud.get::<TagsOf>(arn));
    let tags = futures_util::future::try_join_all(reads).await?;
    let tagged = arns.into_iter().zip(tags);
    Ok(Some(tagged.filter_map(|(arn, tags)| Some((Identity::new(arn), tags?.as_ref().clone()))).collect()))
}

/// All load balancers of the region with their tags, without those whose names the cluster's own ones have.
///
/// # Errors
/// When they cannot be read.
pub(crate) async fn balancers_of_others(cloud: &Cloud, cluster: &str) -> Result<Vec<Tagged>, ProviderError> {
    let own = BALANCERS.map(|prefix| hashed(prefix, cluster));
    let request = cloud.balancing().describe_load_balancers();
    let send = |marker| request.clone().set_marker(marker).send();
    let pages =
        cloud.pages(Class::Balancing, "DescribeLoadBalancers", send, |page| page.next_marker()).await?;
    let all = pages.iter().flat_map(|page| page.load_balancers());
    let others =
        all.filter(|balancer| own.iter().all(|own| balancer.load_balancer_name() != Some(own.as_str())));
    let arns = others.filter_map(|balancer| balancer.load_balancer_arn()).map(str::to_owned).collect();
    Ok(with_tags(cloud, arns).await?.unwrap_or_default())
}

/// All target groups of the region with their tags, without those whose names the cluster's own ones have.
///
/// # Errors
/// When they cannot be read.
pub(crate) async fn target_groups_of_others(
    cloud: &Cloud,
    cluster: &str,
) -> Result<Vec<Tagged>, ProviderError> {
    let own = target_group::PREFIXES.map(|prefix| hashed(prefix, cluster));
    let request = cloud.balancing().describe_target_groups();
    let send = |marker| request.clone().set_marker(marker).send();
    let pages =
        cloud.pages(Class::Balancing, "DescribeTargetGroups", send, |page| page.next_marker()).await?;
    let all = pages.iter().flat_map(|page| page.target_groups());
    let others = all.filter(|group| own.iter().all(|own| group.target_group_name() != Some(own.as_str())));
    let arns = others.filter_map(|group| group.target_group_arn()).map(str::to_owned).collect();
    Ok(with_tags(cloud, arns).await?.unwrap_or_default())
}

/// The tags of a load balancer; `None` if it does not exist.
///
/// # Errors
/// When they cannot be read.
pub(crate) async fn tags_of(cloud: &Cloud, arn: &str) -> Result<Option<Arc<Tags>>, ProviderError> {
    cloud.get::<TagsOf>(arn).await
}

/// The ARN of a load balancer by name.
async fn balancer_named(cloud: &Cloud, name: &str) -> Result<Option<String>, ProviderError> {
    let request = cloud.balancing().describe_load_balancers().names(name);
    let page =
        if_any(cloud.read(Class::Balancing, "DescribeLoadBalancers", || request.clone().send()).await)?;
    let balancer = page.as_ref().and_then(|page| page.load_balancers().first());
    Ok(balancer.and_then(|balancer| balancer.load_balancer_arn()).map(str::to_owned))
}

/// The ARNs of a cluster's load balancers when its state is lost: by their names, which follow from the cluster's.
struct OfCluster(Vec<String>);

#[async_trait]
impl Listing for OfCluster {
    async fn list(look: &Look) -> Result<Self, ProviderError> {
        let names = BALANCERS.map(|prefix| hashed(prefix, &look.request.cluster));
        let request = look.cloud.balancing().describe_load_balancers();
        let send = |marker| request.clone().set_marker(marker).send();
        let action = "DescribeLoadBalancers";
        let pages = look.cloud.pages(Class::Balancing, action, send, |page| page.next_marker()).await?;
        let is_named = |balancer: &&sdk::LoadBalancer| {
            balancer.load_balancer_name().is_some_and(|name| names.iter().any(|known| known == name))
        };
        let balancers = pages.iter().flat_map(|page| page.load_balancers()).filter(is_named);
        Ok(Self(balancers.filter_map(|balancer| balancer.load_balancer_arn()).map(str::to_owned).collect()))
    }
}
