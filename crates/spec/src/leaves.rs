//! Every leaf of the documents, for tests and tools that change one field at a time.

pub mod change;

use crate::{
    shape::{Kind, Shape},
    v1alpha1::{ClusterDocument, HostDocument, NodePoolDocument},
};

/// A field that holds a single value, a list of single values, or free keys with single values.
#[derive(Debug, Clone, PartialEq)]
pub struct Leaf {
    /// The kind of document.
    pub document: &'static str,
    /// The path from the document's top: `spec.network.subnets[].cidr`. Items of a list are `[]`, free keys `*`.
    pub path: String,
    /// The shape of its value.
    pub shape: Shape,
    /// Whether it must be given.
    pub required: bool,
    /// The default, when it does not depend on other fields.
    pub default: Option<serde_json::Value>,
}

/// Every leaf of the `v1alpha1` documents, kinds and paths in order. `apiVersion` and `kind` are left out.
#[must_use]
pub fn leaves() -> Vec<Leaf> {
    let mut leaves = Vec::new();
    for (document, shape) in [
        ("Cluster", Shape::of::<ClusterDocument>()),
        ("Host", Shape::of::<HostDocument>()),
        ("NodePool", Shape::of::<NodePoolDocument>()),
    ] {
        collect(document, "", &shape, (true, None), &mut leaves);
    }
    leaves
}

/// The leaves of a shape; `kept` is whether it must be given, and its default.
fn collect(
    document: &'static str,
    path: &str,
    shape: &Shape,
    kept: (bool, Option<&serde_json::Value>),
    leaves: &mut Vec<Leaf>,
) {
    match &shape.kind {
        Kind::Object(fields) | Kind::OneOf(fields) if !fields.is_empty() => {
            for (name, field) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect(document, &path, &field.shape, (field.required, field.default.as_ref()), leaves);
            }
        }
        Kind::List(item) if has_fields(item) => {
            collect(document, &format!("{path}[]"), item, (false, None), leaves)
        }
        Kind::Map(item) if has_fields(item) => {
            collect(document, &format!("{path}.*"), item, (false, None), leaves)
        }
        Kind::Constant(_) => {}
        _ => {
            let (required, default) = (kept.0, kept.1.cloned());
            leaves.push(Leaf { document, path: path.to_owned(), shape: shape.clone(), required, default });
        }
    }
}

fn has_fields(shape: &Shape) -> bool {
    shape.fields().is_some_and(|fields| !fields.is_empty())
}

impl Leaf {
    /// Values that the leaf may hold, different from one another: at least one, and two or more where its type has so
    /// many that are plain. They fit the leaf's type, not necessarily the rest of a cluster.
    #[must_use]
    pub fn values(&self) -> Vec<serde_json::Value> {
        values(&self.shape)
    }
}

fn values(shape: &Shape) -> Vec<serde_json::Value> {
    use crate::value::Format;
    use serde_json::json;
    match &shape.kind {
        Kind::Boolean => vec![json!(false), json!(true)],
        Kind::Integer { min, max } => {
            let low = min.unwrap_or(1).max(1);
            let high = max.unwrap_or(low + 7).min(low + 7);
            if low == high { vec![json!(low)] } else { vec![json!(low), json!(high)] }
        }
        Kind::Amount => vec![json!(1), json!("25%")],
        Kind::Enum(words) => words.iter().map(|word| json!(word.value)).collect(),
        Kind::Constant(text) => vec![json!(text)],
        Kind::Text(None) => vec![json!("first"), json!("second")],
        Kind::Text(Some(format)) => {
            let other = match format {
                Format::Cidr => "10.64.0.0/18",
                Format::Ip => "10.0.0.20",
                Format::Duration => "1h30m",
                Format::Quantity => "2Gi",
                Format::KubernetesVersion => "1.34.1",
                Format::Amount => "50%",
                Format::PortRange => "31000-32000",
                Format::AccessSource => "pl-0f1e2d3c",
            };
            vec![json!(format.example()), json!(other)]
        }
        Kind::List(item) => values(item).into_iter().map(|value| json!([value])).collect(),
        Kind::Map(item) => values(item).into_iter().map(|value| json!({ "key": value })).collect(),
        Kind::Opaque => vec![json!({ "key": "first" }), json!({ "key": "second" })],
        Kind::Object(_) | Kind::OneOf(_) => vec![shape.stand_in()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_many_each_with_values() {
        let leaves = leaves();
        assert!(leaves.len() > 250, "{}", leaves.len());
        for path in [
            "spec.network.subnets[].egress.natGateway.elasticIp",
            "spec.components.apiServer.extraArgs",
            "spec.ssh.hostKeys",
        ] {
            assert!(leaves.iter().any(|leaf| leaf.path == path), "{path}");
        }
        for leaf in &leaves {
            assert!(!leaf.values().is_empty(), "{}", leaf.path);
        }
    }
}
