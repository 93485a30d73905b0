use std::collections::BTreeSet;

use serde_json::{Map, Value};
use slipway_spec::{
    reader::{Document, join, record},
    source::FieldSources,
    yaml::{self, Entry, Node},
};

use super::Context;
use crate::{
    field::Field,
    fields::{Kind, Shape},
    outcome::Outcome,
    rules::Treatment,
};

/// The settings for the provider, with the field names of kOps: `{ "kops": { … } }` with every carried field
/// at its place in `spec`. Items of lists keep their `name` (or `device`), so that each of them is found again.
/// `null` when there are none. The position of each field is recorded at `path`, which contains it in the
/// model.
pub(super) fn kops(
    context: &Context<'_>,
    kind: Kind,
    root: &Field<'_>,
    path: &str,
    outcome: &mut Outcome,
) -> Value {
    let spec = root.at("spec");
    let shape = match context.table.shape(kind) {
        Some(Shape::Fields(fields)) => fields.get("spec"),
        _ => None,
    };
    let wanted = |treatment: &Treatment| *treatment == Treatment::Carried;
    carry(context, kind, ("spec", shape), &spec, &wanted, path, outcome)
}

/// The settings for an add-on, with the field names of kOps: `{ "kops": { … } }` with the fields of its
/// section.
pub(super) fn addon(context: &Context<'_>, section: &str, name: &str, outcome: &mut Outcome) -> Value {
    let field = context.spec.at(section);
    let section = format!("spec.{section}");
    let shape = context.table.shape(Kind::Cluster).and_then(|root| below(root, &section));
    let wanted = |treatment: &Treatment| matches!(treatment, Treatment::Addon(addon) if addon == name);
    let path = format!("addons[{name}].config");
    carry(context, Kind::Cluster, (&section, shape), &field, &wanted, &path, outcome)
}

fn carry(
    context: &Context<'_>,
    kind: Kind,
    (section, shape): (&str, Option<&Shape>),
    field: &Field<'_>,
    wanted: &dyn Fn(&Treatment) -> bool,
    path: &str,
    outcome: &mut Outcome,
) -> Value {
    let (Some(node), Some(shape)) = (field.node(), shape) else { return Value::Null };
    // Both paths are recorded: the reader of a setting names it as a Slipway spec does, without the key
    // `kops`.
    let places = vec![format!("{path}.kops"), path.to_owned()];
    let sources = &mut outcome.sources;
    let mut carrier = Carrier { context, kind, wanted, document: field.document(), sources };
    wrapped(carrier.kept(section, shape, node, &places))
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

/// Takes over the leaves whose treatment is wanted.
struct Carrier<'a> {
    context: &'a Context<'a>,
    kind: Kind,
    wanted: &'a dyn Fn(&Treatment) -> bool,
    document: &'a Document,
    sources: &'a mut FieldSources,
}

impl Carrier<'_> {
    /// The wanted leaves below a node, in the same structure; `None` when there is none. `places` are the paths in the
    /// model under which they are found.
    fn kept(&mut self, path: &str, shape: &Shape, node: &Node, places: &[String]) -> Option<Value> {
        match (shape, &node.value) {
            (_, yaml::Value::Null) => None,
            (Shape::Fields(fields), yaml::Value::Mapping(entries)) => {
                let inner = entries.iter().filter_map(|entry| {
                    let name = &entry.key.text;
                    Some((entry, format!("{path}.{name}"), fields.get(name)?))
                });
                self.entries(inner, places)
            }
            (Shape::Map(inner), yaml::Value::Mapping(entries)) => {
                let inner = entries.iter().map(|entry| (entry, format!("{path}{{}}"), &**inner));
                self.entries(inner, places)
            }
            (Shape::List(inner), yaml::Value::Sequence(items)) => {
                self.items(&format!("{path}[]"), inner, items, places)
            }
            (Shape::Leaf(_), _) => {
                let (_, treatment) = self.context.rules.find(self.kind, path)?;
                (self.wanted)(treatment).then(|| node.to_json())
            }
            _ => None,
        }
    }

    fn entries<'n>(
        &mut self,
        entries: impl Iterator<Item = (&'n Entry, String, &'n Shape)>,
        places: &[String],
    ) -> Option<Value> {
        let mut found = Map::new();
        for (entry, path, shape) in entries {
            let places: Vec<String> = places.iter().map(|place| join(place, &entry.key.text)).collect();
            if let Some(value) = self.kept(&path, shape, &entry.value, &places) {
                for place in &places {
                    self.record(place, shape, entry);
                }
                found.insert(entry.key.text.clone(), value);
            }
        }
        (!found.is_empty()).then_some(Value::Object(found))
    }

    fn items(&mut self, path: &str, shape: &Shape, items: &[Node], places: &[String]) -> Option<Value> {
        let mut found = Vec::new();
        let mut names = BTreeSet::new();
        for item in items {
            let name = item.get("name").and_then(Node::as_str).filter(|name| !name.is_empty());
            let key = match name.filter(|name| names.insert((*name).to_owned())) {
                Some(name) => name.to_owned(),
                None => found.len().to_string(),
            };
            let places: Vec<String> = places.iter().map(|place| format!("{place}[{key}]")).collect();
            if let Some(mut value) = self.kept(path, shape, item, &places) {
                for place in places {
                    self.sources.insert(place, None, self.document.location(item.span));
                }
                identify(&mut value, item);
                found.push(value);
            }
        }
        (!found.is_empty()).then_some(Value::Array(found))
    }

    /// Records where a field is written, and, where it is taken over as it is, everything in it.
    fn record(&mut self, place: &str, shape: &Shape, entry: &Entry) {
        let location = |span| self.document.location(span);
        let key = entry.key.span;
        match shape {
            Shape::Leaf(_) => record(&self.document.file, self.sources, place, Some(key), &entry.value),
            _ => self.sources.insert(place, Some(location(key)), location(entry.value.span)),
        }
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
