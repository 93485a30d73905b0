//! Other values of a leaf, and where they go in documents.

use serde_json::{Value as Json, json};

use super::Leaf;

pub use json_patch::merge;

/// The positions of a leaf in documents, as the number of a document and a JSON pointer; the possible
/// positions, if it is absent. A choice without fields has no other value: it replaces the other choices.
#[must_use]
pub fn places(documents: &[Json], leaf: &Leaf) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (index, document) in documents.iter().enumerate() {
        if document.get("kind").and_then(Json::as_str) == Some(leaf.document) {
            let mut pointers = Vec::new();
            walk(document, &leaf.path, String::new(), &mut pointers);
            found.extend(pointers.into_iter().map(|(pointer, is_there)| (is_there, index, pointer)));
        }
    }
    let is_choice = leaf.values() == [json!({})];
    let any_there = !is_choice && found.iter().any(|(is_there, ..)| *is_there);
    found.retain(|(is_there, ..)| *is_there == any_there);
    found.sort();
    found.into_iter().map(|(_, index, pointer)| (index, pointer)).collect()
}

/// Every position of a leaf's path in a document, and whether it has a value. The last object on the path
/// must exist.
fn walk(json: &Json, path: &str, at: String, found: &mut Vec<(String, bool)>) {
    let (segment, rest) = path.split_once('.').map_or((path, None), |(segment, rest)| (segment, Some(rest)));
    let (name, is_list) = segment.strip_suffix("[]").map_or((segment, false), |name| (name, true));
    let Some(fields) = json.as_object() else { return };
    let Some(rest) = rest else {
        found.push((format!("{at}/{name}"), fields.contains_key(name)));
        return;
    };
    for (key, value) in fields.iter().filter(|(key, _)| name == "*" || *key == name) {
        let at = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
        if is_list {
            for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                walk(item, rest, format!("{at}/{index}"), found);
            }
        } else {
            walk(value, rest, at, found);
        }
    }
}

/// Other values of a leaf than the one that it has, the likeliest to fit first: those that `chosen` has for its path, variations
/// of what it has, and those of its type.
#[must_use]
pub fn candidates(leaf: &Leaf, now: Option<&Json>, chosen: &dyn Fn(&str) -> Vec<Json>) -> Vec<Json> {
    let mut values = chosen(&leaf.path);
    match now {
        Some(Json::Bool(now)) => values.push(json!(!now)),
        Some(Json::Number(now)) => values.extend(now.as_i64().map(|now| json!(now + 1))),
        Some(Json::String(now)) => values.push(json!(format!("{now}x"))),
        Some(Json::Array(now)) => {
            values.extend(now.iter().filter_map(Json::as_str).map(|item| json!([format!("{item}x")])));
        }
        Some(Json::Object(now)) if !now.is_empty() => {
            let mut more = now.clone();
            for value in more.values_mut() {
                if let Some(other) = candidates(leaf, Some(value), chosen).into_iter().next() {
                    *value = other;
                }
            }
            values.push(more.into());
        }
        _ => {}
    }
    values.extend(leaf.values());
    // A field that is absent has its default.
    let now = now.or_else(|| leaf.default.as_ref().filter(|_| leaf.values().len() > 1));
    values.retain(|value| Some(value) != now);
    values
}

/// Sets the value at a pointer whose object exists; a choice without fields takes the place of the other choices.
pub fn set(document: &mut Json, pointer: &str, value: &Json) {
    let Some((parent, name)) = pointer.rsplit_once('/') else { return };
    let Some(fields) = document.pointer_mut(parent).and_then(Json::as_object_mut) else { return };
    if *value == json!({}) {
        fields.clear();
    }
    fields.insert(unescape(name), value.clone());
}

/// The name that a segment of a JSON pointer means.
#[must_use]
pub fn unescape(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}

/// The field of a pointer as providers name it in notes, without the names of list items.
#[must_use]
pub fn field(document: &Json, pointer: &str) -> String {
    let segments = pointer.split('/').skip(1);
    let path: Vec<&str> = segments
        .filter(|segment| !matches!(*segment, "spec" | "metadata") && segment.parse::<usize>().is_err())
        .collect();
    let path = path.join(".");
    if document.get("kind").and_then(Json::as_str) == Some("NodePool") {
        format!("pools.{path}")
    } else {
        path
    }
}

/// A field of a note without the names of list items, which are in brackets.
#[must_use]
pub fn without_names(field: &str) -> String {
    let mut depth = 0_usize;
    let is_kept = |c: &char| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => return depth == 0,
        }
        false
    };
    field.chars().filter(is_kept).collect()
}
