//! Dependencies of resources that do not change, which the state records with a plan.
//!
//! The order of later deletions follows from the dependencies in the state. A resource may depend on others than before without a
//! difference of its attributes, as when a machine that was installed again joins by way of another one. Records that keep former
//! dependencies may close a circle with those that are written now.

use std::collections::BTreeMap;

use slipway_resource::Address;

use crate::assemble::Decided;
use crate::graph::Dependencies;
use crate::state::Snapshot;

/// The dependencies of the desired resources whose records stay as they are, where the state has other dependencies. A deferred
/// resource keeps those that it has: nothing is known of it.
pub(crate) fn dependencies(
    prior: Option<&Snapshot>,
    dependencies: &Dependencies,
    decided: &Decided,
) -> BTreeMap<Address, Vec<Address>> {
    let Some(prior) = prior else { return BTreeMap::new() };
    let is_other = |address: &Address, depends_on: &[Address]| {
        prior.resources.get(address).is_some_and(|record| record.depends_on != depends_on)
    };
    // At most, its machines are rolled: no step writes its record.
    let stays =
        |address: &Address| decided.by_address.get(address).is_none_or(|decision| decision.change.is_idle());
    let all = dependencies.by_address.iter();
    let others = all.filter(|(address, depends_on)| is_other(address, depends_on) && stays(address));
    others.map(|(address, depends_on)| (address.clone(), depends_on.clone())).collect()
}

#[cfg(test)]
mod tests {
    use slipway_resource::{ClusterUid, Desired, Value};

    use super::*;
    use crate::assemble::plain;
    use crate::change::{ChangeAction, ResourceChange};
    use crate::state::Record;
    use crate::{examples, graph};

    #[test]
    fn other_dependencies_of_what_does_not_change_are_recorded() {
        let [own, other, third] = ["a", "b", "c"].map(|name| Address::new("any", name));
        let mut desired: Vec<Desired> =
            [&own, &other, &third].map(|address| Desired::new(address.clone(), Value::Null)).into();
        desired[0].depends_on = vec![other.clone()];
        let wanted = graph::dependencies(&desired).unwrap();
        let found = |recorded: &[&Address], action: Option<ChangeAction>| {
            let depends_on = recorded.iter().map(|address| (*address).clone()).collect();
            let record = Record { depends_on, ..examples::record("any-1") };
            let mut prior = Snapshot::empty("demo", ClusterUid::new("u"));
            prior.resources.insert(own.clone(), record);
            let mut decided = Decided::default();
            if let Some(action) = action {
                let change = ResourceChange { action, ..ResourceChange::bare(&own, "any", 1) };
                decided.by_address.insert(own.clone(), Box::new(plain(change)));
            }
            dependencies(Some(&prior), &wanted, &decided)
        };
        let anew = BTreeMap::from([(own.clone(), vec![other.clone()])]);
        assert_eq!(found(&[&third], None), anew);
        assert_eq!(found(&[], Some(ChangeAction::NoOp)), anew, "only its machines are rolled");
        assert_eq!(found(&[&other], None), BTreeMap::new(), "as they are recorded");
        for action in [ChangeAction::Update, ChangeAction::Record, ChangeAction::Deferred] {
            assert_eq!(found(&[&third], Some(action)), BTreeMap::new(), "{action:?}");
        }
        assert_eq!(dependencies(None, &wanted, &Decided::default()), BTreeMap::new());
    }
}
