//! Objects that are deleted together with their parents, without a call.

use std::collections::{BTreeMap, BTreeSet};

use slipway_resource::schema::RemovedWith;
use slipway_resource::{Address, ResourceType, Value};

use crate::assemble::Decided;
use crate::change::ChangeAction;

/// Objects that the cloud deletes with their parents. Both are deleted in this plan.
#[derive(Debug, Default)]
pub(crate) struct Cascades(BTreeMap<Address, Cascade>);

/// The parent with which an object is deleted.
#[derive(Debug)]
struct Cascade {
    parent: Address,
    lets_go: bool,
}

/// Which removal waits for which: the first is done before the second.
pub(crate) type Order<'a> = (&'a Address, &'a Address);

impl Cascades {
    /// Finds them: objects whose type declares that they are deleted with another, and whose attribute names
    /// a deleted one.
    pub fn find<'a>(decided: &Decided, type_of: &dyn Fn(&str) -> Option<&'a ResourceType>) -> Self {
        let leaving = || {
            let decisions = decided.by_address.values();
            decisions.map(|decision| &decision.change).filter(|change| change.action == ChangeAction::Delete)
        };
        let by_identity: BTreeMap<(&str, &str), &Address> = leaving()
            .filter_map(|change| {
                Some(((change.address.kind(), change.identity.as_ref()?.as_str()), &change.address))
            })
            .collect();
        let cascade = leaving().filter_map(|change| {
            let with = type_of(change.address.kind())?.removed_with.as_ref()?;
            let identity = change.before.get(&with.attribute)?.as_str()?;
            let parent = by_identity.get(&(with.kind.as_str(), identity))?;
            let cascade = Cascade { parent: (*parent).clone(), lets_go: with.lets_go };
            goes(with, &change.before).then(|| (change.address.clone(), cascade))
        });
        let mut found: BTreeMap<Address, Cascade> = cascade.collect();
        // An object that is deleted without a call is no parent here: its children are deleted by a call,
        // before it.
        let children: BTreeSet<Address> = found.keys().cloned().collect();
        found.retain(|_, cascade| !children.contains(&cascade.parent));
        Self(found)
    }

    /// The parent with which an object is deleted.
    pub fn parent(&self, address: &Address) -> Option<&Address> {
        self.0.get(address).map(|cascade| &cascade.parent)
    }

    /// The order of removals that follows from `dependent` depending on `needed`.
    pub fn order<'a>(&'a self, dependent: &'a Address, needed: &'a Address) -> Vec<Order<'a>> {
        let mut order = Vec::new();
        match self.0.get(dependent) {
            // It is deleted with the object that it depends on, or has released it.
            Some(own) if own.parent == *needed || own.lets_go => {}
            _ => order.push((dependent, needed)),
        }
        // An object that is deleted with its parent exists until then.
        if let Some(parent) = self.parent(needed)
            && self.parent(dependent) != Some(parent)
            && dependent != parent
        {
            order.push((dependent, parent));
        }
        order
    }

    /// The order in which they come after their parents.
    pub fn behind_parents(&self) -> impl Iterator<Item = Order<'_>> {
        self.0.iter().map(|(address, cascade)| (&cascade.parent, address))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn goes(with: &RemovedWith, attributes: &Value) -> bool {
    with.unless.iter().all(|name| match attributes.get(name) {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::List(items)) => items.is_empty(),
        Some(_) => false,
    })
}

#[cfg(test)]
mod tests;
