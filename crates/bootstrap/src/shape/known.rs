use std::collections::BTreeMap;

use slipway_spec::shape as spec;

use super::{Field, Shape};

/// The shape of a whole document for the check of its form: all allowed fields, none of them required.
pub(crate) fn document(shape: &Shape) -> spec::Shape {
    let mut whole = described(shape);
    if let spec::Kind::Object(fields) = &mut whole.kind {
        for name in ["apiVersion", "kind"] {
            fields.insert(name.to_owned(), field(spec::Kind::Text(None)));
        }
    }
    whole
}

fn described(shape: &Shape) -> spec::Shape {
    let kind = match shape {
        Shape::Text | Shape::Duration => spec::Kind::Text(None),
        Shape::Bool => spec::Kind::Boolean,
        Shape::Pointer(inner) => return described(inner),
        Shape::List(item) => spec::Kind::List(Box::new(described(item))),
        Shape::Map(item) => spec::Kind::Map(Box::new(described(item))),
        Shape::Object(fields) => spec::Kind::Object(object(fields)),
        // Numbers may have fractions, and amounts be numbers or texts: their reader checks them.
        _ => spec::Kind::Opaque,
    };
    spec::Shape { kind, description: String::new() }
}

fn object(fields: &[Field]) -> BTreeMap<String, spec::Field> {
    fields.iter().map(|own| (own.name.to_owned(), field(described(&own.shape).kind))).collect()
}

fn field(kind: spec::Kind) -> spec::Field {
    let shape = spec::Shape { kind, description: String::new() };
    spec::Field { shape, description: String::new(), required: false, default: None }
}
