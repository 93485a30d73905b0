//! The effects of a plan on users of the cluster.

use slipway_resource::Address;
use slipway_resource::provider::Disruption;

use super::block::disruption;
use super::group::View;

/// A change that users of the cluster notice, or that rolls machines.
pub(super) struct Effect<'p> {
    /// The resource.
    pub(super) address: &'p Address,
    /// What users notice.
    pub(super) how: &'static str,
    /// How many machines are replaced or removed.
    pub(super) machines: usize,
    /// Pods that would block a drain at present, each once.
    pub(super) blockers: Vec<&'p str>,
    /// The work on it, in milliseconds.
    pub(super) work_ms: u64,
}

/// The effects of the changes that are shown, in their order.
pub(super) fn effects<'p>(view: &View<'p>) -> Vec<Effect<'p>> {
    let changes = view.shown().flat_map(|(_, changes)| changes.iter().copied());
    changes
        .filter(|change| change.disruption != Disruption::None || !change.machines.is_empty())
        .map(|change| {
            let mut blockers: Vec<&str> =
                change.machines.iter().flat_map(|machine| &machine.blockers).map(String::as_str).collect();
            blockers.sort_unstable();
            blockers.dedup();
            Effect {
                address: &change.address,
                how: disruption(change, view).unwrap_or("machines are rolled"),
                machines: change.machines.len(),
                blockers,
                work_ms: view
                    .steps(&change.address)
                    .iter()
                    .map(|step| step.estimate_ms)
                    .fold(0, u64::saturating_add),
            }
        })
        .collect()
}
