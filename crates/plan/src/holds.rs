//! Objects that cannot be deleted while others refer to them. Their replacement is created first where both
//! can exist, and refused where they cannot.
//!
//! For example, a subnet that contains machines of a group is deleted only after the group has left it. The
//! group can leave only when the new subnet exists.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use slipway_resource::provider::{Disruption, Fate};
use slipway_resource::{Address, Desired, Mode, ResourceType, Value};

use crate::assemble::Decided;
use crate::change::ChangeAction;
use crate::error::Error;
use crate::graph::Dependencies;
use crate::reason::{Reason, ReasonCode};

/// The type of a name.
type TypeOf<'a> = dyn Fn(&str) -> Option<&'a ResourceType> + 'a;

/// Makes replacements create the new object first where an object that stays holds the old one, and replaces
/// the machines that use the old one.
///
/// # Errors
/// When the old object and the new one cannot exist at the same time.
pub(crate) fn settle(
    decided: &mut Decided,
    dependencies: &Dependencies,
    desired: &[Desired],
    type_of: &TypeOf<'_>,
) -> Result<(), Error> {
    let held = held(decided, desired, type_of);
    for address in dependencies.levels.iter().flatten() {
        let Some(holders) = held.get(address) else { continue };
        let mut along = BTreeSet::new();
        let clash = turns(decided, dependencies, address, type_of, &mut along).err();
        if let Some(why) = clash {
            return Err(Error::Held {
                address: address.clone(),
                holders: holders.iter().cloned().collect(),
                why,
            });
        }
        turn_around(decided, address, holders);
        along.remove(address);
        for needed in along {
            first(decided, &needed, &BTreeSet::from([address.clone()]));
        }
    }
    Ok(())
}

/// Whether an object and its replacement can exist at the same time, together with the replaced resources
/// that it depends on; `along` gets all of these.
fn turns(
    decided: &Decided,
    dependencies: &Dependencies,
    address: &Address,
    type_of: &TypeOf<'_>,
    along: &mut BTreeSet<Address>,
) -> Result<(), String> {
    let (Some(decision), Some(kind)) = (decided.by_address.get(address), type_of(address.kind())) else {
        return Ok(());
    };
    if decision.change.action != ChangeAction::ReplaceDeleteFirst || !along.insert(address.clone()) {
        return Ok(());
    }
    if let Some(why) = clash(kind, &decision.change.before, &decision.change.after) {
        return Err(format!("{why} ({address})"));
    }
    let mut needs = dependencies.by_address.get(address).into_iter().flatten();
    needs.try_for_each(|needed| turns(decided, dependencies, needed, type_of, along))
}

/// For each resource whose old object is to be deleted first: the resources that stay and refer to that
/// object.
fn held(
    decided: &Decided,
    desired: &[Desired],
    type_of: &TypeOf<'_>,
) -> BTreeMap<Address, BTreeSet<Address>> {
    let mut held: BTreeMap<Address, BTreeSet<Address>> = BTreeMap::new();
    for resource in desired {
        let (Some(own), Some(kind)) =
            (decided.by_address.get(&resource.address), type_of(resource.address.kind()))
        else {
            continue;
        };
        if !matches!(own.change.action, ChangeAction::Update | ChangeAction::NoOp) {
            continue;
        }
        for (name, _) in kind.attributes.iter().filter(|(_, attribute)| attribute.holds) {
            let (Some(wanted), Some(before)) = (resource.attributes.get(name), own.change.before.get(name))
            else {
                continue;
            };
            wanted.for_each_reference(&mut |reference| {
                let other = decided.by_address.get(&reference.address).map(|other| &other.change);
                let goes_first = other.filter(|other| other.action == ChangeAction::ReplaceDeleteFirst);
                if let Some(identity) = goes_first.and_then(|other| other.identity.as_ref())
                    && mentions(before, identity.as_str())
                {
                    held.entry(reference.address.clone()).or_default().insert(resource.address.clone());
                }
            });
        }
    }
    held
}

/// Whether a value names an identity anywhere.
pub(crate) fn mentions(value: &Value, identity: &str) -> bool {
    match value {
        Value::String(text) => text == identity,
        Value::List(items) => items.iter().any(|item| mentions(item, identity)),
        Value::Map(entries) => entries.values().any(|value| mentions(value, identity)),
        _ => false,
    }
}

/// Creates the replacement of an object before the old object is deleted.
fn first(decided: &mut Decided, address: &Address, holders: &BTreeSet<Address>) {
    if let Some(decision) = decided.by_address.get_mut(address) {
        decision.change.action = ChangeAction::ReplaceCreateFirst;
        let names: Vec<String> = holders.iter().map(ToString::to_string).collect();
        let text = format!(
            "its replacement is made before it is deleted, because it is needed by {} until then",
            names.join(", ")
        );
        let mut reason = Reason::new(ReasonCode::HeldByOthers, text);
        reason.because_of = holders.first().cloned();
        decision.change.reasons.push(reason);
    }
}

fn turn_around(decided: &mut Decided, address: &Address, holders: &BTreeSet<Address>) {
    first(decided, address, holders);
    for holder in holders {
        let Some(decision) = decided.by_address.get_mut(holder) else { continue };
        let Some(rollout) = &mut decision.rollout else { continue };
        // Its machines may use the deleted object.
        for member in rollout.members.iter_mut().filter(|member| member.fate == Fate::Keep) {
            member.fate = Fate::Replace { reason: format!("{address} is replaced"), path: None };
        }
        decision.change.disruption = decision.change.disruption.max(Disruption::Rolling);
    }
}

/// Whether the new object of a resource has a new parent. Exclusive attributes are exclusive among the
/// objects of one parent, as a subnet's range is in its network. The new object cannot conflict with the old
/// one there.
pub(crate) fn moves(kind: &ResourceType, after: &Value) -> bool {
    // Attributes that the server sets are unknown in any new object.
    let is_asked = |mode: Mode| !matches!(mode, Mode::Computed | Mode::OptionalComputed);
    kind.attributes.iter().any(|(name, attribute)| {
        attribute.immutable
            && is_asked(attribute.mode)
            && matches!(after.get(name), Some(Value::Reference(_) | Value::Unknown))
    })
}

/// Why an object and its replacement cannot exist at the same time, if they cannot.
fn clash(kind: &ResourceType, before: &Value, after: &Value) -> Option<String> {
    if kind.exclusive.is_empty() || moves(kind, after) {
        return None;
    }
    let pair = |name: &String| Some((before.get(name)?.as_str()?, after.get(name)?.as_str()?));
    // Objects may share some of the attributes; a conflict needs all of them.
    let shares = |name: &String| match pair(name) {
        Some((old, new)) => old == new || overlap(old, new),
        None => before.get(name) == after.get(name),
    };
    if !kind.exclusive.iter().all(shares) {
        return None;
    }
    let texts = kind.exclusive.iter().map(|name| match pair(name) {
        Some((old, new)) if old != new => format!("{name} {new} overlaps {old}"),
        Some((old, _)) => format!("both have {name} {old}"),
        None => format!("both have the same {name}"),
    });
    Some(texts.collect::<Vec<_>>().join(" and "))
}

/// Whether two texts are address ranges that have addresses in common.
fn overlap(left: &str, right: &str) -> bool {
    match (range(left), range(right)) {
        (Some((left, bits)), Some((right, others))) if left.is_ipv4() == right.is_ipv4() => {
            let bits = bits.min(others);
            prefix(left, bits) == prefix(right, bits)
        }
        _ => false,
    }
}

fn range(text: &str) -> Option<(IpAddr, u32)> {
    let (address, bits) = text.split_once('/')?;
    let (address, bits): (IpAddr, u32) = (address.parse().ok()?, bits.parse().ok()?);
    (bits <= if address.is_ipv4() { 32 } else { 128 }).then_some((address, bits))
}

fn prefix(address: IpAddr, bits: u32) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(u32::from(address).checked_shr(32 - bits).unwrap_or(0)),
        IpAddr::V6(address) => u128::from(address).checked_shr(128 - bits).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use slipway_resource::schema::OwnershipKind;

    use super::*;

    #[test]
    fn ranges_overlap_by_their_addresses() {
        for (left, right, expected) in [
            ("10.0.0.0/24", "10.0.0.0/20", true),
            ("10.0.0.0/24", "10.0.1.0/24", false),
            ("0.0.0.0/0", "10.0.1.0/24", true),
            ("2001:db8::/64", "2001:db8::/56", true),
            ("2001:db8::/64", "10.0.0.0/8", false),
            ("10.0.0.0/33", "10.0.0.0/33", false),
            ("a", "a", false),
        ] {
            assert_eq!(overlap(left, right), expected, "{left} {right}");
        }
    }

    #[test]
    fn a_new_parent_is_told_from_what_the_server_sets() {
        use slipway_resource::schema::attributes;
        use slipway_resource::{Attribute, Type};
        let own = [
            ("parent", Attribute::required(Type::String).immutable()),
            ("range", Attribute::optional_computed(Type::String).immutable()),
        ];
        let kind =
            ResourceType { attributes: attributes(own), ..ResourceType::new("", OwnershipKind::Tags, "") };
        let after = |parent: Value| Value::map([("parent", parent), ("range", Value::Unknown)]);
        assert!(!moves(&kind, &after("net-1".into())));
        assert!(moves(&kind, &after(Value::Unknown)));
    }

    #[test]
    fn two_objects_clash_by_all_that_is_exclusive() {
        let kind = |exclusive: &[&str]| ResourceType {
            exclusive: exclusive.iter().map(|name| (*name).to_owned()).collect(),
            ..ResourceType::new("", OwnershipKind::Tags, "")
        };
        let value = |name: &str, cidr: &str| Value::map([("name", name), ("cidr", cidr)]);
        let (old, new) = (value("a", "10.0.0.0/24"), value("a", "10.0.0.0/20"));
        assert_eq!(clash(&kind(&[]), &old, &old), None);
        assert_eq!(
            clash(&kind(&["cidr"]), &old, &new).as_deref(),
            Some("cidr 10.0.0.0/20 overlaps 10.0.0.0/24")
        );
        assert_eq!(clash(&kind(&["cidr"]), &old, &value("a", "10.0.9.0/24")), None);
        assert_eq!(clash(&kind(&["name"]), &old, &new).as_deref(), Some("both have name a"));
        assert_eq!(clash(&kind(&["name", "cidr"]), &old, &value("b", "10.0.0.0/24")), None);
    }
}
