//! Pools that leave, and the pools of their role that take over their work.

use std::collections::BTreeMap;

use slipway_resource::Address;
use slipway_resource::provider::{ExpandNote, Rollout};

use crate::assemble::{Decided, Nodes};
use crate::change::ChangeAction;
use crate::decide::Decision;
use crate::step_graph::NodeId;

/// The role whose machines run the workloads of a cluster, as providers name it in [`Rollout::group`].
const WORKER: &str = "worker";

/// For each role, the steps that create or enlarge its pools. The deletion of another pool of the role waits for them, so that
/// the pods of drained machines find new ones. A renamed pool, for example, is a new pool beside the old one.
pub(crate) fn arrivals(nodes: &BTreeMap<Address, Nodes>, decided: &Decided) -> BTreeMap<String, Vec<NodeId>> {
    let mut arrivals: BTreeMap<String, Vec<NodeId>> = BTreeMap::new();
    for (address, decision) in &decided.by_address {
        let arrival = nodes.get(address).and_then(|own| own.arrival);
        if let (Some(rollout), Some(arrival)) = (&decision.rollout, arrival)
            && grows(decision.change.action, rollout)
        {
            arrivals.entry(rollout.group.clone()).or_default().push(arrival);
        }
    }
    arrivals
}

fn grows(action: ChangeAction, rollout: &Rollout) -> bool {
    match action {
        ChangeAction::Create => true,
        ChangeAction::Update => rollout.size as usize > rollout.members.len(),
        _ => false,
    }
}

/// A note that the last workers leave, if they do. A pool about which nothing could be decided may have workers, so that there
/// is no note beside one.
pub(crate) fn last_workers(decided: &Decided) -> Option<ExpandNote> {
    if decided.populated.contains(WORKER) {
        return None;
    }
    let decisions = || decided.by_address.values().map(|decision| &**decision);
    let leaving: Vec<&Decision> =
        decisions().filter(|decision| is_of_workers(decision) && leaves(decision)).collect();
    let is_like_leaving = |other: &Decision| {
        let kind = other.change.address.kind();
        leaving.iter().any(|one| one.change.address.kind() == kind)
    };
    let may_have_workers = |other: &Decision| match &other.rollout {
        Some(rollout) => {
            let comes = rollout.size > 0 || other.change.action.is_replace();
            comes && is_of_workers(other) && !leaves(other)
        }
        None => {
            let is_open = matches!(other.change.action, ChangeAction::Deferred | ChangeAction::Forget);
            is_open && is_like_leaving(other)
        }
    };
    if leaving.is_empty() || decisions().any(may_have_workers) {
        return None;
    }
    let names: Vec<String> = leaving.iter().map(|decision| decision.change.address.to_string()).collect();
    let message = format!(
        "no worker will be left: this plan removes the machines of {}, and no other pool of workers has machines",
        names.join(", ")
    );
    Some(ExpandNote { field: "pools".to_owned(), message })
}

fn is_of_workers(decision: &Decision) -> bool {
    decision.rollout.as_ref().is_some_and(|rollout| rollout.group == WORKER)
}

/// Whether all machines of a pool leave and no others come.
fn leaves(decision: &Decision) -> bool {
    let Some(rollout) = &decision.rollout else { return false };
    match decision.change.action {
        ChangeAction::Delete => !rollout.members.is_empty(),
        action => !action.is_replace() && rollout.size == 0 && rollout.has_leaving(),
    }
}

#[cfg(test)]
mod tests;
