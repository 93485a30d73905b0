//! A group that shrinks: the instances that the plan names are detached, before AWS chooses others.

use slipway_aws_model::plan::retired;
use slipway_resource::{ErrorClass, Identity, ProviderError, Value};

use super::turns::Turns;
use super::view::{DETACHED, RETIRED, View};
use crate::act::{Act, Wait};
use crate::kind::attribute::number32;
use crate::kind::create_tags;
use crate::owner::{ADDRESS, Tags, marks};
use crate::rate::Class;

/// For how long reads may lag behind.
const CONSISTENCY: std::time::Duration = std::time::Duration::from_secs(90);
/// How many instances one call detaches from a group.
const AT_ONCE: usize = 20;

/// Detaches the instances that the plan names, as part of the group's update. They run until they are drained
/// and removed. Instances that are gone since, or were detached in an earlier attempt, are skipped.
///
/// # Errors
/// As the calls say.
pub(in crate::kind::scaling) async fn shrink(
    act: &Act<'_>,
    group: &Identity,
    prior: &Value,
    desired: &Value,
) -> Result<(), ProviderError> {
    let named = retired(prior, desired);
    if named.is_empty() {
        return Ok(());
    }
    let cloud = act.cloud;
    let turns = cloud.shared::<Turns>().of(group.as_str());
    let _turn = turns.turn().await;
    let Some(view) = View::look(cloud, group.as_str()).await? else { return Ok(()) };
    let is_inside = |id: &&String| view.attached.iter().any(|machine| machine.id == **id);
    let leaving: Vec<String> = named.iter().filter(is_inside).cloned().collect();
    // A group cannot have fewer instances than its minimum size, so this size is changed first.
    let change = cloud
        .autoscaling()
        .update_auto_scaling_group()
        .auto_scaling_group_name(group.as_str())
        .set_min_size(number32(desired, "min_size"));
    if !leaving.is_empty() && number32(desired, "min_size") < number32(prior, "min_size") {
        cloud.write(Class::AutoScaling, "UpdateAutoScalingGroup", || change.clone().send()).await?;
    }
    // The tags are set first: a detached instance is found by them.
    let mut tags = Tags::from([
        (DETACHED.to_owned(), group.as_str().to_owned()),
        (RETIRED.to_owned(), act.request.token.as_str().to_owned()),
    ]);
    tags.extend(marks(&act.request.ownership, None).into_iter().filter(|(key, _)| key != ADDRESS));
    for part in leaving.chunks(AT_ONCE) {
        act.check()?;
        for id in part {
            create_tags(cloud, id, &tags).await?;
        }
        turns.done().retired.extend(part.iter().cloned());
        match detach(act, group, part).await {
            // An instance is gone by itself, or was detached in an attempt whose answer was lost.
            Err(error) if error.class == ErrorClass::Invalid => {
                for id in part {
                    match detach(act, group, std::slice::from_ref(id)).await {
                        Err(error) if error.class == ErrorClass::Invalid => {
                            until_it_left(act, group, id, error).await?;
                        }
                        other => other?,
                    }
                }
            }
            other => other?,
        }
    }
    Ok(())
}

/// Takes instances out of a group, which gets smaller by as many.
async fn detach(act: &Act<'_>, group: &Identity, ids: &[String]) -> Result<(), ProviderError> {
    let request = act
        .cloud
        .autoscaling()
        .detach_instances()
        .auto_scaling_group_name(group.as_str())
        .set_instance_ids(Some(ids.to_vec()))
        .should_decrement_desired_capacity(true);
    act.cloud.write(Class::AutoScaling, "DetachInstances", || request.clone().send()).await.map(drop)
}

/// Waits until reads show a group without an instance that AWS did not let go; fails as AWS did where it stays.
async fn until_it_left(
    act: &Act<'_>,
    group: &Identity,
    id: &str,
    failure: ProviderError,
) -> Result<(), ProviderError> {
    let mut wait = Wait::for_at_most(CONSISTENCY);
    loop {
        let view = View::look(act.cloud, group.as_str()).await?;
        if view.is_none_or(|view| view.attached.iter().all(|machine| machine.id != id)) {
            return Ok(());
        }
        match act.pause(&mut wait, &format!("{id} was not gone from its group")).await {
            Err(late) if late.class == ErrorClass::OutcomeUnknown => return Err(failure),
            other => other?,
        }
    }
}
