//! From the machines of a pool to steps: surge, verify, cordon, drain, remove, under the pool's budget.

use slipway_resource::provider::{Fate, Member, Rollout, operation};
use slipway_resource::{Address, Identity, ResourceType, Value};

use crate::step_graph::{Graph, NodeId};

/// Makes the steps of one roll behind `before`; returns those after which it is through, empty when there is
/// nothing to do.
///
/// At any moment there are at most `size + max_surge` machines, and at least `size - max_unavailable` ready
/// ones, as far as that was so at the start. The first machine goes alone: one that never gets ready stops
/// the roll while the rest still stands. With `anew`, some leave although they are as the pool wants them: a provider cannot
/// tell by itself that new ones are needed.
pub(crate) fn steps(
    graph: &mut Graph,
    address: &Address,
    identity: Option<&Identity>,
    kind: &ResourceType,
    (rollout, anew): (&Rollout, bool),
    before: &[NodeId],
) -> Vec<NodeId> {
    let leaving = leaving(rollout);
    let keep: Vec<&Member> = rollout.members.iter().filter(|member| member.fate == Fate::Keep).collect();
    let waiting: Vec<&Member> = keep.iter().copied().filter(|member| !member.ready).collect();
    let launches = (rollout.size as usize).saturating_sub(keep.len());
    if leaving.is_empty() {
        // Nothing goes: the pool's own update brings missing machines, there is nothing to gate.
        return Vec::new();
    }
    let mut roll = Roll { graph, address, identity, kind, rollout };
    let existing = rollout.members.len();
    let available = rollout.members.iter().filter(|member| member.ready).count();
    let surge = rollout.max_surge as usize;
    let unavailable =
        if surge == 0 { rollout.max_unavailable.max(1) } else { rollout.max_unavailable } as usize;
    let size = rollout.size as usize;

    let mut removals: Vec<NodeId> = Vec::new();
    let mut arrivals: Vec<NodeId> =
        waiting.iter().map(|member| roll.gate(operation::VERIFY, member_argument(member), before)).collect();
    let mut launched = 0;
    let mut ready_removed = 0;
    let mut ends = Vec::new();
    let mut next_leaving = leaving.iter();
    let mut next = next_leaving.next();
    // Alternate: launch as far as the surge allows, then let one go as far as the budget allows.
    loop {
        while launched < launches {
            let needed = (existing + launched + 1).saturating_sub(size + surge);
            if needed > removals.len() && next.is_some() {
                break;
            }
            launched += 1;
            let mut after: Vec<NodeId> = before.to_vec();
            after.extend(needed.checked_sub(1).and_then(|index| removals.get(index)).copied());
            let slot = Value::map([("slot", Value::from(launched.to_string()))]);
            let mut launch = slot.clone();
            if anew {
                launch.set(&slipway_resource::Path::key("anew"), Value::Bool(true));
            }
            let start = roll.gate(operation::SURGE, launch, &after);
            arrivals.push(roll.gate(operation::VERIFY, slot, &[start]));
        }
        let Some(member) = next else { break };
        let mut after: Vec<NodeId> = before.to_vec();
        if member.ready {
            ready_removed += 1;
            let floor = size.saturating_sub(unavailable);
            let needed = (floor + ready_removed).saturating_sub(available).min(arrivals.len());
            after.extend(arrivals.iter().take(needed));
        }
        // The first goes alone.
        if let Some(first) = removals.first() {
            after.push(*first);
            after.extend(arrivals.first());
        }
        // No more at once than the budget, whatever is ready.
        let lanes = (surge + unavailable).max(1);
        after.extend(removals.len().checked_sub(lanes).and_then(|index| removals.get(index)).copied());
        if rollout.drains() {
            after = vec![roll.emptied(member, &after)];
        }
        let mut removal = member_argument(member);
        if matches!(member.fate, Fate::Retire { .. }) {
            removal.set(&slipway_resource::Path::key("retire"), Value::Bool(true));
        }
        removals.push(roll.gate(operation::REMOVE, removal, &after));
        next = next_leaving.next();
    }
    ends.extend(removals);
    ends.extend(arrivals);
    ends
}

/// Those that go, in order: what is not ready costs nothing and goes first, then replaced, then retired ones.
fn leaving(rollout: &Rollout) -> Vec<&Member> {
    let mut leaving: Vec<&Member> =
        rollout.members.iter().filter(|member| member.fate != Fate::Keep).collect();
    leaving.sort_by_key(|member| (member.ready, matches!(member.fate, Fate::Retire { .. })));
    leaving
}

fn member_argument(member: &Member) -> Value {
    Value::map([("member", Value::from(member.identity.as_str()))])
}

struct Roll<'a> {
    graph: &'a mut Graph,
    address: &'a Address,
    identity: Option<&'a Identity>,
    kind: &'a ResourceType,
    rollout: &'a Rollout,
}

impl Roll<'_> {
    /// The gates that empty a node before it goes.
    fn emptied(&mut self, member: &Member, after: &[NodeId]) -> NodeId {
        let cordon = self.gate(operation::CORDON, member_argument(member), after);
        let mut arguments = member_argument(member);
        let timeout = i64::try_from(self.rollout.drain_timeout_ms).unwrap_or(i64::MAX);
        arguments.set(&slipway_resource::Path::key("timeout_ms"), Value::Integer(timeout));
        self.gate(operation::DRAIN, arguments, &[cordon])
    }

    fn gate(&mut self, name: &str, arguments: Value, after: &[NodeId]) -> NodeId {
        let declared = self.kind.operations.get(name).map(|declared| declared.duration_ms);
        let estimate = self.rollout.durations_ms.get(name).copied().or(declared).unwrap_or(0);
        let timeout = match name {
            operation::DRAIN => self.rollout.drain_timeout_ms,
            operation::VERIFY => self.rollout.ready_timeout_ms,
            _ => 0,
        };
        self.graph.operation(self.address, self.identity, name, arguments, (estimate, timeout), after)
    }
}

#[cfg(test)]
mod tests;
