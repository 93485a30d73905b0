//! A group with target groups that is larger by one instance while an instance of it is replaced.
//!
//! An instance that leaves its group leaves the target groups at the same time. So the new instance comes first, and the other one leaves
//! when the new one is healthy in each target group. AWS chooses the zone of the new instance before a place is free. If the group has
//! one subnet or one instance, no zone has too many instances afterwards, and AWS has nothing to rebalance. Other groups replace the
//! instance as groups without target groups do.
//!
//! The tag [`GROWN`] of the instance that leaves has the sizes of the group, so that an interrupted gate grows the group once.

use std::time::Duration;

use slipway_resource::ProviderError;
use tokio::time::Instant;

use super::Gate;
use super::surge::{Next, mine};
use super::turns::Group;
use super::view::{GROWN, Machine, View};
use crate::owner::Tags;
use crate::rate::Class;

/// For how long reads may show a group as larger than it is.
const CONSISTENCY: Duration = Duration::from_secs(30);

/// The sizes of a group before it grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    /// The desired capacity.
    desired: i64,
    /// The maximum size.
    max: i64,
}

impl Sizes {
    /// The sizes in the tag of an instance; `None` for one that leaves without them.
    fn of(machine: &Machine) -> Option<Self> {
        Self::read(machine.tag(GROWN)?)
    }

    fn read(text: &str) -> Option<Self> {
        let (desired, max) = text.split_once(' ')?;
        Some(Self { desired: desired.parse().ok()?, max: max.parse().ok()? })
    }

    fn to_text(self) -> String {
        format!("{} {}", self.desired, self.max)
    }
}

/// The sizes of a group before it grew for an instance that leaves; `None` if it did not.
pub(super) fn sizes(turns: &Group, view: &View, leaver: &str) -> Option<Sizes> {
    let remembered = turns.done().sizes.get(leaver).copied();
    view.machine(leaver).and_then(Sizes::of).or(remembered)
}

impl View {
    /// Whether the group gets larger before an instance leaves it.
    pub(super) fn grows(&self) -> bool {
        !self.target_groups.is_empty() && (self.in_one_subnet || self.desired <= 1)
    }
}

impl Gate<'_> {
    /// Lets the group launch one instance more before another one leaves.
    pub(super) async fn grow(
        &self,
        turns: &Group,
        view: &View,
        leaver: &Machine,
    ) -> Result<Next, ProviderError> {
        // An interrupted roll may have grown the group already.
        let now = Sizes { desired: view.desired, max: view.max };
        let sizes = sizes(turns, view, &leaver.id).unwrap_or(now);
        {
            let mut done = turns.done();
            done.growing = Some(self.token().to_owned());
            done.left.insert(leaver.id.clone(), self.token().to_owned());
            done.sizes.insert(leaver.id.clone(), sizes);
        }
        self.mark(&leaver.id, Tags::from([(GROWN.to_owned(), sizes.to_text())])).await?;
        let next = self.grow_again(turns, view, (leaver, sizes)).await?;
        Ok(next.unwrap_or_else(|| Next::Wait(launches(leaver))))
    }

    /// Lets the group launch one instance more if an earlier attempt of this gate did not; `None` if it did.
    pub(super) async fn grow_again(
        &self,
        turns: &Group,
        view: &View,
        (leaver, sizes): (&Machine, Sizes),
    ) -> Result<Option<Next>, ProviderError> {
        turns.done().growing = Some(self.token().to_owned());
        let desired = sizes.desired + leaver.weight;
        if view.desired >= desired {
            return Ok(None);
        }
        self.resize(Some(desired), sizes.max.max(desired)).await?;
        Ok(Some(Next::Wait(launches(leaver))))
    }

    /// Lets the instance leave for which the group has grown, now that the new one serves, and gives the group its sizes back.
    pub(super) async fn shrink_back(
        &self,
        turns: &Group,
        view: &View,
        machine: Option<Machine>,
    ) -> Result<Next, ProviderError> {
        let leaver = mine(view, turns, self.token());
        let Some((leaver, sizes)) = leaver.and_then(|id| sizes(turns, view, &id).map(|sizes| (id, sizes)))
        else {
            return Ok(Next::Filled(machine));
        };
        if view.attached.iter().any(|attached| attached.id == leaver) {
            self.take_out(turns, &leaver, true).await?;
            turns.done().smaller_since = Some(Instant::now());
            return Ok(Next::Wait(format!("{leaver} leaves the group")));
        }
        if view.max <= sizes.max {
            return Ok(Next::Filled(machine));
        }
        if view.desired <= sizes.max {
            self.resize(None, sizes.max).await?;
            return Ok(Next::Filled(machine));
        }
        // With a larger desired capacity, a smaller maximum would end instances.
        let smaller_since = turns.done().smaller_since;
        if smaller_since.is_some_and(|since| since.elapsed() < CONSISTENCY) {
            return Ok(Next::Wait("the group gets its sizes back".to_owned()));
        }
        Ok(Next::Filled(machine))
    }

    async fn resize(&self, desired: Option<i64>, max: i64) -> Result<(), ProviderError> {
        let number = |size: i64| i32::try_from(size).unwrap_or(i32::MAX);
        let cloud = self.act.cloud;
        let request = cloud
            .autoscaling()
            .update_auto_scaling_group()
            .auto_scaling_group_name(self.group)
            .max_size(number(max))
            .set_desired_capacity(desired.map(number));
        cloud.write(Class::AutoScaling, "UpdateAutoScalingGroup", || request.clone().send()).await.map(drop)
    }
}

/// What a gate says while the group launches one instance more.
fn launches(leaver: &Machine) -> String {
    format!("the group launches another instance before {} leaves", leaver.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sizes_of_a_group_are_kept_in_a_tag() {
        let sizes = Sizes { desired: 2, max: 3 };
        assert_eq!(Sizes::read(&sizes.to_text()), Some(sizes));
        assert_eq!(Sizes::read("2"), None);
        let tags = Tags::from([(GROWN.to_owned(), sizes.to_text())]);
        assert_eq!(Sizes::of(&Machine { tags, ..Machine::default() }), Some(sizes));
        assert_eq!(Sizes::of(&Machine::default()), None);
    }
}
