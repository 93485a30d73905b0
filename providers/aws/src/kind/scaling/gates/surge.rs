//! One instance beyond the size.
//!
//! An instance that is to be replaced leaves the group and continues to run, and the group launches another
//! in its place. A group with target groups gets larger instead, where `grown.rs` says so. If no
//! instance may exist beyond the size, one has been removed before, and the group is launching already. In all
//! cases, the newest instance without a slot fills this one.

use std::time::Duration;

use slipway_resource::{ErrorClass, ProviderError};
use tokio::time::Instant;

use super::grown::sizes;
use super::turns::{Group, Turns};
use super::view::{DETACHED, Machine, SLOT, SURGE, View};
use super::{Gate, targets, warm};
use crate::act::Wait;
use crate::error::permanent;
use crate::kind::create_tags;
use crate::owner::{Tags, marks};
use crate::rate::Class;

/// For how long a group may take to launch an instance.
const LIMIT: Duration = Duration::from_secs(3600);

/// How far it is.
pub(super) enum Next {
    /// This instance fills the slot.
    Filled(Option<Machine>),
    /// An instance fills the slot and does not serve yet, for this reason. It may take so long.
    Starts(String, Duration),
    /// The gate must wait, for this reason.
    Wait(String),
}

impl Gate<'_> {
    /// Fills a slot.
    pub(super) async fn surge(&self, slot: &str, anew: bool) -> Result<Option<Machine>, ProviderError> {
        let turns = self.act.cloud.shared::<Turns>().of(self.group);
        let filled = self.fill(&turns, slot, anew).await;
        turns.done().growing.take_if(|token| token.as_str() == self.token());
        filled
    }

    async fn fill(&self, turns: &Group, slot: &str, anew: bool) -> Result<Option<Machine>, ProviderError> {
        let mut wait = Wait::for_at_most(LIMIT);
        let mut told = String::new();
        let mut starts_since: Option<Instant> = None;
        loop {
            let next = {
                let _turn = turns.turn().await;
                self.act.check()?;
                self.next(turns, slot, anew).await?
            };
            match next {
                Next::Filled(machine) => return Ok(machine),
                Next::Starts(why, limit) => {
                    if starts_since.get_or_insert_with(Instant::now).elapsed() >= limit {
                        let text = format!("{why} after {} s, and not in service", limit.as_secs());
                        return Err(permanent(text).with_hint("look at its console output, then apply again"));
                    }
                    self.wait(&mut wait, &mut told, &why).await?;
                }
                Next::Wait(why) => self.wait(&mut wait, &mut told, &why).await?,
            }
        }
    }

    async fn next(&self, turns: &Group, slot: &str, anew: bool) -> Result<Next, ProviderError> {
        let view = self.look().await?;
        let token = self.token();
        let claimed = turns.done().claimed.clone();
        let filled = |machine: &&Machine| {
            let is_claimed = claimed.get(&machine.id).is_some_and(|of| of == token);
            (is_claimed || machine.tag(SURGE) == Some(token)) && machine.tag(DETACHED).is_none()
        };
        if let Some(machine) = view.attached.iter().find(filled) {
            return match self.filled(machine.clone(), &view).await? {
                Next::Filled(machine) => self.shrink_back(turns, &view, machine).await,
                other => Ok(other),
            };
        }
        if let Some(leaver) = mine(&view, turns, token) {
            if let Some(leaver) = view.attached.iter().find(|machine| machine.id == leaver) {
                let Some(sizes) = sizes(turns, &view, &leaver.id) else {
                    self.detach(turns, &leaver.id).await?;
                    return Ok(Next::Wait(format!("{} leaves the group", leaver.id)));
                };
                if let Some(next) = self.grow_again(turns, &view, (leaver, sizes)).await? {
                    return Ok(next);
                }
            }
        } else if turns.done().growing.as_deref().is_some_and(|other| other != token) {
            return Ok(Next::Wait("the group has one instance more for another replacement".to_owned()));
        } else if view.units() >= view.desired
            && self.may_surge(&view, turns)
            && let Some(leaver) = first_leaving(&view, turns, anew)
        {
            warm::renew(self.act.cloud, self.group).await?;
            if view.grows()
                && let Some(leaver) = view.machine(&leaver)
            {
                return self.grow(turns, &view, leaver).await;
            }
            self.detach(turns, &leaver).await?;
            return Ok(Next::Wait(format!("{leaver} leaves the group, which launches another in its place")));
        }
        if view.units() < view.desired {
            return Ok(Next::Wait(self.launching(&view).await));
        }
        if let Some(machine) = newest(&view, turns, anew) {
            self.claim(&view, turns, &machine, slot).await?;
            return match self.filled(machine, &view).await? {
                Next::Filled(machine) => self.shrink_back(turns, &view, machine).await,
                other => Ok(other),
            };
        }
        if first_leaving(&view, turns, anew).is_none() {
            // The instances to replace are gone by themselves, and every instance is as desired.
            return Ok(Next::Filled(None));
        }
        Ok(Next::Wait("no place is free for one more instance".to_owned()))
    }

    /// Waits until an instance is in service, and healthy in the target groups of its group: until then, the next instance must not leave
    /// them. An instance of a cluster without a provider of nodes is waited for by no other gate.
    async fn filled(&self, machine: Machine, view: &View) -> Result<Next, ProviderError> {
        let limit = Duration::from_millis(view.manner.ready_timeout_ms);
        if !machine.is_in_service() {
            let health = if machine.healthy { "" } else { ", Unhealthy" };
            return Ok(Next::Starts(format!("{} is {}{health}", machine.id, machine.state), limit));
        }
        Ok(match targets::missing(self.act.cloud, &view.target_groups, &machine.id).await? {
            Some(why) => Next::Starts(why, limit),
            None => Next::Filled(Some(machine)),
        })
    }

    /// Whether one more instance may exist.
    fn may_surge(&self, view: &View, turns: &Group) -> bool {
        let size = u32::try_from(view.attached.len()).unwrap_or(u32::MAX);
        let (beyond, _) = view.manner.limits(size);
        let left = turns.done().left.keys().filter(|id| view.machine(id).is_none()).count();
        view.replaced() + left < beyond as usize
    }

    /// Detaches an instance from the group, which launches another in its place.
    async fn detach(&self, turns: &Group, id: &str) -> Result<(), ProviderError> {
        self.mark(id, Tags::new()).await?;
        self.take_out(turns, id, false).await
    }

    /// Sets the tags by which an instance that leaves its group is found. They are set before it leaves.
    pub(super) async fn mark(&self, id: &str, more: Tags) -> Result<(), ProviderError> {
        let mut tags = Tags::from([
            (DETACHED.to_owned(), self.group.to_owned()),
            (SURGE.to_owned(), self.token().to_owned()),
        ]);
        // The instance is found with the other objects of the cluster. It belongs to its group, and has no
        // address of its own.
        let of_cluster = marks(&self.act.request.ownership, None).into_iter();
        tags.extend(of_cluster.filter(|(key, _)| key != crate::owner::ADDRESS));
        tags.extend(more);
        create_tags(self.act.cloud, id, &tags).await
    }

    /// Takes an instance out of its group, which launches another in its place or gets smaller.
    pub(super) async fn take_out(&self, turns: &Group, id: &str, smaller: bool) -> Result<(), ProviderError> {
        let cloud = self.act.cloud;
        let request = cloud
            .autoscaling()
            .detach_instances()
            .auto_scaling_group_name(self.group)
            .instance_ids(id)
            .should_decrement_desired_capacity(smaller);
        let sent = cloud.write(Class::AutoScaling, "DetachInstances", || request.clone().send()).await;
        turns.done().left.insert(id.to_owned(), self.token().to_owned());
        match sent {
            // The instance has left the group already, and reads do not show it yet.
            Err(error) if error.class == ErrorClass::Invalid => Ok(()),
            other => other.map(drop),
        }
    }

    /// Writes down that an instance fills the slot. Slots of earlier plans count no more.
    async fn claim(
        &self,
        view: &View,
        turns: &Group,
        machine: &Machine,
        slot: &str,
    ) -> Result<(), ProviderError> {
        let cloud = self.act.cloud;
        let others = view.attached.iter().chain(&view.detached).filter(|other| other.id != machine.id);
        let before: Vec<String> =
            others.filter(|other| other.tag(SLOT) == Some(slot)).map(|other| other.id.clone()).collect();
        if !before.is_empty() {
            let tag = aws_sdk_ec2::types::Tag::builder().key(SLOT).build();
            let request = cloud.ec2().delete_tags().set_resources(Some(before)).tags(tag);
            cloud.write(Class::Ec2Write, "DeleteTags", || request.clone().send()).await?;
        }
        let tags =
            Tags::from([(SURGE.to_owned(), self.token().to_owned()), (SLOT.to_owned(), slot.to_owned())]);
        create_tags(cloud, &machine.id, &tags).await?;
        turns.done().claimed.insert(machine.id.clone(), self.token().to_owned());
        Ok(())
    }

    /// What the group waits for, with the message of AWS if there is one.
    async fn launching(&self, view: &View) -> String {
        let state = format!("the group launches: it has {} of {}", view.units(), view.desired);
        let cloud = self.act.cloud;
        let request = cloud
            .autoscaling()
            .describe_scaling_activities()
            .auto_scaling_group_name(self.group)
            .max_records(1);
        let answer =
            cloud.read(Class::AutoScaling, "DescribeScalingActivities", || request.clone().send()).await;
        let activity = answer.ok().and_then(|answer| answer.activities().first().cloned());
        let failed = activity.filter(|activity| {
            matches!(activity.status_code().map(|code| code.as_str()), Some("Failed" | "Cancelled"))
        });
        match failed.as_ref().and_then(|activity| activity.status_message()) {
            Some(message) => format!("{state}; AWS says: {message}"),
            None => state,
        }
    }
}

/// The instance that leaves or left for this very gate.
pub(super) fn mine(view: &View, turns: &Group, token: &str) -> Option<String> {
    let tagged = view
        .attached
        .iter()
        .chain(&view.detached)
        .find(|machine| machine.tag(SURGE) == Some(token) && machine.tag(DETACHED).is_some());
    let remembered =
        || turns.done().left.iter().find(|(_, of)| of.as_str() == token).map(|(id, _)| id.clone());
    tagged.map(|machine| machine.id.clone()).or_else(remembered)
}

/// The next instance to leave: instances that are not in service first, as in the plan, then by id; with
/// `anew` the oldest.
fn first_leaving(view: &View, turns: &Group, anew: bool) -> Option<String> {
    let done = turns.done();
    let leaves = |machine: &&Machine| {
        (anew || !view.is_current(machine))
            && !done.left.contains_key(&machine.id)
            && !done.retired.contains(&machine.id)
    };
    let leaving = view.attached.iter().filter(leaves);
    let first = leaving.min_by_key(|machine| {
        let age = if anew { machine.launched } else { 0 };
        (machine.is_in_service(), age, machine.id.clone())
    });
    first.map(|machine| machine.id.clone())
}

/// The newest instance that fills no slot.
fn newest(view: &View, turns: &Group, anew: bool) -> Option<Machine> {
    let done = turns.done();
    let free = |machine: &&Machine| {
        (anew || view.is_current(machine))
            && machine.tag(SURGE).is_none()
            && !done.claimed.contains_key(&machine.id)
            && !done.left.contains_key(&machine.id)
            && !done.retired.contains(&machine.id)
    };
    view.attached.iter().filter(free).max_by_key(|machine| (machine.launched, machine.id.clone())).cloned()
}
