//! Dependencies of an unreadable resource stay: the resource may still use them.

use std::collections::{BTreeMap, BTreeSet};

use slipway_resource::Address;

use crate::assemble::Decided;
use crate::change::ChangeAction;
use crate::reason::{Reason, ReasonCode};

/// Defers the deletion of everything that deferred resources depend on, near and far: a cluster whose hosts do not answer keeps
/// its keys and the claims of these hosts.
pub(crate) fn keep(decided: &mut Decided, standing_on: &BTreeMap<Address, BTreeSet<Address>>) {
    let is_deferred = |address: &&Address| {
        decided
            .by_address
            .get(*address)
            .is_some_and(|decision| decision.change.action == ChangeAction::Deferred)
    };
    let mut stack: Vec<&Address> = standing_on.keys().filter(is_deferred).collect();
    let mut seen: BTreeSet<&Address> = BTreeSet::new();
    while let Some(address) = stack.pop() {
        for needed in standing_on.get(address).into_iter().flatten() {
            if !seen.insert(needed) {
                continue;
            }
            if let Some(decision) = decided.by_address.get_mut(needed)
                && decision.change.action == ChangeAction::Delete
            {
                decision.change.action = ChangeAction::Deferred;
                decision.change.confirmation = None;
                let text = format!("{address} depends on it, and what became of that is not known");
                decision.change.reasons = vec![Reason::new(ReasonCode::Unreadable, text)];
            }
            stack.push(needed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::ResourceChange;

    #[test]
    fn what_an_unreadable_resource_depends_on_is_not_deleted() {
        let address = |name: &str| Address::new("any", name);
        let mut decided = Decided::default();
        for (name, action) in [
            ("file", ChangeAction::Deferred),
            ("agent", ChangeAction::NoOp),
            ("claim", ChangeAction::Delete),
            ("key", ChangeAction::Delete),
            ("other", ChangeAction::Delete),
        ] {
            let change = ResourceChange {
                action,
                confirmation: Some("loses its data".to_owned()),
                ..ResourceChange::bare(&address(name), "any", 1)
            };
            decided.by_address.insert(address(name), Box::new(crate::assemble::plain(change)));
        }
        let on = |names: &[&str]| names.iter().map(|name| address(name)).collect::<BTreeSet<_>>();
        let standing_on = BTreeMap::from([
            (address("file"), on(&["agent", "key"])),
            (address("agent"), on(&["claim"])),
            (address("claim"), on(&[])),
            (address("other"), on(&["key"])),
        ]);
        keep(&mut decided, &standing_on);
        let action = |name: &str| decided.by_address[&address(name)].change.action;
        assert_eq!(action("claim"), ChangeAction::Deferred);
        assert_eq!(action("key"), ChangeAction::Deferred);
        assert_eq!(action("other"), ChangeAction::Delete, "nothing unreadable depends on it");
        assert_eq!(decided.by_address[&address("key")].change.confirmation, None);
    }
}
