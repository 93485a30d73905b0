//! RFC 7386: JSON merge patch.

use serde_json::{Map, Value};

/// The value with a merge patch applied.
pub(super) fn apply(value: Value, patch: &Value) -> Value {
    let Value::Object(changes) = patch else { return patch.clone() };
    let mut entries = match value {
        Value::Object(entries) => entries,
        _ => Map::new(),
    };
    for (key, change) in changes {
        if change.is_null() {
            entries.remove(key);
        } else {
            let before = entries.remove(key).unwrap_or_default();
            entries.insert(key.clone(), apply(before, change));
        }
    }
    Value::Object(entries)
}
