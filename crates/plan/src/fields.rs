//! The fields of a spec that differ between two forms of it.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value as Json;

/// A field of the spec that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SpecChange {
    /// Which field, as `network.podCidrs` or `pools[workers].size`.
    pub field: String,
    /// As it was; null where it was not.
    pub before: Json,
    /// As it is; null where it is not any more.
    pub after: Json,
}

/// Every field that differs, the deepest that can be named. Items of lists are named as in a spec: by their `name` where each has
/// one, else by their position.
#[must_use]
pub fn changed(before: &Json, after: &Json) -> Vec<SpecChange> {
    let mut found = Vec::new();
    compare("", before, after, &mut found);
    found
}

/// The names of the fields that differ. A field that follows another one, as the version of a pool follows that of its cluster,
/// is left out: it has the same name and the same values.
#[must_use]
pub fn causes(before: &Json, after: &Json) -> Vec<String> {
    let all = changed(before, after);
    let last = |field: &str| field.rsplit('.').next().unwrap_or(field).to_owned();
    let follows = |change: &SpecChange, other: &SpecChange| {
        other.field.len() < change.field.len()
            && last(&other.field) == last(&change.field)
            && (&other.before, &other.after) == (&change.before, &change.after)
    };
    let is_cause = |change: &&SpecChange| !all.iter().any(|other| follows(change, other));
    all.iter().filter(is_cause).map(|change| change.field.clone()).collect()
}

/// The field that a reason names. `origin` is where the attribute comes from; of a whole object, such as a pool, it is narrowed
/// to the field that changed, where one did. A field of a pool that did not change itself has its value from the cluster.
pub(crate) fn narrowed(origin: &str, changed: &[String]) -> String {
    match (inside(origin, changed).as_slice(), changed) {
        ([field], _) => (*field).clone(),
        // Resources that derive from a whole object depend on settings of the cluster too.
        ([], [field]) if origin.ends_with(']') => field.clone(),
        ([], _) => inherited(origin, changed).unwrap_or_else(|| origin.to_owned()),
        _ => origin.to_owned(),
    }
}

/// The changed fields that are this one or a part of it.
fn inside<'c>(origin: &str, changed: &'c [String]) -> Vec<&'c String> {
    let is_inside = |field: &&String| {
        field.strip_prefix(origin).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    changed.iter().filter(is_inside).collect()
}

/// The changed field of the cluster from which a field of a pool has its value.
fn inherited(origin: &str, changed: &[String]) -> Option<String> {
    let (_, field) = origin.strip_prefix("pools[")?.split_once("].")?;
    match inside(field, changed).as_slice() {
        [] => None,
        [one] => Some((*one).clone()),
        _ => Some(field.to_owned()),
    }
}

fn compare(path: &str, before: &Json, after: &Json, found: &mut Vec<SpecChange>) {
    if before == after {
        return;
    }
    match (before, after) {
        (Json::Object(left), Json::Object(right)) => {
            let names: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            for name in names {
                let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                let null = Json::Null;
                compare(&below, left.get(name).unwrap_or(&null), right.get(name).unwrap_or(&null), found);
            }
        }
        (Json::Array(left), Json::Array(right)) => match (named(left), named(right)) {
            (Some(left), Some(right)) => {
                let names: BTreeSet<&str> = left.iter().chain(&right).map(|(name, _)| *name).collect();
                let null = Json::Null;
                for name in names {
                    let of = |items: &[(&str, &Json)]| {
                        items.iter().find(|(other, _)| *other == name).map(|(_, item)| (*item).clone())
                    };
                    let (left, right) = (of(&left), of(&right));
                    let sides = (left.as_ref().unwrap_or(&null), right.as_ref().unwrap_or(&null));
                    compare(&format!("{path}[{name}]"), sides.0, sides.1, found);
                }
            }
            _ if left.len() == right.len() => {
                for (index, (left, right)) in left.iter().zip(right).enumerate() {
                    compare(&format!("{path}[{index}]"), left, right, found);
                }
            }
            _ => push(path, before, after, found),
        },
        _ => push(path, before, after, found),
    }
}

fn push(path: &str, before: &Json, after: &Json, found: &mut Vec<SpecChange>) {
    found.push(SpecChange { field: path.to_owned(), before: before.clone(), after: after.clone() });
}

/// The items of a list by their names; `None` where one has none, or two have the same.
fn named(items: &[Json]) -> Option<Vec<(&str, &Json)>> {
    let named: Vec<(&str, &Json)> =
        items.iter().map(|item| Some((item.get("name")?.as_str()?, item))).collect::<Option<_>>()?;
    let names: BTreeSet<&str> = named.iter().map(|(name, _)| *name).collect();
    (names.len() == named.len()).then_some(named)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_deepest_field_is_named() {
        let before = json!({"a": {"b": 1, "c": 2}, "l": [{"x": 1}, {"x": 2}], "p": [{"name": "w", "s": 1}]});
        let after = json!({"a": {"b": 1, "c": 3}, "l": [{"x": 1}, {"x": 4}], "n": true,
            "p": [{"name": "v"}, {"name": "w", "s": 2}]});
        let found: Vec<String> = changed(&before, &after).into_iter().map(|change| change.field).collect();
        assert_eq!(found, ["a.c", "l[1].x", "n", "p[v]", "p[w].s"]);
    }

    #[test]
    fn a_field_that_follows_another_one_is_no_cause() {
        let spec = |version: &str, own: &str| json!({"version": version, "pools": [{"name": "a", "version": version}, {"name": "b", "version": own}]});
        assert_eq!(causes(&spec("1", "1"), &spec("2", "1")), ["version"]);
        assert_eq!(causes(&spec("1", "0"), &spec("2", "3")), ["pools[b].version", "version"]);
    }

    #[test]
    fn a_whole_object_is_narrowed_to_the_field_that_changed() {
        let narrow = |origin: &str, changed: &[&str]| {
            let changed: Vec<String> = changed.iter().map(|field| (*field).to_owned()).collect();
            narrowed(origin, &changed)
        };
        assert_eq!(narrow("pools[w]", &["pools[w].kubelet.maxPods", "region"]), "pools[w].kubelet.maxPods");
        assert_eq!(narrow("pools[w]", &["pools[w2].size", "region"]), "pools[w]");
        assert_eq!(narrow("pools[w]", &["kubelet.maxPods"]), "kubelet.maxPods");
        assert_eq!(narrow("pools[w]", &["pools[w].size", "pools[w].image"]), "pools[w]");
        assert_eq!(narrow("etcd", &["kubelet.maxPods"]), "etcd");
        assert_eq!(narrow("pools[w].version", &["region", "version"]), "version");
        assert_eq!(narrow("pools[w].labels", &["labels.team"]), "labels.team");
        assert_eq!(narrow("pools[w].labels", &["labels.cost", "labels.team"]), "labels");
        assert_eq!(narrow("pools[w].labels", &["labels.team", "pools[w].labels.a"]), "pools[w].labels.a");
        assert_eq!(narrow("pools[w].labels", &["region"]), "pools[w].labels");
        assert_eq!(narrow("network", &["network.cidr"]), "network.cidr");
    }
}
