//! Attribute values in Terraform's form: known values, and trees that mark unknown and hidden ones.

use serde_json::{Map, Value as Json};
use slipway_resource::{Path, RangePart, TemplatePart, Value};

use super::super::screen::Screen;

/// One side of a change.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Side {
    /// The known values that are not hidden; references as `${type.name.attribute}`.
    pub(in super::super) values: Json,
    /// True where only apply will tell.
    pub(in super::super) unknown: Json,
    /// True where nothing is shown.
    pub(in super::super) sensitive: Json,
}

/// The attributes of an object; null for none.
pub(in super::super) fn side(object: &Value, sensitive: &[Path]) -> Side {
    if object.is_null() {
        return Side { values: Json::Null, unknown: Json::Bool(false), sensitive: Json::Bool(false) };
    }
    let node = node(object, &Screen::new(sensitive, &Path::root()));
    let tree = |marks: Option<Json>| marks.unwrap_or_else(|| Json::Object(Map::new()));
    Side {
        values: node.value.unwrap_or_default(),
        unknown: tree(node.unknown),
        sensitive: tree(node.sensitive),
    }
}

/// A value with its marks; absent marks mean false all the way down.
struct Node {
    /// `None` leaves the key out of its map.
    value: Option<Json>,
    unknown: Option<Json>,
    sensitive: Option<Json>,
}

fn node(value: &Value, screen: &Screen<'_>) -> Node {
    let shut = screen.is_shut() || screen.hides(value);
    let sensitive = shut.then_some(Json::Bool(true));
    let unknown = Some(Json::Bool(true));
    match value {
        Value::Unknown => return Node { value: None, unknown, sensitive },
        _ if shut => return Node { value: Some(Json::Null), unknown: None, sensitive },
        Value::Map(entries) => {
            let mut map = Map::new();
            let mut unknowns = Map::new();
            let mut secrets = Map::new();
            for (key, value) in entries {
                let below = node(value, &screen.entry(entries, key));
                insert(&mut map, key, below.value);
                insert(&mut unknowns, key, below.unknown);
                insert(&mut secrets, key, below.sensitive);
            }
            return Node { value: Some(map.into()), unknown: marked(unknowns), sensitive: marked(secrets) };
        }
        Value::List(items) => return list(items, screen),
        _ => {}
    }
    let text = |text: String| Node { value: Some(text.into()), unknown, sensitive: None };
    match value {
        Value::Reference(reference) => text(reference.to_string()),
        Value::Template(parts) => match RangePart::of(parts) {
            Some(part) => text(range_part(&part)),
            None => text(template(parts)),
        },
        Value::String(text) => plain(escape(text).into()),
        other => plain(other.to_json()),
    }
}

fn plain(value: Json) -> Node {
    Node { value: Some(value), unknown: None, sensitive: None }
}

/// A list keeps its length: an unknown item is null, and the marks have a place for every item.
fn list(items: &[Value], screen: &Screen<'_>) -> Node {
    let nodes: Vec<Node> =
        items.iter().enumerate().map(|(index, item)| node(item, &screen.index(index))).collect();
    let marks = |mark: fn(&Node) -> &Option<Json>| {
        nodes.iter().any(|node| mark(node).is_some()).then(|| {
            nodes.iter().map(|node| mark(node).clone().unwrap_or(Json::Bool(false))).collect::<Json>()
        })
    };
    let unknown = marks(|node| &node.unknown);
    let sensitive = marks(|node| &node.sensitive);
    let value = nodes.into_iter().map(|node| node.value.unwrap_or_default()).collect();
    Node { value: Some(value), unknown, sensitive }
}

fn insert(map: &mut Map<String, Json>, key: &str, value: Option<Json>) {
    if let Some(value) = value {
        map.insert(key.to_owned(), value);
    }
}

fn marked(marks: Map<String, Json>) -> Option<Json> {
    (!marks.is_empty()).then(|| marks.into())
}

fn template(parts: &[TemplatePart]) -> String {
    parts
        .iter()
        .map(|part| match part {
            TemplatePart::Text(text) => escape(text),
            TemplatePart::Reference(reference) => reference.to_string(),
        })
        .collect()
}

/// A part of a range, by the function that Terraform has for it.
fn range_part(part: &RangePart) -> String {
    let RangePart { range, bits, number } = part;
    format!("${{cidrsubnet({}.{}, {bits}, {number})}}", range.address, range.path)
}

/// A literal text, in which `${` is no reference.
pub(super) fn escape(text: &str) -> String {
    text.replace("${", "$${")
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use slipway_resource::{Address, Secret};

    use super::*;

    #[test]
    fn a_part_of_a_range_is_a_call() {
        let range = slipway_resource::Reference {
            address: Address::new("aws_vpc", "main"),
            path: Path::key("ipv6_cidr_block"),
        };
        let object = Value::map([("range", Value::from(RangePart { range, bits: 8, number: 3 }))]);
        let side = side(&object, &[]);
        assert_eq!(side.values, json!({"range": "${cidrsubnet(aws_vpc.main.ipv6_cidr_block, 8, 3)}"}));
        assert_eq!(side.unknown, json!({"range": true}));
    }

    #[test]
    fn marks_follow_the_form_of_the_value() {
        let object = Value::map([
            ("name", Value::from("say ${hello}")),
            ("id", Value::Unknown),
            ("network", Value::reference(Address::new("sim_network", "a.b"), "id")),
            ("token", Value::from(Secret::new("env:TOKEN"))),
            ("items", Value::List(vec![Value::Unknown, Value::from("x")])),
            ("login", Value::map([("password", "p"), ("user", "u")])),
            ("key", Value::Unknown),
        ]);
        let paths = ["login.password".parse().unwrap(), "key".parse().unwrap()];
        let side = side(&object, &paths);
        assert_eq!(
            side.values,
            json!({"name": "say $${hello}", "network": "${sim_network.a.b.id}", "token": null,
                "items": [null, "x"], "login": {"password": null, "user": "u"}})
        );
        assert_eq!(side.unknown, json!({"id": true, "network": true, "items": [true, false], "key": true}));
        assert_eq!(side.sensitive, json!({"token": true, "login": {"password": true}, "key": true}));
    }
}
