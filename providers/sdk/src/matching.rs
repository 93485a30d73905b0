//! Matches the objects of another tool with desired resources.

use std::collections::{BTreeMap, BTreeSet};

use slipway_resource::provider::{LocateItem, Located};
use slipway_resource::{Address, Identity, Path, Value};

/// An object that may be adopted.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The identity that the provider has for it.
    pub identity: Identity,
    /// The observed attributes.
    pub attributes: Value,
}

/// Attributes that together tell one object of a cluster from all others of its type.
pub type Key = Vec<Path>;

/// Finds the object of each item among the candidates, by type; one answer for each item, in their order.
///
/// `keys` gives the keys of a type, the best first. The first key decides of which all values are known and
/// at least one is set. The object of a reference is looked up before the item that refers to it, so that a
/// rule is found in the group that was found. No object is found for two items. An item without a key gets
/// the object to which a found object refers. The candidates must include objects that are only used.
#[must_use]
pub fn locate(
    items: &[LocateItem],
    candidates: &BTreeMap<String, Vec<Candidate>>,
    keys: impl Fn(&str) -> Vec<Key>,
) -> Vec<Located> {
    let mut matching = Matching { candidates, found: BTreeMap::new(), taken: BTreeSet::new() };
    let mut waiting: Vec<&LocateItem> = items.iter().collect();
    let mut answers: BTreeMap<&Address, Located> = BTreeMap::new();
    loop {
        let before = waiting.len();
        waiting.retain(|item| match matching.find(item, &keys(item.address.kind())) {
            Some(located) => {
                answers.insert(&item.address, located);
                false
            }
            None => true,
        });
        if waiting.len() == before {
            waiting.retain(|item| match matching.referred(item, items) {
                Some(located) => {
                    answers.insert(&item.address, located);
                    false
                }
                None => true,
            });
        }
        if waiting.is_empty() || waiting.len() == before {
            break;
        }
    }
    items
        .iter()
        .map(|item| {
            answers.get(&item.address).cloned().unwrap_or_else(|| Located::nothing(item.address.clone()))
        })
        .collect()
}

struct Matching<'a> {
    candidates: &'a BTreeMap<String, Vec<Candidate>>,
    found: BTreeMap<&'a Address, &'a Candidate>,
    taken: BTreeSet<(&'a str, &'a Identity)>,
}

impl<'a> Matching<'a> {
    /// The answer to an item; `None` as long as it needs one that is not found yet.
    fn find(&mut self, item: &'a LocateItem, keys: &[Key]) -> Option<Located> {
        if let Some(existing) = &item.existing {
            let mut candidates = self.candidates.get(item.address.kind())?.iter();
            let candidate = candidates.find(|candidate| candidate.identity == *existing)?;
            return Some(self.keep(item, candidate));
        }
        let (key, wanted) = keys.iter().find_map(|key| Some((key, self.values(&item.desired, key)?)))?;
        let kind = item.address.kind();
        let fitting: Vec<&Candidate> = self
            .candidates
            .get(kind)
            .into_iter()
            .flatten()
            .filter(|candidate| !self.taken.contains(&(kind, &candidate.identity)))
            .filter(|candidate| {
                key.iter().zip(&wanted).all(|(path, wanted)| {
                    equal(candidate.attributes.at(path).unwrap_or(&Value::Null), wanted)
                })
            })
            .collect();
        if let [candidate] = fitting.as_slice() {
            self.taken.insert((kind, &candidate.identity));
            return Some(self.keep(item, candidate));
        }
        let identities = fitting.iter().map(|candidate| candidate.identity.clone()).collect();
        Some(Located { identities, ..Located::nothing(item.address.clone()) })
    }

    /// The object of an item to which an object that was found refers where its item refers to this one.
    fn referred(&mut self, item: &'a LocateItem, items: &[LocateItem]) -> Option<Located> {
        let identity = items.iter().find_map(|other| {
            let found = self.found.get(&other.address)?;
            other.desired.as_map()?.iter().find_map(|(name, value)| match value {
                Value::Reference(reference)
                    if reference.is_identity() && reference.address == item.address =>
                {
                    found.attributes.get(name)?.as_str().map(Identity::new)
                }
                _ => None,
            })
        })?;
        let kind = item.address.kind();
        let candidate = self.candidates.get(kind)?.iter().find(|candidate| candidate.identity == identity)?;
        if !self.taken.insert((kind, &candidate.identity)) {
            return None;
        }
        Some(self.keep(item, candidate))
    }

    /// Keeps the object of an item for those that refer to it.
    fn keep(&mut self, item: &'a LocateItem, candidate: &'a Candidate) -> Located {
        self.found.insert(&item.address, candidate);
        Located::one(item.address.clone(), candidate.identity.clone(), candidate.attributes.clone())
    }

    /// The desired values of a key; `None` while one is not known, or when none is set.
    fn values(&self, desired: &Value, key: &Key) -> Option<Vec<Value>> {
        let values: Vec<Value> = key
            .iter()
            .map(|path| {
                desired.at(path).unwrap_or(&Value::Null).resolve(&mut |reference| {
                    let Some(candidate) = self.found.get(&reference.address) else {
                        return Value::Unknown;
                    };
                    if reference.is_identity() {
                        return Value::from(candidate.identity.as_str());
                    }
                    candidate.attributes.at(&reference.path).cloned().unwrap_or(Value::Unknown)
                })
            })
            .collect();
        let usable = values.iter().all(Value::is_known) && !values.iter().all(unset);
        usable.then_some(values)
    }
}

/// Whether two values of a key are the same; the order of lists does not matter, and empty is unset.
fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::List(left), Value::List(right)) => {
            left.len() == right.len() && left.iter().all(|item| right.contains(item))
        }
        _ => left == right || (unset(left) && unset(right)),
    }
}

fn unset(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Map(entries) => entries.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(address: &str, desired: Value) -> LocateItem {
        LocateItem { address: address.parse().unwrap(), desired, existing: None }
    }

    fn candidate(identity: &str, attributes: Value) -> Candidate {
        Candidate { identity: Identity::new(identity), attributes }
    }

    fn keys(kind: &str) -> Vec<Key> {
        match kind {
            "rule" => vec![vec![Path::key("group"), Path::key("port"), Path::key("source")]],
            _ => vec![vec![Path::key("tags").child("Name")], vec![Path::key("name")]],
        }
    }

    #[test]
    fn what_refers_to_something_is_found_after_it() {
        let group: Address = "group.nodes".parse().unwrap();
        let items = [
            item(
                "rule.ssh",
                Value::map([("group", Value::reference(group, "id")), ("port", Value::Integer(22))]),
            ),
            item("group.nodes", Value::map([("tags", Value::map([("Name", "nodes.a")]))])),
            item("group.masters", Value::map([("name", "masters.a")])),
        ];
        let candidates = BTreeMap::from([
            (
                "group".to_owned(),
                vec![
                    candidate(
                        "sg-1",
                        Value::map([("id", Value::from("sg-1")), ("name", "masters.a".into())]),
                    ),
                    candidate(
                        "sg-2",
                        Value::map([
                            ("id", Value::from("sg-2")),
                            ("tags", Value::map([("Name", "nodes.a")])),
                        ]),
                    ),
                ],
            ),
            (
                "rule".to_owned(),
                vec![
                    candidate(
                        "r-1",
                        Value::map([("group", Value::from("sg-1")), ("port", Value::Integer(22))]),
                    ),
                    candidate(
                        "r-2",
                        Value::map([("group", Value::from("sg-2")), ("port", Value::Integer(22))]),
                    ),
                ],
            ),
        ]);
        let located = locate(&items, &candidates, keys);
        let identities: Vec<_> =
            located.iter().map(|located| located.identity().map(Identity::as_str)).collect();
        assert_eq!(identities, [Some("r-2"), Some("sg-2"), Some("sg-1")]);
    }

    #[test]
    fn what_has_no_key_is_what_others_refer_to() {
        let address: Address = "address.a".parse().unwrap();
        let items = [
            item("address.a", Value::map::<String, Value>([])),
            item(
                "gateway.a",
                Value::map([("name", Value::from("a")), ("address_id", Value::reference(address, "id"))]),
            ),
        ];
        let gateway = Value::map([("name", "a"), ("address_id", "eip-2")]);
        let addresses = ["eip-1", "eip-2"].map(|id| candidate(id, Value::map([("id", id)])));
        let candidates = BTreeMap::from([
            ("address".to_owned(), addresses.to_vec()),
            ("gateway".to_owned(), vec![candidate("nat-1", gateway)]),
        ]);
        let located = locate(&items, &candidates, keys);
        assert_eq!(located[0].identity().map(Identity::as_str), Some("eip-2"));
    }

    #[test]
    fn twins_are_named_and_nobody_is_taken_twice() {
        let wanted = || Value::map([("name", "a")]);
        let items = [item("group.a", wanted()), item("group.b", wanted())];
        let twins = vec![candidate("sg-1", wanted()), candidate("sg-2", wanted())];
        let located = locate(&items, &BTreeMap::from([("group".to_owned(), twins)]), keys);
        assert_eq!(located[0].identities.len(), 2);
        let one = vec![candidate("sg-1", wanted())];
        let located = locate(&items, &BTreeMap::from([("group".to_owned(), one)]), keys);
        assert_eq!(located[0].identities.len(), 1);
        assert!(located[1].identities.is_empty());
    }
}
