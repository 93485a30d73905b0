//! The resources that a saved plan leaves as they are, although the spec in it changes or removes them.
//!
//! Without a change in the plan, a resource must be the same object for the spec in the plan as for the spec that was applied
//! last. Attributes that only one of the specs has count too: a provider may decide about an attribute that a spec does not
//! have, and a plan shows that.

use std::collections::{BTreeMap, BTreeSet};

use slipway_plan::{ChangeAction, Plan, ProviderHandle, Record, ResourceChange, Snapshot, resolve_known};
use slipway_resource::diff::{self, Change};
use slipway_resource::provider::{PlanItem, ReadRequest};
use slipway_resource::{Address, Desired, Identity, Observation, Path, Reference, ResourceType, Value};

use super::expanded::{Leeway, by_address, differing, has_unnamed, named};
use crate::composition;
use crate::error::Error;
use crate::opened::Opened;
use crate::planning::Expansion;
use crate::spec::ClusterSpec;
use crate::state::spec_of;

/// The first resource that the plan leaves as it is, although its spec changes or removes it, as a sentence.
///
/// # Errors
/// When the state does not have a spec that can be read.
pub(super) async fn fault(
    plan: &Plan,
    opened: &Opened,
    expansion: &Expansion,
) -> Result<Option<String>, Error> {
    let Some(prior) = opened.prior().filter(|_| !has_unnamed(plan)) else { return Ok(None) };
    let Some(last) = spec_of(prior)?.filter(|last| *last != opened.spec.cluster) else { return Ok(None) };
    let last = ClusterSpec::recorded(&opened.environment.policy, last);
    // What this version makes of the former spec is not known if it refuses that.
    let Ok(mut before) = opened.expand_as(&last, expansion.catalogs.clone()).await else { return Ok(None) };
    before.add_keys(Some(prior));
    let (before, after, named) = (by_address(&before), by_address(expansion), named(plan));
    let stays = |former: &&&Desired| {
        let address = &former.address;
        let is_compared = former.lifecycle.existing.is_none() && !composition::is_key(former);
        is_compared
            && prior.resources.contains_key(address)
            && !after.contains_key(address)
            && !named.contains(address)
            && !plan.ignored.iter().any(|ignored| ignored.address == *address)
    };
    if let Some(former) = before.values().find(stays) {
        let address = &former.address;
        return Ok(Some(format!("its spec does not have {address}, and the plan does not delete it")));
    }
    let identities = identities(plan, prior);
    for desired in expansion.desired.iter().filter(|desired| !composition::is_key(desired)) {
        let address = &desired.address;
        let (Some(&former), Some(record)) = (before.get(address), prior.resources.get(address)) else {
            continue;
        };
        if named.contains(address) {
            continue;
        }
        if is_kept_otherwise(former, desired, record) {
            return Ok(Some(format!(
                "its spec changes the lifecycle of {address}, and the plan does not show it"
            )));
        }
        let is_known = |address: &Address| after.contains_key(address);
        if is_ordered_otherwise(plan, (former, desired), record, &is_known) {
            return Ok(Some(format!(
                "its spec changes the dependencies of {address}, and the plan does not show it"
            )));
        }
        let is_same = former.attributes == desired.attributes
            && former.lifecycle.ignore_changes == desired.lifecycle.ignore_changes;
        // Nothing of an existing object, which the cluster only uses, is changed.
        if is_same || desired.lifecycle.existing.is_some() {
            continue;
        }
        if let Some(path) = other_object(opened, (former, desired), record, &identities).await {
            return Ok(Some(format!("its spec changes {path} of {address}, and the plan does not show it")));
        }
    }
    Ok(None)
}

/// The identities of the objects that stay, also of those that the plan records, or that have another address after the plan.
fn identities<'a>(plan: &'a Plan, prior: &'a Snapshot) -> BTreeMap<&'a Address, &'a Identity> {
    let recorded = prior.resources.iter().map(|(address, record)| (address, &record.identity));
    let leaves = |change: &ResourceChange| {
        change.action.is_replace() || matches!(change.action, ChangeAction::Delete | ChangeAction::Forget)
    };
    let staying = plan.changes.iter().filter(|change| !leaves(change));
    let staying = staying.filter_map(|change| Some((&change.address, change.identity.as_ref()?)));
    recorded.chain(staying).collect()
}

/// Whether a spec keeps or protects a resource otherwise than the former one and the state, or uses another existing object.
fn is_kept_otherwise(former: &Desired, desired: &Desired, record: &Record) -> bool {
    let kept = |one: &Desired| {
        let lifecycle = &one.lifecycle;
        (lifecycle.retain, lifecycle.protected, lifecycle.existing.clone())
    };
    let existing = record.existing.then(|| record.identity.clone());
    kept(former) != kept(desired) && kept(desired) != (record.retain, record.protected, existing)
}

/// Whether a resource depends on others than for the former spec, and neither the plan nor the state says so. A plan of a part may
/// leave this out.
fn is_ordered_otherwise(
    plan: &Plan,
    (former, desired): (&Desired, &Desired),
    record: &Record,
    is_known: &dyn Fn(&Address) -> bool,
) -> bool {
    let known = |all: Vec<Address>| -> BTreeSet<Address> { all.into_iter().filter(is_known).collect() };
    let (before, after) = (known(former.dependencies()), known(desired.dependencies()));
    let is_said = plan.left_out > 0 || plan.dependencies.contains_key(&desired.address);
    !is_said && before != after && after != known(record.depends_on.clone())
}

/// The first attribute in which the object of a resource is another one for a spec than for the former one, as the planner would
/// compare the object with both.
async fn other_object(
    opened: &Opened,
    (former, desired): (&Desired, &Desired),
    record: &Record,
    identities: &BTreeMap<&Address, &Identity>,
) -> Option<Path> {
    let (_, handle, kind) = opened.providers().of_type(desired.address.kind())?;
    let resolved = |value: &Value| {
        resolve_known(value, &mut |reference: &Reference| {
            let identity = identities.get(&reference.address).filter(|_| reference.is_identity())?;
            Some(Value::from(identity.as_str()))
        })
    };
    let observed = match observed(handle, &desired.address, record).await {
        Some(observed) => observed,
        // An object that cannot be read counts as the one that was applied.
        None => resolved(record.applied.as_ref().unwrap_or(&former.attributes)),
    };
    let compared = Compared { handle, kind, observed, record };
    let formerly = compared.differences(former, resolved(&former.attributes)).await;
    let now = compared.differences(desired, resolved(&desired.attributes)).await;
    let Some(now) = now else {
        // The provider refuses only the spec of the plan: no plan could have it.
        let leeway = Leeway { is_left_alone: &|_| false, is_value_of: &|_, _| false };
        return formerly
            .and_then(|_| differing(&desired.attributes, &former.attributes, &Path::root(), &leeway));
    };
    let formerly = formerly.unwrap_or_default();
    let is_found = |path: &Path| {
        let is_same = desired.attributes.at(path) == former.attributes.at(path);
        is_same && record.as_found.keys().any(|found| path.starts_with(found))
    };
    // What was changed outside is a difference for both specs.
    let is_former = |change: &Change| {
        formerly.iter().any(|former| former.path == change.path && former.after == change.after)
    };
    now.into_iter().find(|change| !is_found(&change.path) && !is_former(change)).map(|change| change.path)
}

/// The attributes of the recorded object; `None` if they cannot be read.
async fn observed(handle: &ProviderHandle, address: &Address, record: &Record) -> Option<Value> {
    let request = ReadRequest { address: address.clone(), identity: record.identity.clone() };
    let answers = handle.session.read(vec![request]).await.ok()?;
    match answers.into_iter().next()?.observation {
        Observation::Present(attributes) => Some(attributes),
        Observation::Absent | Observation::Unreadable(_) => None,
    }
}

/// An object that is compared with what specs ask for.
struct Compared<'a> {
    handle: &'a ProviderHandle,
    kind: &'a ResourceType,
    observed: Value,
    record: &'a Record,
}

impl Compared<'_> {
    /// The differences that a plan shows between the object and the attributes of a resource, without those that are left alone;
    /// `None` if the provider refuses the attributes.
    async fn differences(&self, desired: &Desired, attributes: Value) -> Option<Vec<Change>> {
        let item = PlanItem {
            address: desired.address.clone(),
            desired: Some(attributes),
            observed: Some(self.observed.clone()),
            last_applied: self.record.applied.clone(),
        };
        let planned = self.handle.session.plan(vec![item]).await.ok()?;
        let normalised = &planned.first()?.normalised;
        let mut changes = diff::diff(self.kind, &self.observed, normalised, self.record.applied.as_ref());
        let ignored = &desired.lifecycle.ignore_changes;
        changes.retain(|change| !ignored.iter().any(|path| change.path.starts_with(path)));
        Some(changes)
    }
}

#[cfg(test)]
mod tests {
    use slipway_resource::Lifecycle;

    use super::*;

    fn record() -> Record {
        Record {
            provider: "any".to_owned(),
            schema_version: 1,
            identity: Identity::new("object-1"),
            applied: None,
            depends_on: Vec::new(),
            retain: false,
            protected: false,
            existing: false,
            as_found: BTreeMap::new(),
            untagged: false,
            deposed: Vec::new(),
        }
    }

    fn desired(existing: Option<&str>) -> Desired {
        let lifecycle = Lifecycle { existing: existing.map(Identity::new), ..Lifecycle::default() };
        Desired { lifecycle, ..Desired::new(Address::new("any", "one"), Value::Null) }
    }

    #[test]
    fn an_existing_object_is_a_part_of_the_lifecycle() {
        let own = record();
        let existing = Record { existing: true, ..record() };
        let (without, with) = (desired(None), desired(Some("object-1")));
        assert!(!is_kept_otherwise(&without, &without, &own));
        assert!(is_kept_otherwise(&without, &with, &own), "the object becomes one that is only used");
        assert!(is_kept_otherwise(&with, &without, &existing), "an object of the cluster is asked for");
        assert!(is_kept_otherwise(&with, &desired(Some("object-2")), &existing), "another object is used");
        assert!(!is_kept_otherwise(&without, &with, &existing), "the state has it already");
    }
}
