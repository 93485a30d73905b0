//! Paths as the API server writes them, found in a manifest.
//!
//! Conflicts have the form of field sets, as `.spec.containers[name="web"].image`, refusals that of validation, as
//! `spec.containers[0].image` or `metadata.labels[app]`. Names of fields may have dots, and are not quoted.

use slipway_resource::{Path, Segment, Value};

/// How far a path leads into a manifest: to its end, or to the deepest place of it that is there.
#[must_use]
pub(crate) fn find(manifest: &Value, path: &str) -> (Path, bool) {
    let mut segments = Vec::new();
    let complete = step(manifest, path.strip_prefix('.').unwrap_or(path), &mut segments);
    (Path::from(segments), complete)
}

fn step(value: &Value, rest: &str, segments: &mut Vec<Segment>) -> bool {
    if rest.is_empty() {
        return true;
    }
    if let Some(inner) = rest.strip_prefix('[') {
        let Some((inside, after)) = bracket(inner) else { return false };
        let found = match value {
            Value::List(items) => item(items, inside).map(|(place, item)| (Segment::Index(place), item)),
            Value::Map(entries) => entries.get(inside).map(|value| (Segment::Key(inside.to_owned()), value)),
            _ => None,
        };
        let Some((segment, below)) = found else { return false };
        segments.push(segment);
        return step(below, after, segments);
    }
    let rest = rest.strip_prefix('.').unwrap_or(rest);
    let Some(entries) = value.as_map() else { return false };
    // The longest name first, since `a.b` may be a name, too.
    let mut names: Vec<&String> = entries.keys().filter(|name| is_head(rest, name)).collect();
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    for name in names {
        let (Some(below), Some(after)) = (entries.get(name), rest.get(name.len()..)) else { continue };
        let depth = segments.len();
        segments.push(Segment::Key(name.clone()));
        if step(below, after, segments) || segments.len() > depth {
            return after.is_empty() || leads(below, after);
        }
    }
    false
}

/// Whether a path ends within a value.
fn leads(value: &Value, rest: &str) -> bool {
    step(value, rest, &mut Vec::new())
}

fn is_head(rest: &str, name: &str) -> bool {
    rest.strip_prefix(name).is_some_and(|after| after.is_empty() || after.starts_with(['.', '[']))
}

/// The text within brackets, and the text after them.
fn bracket(text: &str) -> Option<(&str, &str)> {
    let mut quoted = false;
    let mut escaped = false;
    for (place, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ']' if !quoted => return Some((text.get(..place)?, text.get(place + 1..)?)),
            _ => {}
        }
    }
    None
}

/// The item of a list by its place, its keys, or its value.
fn item<'a>(items: &'a [Value], inside: &str) -> Option<(usize, &'a Value)> {
    if let Ok(place) = inside.parse::<usize>() {
        return Some((place, items.get(place)?));
    }
    if let Some(value) = inside.strip_prefix('=') {
        return items.iter().enumerate().find(|(_, item)| written(item) == value);
    }
    let keys: Vec<(&str, &str)> = inside.split(',').filter_map(|pair| pair.split_once('=')).collect();
    // A field that a manifest leaves out has its default, such as the protocol of a port.
    let fits = |item: &Value| {
        let known = keys.iter().filter_map(|(name, value)| Some((item.get(name.trim())?, value)));
        let fitting: Vec<bool> = known.map(|(found, value)| written(found) == *value).collect();
        !fitting.is_empty() && fitting.into_iter().all(|fits| fits)
    };
    items.iter().enumerate().find(|(_, item)| fits(item))
}

fn written(value: &Value) -> String {
    value.to_json().to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_of_both_forms_are_found() {
        let manifest = Value::from_json(&json!({
            "metadata": {"labels": {"app": "a", "app.kubernetes.io/name": "b"}, "finalizers": ["x", "y"]},
            "spec": {"replicas": 1, "template": {"spec": {"containers": [
                {"name": "a", "ports": [{"containerPort": 53}]}, {"name": "b.c", "image": "i"}]}}},
        }));
        let found = |path: &str| {
            let (path, complete) = find(&manifest, path);
            (path.to_string(), complete)
        };
        assert_eq!(found(".spec.replicas"), ("spec.replicas".into(), true));
        assert_eq!(
            found(".metadata.labels.app.kubernetes.io/name"),
            ("metadata.labels[\"app.kubernetes.io/name\"]".into(), true)
        );
        assert_eq!(found("metadata.labels[app]"), ("metadata.labels.app".into(), true));
        assert_eq!(found(".metadata.finalizers[=\"y\"]"), ("metadata.finalizers[1]".into(), true));
        assert_eq!(
            found(".spec.template.spec.containers[name=\"b.c\"].image"),
            ("spec.template.spec.containers[1].image".into(), true)
        );
        assert_eq!(
            found(
                ".spec.template.spec.containers[name=\"a\"].ports[containerPort=53,protocol=\"TCP\"].containerPort"
            ),
            ("spec.template.spec.containers[0].ports[0].containerPort".into(), true)
        );
        assert_eq!(
            found("spec.template.spec.containers[1].image").0,
            "spec.template.spec.containers[1].image"
        );
        assert_eq!(found("spec.clusterIPs[0]"), ("spec".into(), false));
        assert_eq!(found("status.x"), (String::new(), false));
        assert_eq!(found(""), (String::new(), true));
    }
}
