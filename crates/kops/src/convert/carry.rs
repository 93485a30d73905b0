use serde_json::{Map, Value};
use slipway_spec::yaml::{self, Node};

use super::Context;
use crate::{
    field::Field,
    fields::{Kind, Shape},
    rules::Treatment,
};

/// What the provider reads for itself, in kOps' own words: `{ "kops": { … } }` with every carried field where it stands
/// in `spec`. Items of lists keep their `name` (or `device`), so that they can be told apart. `null` when there is none.
pub(super) fn kops(context: &Context<'_>, kind: Kind, root: &Field<'_>) -> Value {
    let spec = root.at("spec");
    let shape = match context.table.shape(kind) {
        Some(Shape::Fields(fields)) => fields.get("spec"),
        _ => None,
    };
    match (spec.node(), shape) {
        (Some(node), Some(shape)) => {
            wrapped(kept(context, kind, "spec", shape, node, &|treatment| *treatment == Treatment::Carried))
        }
        _ => Value::Null,
    }
}

/// What an add-on reads for itself, in kOps' own words: `{ "kops": { … } }` with the fields of its section.
pub(super) fn addon(context: &Context<'_>, section: &str, name: &str) -> Value {
    let path = format!("spec.{section}");
    let field = context.spec.at(section);
    let shape = context.table.shape(Kind::Cluster).and_then(|root| below(root, &path));
    match (field.node(), shape) {
        (Some(node), Some(shape)) => wrapped(kept(
            context,
            Kind::Cluster,
            &path,
            shape,
            node,
            &|treatment| matches!(treatment, Treatment::Addon(addon) if addon == name),
        )),
        _ => Value::Null,
    }
}

/// `{ "kops": value }`, or `null` when there is nothing to keep.
pub(super) fn wrapped(value: Option<Value>) -> Value {
    match value {
        None | Some(Value::Null) => Value::Null,
        Some(Value::Object(fields)) if fields.is_empty() => Value::Null,
        Some(value) => serde_json::json!({ "kops": value }),
    }
}

fn below<'a>(shape: &'a Shape, path: &str) -> Option<&'a Shape> {
    path.split('.').try_fold(shape, |shape, name| match shape {
        Shape::Fields(fields) => fields.get(name),
        _ => None,
    })
}

/// The leaves below a node whose treatment is wanted, in the same structure; `None` when there is none.
fn kept(
    context: &Context<'_>,
    kind: Kind,
    path: &str,
    shape: &Shape,
    node: &Node,
    wanted: &dyn Fn(&Treatment) -> bool,
) -> Option<Value> {
    match (shape, &node.value) {
        (_, yaml::Value::Null) => None,
        (Shape::Fields(fields), yaml::Value::Mapping(entries)) => {
            let found: Map<_, _> = entries
                .iter()
                .filter_map(|entry| {
                    let name = &entry.key.text;
                    let path = format!("{path}.{name}");
                    let value = kept(context, kind, &path, fields.get(name)?, &entry.value, wanted)?;
                    Some((name.clone(), value))
                })
                .collect();
            (!found.is_empty()).then_some(Value::Object(found))
        }
        (Shape::Map(inner), yaml::Value::Mapping(entries)) => {
            let path = format!("{path}{{}}");
            let found: Map<_, _> = entries
                .iter()
                .filter_map(|entry| {
                    let value = kept(context, kind, &path, inner, &entry.value, wanted)?;
                    Some((entry.key.text.clone(), value))
                })
                .collect();
            (!found.is_empty()).then_some(Value::Object(found))
        }
        (Shape::List(inner), yaml::Value::Sequence(items)) => {
            let path = format!("{path}[]");
            let found: Vec<_> = items
                .iter()
                .filter_map(|item| {
                    let mut value = kept(context, kind, &path, inner, item, wanted)?;
                    identify(&mut value, item);
                    Some(value)
                })
                .collect();
            (!found.is_empty()).then_some(Value::Array(found))
        }
        (Shape::Leaf(_), _) => {
            let (_, treatment) = context.rules.find(kind, path)?;
            wanted(treatment).then(|| node.to_json())
        }
        _ => None,
    }
}

/// Adds what tells items of a list apart.
fn identify(value: &mut Value, item: &Node) {
    let Value::Object(fields) = value else { return };
    for key in ["name", "device"] {
        if let Some(text) = item.get(key).and_then(Node::as_str) {
            fields.entry(key).or_insert_with(|| text.into());
        }
    }
}
