//! Exclusive attributes: the new object is created after the old one is deleted.

use std::collections::{BTreeMap, BTreeSet};

use slipway_resource::{Address, ResourceType, Value};

use crate::assemble::Decided;
use crate::change::{ChangeAction, ResourceChange};
use crate::holds::moves;

/// The type of an object, and its values of what only one object of the type may have.
pub(crate) type Key<'k> = (&'k str, Vec<&'k Value>);

/// The type of a name.
type TypeOf<'a> = dyn Fn(&str) -> Option<&'a ResourceType> + 'a;

/// The exclusive attributes of an object; `None` if there are none, or not all of them are known.
pub(crate) fn key<'k>(kind: &ResourceType, name: &'k str, attributes: &'k Value) -> Option<Key<'k>> {
    let values: Option<Vec<&Value>> = kind
        .exclusive
        .iter()
        .map(|name| attributes.get(name).filter(|value| !value.is_null() && value.is_known()))
        .collect();
    Some((name, values.filter(|values| !values.is_empty())?))
}

/// By resource of which an object is made: the other resource whose old object has what only one of them may have.
pub(crate) fn taken_from(decided: &Decided, type_of: &TypeOf<'_>) -> BTreeMap<Address, Address> {
    let changes = || decided.by_address.values().map(|decision| &decision.change);
    let goes = |change: &&ResourceChange| change.action == ChangeAction::Delete || change.action.is_replace();
    let comes =
        |change: &&ResourceChange| change.action == ChangeAction::Create || change.action.is_replace();
    let mut going: BTreeMap<Key<'_>, &Address> = BTreeMap::new();
    for change in changes().filter(goes).filter(|change| change.identity.is_some()) {
        let kind = type_of(change.address.kind());
        if let Some(key) = kind.and_then(|kind| key(kind, change.address.kind(), &change.before)) {
            going.insert(key, &change.address);
        }
    }
    let taken = changes().filter(comes).filter_map(|change| {
        let kind = type_of(change.address.kind()).filter(|kind| !moves(kind, &change.after))?;
        let other = *going.get(&key(kind, change.address.kind(), &change.after)?)?;
        (*other != change.address).then(|| (change.address.clone(), other.clone()))
    });
    taken.collect()
}

/// Resources that exchange their exclusive attributes, each with the one that had its new ones: no new object
/// can be created before all old ones are deleted.
pub(crate) fn delete_first(decided: &mut Decided, taken_from: &BTreeMap<Address, Address>) {
    for own in taken_from.keys() {
        let (mut seen, mut next) = (BTreeSet::from([own]), taken_from.get(own));
        while let Some(other) = next.filter(|other| seen.insert(*other)) {
            next = taken_from.get(other);
        }
        if next == Some(own)
            && let Some(decision) = decided.by_address.get_mut(own)
            && decision.change.action == ChangeAction::ReplaceCreateFirst
        {
            decision.change.action = ChangeAction::ReplaceDeleteFirst;
        }
    }
}

#[cfg(test)]
mod tests {
    use slipway_resource::Identity;
    use slipway_resource::schema::OwnershipKind;

    use super::*;

    fn change(
        address: &str,
        action: ChangeAction,
        before: Option<&str>,
        after: Option<&str>,
    ) -> ResourceChange {
        let attributes = |name: Option<&str>| name.map_or(Value::Null, |name| Value::map([("name", name)]));
        ResourceChange {
            action,
            identity: before.map(Identity::new),
            before: attributes(before),
            after: attributes(after),
            ..ResourceChange::bare(&Address::new("pool", address), "any", 1)
        }
    }

    #[test]
    fn the_old_object_is_gone_before_another_one_gets_what_it_has() {
        use ChangeAction::{Create, Delete, ReplaceCreateFirst, ReplaceDeleteFirst};
        let kind = ResourceType {
            exclusive: vec!["name".to_owned()],
            ..ResourceType::new("", OwnershipKind::Tags, "")
        };
        let mut decided = Decided::default();
        for change in [
            change("a", ReplaceCreateFirst, Some("b"), Some("a")),
            change("b", ReplaceCreateFirst, Some("a"), Some("b")),
            change("c", ReplaceCreateFirst, Some("x"), Some("c")),
            change("d", Create, None, Some("x")),
            change("e", ReplaceCreateFirst, Some("e"), Some("f")),
            change("f", Delete, Some("f"), None),
            change("g", ReplaceCreateFirst, Some("g"), Some("g")),
        ] {
            decided.by_address.insert(change.address.clone(), Box::new(crate::assemble::plain(change)));
        }
        let taken = taken_from(&decided, &|_| Some(&kind));
        let pairs: Vec<(&str, &str)> = taken.iter().map(|(own, other)| (own.name(), other.name())).collect();
        assert_eq!(pairs, [("a", "b"), ("b", "a"), ("d", "c"), ("e", "f")]);
        delete_first(&mut decided, &taken);
        let action = |name: &str| decided.by_address[&Address::new("pool", name)].change.action;
        assert_eq!((action("a"), action("b")), (ReplaceDeleteFirst, ReplaceDeleteFirst));
        assert_eq!((action("c"), action("e")), (ReplaceCreateFirst, ReplaceCreateFirst));
    }
}
