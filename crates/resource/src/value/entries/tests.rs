use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn keys() -> impl Strategy<Value = String> {
    "[a-d]{0,2}"
}

fn pairs() -> impl Strategy<Value = Vec<(String, i64)>> {
    prop::collection::vec((keys(), any::<i64>()), 0..8)
}

fn entries(pairs: &[(String, i64)]) -> Entries {
    pairs.iter().map(|(key, value)| (key.clone(), Value::from(*value))).collect()
}

fn map(pairs: &[(String, i64)]) -> BTreeMap<String, Value> {
    pairs.iter().map(|(key, value)| (key.clone(), Value::from(*value))).collect()
}

fn assert_same(entries: &Entries, map: &BTreeMap<String, Value>) {
    assert!(entries.iter().eq(map), "{entries:?} and {map:?}");
    assert_eq!(format!("{entries:?}"), format!("{map:?}"));
    assert_eq!(entries.len(), map.len());
    for key in map.keys() {
        assert_eq!(entries.get(key), map.get(key));
    }
}

proptest! {
    #[test]
    fn they_are_those_of_a_tree(first in pairs(), second in pairs(), key in keys(), limit in any::<i64>()) {
        let (mut own, mut tree) = (entries(&first), map(&first));
        let copy = own.clone();
        assert_same(&own, &tree);
        prop_assert_eq!(own.cmp(&entries(&second)), tree.cmp(&map(&second)));
        prop_assert_eq!(own == entries(&second), tree == map(&second));
        prop_assert_eq!(own.contains_key(&key), tree.contains_key(&key));
        prop_assert_eq!(own.insert(key.clone(), limit.into()), tree.insert(key.clone(), limit.into()));
        assert_same(&own, &tree);
        own.extend(entries(&second));
        tree.extend(map(&second));
        assert_same(&own, &tree);
        own.retain(|key, value| value.as_integer() < Some(limit) && key != "a");
        tree.retain(|key, value| value.as_integer() < Some(limit) && key != "a");
        assert_same(&own, &tree);
        *own.entry(key.clone()).or_insert(Value::Null) = true.into();
        *tree.entry(key.clone()).or_insert(Value::Null) = true.into();
        assert_same(&own, &tree);
        prop_assert_eq!(own.remove(&key), tree.remove(&key));
        own.values_mut().for_each(|value| *value = Value::Null);
        tree.values_mut().for_each(|value| *value = Value::Null);
        assert_same(&own, &tree);
        // The clone is as it was.
        assert_same(&copy, &map(&first));
        prop_assert!(own.into_iter().eq(tree));
    }
}

#[test]
fn maps_with_equal_keys_share_them() {
    let pairs = [("a".to_owned(), 1), ("b".to_owned(), 2)];
    let (one, other) = (entries(&pairs), entries(&pairs));
    assert!(Arc::ptr_eq(&one.0.keys, &other.0.keys));
    let text = r#"{"b": 4, "a": 3}"#;
    let Value::Map(read) = serde_json::from_str(text).unwrap() else { panic!("{text} is a map") };
    assert!(Arc::ptr_eq(&one.0.keys, &read.0.keys));
    let mut grown = entries(&pairs[1..]);
    grown.insert("a".to_owned(), Value::Null);
    assert!(Arc::ptr_eq(&one.0.keys, &grown.0.keys));
    grown.insert("c".to_owned(), Value::Null);
    assert_eq!((one.len(), grown.len()), (2, 3));
}

#[test]
fn a_clone_shares_its_entries_until_it_changes() {
    let one = entries(&[("a".to_owned(), 1)]);
    let mut other = one.clone();
    assert!(Arc::ptr_eq(&one.0, &other.0));
    other.insert("a".to_owned(), 2_i64.into());
    assert_eq!((one.get("a"), other.get("a")), (Some(&1_i64.into()), Some(&2_i64.into())));
    assert!(Arc::ptr_eq(&one.0.keys, &other.0.keys));
}

#[test]
fn a_value_without_a_reference_resolves_to_itself() {
    let value = Value::map([("a", Value::map([("b", 1_i64)]))]);
    let resolved = value.resolve(&mut |_| Value::Null);
    let (Value::Map(before), Value::Map(after)) = (&value, &resolved) else { panic!("{value:?} is a map") };
    assert!(Arc::ptr_eq(&before.0, &after.0));
}
