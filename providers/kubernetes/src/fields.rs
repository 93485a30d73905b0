//! The fields of a live object that a manager owns.
//!
//! Server-side apply stores the owners of fields in `metadata.managedFields`, as sets in the form `FieldsV1`
//! (<https://kubernetes.io/docs/reference/using-api/server-side-apply/>). `f:name` is a field, `k:{…}` an
//! item of a list by its keys, `v:…` an item of a set by its value, `i:n` an item by its index, and `.` the
//! field or item itself.

use serde_json::{Map, Value as Json};

use crate::object::text;

/// A set of fields, in the form `FieldsV1`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldSet(Map<String, Json>);

/// The fields that a manager has applied, and the API version of their names.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// As `apps/v1`.
    pub api_version: String,
    /// The fields.
    pub fields: FieldSet,
}

/// Another field manager that wrote fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writer {
    /// The manager's name.
    pub manager: String,
    /// Whether it uses server-side apply; otherwise it updates.
    pub applies: bool,
}

/// The fields of a live object that a manager has applied, except status and other subresources.
#[must_use]
pub fn applied_by(live: &Json, manager: &str) -> Option<Applied> {
    let entry = entries(live).find(|entry| {
        text(entry, "/manager") == Some(manager)
            && text(entry, "/operation") == Some("Apply")
            && text(entry, "/subresource").unwrap_or_default().is_empty()
    })?;
    Some(Applied {
        api_version: text(entry, "/apiVersion")?.to_owned(),
        fields: FieldSet::from_json(entry.get("fieldsV1")?)?,
    })
}

/// The managers of a live object that own something of a set, or something below it, other than one.
#[must_use]
pub fn writers_of(live: &Json, fields: &FieldSet, except: &str) -> Vec<Writer> {
    let mut found = Vec::new();
    for entry in entries(live) {
        let manager = text(entry, "/manager").unwrap_or_default();
        let owned = entry.get("fieldsV1").and_then(FieldSet::from_json).unwrap_or_default();
        if manager != except && fields.meets(&owned) {
            let applies = text(entry, "/operation") == Some("Apply");
            found.push(Writer { manager: manager.to_owned(), applies });
        }
    }
    found
}

/// Whether a manager has applied something of a live object, not only updated it.
#[must_use]
pub fn is_applier(live: &Json, manager: &str) -> bool {
    entries(live)
        .any(|entry| text(entry, "/manager") == Some(manager) && text(entry, "/operation") == Some("Apply"))
}

/// When a manager applied something new the last time, in the server's form.
#[must_use]
pub(crate) fn applied_at<'a>(live: &'a Json, manager: &str) -> Option<&'a str> {
    let entry = entries(live).find(|entry| {
        text(entry, "/manager") == Some(manager) && text(entry, "/operation") == Some("Apply")
    })?;
    text(entry, "/time")
}

/// When a manager wrote something of a live object the last time, in the server's form.
#[must_use]
pub(crate) fn written_at<'a>(live: &'a Json, manager: &str) -> Option<&'a str> {
    let own = entries(live).filter(|entry| text(entry, "/manager") == Some(manager));
    // The form of these times sorts by time.
    own.filter_map(|entry| text(entry, "/time")).max()
}

fn entries(live: &Json) -> impl Iterator<Item = &Json> {
    live.pointer("/metadata/managedFields").and_then(Json::as_array).into_iter().flatten()
}

impl FieldSet {
    /// A set from its JSON.
    #[must_use]
    pub fn from_json(json: &Json) -> Option<Self> {
        json.as_object().cloned().map(Self)
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fields of both sets. Where one set has a whole value and the other has parts of it, the parts
    /// count: the whole value is then an empty map in which other managers have written.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut merged = self.0.clone();
        merge(&mut merged, &other.0);
        Self(merged)
    }

    /// Whether the sets have a field in common, or one has a part of a value that the other has whole.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        meets(&self.0, &other.0)
    }

    /// The part of a live object that is in the set. Lists keep the order of the object.
    #[must_use]
    pub fn project(&self, live: &Json) -> Json {
        project(&self.0, live).unwrap_or_else(|| Json::Object(Map::new()))
    }
}

fn merge(into: &mut Map<String, Json>, from: &Map<String, Json>) {
    for (key, value) in from {
        match (into.get_mut(key).and_then(Json::as_object_mut), value.as_object()) {
            (Some(known), Some(more)) => merge(known, more),
            _ => {
                into.insert(key.clone(), value.clone());
            }
        }
    }
}

fn is_whole(set: &Map<String, Json>) -> bool {
    set.keys().all(|key| key == ".")
}

fn meets(left: &Map<String, Json>, right: &Map<String, Json>) -> bool {
    left.iter().filter(|(key, _)| *key != ".").any(|(key, below)| {
        match (below.as_object(), right.get(key).and_then(Json::as_object)) {
            (Some(left), Some(right)) => is_whole(left) || is_whole(right) || meets(left, right),
            _ => false,
        }
    })
}

fn project(set: &Map<String, Json>, live: &Json) -> Option<Json> {
    if is_whole(set) {
        return Some(live.clone());
    }
    match live {
        Json::Object(entries) => {
            let mut owned = Map::new();
            for (key, below) in set {
                let Some((name, below)) = key.strip_prefix("f:").zip(below.as_object()) else { continue };
                if let Some(value) = entries.get(name).and_then(|value| project(below, value)) {
                    owned.insert(name.to_owned(), value);
                }
            }
            Some(Json::Object(owned))
        }
        Json::Array(items) => {
            let wanted: Vec<(Item, &Map<String, Json>)> =
                set.iter().filter_map(|(key, below)| Some((Item::parse(key)?, below.as_object()?))).collect();
            let mut owned = Vec::new();
            for (place, item) in items.iter().enumerate() {
                if let Some((_, below)) = wanted.iter().find(|(wanted, _)| wanted.is(place, item)) {
                    owned.extend(project(below, item));
                }
            }
            Some(Json::Array(owned))
        }
        // The object has another shape than when the field was applied.
        _ => None,
    }
}

/// Which item of a list.
enum Item {
    Keys(Map<String, Json>),
    Value(Json),
    Place(usize),
}

impl Item {
    fn parse(key: &str) -> Option<Self> {
        match key.split_once(':')? {
            ("k", keys) => serde_json::from_str(keys).ok().map(Self::Keys),
            ("v", value) => serde_json::from_str(value).ok().map(Self::Value),
            ("i", place) => place.parse().ok().map(Self::Place),
            _ => None,
        }
    }

    fn is(&self, place: usize, item: &Json) -> bool {
        match self {
            Self::Keys(keys) => keys.iter().all(|(name, value)| item.get(name) == Some(value)),
            Self::Value(value) => item == value,
            Self::Place(wanted) => *wanted == place,
        }
    }
}

#[cfg(test)]
mod tests;
