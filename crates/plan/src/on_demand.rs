//! Resources that are needed only while what depends on them is made.

use std::collections::BTreeSet;

use slipway_resource::Address;

use crate::assemble::Decided;
use crate::change::ChangeAction;
use crate::graph::Dependencies;

/// Leaves out changes of resources that nothing in the plan needs: an object that ends by itself is neither missed nor
/// renewed before something is made that depends on it.
pub(crate) fn leave_out(decided: &mut Decided, dependencies: &Dependencies) {
    let is_made = |address: &Address| {
        let action = decided.by_address.get(address).map(|decision| decision.change.action);
        action.is_some_and(|action| action == ChangeAction::Create || action.is_replace())
    };
    let needed: BTreeSet<&Address> = dependencies
        .by_address
        .iter()
        .filter(|(address, _)| is_made(address))
        .flat_map(|(_, needs)| needs)
        .collect();
    let unneeded = |address: &&Address| !needed.contains(address);
    let unneeded: Vec<Address> = dependencies.on_demand.iter().filter(unneeded).cloned().collect();
    for address in unneeded {
        let is_change = decided.by_address.get(&address).is_some_and(|decision| {
            matches!(decision.change.action, ChangeAction::Create | ChangeAction::Update)
                || decision.change.action.is_replace()
        });
        if is_change {
            decided.by_address.remove(&address);
        }
    }
}

#[cfg(test)]
mod tests {
    use slipway_resource::{Desired, Value};

    use super::*;
    use crate::change::ResourceChange;
    use crate::graph;

    /// Whether a change of a token stays, for a given change of a resource that depends on it.
    fn left(token: ChangeAction, machine: ChangeAction, on_demand: bool) -> bool {
        let (own, joining) = (Address::new("any", "token"), Address::new("any", "machine"));
        let mut desired = Desired::new(own.clone(), Value::Null);
        desired.lifecycle.on_demand = on_demand;
        let mut other = Desired::new(joining.clone(), Value::Null);
        other.depends_on = vec![own.clone()];
        let dependencies = graph::dependencies(&[desired, other]).unwrap();
        let mut decided = Decided::default();
        for (address, action) in [(&own, token), (&joining, machine)] {
            let change = ResourceChange { action, ..ResourceChange::bare(address, "any", 1) };
            decided.by_address.insert(address.clone(), Box::new(crate::assemble::plain(change)));
        }
        leave_out(&mut decided, &dependencies);
        decided.by_address.contains_key(&own)
    }

    #[test]
    fn what_ends_by_itself_is_made_only_for_what_is_made() {
        use ChangeAction::*;
        for action in [Create, Update] {
            assert!(left(action, Create, true) && left(action, ReplaceDeleteFirst, true), "{action:?}");
            assert!(!left(action, NoOp, true) && !left(action, Update, true), "{action:?}");
            assert!(left(action, NoOp, false), "{action:?}");
        }
        assert!(left(Delete, NoOp, true), "one that is wanted no more is deleted");
        assert!(left(NoOp, NoOp, true));
    }
}
