//! Plans of a part of a cluster: its resources, their dependencies, and the omitted changes.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use slipway_resource::provider::Rollout;
use slipway_resource::{Address, Desired};

use crate::assemble::Decided;
use crate::change::ChangeAction;
use crate::decide::Decision;
use crate::graph::Dependencies;
use crate::planner::Options;
use crate::target;

/// A pending change that a plan of a part leaves out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// The resource.
    pub address: Address,
    /// The action of the omitted change.
    pub action: ChangeAction,
    /// Whether its machines would be rolled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rolls: bool,
}

impl LeftOut {
    fn of(decision: &Decision) -> Self {
        Self {
            address: decision.change.address.clone(),
            action: decision.change.action,
            rolls: decision.rollout.as_ref().is_some_and(Rollout::has_leaving),
        }
    }
}

/// The resources that a plan is about: those that targets name, those of the pools that are
/// rolled, and those that are listed. `None` for a plan
/// of everything.
pub(crate) fn of(
    options: &Options,
    desired: &[Desired],
    dependencies: &Dependencies,
    decided: &Decided,
) -> Option<BTreeSet<Address>> {
    if !options.is_partial() {
        return None;
    }
    let known = dependencies.by_address.keys().chain(decided.by_address.keys());
    let mut scope: BTreeSet<Address> =
        known.filter(|address| target::any(&options.targets, address)).cloned().collect();
    if let Some(pools) = &options.roll {
        let belongs = |desired: &&Desired| belongs_to_pool(pools, desired);
        scope.extend(desired.iter().filter(belongs).map(|desired| desired.address.clone()));
    }
    scope.extend(options.only.iter().flatten().cloned());
    Some(scope)
}

/// Whether a resource belongs to one of the pools that are named, or to any pool when none is: by the resource's name, by
/// its address, or by the pool of the spec that it comes from, whatever its provider calls it.
pub(crate) fn belongs_to_pool(pools: &[String], desired: &Desired) -> bool {
    let comes_from = |field: &str| desired.origins.values().any(|origin| origin.starts_with(field));
    if pools.is_empty() {
        return comes_from("pools[");
    }
    let is_meant = |pool: &String| pool == desired.address.name() || comes_from(&format!("pools[{pool}]."));
    pools.iter().any(is_meant) || target::any(pools, &desired.address)
}

/// Drops resources out of scope. It keeps the resources of the scope, their dependencies, and the dependents
/// of deleted ones. Returns the dropped resources, in the order of the addresses.
///
/// A pool that only has to exist before, as the control plane before workers, keeps its pending change for
/// later.
pub(crate) fn narrow(
    decided: &mut Decided,
    scope: BTreeSet<Address>,
    desired: &[Desired],
    dependencies: &Dependencies,
    standing_on: &BTreeMap<Address, BTreeSet<Address>>,
) -> Vec<LeftOut> {
    let by_address: BTreeMap<&Address, &Desired> =
        desired.iter().map(|desired| (&desired.address, desired)).collect();
    let mut keep: BTreeSet<Address> = BTreeSet::new();
    let mut stack: Vec<Address> = scope.into_iter().collect();
    while let Some(address) = stack.pop() {
        if !keep.insert(address.clone()) {
            continue;
        }
        let goes = decided.by_address.get(&address).is_some_and(|decision| {
            decision.change.action == ChangeAction::Delete || decision.change.action.is_replace()
        });
        let referred = by_address.get(&address).map(|desired| references(desired)).unwrap_or_default();
        let needed = dependencies.by_address.get(&address).into_iter().flatten();
        let is_there = |needed: &&Address| {
            let decision = decided.by_address.get(*needed);
            decision.is_some_and(|decision| is_pool_that_stays(decision)) && !referred.contains(*needed)
        };
        stack.extend(needed.filter(|needed| !is_there(needed)).cloned());
        if goes {
            let on_it = standing_on.iter().filter(|(_, needs)| needs.contains(&address));
            stack.extend(on_it.map(|(dependent, _)| dependent.clone()));
        }
    }
    let left_out = decided.by_address.values().filter(|decision| !keep.contains(&decision.change.address));
    let left_out = left_out.map(|decision| LeftOut::of(decision)).collect();
    decided.by_address.retain(|address, _| keep.contains(address));
    left_out
}

/// Whether a decision is about machines under an existing object that is at most changed in place.
fn is_pool_that_stays(decision: &Decision) -> bool {
    let action = decision.change.action;
    decision.rollout.is_some()
        && matches!(action, ChangeAction::NoOp | ChangeAction::Update | ChangeAction::Record)
}

/// The resources whose outputs are attributes of a resource.
fn references(desired: &Desired) -> BTreeSet<Address> {
    let mut referred = BTreeSet::new();
    desired.attributes.for_each_reference(&mut |reference| {
        referred.insert(reference.address.clone());
    });
    referred
}

#[cfg(test)]
mod tests {
    use slipway_resource::{Lifecycle, Path, Value};

    use super::*;

    #[test]
    fn a_pool_is_named_by_the_spec_by_its_provider_or_by_its_address() {
        let desired = Desired {
            address: Address::new("aws_autoscaling_group", "workers-a-example-com"),
            attributes: Value::Null,
            depends_on: Vec::new(),
            lifecycle: Lifecycle::default(),
            origins: [(Path::root(), "pools[workers].name".to_owned())].into_iter().collect(),
        };
        let named = |name: &str| belongs_to_pool(&[name.to_owned()], &desired);
        assert!(belongs_to_pool(&[], &desired));
        for name in ["workers", "workers-a-example-com", "aws_autoscaling_group.work*"] {
            assert!(named(name), "{name}");
        }
        assert!(!named("work") && !named("others"));
        let network = Desired {
            origins: [(Path::root(), "network.cidr".to_owned())].into_iter().collect(),
            address: Address::new("aws_vpc", "main"),
            ..desired
        };
        assert!(!belongs_to_pool(&[], &network), "a roll of all pools is about pools only");
    }
}
