//! The content of a Secret is never shown, and its text is not known while planning. A change is recognised
//! by the last applied manifest and by the owners of the fields.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value as Json;
use slipway_resource::{Entries, Secret, Value};

use crate::fields;
use crate::manifest::LIVE;
use crate::marks::MANAGER;
use crate::object::{map_at, text};

/// A placeholder for a text that is not known; it is valid base64, so that it may be used in `data`, too.
pub(super) const PLACEHOLDER: &str = "c2xpcHdheQ==";

const MAPS: [&str; 2] = ["data", "stringData"];

/// The desired entries, with the map that contains them.
fn entries(manifest: &Value) -> impl Iterator<Item = (&'static str, &String, &Value)> {
    MAPS.into_iter().flat_map(|map| {
        let entries = manifest.get(map).and_then(Value::as_map).into_iter().flatten();
        entries.map(move |(key, value)| (map, key, value))
    })
}

/// Whether an entry of the live object is as desired. A plain text is compared. A secret must be the last
/// applied one, and no other field manager may have taken it since.
fn is_there((map, key, value): (&str, &str, &Value), last: Option<&Value>, live: &Json) -> bool {
    let found = text(live, &format!("/data/{}", key.replace('~', "~0").replace('/', "~1")));
    match value {
        Value::String(plain) if map == "data" => found == Some(plain),
        Value::String(plain) => found == Some(BASE64.encode(plain).as_str()),
        Value::Secret(_) => {
            let applied = last.and_then(|last| last.get(map)?.get(key));
            applied == Some(value) && is_ours(live, key)
        }
        _ => false,
    }
}

fn is_ours(live: &Json, key: &str) -> bool {
    let Some(applied) = fields::applied_by(live, MANAGER) else { return false };
    let owned = applied.fields.project(live);
    owned.get("data").and_then(|data| data.get(key)).is_some()
}

/// Replaces placeholders of unchanged secrets by the texts of the live object.
pub(super) fn fill_known(body: &mut Json, manifest: &Value, last: Option<&Value>, live: Option<&Json>) {
    let Some(live) = live else { return };
    for (map, key, value) in entries(manifest) {
        if matches!(value, Value::Secret(_))
            && is_there((map, key, value), last, live)
            && let Some(found) = live.get("data").and_then(|data| data.get(key))
            && let Some(data) = map_at(body, &["data"])
        {
            data.insert(key.clone(), found.clone());
        }
    }
}

/// The visible form of a live Secret: entries as desired are shown in their desired form, all others are
/// hidden.
pub(super) fn show(seen: &mut Value, manifest: &Value, last: Option<&Value>, live: Option<&Json>) {
    let hidden = || Value::from(Secret::new(LIVE));
    let Value::Map(parts) = seen else { return };
    let mut left = match parts.remove("data") {
        Some(Value::Map(data)) => data,
        _ => Entries::new(),
    };
    for (map, key, value) in entries(manifest) {
        if left.remove(key).is_none() {
            continue;
        }
        let there = live.is_some_and(|live| is_there((map, key, value), last, live));
        let shown = if there { value.clone() } else { hidden() };
        if let Value::Map(place) = parts.entry(map.to_owned()).or_insert_with(|| Value::Map(Entries::new())) {
            place.insert(key.clone(), shown);
        }
    }
    if !left.is_empty()
        && let Value::Map(place) =
            parts.entry("data".to_owned()).or_insert_with(|| Value::Map(Entries::new()))
    {
        place.extend(left.into_keys().map(|key| (key, hidden())));
    }
}

/// The desired form of the entries of a Secret.
pub(super) fn wish(tried: &mut Value, manifest: &Value) {
    let Value::Map(parts) = tried else { return };
    for map in MAPS {
        parts.remove(map);
        if let Some(entries) = manifest.get(map).filter(|entries| entries.as_map().is_some()) {
            parts.insert(map.to_owned(), entries.clone());
        }
    }
}
