//! Problems of a schema that the schema alone shows.

use std::collections::BTreeMap;

use slipway_resource::provider::Info;
use slipway_resource::validate::misfits;
use slipway_resource::{Attribute, Mode, ResourceType, Schema, Type, Value};

/// Every fault, each as a sentence.
pub(crate) fn faults(schema: &Schema, info: &Info) -> Vec<String> {
    let mut faults = Vec::new();
    attributes("configuration", &schema.config, &mut faults);
    if schema.types.is_empty() {
        faults.push("there are no types".to_owned());
    }
    for (name, kind) in &schema.types {
        resource_type(name, kind, info, &mut faults);
        if let Some(with) = &kind.removed_with {
            if !schema.types.contains_key(&with.kind) {
                faults.push(format!("{name} is removed with a `{}`, which is not a type", with.kind));
            }
            for attribute in with.unless.iter().chain([&with.attribute]) {
                if !kind.attributes.contains_key(attribute) {
                    faults.push(format!("{name} is removed by `{attribute}`, which is no attribute"));
                }
            }
        }
    }
    faults
}

fn resource_type(name: &str, kind: &ResourceType, info: &Info, faults: &mut Vec<String>) {
    if !is_name(name) {
        faults.push(format!("`{name}` is not a type's name: small letters, digits and _ only"));
    }
    if kind.description.is_empty() {
        faults.push(format!("{name} has no description"));
    }
    if !info.rate_classes.contains_key(&kind.rate_class) {
        faults.push(format!("{name}: there is no rate class `{}`", kind.rate_class));
    }
    for exclusive in &kind.exclusive {
        if !kind.attributes.contains_key(exclusive) {
            faults.push(format!("{name}: `{exclusive}` is exclusive and no attribute"));
        }
    }
    for (index, role) in kind.roles.iter().enumerate() {
        let is_repeated = kind.roles.iter().take(index).any(|other| other.name == role.name);
        if is_repeated || role.name.is_empty() && kind.roles.len() > 1 {
            faults.push(format!("{name}: two roles fit an object with the name `{}`", role.name));
        }
    }
    for (operation, declared) in &kind.operations {
        if declared.description.is_empty() {
            faults.push(format!("{name}: operation {operation} has no description"));
        }
    }
    attributes(name, &kind.attributes, faults);
}

fn attributes(place: &str, attributes: &BTreeMap<String, Attribute>, faults: &mut Vec<String>) {
    for (name, attribute) in attributes {
        let place = format!("{place}.{name}");
        if !is_name(name) {
            faults.push(format!("{place}: an attribute's name has letters, digits, _ and - only"));
        }
        match attribute.mode {
            Mode::Computed if attribute.immutable || attribute.write_only => {
                faults.push(format!("{place}: what the server sets is neither immutable nor write-only"));
            }
            Mode::Required | Mode::Computed if !attribute.default.is_null() => {
                faults.push(format!("{place}: a default has no use there"));
            }
            _ => {}
        }
        if !attribute.forms.is_empty() && attribute.own_form {
            faults.push(format!("{place}: a value with a form of its own has no forms that are declared"));
        }
        if !attribute.default.is_null() {
            let fields =
                BTreeMap::from([("default".to_owned(), Attribute::optional(attribute.kind.clone()))]);
            let value = Value::map([("default", attribute.default.clone())]);
            if let Some(misfit) = misfits(&fields, &value).first() {
                faults.push(format!("{place}: {misfit}"));
            }
        }
        nested(&place, &attribute.kind, faults);
    }
}

fn nested(place: &str, kind: &Type, faults: &mut Vec<String>) {
    match kind {
        Type::List(item) | Type::Set(item) | Type::Map(item) => nested(place, item, faults),
        Type::Object(fields) => attributes(place, fields, faults),
        Type::Bool | Type::Integer | Type::Float | Type::String | Type::Any => {}
    }
}

fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
