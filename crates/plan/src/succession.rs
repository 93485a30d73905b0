//! Pools that leave, and the pools of their role that take over their work.

use std::collections::BTreeMap;

use slipway_resource::Address;
use slipway_resource::provider::{Disruption, ExpandNote, Fate, Rollout};

use crate::assemble::{Decided, Nodes};
use crate::change::ChangeAction;
use crate::decide::Decision;
use crate::error::Error;
use crate::step_graph::NodeId;

/// The role whose machines run the workloads of a cluster, as providers name it in [`Rollout::group`].
const WORKER: &str = "worker";

/// The steps that create or enlarge pools, by role. A renamed pool, for example, is a new pool beside the old one.
#[derive(Default)]
pub(crate) struct Arrivals {
    /// Of pools whose machines run beside others: the deletion of another pool of the role waits for them, so that the pods of
    /// drained machines find new ones.
    pub beside: BTreeMap<String, Vec<NodeId>>,
    /// Of pools whose machines take over what only one may have, such as the disks of etcd: they wait for pools that leave.
    pub exclusive: BTreeMap<String, Vec<NodeId>>,
}

/// The steps that create or enlarge pools.
pub(crate) fn arrivals(nodes: &BTreeMap<Address, Nodes>, decided: &Decided) -> Arrivals {
    let mut arrivals = Arrivals::default();
    for (address, decision) in &decided.by_address {
        let arrival = nodes.get(address).and_then(|own| own.arrival);
        if let (Some(rollout), Some(arrival)) = (&decision.rollout, arrival)
            && grows(decision.change.action, rollout)
        {
            let of_kind = if rollout.exclusive { &mut arrivals.exclusive } else { &mut arrivals.beside };
            of_kind.entry(rollout.group.clone()).or_default().push(arrival);
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

/// Whole pools of control planes that leave, while no majority of the control planes stays: all of them, or so many beside new
/// pools that would begin on their disks. A pool that is renamed by `moved` does not leave.
pub(crate) fn leaving_control_planes(decided: &Decided) -> Option<Leaving> {
    let mut roles: BTreeMap<&str, Role<'_>> = BTreeMap::new();
    for (address, decision) in &decided.by_address {
        let Some(rollout) = decision.rollout.as_ref().filter(|rollout| rollout.exclusive) else { continue };
        let role = roles.entry(&rollout.group).or_default();
        if leaves(decision) {
            role.leaving += rollout.members.len();
            role.pools.push(address);
        } else {
            role.staying += rollout.members.len();
            role.comes |= grows(decision.change.action, rollout);
        }
    }
    roles.into_iter().find_map(|(group, role)| {
        let staying = role.staying + decided.populated.get(group).copied().unwrap_or_default();
        let is_lost = staying == 0 || role.comes && staying <= role.leaving;
        (role.leaving > 0 && is_lost)
            .then(|| Leaving { group: group.to_owned(), pools: role.pools.into_iter().cloned().collect() })
    })
}

/// Pools of a role that leave, while no majority of the role stays.
pub(crate) struct Leaving {
    group: String,
    pools: Vec<Address>,
}

impl Leaving {
    /// Whether a plan, which may be for a part of the resources, removes one of them.
    pub fn is_in(&self, decided: &Decided) -> bool {
        self.pools.iter().any(|pool| decided.by_address.contains_key(pool))
    }
}

impl From<Leaving> for Error {
    fn from(leaving: Leaving) -> Self {
        Self::ControlPlanesLeave { group: leaving.group, pools: leaving.pools }
    }
}

/// The pools of a role whose machines take over disks from each other.
#[derive(Default)]
struct Role<'d> {
    /// How many machines leave with their whole pools.
    leaving: usize,
    /// Those pools.
    pools: Vec<&'d Address>,
    /// How many machines the other pools have.
    staying: usize,
    /// Whether a pool is created or enlarged.
    comes: bool,
}

/// A note that the last workers leave, if they do. A pool about which nothing could be decided may have workers, so that there
/// is no note beside one.
pub(crate) fn last_workers(decided: &Decided) -> Option<ExpandNote> {
    if decided.populated.contains_key(WORKER) {
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

/// How many machines the pools of each role have.
pub(crate) fn machines(decided: &Decided) -> BTreeMap<String, usize> {
    let mut machines = decided.populated.clone();
    for rollout in decided.by_address.values().filter_map(|decision| decision.rollout.as_ref()) {
        *machines.entry(rollout.group.clone()).or_default() += rollout.members.len();
    }
    machines
}

/// Marks rolls by which all control planes of a cluster leave before another one is started, as the only one does, or all of a pool
/// that shrinks to one: the API does not answer until then, as when their pool is replaced. `machines` are those of the whole
/// cluster, also if the plan is for a part of it.
pub(crate) fn name_outages(decided: &mut Decided, machines: &BTreeMap<String, usize>) {
    for decision in decided.by_address.values_mut() {
        let is_alone = decision.rollout.as_ref().is_some_and(|rollout| {
            let leaves_first = rollout.max_surge == 0 && rollout.has_leaving();
            let all = machines.get(&rollout.group).copied();
            rollout.exclusive && leaves_first && (all == Some(1) || all == Some(leaving_at_once(rollout)))
        });
        if is_alone {
            decision.change.disruption = Disruption::Outage;
        }
    }
}

/// How many machines of a pool may leave before a new one is ready: none if the budget of the pool keeps some of them.
fn leaving_at_once(rollout: &Rollout) -> usize {
    if rollout.size > rollout.max_unavailable.max(1) {
        return 0;
    }
    rollout.members.iter().filter(|member| member.fate != Fate::Keep).count()
}

fn is_of_workers(decision: &Decision) -> bool {
    decision.rollout.as_ref().is_some_and(|rollout| rollout.group == WORKER)
}

/// Whether all machines of a pool leave and no others come.
pub(crate) fn leaves(decision: &Decision) -> bool {
    let Some(rollout) = &decision.rollout else { return false };
    match decision.change.action {
        ChangeAction::Delete => !rollout.members.is_empty(),
        action => !action.is_replace() && rollout.size == 0 && rollout.has_leaving(),
    }
}

#[cfg(test)]
mod tests;
