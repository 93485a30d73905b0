//! Kubernetes' strategic merge patch: lists of known objects are merged by the key of their objects, and `$patch`,
//! `$retainKeys`, `$deleteFromPrimitiveList` and `$setElementOrder` say more.
//!
//! See <https://git.k8s.io/community/contributors/devel/sig-api-machinery/strategic-merge-patch.md>.

use serde_json::{Map, Value};

use super::Target;

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const ELEMENT_ORDER: &str = "$setElementOrder/";

/// How a list is merged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    /// As a whole.
    Replaced,
    /// Its objects by this key.
    ByKey(&'static str),
    /// Its values as a set.
    Set,
}

/// The value with a strategic merge patch applied, or what does not fit.
pub(super) fn apply(value: Value, patch: &Value, target: Target) -> Result<Value, String> {
    let Value::Object(changes) = patch else { return Err("it is not a mapping".to_owned()) };
    // Types without merge keys: the kubelet's configuration.
    let keys = target != Target::Kubelet;
    let entries = match value {
        Value::Object(entries) => entries,
        _ => Map::new(),
    };
    map(entries, changes.clone(), keys).map(Value::Object)
}

/// How the list of a field is merged, in pods and Deployments; a name means the same at every place.
fn list(field: &str, items: &[Value]) -> List {
    let key = match field {
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "env"
        | "volumes"
        | "imagePullSecrets"
        | "schedulingGates"
        | "resourceClaims" => "name",
        "ports" => "containerPort",
        "volumeMounts" => "mountPath",
        "volumeDevices" => "devicePath",
        "hostAliases" => "ip",
        "topologySpreadConstraints" => "topologyKey",
        "ownerReferences" => "uid",
        "conditions" => "type",
        "finalizers" => return List::Set,
        _ => return List::Replaced,
    };
    if items.iter().all(Value::is_object) { List::ByKey(key) } else { List::Replaced }
}

fn map(
    mut original: Map<String, Value>,
    mut patch: Map<String, Value>,
    keys: bool,
) -> Result<Map<String, Value>, String> {
    match patch.remove(DIRECTIVE) {
        None => {}
        Some(directive) => {
            return match directive.as_str() {
                Some("replace") => Ok(patch),
                Some("delete") => Ok(Map::new()),
                _ => Err(format!("$patch: {directive} means nothing here; write replace or delete")),
            };
        }
    }
    if let Some(retained) = patch.remove(RETAIN_KEYS) {
        let retained: Vec<&str> =
            retained.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if let Some(key) = patch
            .iter()
            .filter(|(key, value)| !value.is_null() && !key.starts_with('$'))
            .map(|(key, _)| key)
            .find(|key| !retained.contains(&key.as_str()))
        {
            return Err(format!("{key} is set, but not among $retainKeys"));
        }
        original.retain(|key, _| retained.contains(&key.as_str()));
    }
    let orders: Vec<String> =
        patch.keys().filter_map(|key| key.strip_prefix(ELEMENT_ORDER)).map(str::to_owned).collect();
    for field in orders {
        let order = patch.remove(&format!("{ELEMENT_ORDER}{field}")).unwrap_or_default();
        let change = patch.remove(&field);
        ordered(&mut original, &field, change, &order, keys)?;
    }
    for (key, change) in patch {
        if let Some(field) = key.strip_prefix(DELETE_FROM) {
            let gone = change.as_array().cloned().unwrap_or_default();
            if let Some(Value::Array(items)) = original.get_mut(field) {
                items.retain(|item| !gone.contains(item));
            }
            continue;
        }
        if change.is_null() {
            original.remove(&key);
            continue;
        }
        let merged = match (original.remove(&key), change) {
            (Some(Value::Object(before)), Value::Object(change)) => {
                Some(Value::Object(map(before, change, keys)?))
            }
            (Some(Value::Array(before)), Value::Array(change)) => {
                Some(Value::Array(merge_list(&key, before, change, keys)?))
            }
            (_, change) => plain(change),
        };
        if let Some(merged) = merged {
            original.insert(key, merged);
        }
    }
    Ok(original)
}

/// A value that is new: without its directives and nulls. `None` when it is a directive itself.
fn plain(value: Value) -> Option<Value> {
    match value {
        Value::Object(entries) if entries.contains_key(DIRECTIVE) => None,
        Value::Object(entries) => Some(Value::Object(
            entries
                .into_iter()
                .filter(|(_, value)| !value.is_null())
                .filter_map(|(key, value)| Some((key, plain(value)?)))
                .collect(),
        )),
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(plain).collect())),
        other => Some(other),
    }
}

fn merge_list(
    field: &str,
    original: Vec<Value>,
    patch: Vec<Value>,
    keys: bool,
) -> Result<Vec<Value>, String> {
    let all: Vec<Value> = original.iter().chain(&patch).cloned().collect();
    match if keys { list(field, &all) } else { List::Replaced } {
        List::Replaced => Ok(patch),
        List::Set => {
            let mut merged: Vec<Value> = Vec::new();
            for item in all {
                if !merged.contains(&item) {
                    merged.push(item);
                }
            }
            Ok(arranged(merged, &patch, &original, |item| item.clone()))
        }
        List::ByKey(key) => by_key(field, key, original, patch, keys),
    }
}

fn by_key(
    field: &str,
    key: &'static str,
    mut original: Vec<Value>,
    patch: Vec<Value>,
    keys: bool,
) -> Result<Vec<Value>, String> {
    let identity = |item: &Value| item.get(key).cloned().unwrap_or_default();
    let mut changes = Vec::new();
    let mut replace = false;
    for item in patch {
        match item.get(DIRECTIVE).map(|directive| directive.as_str().unwrap_or_default().to_owned()) {
            None => changes.push(item),
            Some(directive) if directive == "replace" => replace = true,
            Some(directive) if directive == "delete" && item.get(key).is_some() => {
                original.retain(|other| identity(other) != identity(&item));
            }
            Some(directive) => return Err(format!("$patch: {directive} in {field} means nothing there")),
        }
    }
    if replace {
        return Ok(changes);
    }
    if changes.iter().any(|item| item.get(key).is_none()) {
        return Err(format!("an object of {field} has no {key}, by which it is found"));
    }
    let before = original.clone();
    let mut merged = original;
    for change in &changes {
        let place = merged.iter_mut().find(|item| identity(item) == identity(change));
        match (place, change) {
            (Some(place), Value::Object(change)) => {
                let Value::Object(found) = std::mem::take(place) else { continue };
                *place = Value::Object(map(found, change.clone(), keys)?);
            }
            _ => merged.push(change.clone()),
        }
    }
    Ok(arranged(merged, &changes, &before, identity))
}

/// Merged items in order: those of the patch in the patch's, the others in the order they had, put before the first item
/// of the patch that they stood before.
fn arranged(
    merged: Vec<Value>,
    patch: &[Value],
    before: &[Value],
    identity: impl Fn(&Value) -> Value,
) -> Vec<Value> {
    let place =
        |items: &[Value], item: &Value| items.iter().position(|other| identity(other) == identity(item));
    let (mut patched, mut others): (Vec<Value>, Vec<Value>) =
        merged.into_iter().partition(|item| place(patch, item).is_some());
    patched.sort_by_key(|item| place(patch, item));
    others.sort_by_key(|item| place(before, item));
    let mut result = Vec::with_capacity(patched.len() + others.len());
    let mut others = others.into_iter().peekable();
    for item in patched {
        while let Some(other) = others.peek() {
            match (place(before, other), place(before, &item)) {
                (Some(a), Some(b)) if a < b => result.extend(others.next()),
                _ => break,
            }
        }
        result.push(item);
    }
    result.extend(others);
    result
}

/// A list whose order `$setElementOrder` gives.
fn ordered(
    original: &mut Map<String, Value>,
    field: &str,
    change: Option<Value>,
    order: &Value,
    keys: bool,
) -> Result<(), String> {
    let items = |value: Option<Value>| match value {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    };
    let before = items(original.get(field).cloned());
    let merged = match change {
        None => before.clone(),
        Some(Value::Array(change)) => merge_list(field, before.clone(), change, keys)?,
        Some(_) => return Err(format!("{field} is not a list")),
    };
    let order = items(Some(order.clone()));
    let kind = list(field, &merged);
    let arranged = arranged(merged, &order, &before, |item| match kind {
        List::ByKey(key) => item.get(key).cloned().unwrap_or_default(),
        _ => item.clone(),
    });
    if !arranged.is_empty() {
        original.insert(field.to_owned(), Value::Array(arranged));
    }
    Ok(())
}
