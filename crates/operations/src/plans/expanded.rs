//! The resources of the spec in a saved plan, against the changes that the plan shows.
//!
//! A plan file has the spec that the state keeps afterwards. Expanding it again with the choices that the plan pins gives the
//! resources that the plan was made for: each change has the attributes and the dependencies of its resource, and what the plan
//! does not change is as it was for the spec that was applied last.

use std::collections::{BTreeMap, BTreeSet};

use slipway_plan::{ChangeAction, LeftOut, Mode, Plan, ResourceChange, Snapshot};
use slipway_resource::{Address, Desired, Identity, Path, Reference, Value};

use super::catalogs::{Other, other_choices};
use super::unchanged;
use crate::error::Error;
use crate::opened::Opened;
use crate::planning::Expansion;
use crate::providers::KUBERNETES;

/// The first resource of the spec that the plan shows otherwise or not at all, as a sentence. `others` are the choices of the plan
/// that its providers would make otherwise now.
///
/// Clusters on machines that exist are not expanded again: their resources come from files and machines too, which may have changed
/// since the plan was made. Neither are the objects inside a cluster.
///
/// # Errors
/// When a provider refuses the spec.
pub(super) async fn fault(plan: &Plan, opened: &Opened, others: &[Other]) -> Result<Option<String>, Error> {
    // A run refuses a plan of another version of its providers.
    let is_other_version = plan.binding.providers.iter().any(|(name, pin)| {
        let own = opened.providers().get(name).map(|handle| &handle.pin);
        own.is_some_and(|own| own.version != pin.version || own.schema_digest != pin.schema_digest)
    });
    if plan.mode != Mode::Apply || opened.is_on_hosts() || is_other_version {
        return Ok(None);
    }
    let planned = &plan.binding.catalogs;
    let mut expansion = opened.expand(planned.clone()).await?;
    if let Some(name) =
        expansion.catalogs.keys().find(|name| expansion.catalogs.get(*name) != planned.get(*name))
    {
        return Ok(Some(other_choices(name)));
    }
    expansion.add_keys(opened.prior());
    let desired = by_address(&expansion);
    let prior = opened.prior();
    if let Some(fault) = changed(plan, prior, &desired).or_else(|| missing(plan, prior, &desired)) {
        return Ok(Some(fault));
    }
    if let Some(other) = hidden_choice(plan, opened, &desired, others).await {
        return Ok(Some(other.fault()));
    }
    unchanged::fault(plan, opened, &expansion).await
}

pub(super) fn by_address(expansion: &Expansion) -> BTreeMap<&Address, &Desired> {
    expansion.desired.iter().map(|desired| (&desired.address, desired)).collect()
}

/// What may differ between the desired and the applied attributes of a resource.
pub(super) struct Leeway<'a> {
    /// Whether an attribute keeps the value that was found.
    pub is_left_alone: &'a dyn Fn(&Path) -> bool,
    /// Whether a value may be that of a reference.
    pub is_value_of: &'a dyn Fn(&Reference, &Value) -> bool,
}

/// The first change that is not that of its resource.
fn changed(plan: &Plan, prior: Option<&Snapshot>, desired: &BTreeMap<&Address, &Desired>) -> Option<String> {
    let changes: BTreeMap<&Address, &ResourceChange> =
        plan.changes.iter().map(|change| (&change.address, change)).collect();
    // Other attributes than the identity were read by the plan, and are not known here.
    let is_value_of = |reference: &Reference, value: &Value| {
        let change = changes.get(&reference.address);
        let recorded = prior.and_then(|prior| prior.resources.get(&reference.address));
        let own = desired.get(&reference.address);
        let identities: [Option<&str>; 4] = [
            change.and_then(|change| change.identity.as_ref()).map(Identity::as_str),
            change.and_then(|change| change.after.at(&reference.path)).and_then(Value::as_str),
            recorded.map(|record| record.identity.as_str()),
            own.and_then(|own| own.lifecycle.existing.as_ref()).map(Identity::as_str),
        ];
        !reference.is_identity() || value.as_str().is_some_and(|text| identities.contains(&Some(text)))
    };
    // A plan may leave out keys on which machines depend.
    let known = |needed: &[Address]| -> BTreeSet<Address> {
        needed.iter().filter(|address| desired.contains_key(*address)).cloned().collect()
    };
    let dependencies = plan.dependencies.iter().find(|(address, depends_on)| {
        let own = desired.get(*address);
        own.is_some_and(|own| known(&own.dependencies()) != known(depends_on))
    });
    if let Some((address, _)) = dependencies {
        return Some(format!("dependencies of {address} are not those that follow from its spec"));
    }
    plan.changes.iter().chain(&plan.kept).filter(|change| change.provider != KUBERNETES).find_map(|change| {
        let own = desired.get(&change.address);
        match (change.action, own) {
            (ChangeAction::Deferred, _) | (ChangeAction::Delete | ChangeAction::Forget, None) => None,
            (ChangeAction::Delete | ChangeAction::Forget, Some(_)) => {
                Some(format!("{} leaves, and its spec has it", change.address))
            }
            (_, None) => Some(format!("{} is changed, and its spec does not have it", change.address)),
            // Only its machines or a second object of its address change.
            (ChangeAction::NoOp, Some(_)) if change.record.applied.is_null() => None,
            (_, Some(own)) => other_part(change, own, &known, &is_value_of),
        }
    })
}

/// The first part of a change that is not that of its resource.
fn other_part(
    change: &ResourceChange,
    own: &Desired,
    known: &dyn Fn(&[Address]) -> BTreeSet<Address>,
    is_value_of: &dyn Fn(&Reference, &Value) -> bool,
) -> Option<String> {
    let record = &change.record;
    let follows =
        |part: &str| Some(format!("{part} of {} is not what follows from its spec", change.address));
    let is_left_alone = |path: &Path| {
        let mut left = own.lifecycle.ignore_changes.iter().chain(record.as_found.keys());
        left.any(|left| path.starts_with(left))
    };
    let leeway = Leeway { is_left_alone: &is_left_alone, is_value_of };
    if let Some(path) = differing(&own.attributes, &record.applied, &Path::root(), &leeway) {
        return follows(&format!("the desired value {path}"));
    }
    if known(&own.dependencies()) != known(&record.depends_on) {
        return follows("depends_on");
    }
    let lifecycle = (own.lifecycle.retain, own.lifecycle.protected, own.lifecycle.existing.is_some());
    if lifecycle != (record.retain, record.protected, record.existing) {
        return follows("the lifecycle");
    }
    None
}

/// The first resource that the plan neither has nor leaves out, and that does not exist yet.
fn missing(plan: &Plan, prior: Option<&Snapshot>, desired: &BTreeMap<&Address, &Desired>) -> Option<String> {
    if has_unnamed(plan) {
        return None;
    }
    let known = named(plan);
    let is_recorded = |address: &Address| prior.is_some_and(|prior| prior.resources.contains_key(address));
    let missing = desired.values().find(|desired| {
        let address = &desired.address;
        !desired.lifecycle.on_demand && !known.contains(address) && !is_recorded(address)
    })?;
    Some(format!("its spec has {}, and the plan does not create it", missing.address))
}

/// Whether the plan leaves out changes without their names, as plans of former versions do.
pub(super) fn has_unnamed(plan: &Plan) -> bool {
    plan.left_out > plan.pending.len() as u64
}

/// The resources that the plan changes or leaves out, also by their former addresses.
pub(super) fn named(plan: &Plan) -> BTreeSet<&Address> {
    let changes = plan.changes.iter().chain(&plan.kept);
    let changes =
        changes.flat_map(|change| [Some(&change.address), change.previous_address.as_ref()]).flatten();
    changes.chain(plan.pending.iter().map(|left: &LeftOut| &left.address)).collect()
}

/// The first choice that no change of the plan shows, and that its provider would make otherwise now.
async fn hidden_choice<'a>(
    plan: &Plan,
    opened: &Opened,
    desired: &BTreeMap<&Address, &Desired>,
    others: &'a [Other],
) -> Option<&'a Other> {
    let changes: BTreeSet<&Address> = plan.changes.iter().map(|change| &change.address).collect();
    for other in others {
        let mut catalogs = plan.binding.catalogs.clone();
        catalogs.insert(other.provider.clone(), other.instead.clone());
        // A spec that cannot be expanded without the choice says nothing about it.
        let Ok(mut instead) = opened.expand(catalogs).await else { return Some(other) };
        instead.add_keys(opened.prior());
        let is_shown = instead.desired.iter().any(|instead| {
            let own = desired.get(&instead.address).filter(|_| changes.contains(&instead.address));
            own.is_some_and(|own| own.attributes != instead.attributes)
        });
        if !is_shown {
            return Some(other);
        }
    }
    None
}

/// The path of the first place where an applied value is not the desired one. A reference of the desired value may have got a value,
/// a secret its fingerprint, and a key with null is the same as a missing one.
pub(super) fn differing(desired: &Value, applied: &Value, path: &Path, leeway: &Leeway<'_>) -> Option<Path> {
    if (leeway.is_left_alone)(path) {
        return None;
    }
    match (desired, applied) {
        (Value::Template(_), _) => None,
        (Value::Reference(reference), _) => {
            let is_same = desired == applied || (leeway.is_value_of)(reference, applied);
            (!is_same).then(|| path.clone())
        }
        (Value::Secret(one), Value::Secret(other)) => (one.source != other.source).then(|| path.clone()),
        (Value::Map(_) | Value::Null, Value::Map(_)) | (Value::Map(_), Value::Null) => {
            let keys = |value: &Value| -> Vec<String> {
                value.as_map().into_iter().flatten().map(|(key, _)| key.clone()).collect()
            };
            let all: BTreeSet<String> = keys(desired).into_iter().chain(keys(applied)).collect();
            all.iter().find_map(|key| {
                let nothing = &Value::Null;
                let (left, right) =
                    (desired.get(key).unwrap_or(nothing), applied.get(key).unwrap_or(nothing));
                differing(left, right, &path.child(key.as_str()), leeway)
            })
        }
        (Value::List(left), Value::List(right)) if left.len() == right.len() => left
            .iter()
            .zip(right)
            .enumerate()
            .find_map(|(index, (left, right))| differing(left, right, &path.index(index), leeway)),
        _ => (desired != applied).then(|| path.clone()),
    }
}

#[cfg(test)]
mod tests {
    use slipway_resource::Secret;

    use super::*;

    fn differs(desired: Value, applied: Value) -> Option<String> {
        let leeway = Leeway {
            is_left_alone: &|path| path.starts_with(&Path::key("alone")),
            is_value_of: &|reference, value| value.as_str() == Some(reference.address.name()),
        };
        differing(&desired, &applied, &Path::root(), &leeway).map(|path| path.to_string())
    }

    #[test]
    fn what_is_applied_is_what_the_spec_has() {
        let map = |entries: Vec<(&'static str, Value)>| Value::map(entries);
        let one = || map(vec![("size", Value::Integer(1)), ("tags", map(vec![("team", "a".into())]))]);
        assert_eq!(differs(one(), one()), None);
        let other = map(vec![("size", Value::Integer(1)), ("tags", map(vec![("team", "b".into())]))]);
        assert_eq!(differs(one(), other).as_deref(), Some("tags.team"));
        let fewer = map(vec![("size", Value::Integer(1)), ("tags", Value::Null)]);
        assert_eq!(differs(one(), fewer).as_deref(), Some("tags.team"));
        let same = map(vec![
            ("size", Value::Integer(1)),
            ("zone", Value::Null),
            ("tags", map(vec![("team", "a".into())])),
        ]);
        assert_eq!(differs(same, one()), None, "null is nothing");
        assert_eq!(differs(Value::list(["a", "b"]), Value::list(["a", "c"])).as_deref(), Some("[1]"));
        assert!(differs(Value::list(["a"]), Value::list(["a", "c"])).is_some());
    }

    #[test]
    fn references_fingerprints_and_what_is_left_alone_do_not_count() {
        let reference = || Value::reference(Address::new("any", "a"), "id");
        assert_eq!(differs(reference(), reference()), None);
        assert_eq!(differs(reference(), "a".into()), None);
        assert!(differs(reference(), "b".into()).is_some(), "the identity of another object");
        let print = Secret { fingerprint: Some("print".to_owned()), ..Secret::new("env:A") };
        let secret = |secret: Secret| Value::Secret(Box::new(secret));
        assert_eq!(differs(secret(Secret::new("env:A")), secret(print.clone())), None);
        assert!(differs(secret(Secret::new("env:B")), secret(print)).is_some());
        let found = Value::map([("alone", Value::from("found"))]);
        assert_eq!(differs(Value::map([("alone", Value::from("wanted"))]), found.clone()), None);
        assert_eq!(differs(Value::Null, found), None, "found beside nothing");
    }
}
