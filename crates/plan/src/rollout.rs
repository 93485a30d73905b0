//! From the machines of a pool to steps: surge, verify, cordon, drain, remove, under the pool's budget.

use slipway_resource::provider::{Fate, Member, OnBlocked, Rollout, operation};
use slipway_resource::{Address, Identity, Path, ResourceType, Value};

use crate::nodes::Gates;
use crate::step_graph::{Graph, NodeId};

/// A pool whose machines are rolled.
pub(crate) struct Pool<'a> {
    /// Its address.
    pub address: &'a Address,
    /// Its identity; `None` for a pool that the same plan makes.
    pub identity: Option<&'a Identity>,
    /// Its type.
    pub kind: &'a ResourceType,
    /// The gates of its roll.
    pub gates: &'a Gates,
    /// The type of nodes, if the gates are those of nodes.
    pub nodes: Option<&'a ResourceType>,
}

/// Makes the steps of one roll after `before`. Returns the steps that end it; none when there is no machine
/// to replace.
///
/// At any moment there are at most `size + max_surge` machines, and at least `size - max_unavailable` ready
/// ones, as far as that was so at the start. The first machine is replaced alone: if the new one never gets
/// ready, the roll stops while the other machines still run. With `anew`, some machines are replaced although
/// they match the pool: a provider cannot know by itself that new ones are needed.
pub(crate) fn steps(
    graph: &mut Graph,
    pool: &Pool<'_>,
    (rollout, anew): (&Rollout, bool),
    before: &[NodeId],
) -> Vec<NodeId> {
    let leaving = leaving(rollout);
    let keep: Vec<&Member> = rollout.members.iter().filter(|member| member.fate == Fate::Keep).collect();
    let waiting: Vec<&Member> = keep.iter().copied().filter(|member| !member.ready).collect();
    let launches = (rollout.size as usize).saturating_sub(keep.len());
    if leaving.is_empty() {
        // No machine is replaced. The pool's own update creates missing machines, and there is nothing to
        // gate.
        return Vec::new();
    }
    if let (Gates::OfNodes { kind, .. }, Some(declared)) = (pool.gates, pool.nodes) {
        graph.declare(kind, declared);
    }
    let mut roll = Roll { graph, pool, rollout };
    let existing = rollout.members.len();
    let available = rollout.members.iter().filter(|member| member.ready).count();
    let surge = rollout.max_surge as usize;
    let unavailable =
        if surge == 0 { rollout.max_unavailable.max(1) } else { rollout.max_unavailable } as usize;
    let size = rollout.size as usize;

    let mut removals: Vec<NodeId> = Vec::new();
    let mut arrivals: Vec<NodeId> =
        waiting.iter().filter_map(|member| roll.verified(member, before)).collect();
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
            let mut launch = slot_argument(launched);
            if anew {
                launch.set(&Path::key("anew"), Value::Bool(true));
            }
            let start = roll.gate(operation::SURGE, launch, &after);
            arrivals.push(roll.new_verified(launched, start));
        }
        let Some(member) = next else { break };
        let mut after: Vec<NodeId> = before.to_vec();
        if member.ready {
            ready_removed += 1;
            let floor = size.saturating_sub(unavailable);
            let needed = (floor + ready_removed).saturating_sub(available).min(arrivals.len());
            after.extend(arrivals.iter().take(needed));
        }
        // The first machine is replaced alone.
        if let Some(first) = removals.first() {
            after.push(*first);
            after.extend(arrivals.first());
        }
        // At most as many at once as the budget, whatever is ready.
        let lanes = (surge + unavailable).max(1);
        after.extend(removals.len().checked_sub(lanes).and_then(|index| removals.get(index)).copied());
        if rollout.drains()
            && let Some(emptied) = roll.emptied(member, &after)
        {
            after = vec![emptied];
        }
        let mut removal = member_argument(member);
        if matches!(member.fate, Fate::Retire { .. }) {
            removal.set(&Path::key("retire"), Value::Bool(true));
        }
        removals.push(roll.gate(operation::REMOVE, removal, &after));
        next = next_leaving.next();
    }
    ends.extend(removals);
    ends.extend(arrivals);
    ends
}

/// The machines to delete, in order: first those that are not ready, then the others as their provider has listed them. Whether a
/// machine is replaced or retired changes nothing: after a surge, a roll that is continued has one machine more than it replaces, and
/// the order stays that of the first plan.
fn leaving(rollout: &Rollout) -> Vec<&Member> {
    let mut leaving: Vec<&Member> =
        rollout.members.iter().filter(|member| member.fate != Fate::Keep).collect();
    leaving.sort_by_key(|member| member.ready);
    leaving
}

fn member_argument(member: &Member) -> Value {
    Value::map([("member", Value::from(member.identity.as_str()))])
}

fn slot_argument(slot: usize) -> Value {
    Value::map([("slot", Value::from(slot.to_string()))])
}

fn milliseconds(time: u64) -> Value {
    Value::Integer(i64::try_from(time).unwrap_or(i64::MAX))
}

struct Roll<'a> {
    graph: &'a mut Graph,
    pool: &'a Pool<'a>,
    rollout: &'a Rollout,
}

impl Roll<'_> {
    /// The gate that waits for a machine that stays and is no ready node yet; `None` if nothing is known of its node.
    fn verified(&mut self, member: &Member, after: &[NodeId]) -> Option<NodeId> {
        let pool = self.pool;
        let Gates::OfNodes { kind, by_member } = pool.gates else {
            let own = *pool.gates == Gates::OfPool;
            return own.then(|| self.gate(operation::VERIFY, member_argument(member), after));
        };
        let reference = member.node.as_ref()?;
        let mut arguments = self.patience();
        Some(match by_member.get(&member.identity) {
            Some(node) => {
                let on = (&node.address, Some(&node.identity));
                self.node_gate(on, operation::VERIFY, arguments, after)
            }
            None => {
                arguments.set(&Path::key(operation::NODE), reference.to_value());
                let address = Address::new(kind.as_str(), member.name.as_str());
                self.node_gate((&address, None), operation::VERIFY, arguments, after)
            }
        })
    }

    /// The gate that waits for the machine of a slot; the start of the machine itself if nothing is known of its node.
    fn new_verified(&mut self, slot: usize, start: NodeId) -> NodeId {
        let pool = self.pool;
        match pool.gates {
            Gates::None => start,
            Gates::OfPool => self.gate(operation::VERIFY, slot_argument(slot), &[start]),
            Gates::OfNodes { kind, .. } => {
                let mut arguments = self.patience();
                arguments.set(&Path::key("slot"), Value::from(slot.to_string()));
                let address = Address::new(kind.as_str(), format!("{}/{slot}", pool.address.name()));
                self.node_gate((&address, None), operation::VERIFY, arguments, &[start])
            }
        }
    }

    /// The gates that empty a node before its machine is deleted; `None` if the machine is not a node.
    fn emptied(&mut self, member: &Member, after: &[NodeId]) -> Option<NodeId> {
        let pool = self.pool;
        let timeout = milliseconds(self.rollout.drain_timeout_ms);
        match pool.gates {
            Gates::None => None,
            Gates::OfPool => {
                let cordon = self.gate(operation::CORDON, member_argument(member), after);
                let mut arguments = member_argument(member);
                arguments.set(&Path::key("timeout_ms"), timeout);
                Some(self.gate(operation::DRAIN, arguments, &[cordon]))
            }
            Gates::OfNodes { by_member, .. } => {
                let node = by_member.get(&member.identity)?;
                let on = (&node.address, Some(&node.identity));
                // The mark remains if the run ends before the machine is deleted, and a later plan removes
                // the cordon by it.
                let uncordons =
                    pool.nodes.is_some_and(|kind| kind.operations.contains_key(operation::UNCORDON));
                let marked = uncordons.then_some((operation::TEMPORARY, Value::Bool(true)));
                let cordon = self.node_gate(on, operation::CORDON, Value::map(marked), after);
                let mut arguments = Value::map([("timeout_ms", timeout)]);
                if self.rollout.ignore_budgets {
                    arguments.set(&Path::key("ignore_budgets"), Value::Bool(true));
                }
                if self.rollout.on_blocked != OnBlocked::Fail {
                    let word = Value::from(self.rollout.on_blocked.as_str());
                    arguments.set(&Path::key("on_blocked"), word);
                }
                Some(self.node_gate(on, operation::DRAIN, arguments, &[cordon]))
            }
        }
    }

    /// How long a node may take to become ready, and how long it must stay so.
    fn patience(&self) -> Value {
        let mut arguments = Value::map([("timeout_ms", milliseconds(self.rollout.ready_timeout_ms))]);
        if self.rollout.settle_ms > 0 {
            arguments.set(&Path::key("settle_ms"), milliseconds(self.rollout.settle_ms));
        }
        arguments
    }

    /// A gate of the pool.
    fn gate(&mut self, name: &str, arguments: Value, after: &[NodeId]) -> NodeId {
        let Pool { address, identity, kind, .. } = *self.pool;
        let times = self.times(kind, name);
        self.graph.operation(address, identity, name, arguments, times, after)
    }

    /// A gate of a node.
    fn node_gate(
        &mut self,
        (address, identity): (&Address, Option<&Identity>),
        name: &str,
        arguments: Value,
        after: &[NodeId],
    ) -> NodeId {
        let times = self.times(self.pool.nodes.unwrap_or(self.pool.kind), name);
        let gate = self.graph.operation(address, identity, name, arguments, times, after);
        self.graph.part_of_roll(gate, self.pool.address);
        gate
    }

    /// The expected duration of a gate, and its time-out.
    fn times(&self, kind: &ResourceType, name: &str) -> (u64, u64) {
        let declared = kind.operations.get(name).map(|declared| declared.duration_ms);
        let estimate = self.rollout.durations_ms.get(name).copied().or(declared).unwrap_or(0);
        let timeout = match name {
            operation::DRAIN => self.rollout.drain_timeout_ms,
            operation::VERIFY => self.rollout.ready_timeout_ms.saturating_add(self.rollout.settle_ms),
            _ => 0,
        };
        (estimate, timeout)
    }
}

#[cfg(test)]
mod tests;
