//! Auto-scaling groups. A group's name is its identity.

mod shape;

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use aws_sdk_autoscaling::operation::describe_auto_scaling_groups::builders::DescribeAutoScalingGroupsFluentBuilder;
use aws_sdk_autoscaling::types as sdk;
use slipway_resource::provider::Applied;
use slipway_resource::{Entries, ErrorClass, Identity, ProviderError, Value};

use self::shape::{add_instances, detached_instance, found, ids};
use super::{changes, gates, mixed, profile};
use crate::act::{Act, Wait};
use crate::batch::Family;
use crate::cloud::Cloud;
use crate::kind::attribute::{block, blocks, differs, flag, need, number32, text, texts};
use crate::kind::by_name::{claim, made};
use crate::kind::{Blockers, Found, Kind};
use crate::look::{Listing, Look};
use crate::owner::{Tags, marks};
use crate::rate::Class;

/// `aws_autoscaling_group`.
pub(in crate::kind) struct Group;

/// Groups by name.
pub(super) struct Groups;

/// The groups of a cluster.
pub(in crate::kind) struct Owned(pub Vec<Found>);

#[async_trait]
impl Family for Groups {
    type Item = sdk::AutoScalingGroup;
    const LIMIT: usize = 50;

    async fn fetch(
        cloud: &Cloud,
        keys: &[String],
    ) -> Result<BTreeMap<String, sdk::AutoScalingGroup>, ProviderError> {
        let request = cloud
            .autoscaling()
            .describe_auto_scaling_groups()
            .set_auto_scaling_group_names(Some(keys.to_vec()));
        let groups = describe(cloud, request).await?;
        Ok(groups
            .into_iter()
            .filter_map(|group| Some((group.auto_scaling_group_name()?.to_owned(), group)))
            .collect())
    }
}

#[async_trait]
impl Listing for Owned {
    async fn list(look: &Look) -> Result<Self, ProviderError> {
        let (key, value) = look.mark();
        let filter = sdk::Filter::builder().name(format!("tag:{key}")).values(value).build();
        let request = look.cloud.autoscaling().describe_auto_scaling_groups().filters(filter);
        let groups = describe(&look.cloud, request);
        let (groups, detached) = tokio::join!(groups, look.listing::<gates::Detached>());
        let (groups, detached) = (groups?, detached?);
        let mut found: Vec<Found> = groups.iter().map(found).collect();
        for group in &mut found {
            let inside: BTreeSet<String> = ids(&group.attributes);
            let of_it = detached.0.iter().filter(|(name, instance)| {
                // An instance in the group may have the tag already: the run that was to detach it was
                // interrupted.
                name == group.identity.as_str()
                    && instance.instance_id().is_some_and(|id| !inside.contains(id))
            });
            add_instances(&mut group.attributes, of_it.map(|(_, instance)| detached_instance(instance)));
        }
        Ok(Self(found))
    }
}

/// All pages of one call.
async fn describe(
    cloud: &Cloud,
    request: DescribeAutoScalingGroupsFluentBuilder,
) -> Result<Vec<sdk::AutoScalingGroup>, ProviderError> {
    let send = |token| request.clone().set_next_token(token).send();
    let action = "DescribeAutoScalingGroups";
    let pages = cloud.pages(Class::AutoScaling, action, send, |page| page.next_token()).await?;
    Ok(pages.iter().flat_map(|page| page.auto_scaling_groups()).cloned().collect())
}

/// The answer to a call about a group; `None` when the group does not exist. To Auto Scaling that is no more than an
/// invalid request.
pub(super) async fn if_there<T>(
    cloud: &Cloud,
    group: &str,
    answer: Result<T, ProviderError>,
) -> Result<Option<T>, ProviderError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if matches!(error.class, ErrorClass::NotFound | ErrorClass::Invalid) => {
            match cloud.get::<Groups>(group).await? {
                Some(_) => Err(error),
                None => Ok(None),
            }
        }
        Err(error) => Err(error),
    }
}

#[async_trait]
impl Kind for Group {
    fn name(&self) -> &'static str {
        "aws_autoscaling_group"
    }

    async fn list(&self, look: &Look) -> Result<Vec<Found>, ProviderError> {
        Ok(look.listing::<Owned>().await?.0.clone())
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        let Some(mut found) = cloud.get::<Groups>(id.as_str()).await?.map(|group| found(&group)) else {
            return Ok(None);
        };
        // A group with our tags is listed together with its detached instances. A group of another tool is
        // only read.
        if found.owner.is_none() {
            let inside: BTreeSet<String> = ids(&found.attributes);
            let detached = gates::alive_detached(cloud, id.as_str()).await?;
            let of_it = detached
                .iter()
                .filter(|instance| instance.instance_id().is_some_and(|id| !inside.contains(id)));
            add_instances(&mut found.attributes, of_it.map(detached_instance));
        }
        Ok(Some(found))
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let name = need(desired, "name")?;
        let owned = |name: &str| text(desired, name).map(str::to_owned);
        let some_texts = |name: &str| Some(texts(desired, name)).filter(|texts| !texts.is_empty());
        let request = act
            .cloud
            .autoscaling()
            .create_auto_scaling_group()
            .auto_scaling_group_name(name)
            .set_min_size(number32(desired, "min_size"))
            .set_max_size(number32(desired, "max_size"))
            .set_desired_capacity(number32(desired, "desired_capacity"))
            .set_vpc_zone_identifier(subnets(desired))
            .set_launch_template(block(desired, "launch_template").map(mixed::launch_template))
            .set_mixed_instances_policy(block(desired, "mixed_instances_policy").map(mixed::policy))
            .set_target_group_arns(some_texts("target_group_arns"))
            .set_load_balancer_names(some_texts("load_balancers"))
            .set_max_instance_lifetime(number32(desired, "max_instance_lifetime").filter(|span| *span > 0))
            .new_instances_protected_from_scale_in(flag(desired, "protect_from_scale_in"))
            .capacity_rebalance(flag(desired, "capacity_rebalance"))
            .set_default_cooldown(number32(desired, "default_cooldown"))
            .set_default_instance_warmup(number32(desired, "default_instance_warmup"))
            .set_health_check_type(owned("health_check_type"))
            .set_health_check_grace_period(number32(desired, "health_check_grace_period"))
            .set_placement_group(owned("placement_group"))
            .set_service_linked_role_arn(owned("service_linked_role_arn"))
            .set_termination_policies(some_texts("termination_policies"))
            .set_instance_maintenance_policy(
                block(desired, "instance_maintenance_policy").map(changes::maintenance),
            )
            .set_tags(Some(changes::tags(
                name,
                &changes::wanted_tags(desired),
                &marks_with_manner(act, desired),
            )));
        let mut wait = Wait::for_at_most(profile::KNOWN_EVERYWHERE);
        loop {
            let send = || request.clone().send();
            match act.cloud.write(Class::AutoScaling, "CreateAutoScalingGroup", send).await {
                Ok(_) => return Ok(Identity::new(name)),
                Err(error) if error.class == ErrorClass::Conflict => {
                    return claim(self, act, Identity::new(name), desired).await;
                }
                // Auto Scaling does not know a new profile at once, and has one code for everything that is wrong.
                Err(error) if error.class == ErrorClass::Invalid => {
                    if !profile::is_fresh(act.cloud, desired).await {
                        return Err(error);
                    }
                    act.progress("waiting until its instance profile is known everywhere");
                    let what = format!("{name} could not be made with its new profile");
                    act.pause(&mut wait, &what).await.map_err(|ended| match ended.class {
                        ErrorClass::OutcomeUnknown => error,
                        _ => ended,
                    })?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn complete(&self, act: &Act<'_>, id: &Identity, desired: &Value) -> Result<(), ProviderError> {
        let nothing = Value::Map(Entries::new());
        changes::beside(act.cloud, id.as_str(), &nothing, desired).await
    }

    async fn update(
        &self,
        act: &Act<'_>,
        id: &Identity,
        prior: &Value,
        desired: &Value,
    ) -> Result<(), ProviderError> {
        gates::shrink(act, id, prior, desired).await?;
        changes::own(act.cloud, id.as_str(), prior, desired).await?;
        let changed = |name: &&str| differs(prior, desired, name);
        if has(desired, "warm_pool") && ["launch_template", "mixed_instances_policy"].iter().any(changed) {
            gates::renew_warm_pool(act.cloud, id.as_str()).await?;
        }
        changes::attachments(act.cloud, id.as_str(), prior, desired).await?;
        changes::beside(act.cloud, id.as_str(), prior, desired).await?;
        changes::update_tags(act.cloud, id.as_str(), prior, desired).await
    }

    async fn operate(
        &self,
        act: &Act<'_>,
        id: &Identity,
        name: &str,
        arguments: &Value,
    ) -> Result<Applied, ProviderError> {
        gates::operate(act, id, name, arguments).await
    }

    /// Its instances are deleted with it, and those that an interrupted roll has detached from it.
    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let detached = gates::alive_detached(act.cloud, id.as_str()).await?;
        let detached: Vec<String> =
            detached.iter().filter_map(|instance| instance.instance_id()).map(str::to_owned).collect();
        if !detached.is_empty() {
            let request = act.cloud.ec2().terminate_instances().set_instance_ids(Some(detached));
            act.cloud.write(Class::Ec2Write, "TerminateInstances", || request.clone().send()).await?;
        }
        let request =
            act.cloud.autoscaling().delete_auto_scaling_group().auto_scaling_group_name(id.as_str());
        let request = request.force_delete(true);
        let deleted =
            act.cloud.write(Class::AutoScaling, "DeleteAutoScalingGroup", || request.clone().send()).await;
        if_there(act.cloud, id.as_str(), deleted).await.map(drop)
    }

    async fn remains(&self, cloud: &Cloud, id: &Identity) -> Result<bool, ProviderError> {
        Ok(!gates::alive_detached(cloud, id.as_str()).await?.is_empty())
    }

    /// Its instances shut down.
    fn lingers(&self) -> bool {
        true
    }

    async fn tag(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let marks = marks(&act.request.ownership, None);
        changes::set_tags(act.cloud, changes::tags(id.as_str(), &[], &marks)).await
    }

    async fn made(&self, act: &Act<'_>, desired: &Value) -> Result<Option<Identity>, ProviderError> {
        made(self, act, Identity::new(need(desired, "name")?)).await
    }

    fn is_idempotent(&self) -> bool {
        true
    }

    async fn blockers(&self, cloud: &Cloud, id: &Identity) -> Result<Blockers, ProviderError> {
        let group = cloud.get::<Groups>(id.as_str()).await?;
        let instances = group.iter().flat_map(|group| group.instances());
        let passing = instances.filter_map(|instance| instance.instance_id()).map(str::to_owned);
        Ok(Blockers { lasting: Vec::new(), passing: passing.collect() })
    }
}

/// The subnets as the calls take them.
pub(super) fn subnets(attributes: &Value) -> Option<String> {
    let subnets = texts(attributes, "vpc_zone_identifier");
    (!subnets.is_empty()).then(|| subnets.join(","))
}

/// The ownership tags of a group, and the tag for the replacement of its instances.
fn marks_with_manner(act: &Act<'_>, desired: &Value) -> Tags {
    let mut marks = act.marks();
    marks.extend(changes::manner(desired));
    marks
}

/// Whether a group has blocks of a name.
pub(super) fn has(attributes: &Value, name: &str) -> bool {
    !blocks(attributes, name).is_empty()
}
