use std::collections::BTreeMap;

use super::*;
use crate::schema::{Durations, OwnershipKind};
use crate::{Secret, Value};

fn kind() -> ResourceType {
    let rule = Type::object([
        ("port", Attribute::required(Type::Integer)),
        ("cidr", Attribute::optional(Type::String).default_to("0.0.0.0/0")),
        ("id", Attribute::computed(Type::String)),
    ]);
    let attributes = BTreeMap::from([
        ("cidr".to_owned(), Attribute::required(Type::String).immutable()),
        ("size".to_owned(), Attribute::optional_computed(Type::Integer)),
        ("comment".to_owned(), Attribute::optional(Type::String)),
        ("zones".to_owned(), Attribute::optional(Type::set(Type::String))),
        ("rules".to_owned(), Attribute::optional(Type::set(rule))),
        ("tags".to_owned(), Attribute::optional(Type::map(Type::String))),
        ("password".to_owned(), Attribute::optional(Type::String).sensitive().write_only()),
        ("arn".to_owned(), Attribute::computed(Type::String)),
    ]);
    ResourceType {
        version: 1,
        description: String::new(),
        attributes,
        ownership: OwnershipKind::Tags,
        rate_class: "default".into(),
        idempotent_create: true,
        stateful: false,
        irreplaceable: None,
        create_before_delete: false,
        import_id: String::new(),
        removed_with: None,
        roles: Vec::new(),
        read_by_identity: false,
        exclusive: Vec::new(),
        operations: BTreeMap::new(),
        durations: Durations::default(),
    }
}

fn paths(observed: &Value, desired: &Value, applied: Option<&Value>) -> Vec<String> {
    diff(&kind(), observed, desired, applied).iter().map(|change| change.path.to_string()).collect()
}

fn base() -> Value {
    Value::map([("cidr", "10.0.0.0/8")])
}

fn with(key: &str, value: impl Into<Value>) -> Value {
    let mut map = base();
    map.set(&Path::key(key), value.into());
    map
}

#[test]
fn sets_have_no_order() {
    assert!(
        paths(&with("zones", Value::list(["a", "b"])), &with("zones", Value::list(["b", "a"])), None)
            .is_empty()
    );
    let rule = |port: i64| Value::map([("port", Value::from(port)), ("id", "sgr-1".into())]);
    let wanted = |port: i64| Value::map([("port", Value::from(port)), ("cidr", "0.0.0.0/0".into())]);
    let observed = with("rules", Value::list([rule(1), rule(2)]));
    assert!(paths(&observed, &with("rules", Value::list([wanted(2), wanted(1)])), None).is_empty());
    assert_eq!(paths(&observed, &with("rules", Value::list([wanted(2)])), None), ["rules"]);
}

#[test]
fn a_removed_field_is_a_change_and_a_server_default_is_none() {
    let observed = with("size", 3i64);
    assert!(paths(&observed, &base(), Some(&base())).is_empty(), "the server's own");
    assert_eq!(paths(&observed, &base(), Some(&observed)), ["size"], "was asked for, is no more");
    assert!(
        paths(&with("size", 5i64), &base(), Some(&observed)).is_empty(),
        "already given back to the server"
    );
    assert!(paths(&observed, &with("size", Value::Unknown), Some(&base())).is_empty(), "the server will say");
    assert_eq!(paths(&with("comment", "x"), &base(), None), ["comment"]);
    assert_eq!(
        paths(
            &with("tags", Value::map([("a", "1"), ("b", "2")])),
            &with("tags", Value::map([("a", "1")])),
            None
        ),
        ["tags.b"]
    );
}

#[test]
fn immutable_attributes_replace() {
    let changes = diff(&kind(), &base(), &Value::map([("cidr", "10.1.0.0/16")]), None);
    assert!(changes.iter().all(|change| change.replaces) && changes.len() == 1);
}

#[test]
fn what_is_never_returned_is_compared_with_what_was_applied() {
    let secret = |fingerprint: &str| {
        Value::from(Secret { fingerprint: Some(fingerprint.into()), ..Secret::new("env:P") })
    };
    let applied = with("password", secret("1"));
    assert!(paths(&base(), &with("password", secret("1")), Some(&applied)).is_empty());
    assert_eq!(paths(&base(), &with("password", secret("2")), Some(&applied)), ["password"]);
    assert!(paths(&base(), &with("password", secret("2")), None).is_empty(), "a rebuilt state cannot know");
    assert!(diff(&kind(), &base(), &with("password", secret("2")), Some(&applied))[0].sensitive);
}

#[test]
fn computed_attributes_and_empty_values_are_no_change() {
    assert!(paths(&with("arn", "arn:1"), &with("zones", Value::list::<Value>([])), None).is_empty());
}

#[test]
fn unknown_is_a_change() {
    assert_eq!(paths(&with("comment", "x"), &with("comment", Value::Unknown), None), ["comment"]);
}
