//! What providers say of objects that leave.

use slipway_resource::provider::{PlanItem, Rollout};

use super::Planner;
use crate::change::{ChangeAction, ResourceChange};
use crate::error::Error;
use crate::file::Mode;
use crate::providers::ask;

impl Planner<'_> {
    /// The rolls with which pools leave a cluster that stays; none when the whole cluster goes: then the data that machines
    /// take with them is named, and a provider that cannot tell does not stop the deletion.
    pub(super) async fn rollouts_of(
        &self,
        leaving: &mut [ResourceChange],
    ) -> Result<Vec<Option<Rollout>>, Error> {
        let mut rollouts: Vec<Option<Rollout>> = leaving.iter().map(|_| None).collect();
        let is_whole = self.inputs.mode == Mode::Delete;
        // What is only forgotten stays as it is, with its machines.
        let places: Vec<usize> = leaving
            .iter()
            .enumerate()
            .filter(|(_, change)| change.action == ChangeAction::Delete)
            .map(|(place, _)| place)
            .collect();
        let items = places.iter().filter_map(|place| leaving.get(*place)).map(|change| PlanItem {
            address: change.address.clone(),
            desired: None,
            observed: (!change.before.is_null()).then(|| change.before.clone()),
            last_applied: self.records.get(&change.address).and_then(|record| record.applied.clone()),
        });
        let planned = match ask(self.inputs.providers, items.collect()).await {
            Err(_) if is_whole => Vec::new(),
            planned => planned?,
        };
        for (place, planned) in places.into_iter().zip(planned) {
            let (Some(rollout), Some(change)) = (rollouts.get_mut(place), leaving.get_mut(place)) else {
                continue;
            };
            match planned.rollout {
                Some(Rollout { members, loses: Some(loses), .. }) if is_whole && !members.is_empty() => {
                    change
                        .confirmation
                        .get_or_insert_with(|| format!("each machine that goes loses {loses}"));
                }
                _ if is_whole => {}
                planned => *rollout = planned,
            }
        }
        Ok(rollouts)
    }
}
