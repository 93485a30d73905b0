//! The providers' plans for deleted objects.

use slipway_resource::provider::{PlanItem, Rollout};

use super::Planner;
use super::finish::loss;
use crate::change::{ChangeAction, ResourceChange};
use crate::error::Error;
use crate::file::Mode;
use crate::providers::ask;

impl Planner<'_> {
    /// The rolls with which pools are deleted from a cluster that stays; none when the whole cluster is
    /// deleted. Then the data that machines lose is named, and a provider that cannot tell does not stop the
    /// deletion.
    pub(super) async fn rollouts_of(
        &self,
        leaving: &mut [ResourceChange],
    ) -> Result<Vec<Option<Rollout>>, Error> {
        let is_whole = self.inputs.mode == Mode::Delete;
        // A resource that is only forgotten keeps its machines.
        let goes = |change: &ResourceChange| change.action == ChangeAction::Delete;
        let items = leaving.iter().filter(|change| goes(change)).map(|change| PlanItem {
            address: change.address.clone(),
            desired: None,
            observed: (!change.before.is_null()).then(|| change.before.clone()),
            last_applied: self.records.get(&change.address).and_then(|record| record.applied.clone()),
        });
        let planned = match ask(self.inputs.providers, items.collect()).await {
            Err(_) if is_whole => Vec::new(),
            planned => planned?,
        };
        let mut planned = planned.into_iter();
        let rollouts = leaving.iter_mut().map(|change| {
            let rollout = goes(change).then(|| planned.next()?.rollout).flatten();
            if !is_whole {
                return rollout;
            }
            if let Some(loss) = rollout.filter(|rollout| !rollout.members.is_empty()).as_ref().and_then(loss)
            {
                change.confirm(loss);
            }
            None
        });
        Ok(rollouts.collect())
    }
}
