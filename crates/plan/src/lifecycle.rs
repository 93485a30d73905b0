//! Settings of a spec about resources beyond their attributes, the same for every provider.

use std::collections::BTreeSet;

use slipway_resource::diff;
use slipway_resource::pattern::matches;
use slipway_resource::{Desired, Mode, Moved, Path, ResourceType, Segment, Value, validate};

use crate::observations::Found;
use crate::providers::Providers;

/// Marks attributes that Slipway leaves alone: pairs of an address pattern and an attribute path, `*` for
/// all.
///
/// Returns a remark for each pair without effect.
pub fn ignore_changes<'a>(
    desired: &mut [Desired],
    ignored: impl Iterator<Item = (&'a str, &'a str)>,
    providers: &Providers,
) -> Vec<String> {
    let mut remarks = Vec::new();
    for (pattern, attribute) in ignored {
        let path = if attribute == "*" { Ok(Path::root()) } else { attribute.parse() };
        let Ok(path) = path else {
            remarks.push(format!("`{attribute}` is not a path of an attribute such as `tags.owner`"));
            continue;
        };
        let mut matched = false;
        let mut names: BTreeSet<&str> = BTreeSet::new();
        let mut known = path.segments().is_empty();
        for resource in desired.iter_mut().filter(|resource| matches(pattern, &resource.address.to_string()))
        {
            matched = true;
            if let Some((_, _, kind)) = providers.of_type(resource.address.kind()) {
                names.extend(kind.attributes.keys().map(String::as_str));
                let has = |name: &String| kind.attributes.contains_key(name);
                known |= matches!(path.segments().first(), Some(Segment::Key(name)) if has(name));
            }
            if !resource.lifecycle.ignore_changes.contains(&path) {
                resource.lifecycle.ignore_changes.push(path.clone());
            }
        }
        if !matched {
            remarks.push(format!("no resource matches `{pattern}`"));
        } else if !known {
            let meant = validate::nearest(attribute, names.into_iter());
            let hint = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
            remarks.push(format!("nothing that matches `{pattern}` has an attribute `{attribute}`{hint}"));
        }
    }
    remarks
}

/// Sets the desired value of attributes that the spec says to leave alone to the observed one, so that a
/// provider does not roll or replace anything because of them. Returns the paths where the values differed.
///
/// An attribute that its provider never returns keeps its desired value: differences in it are ignored when
/// they are found.
pub(crate) fn leave_ignored(
    wanted: &mut Value,
    ignored: &[Path],
    kind: &ResourceType,
    object: &Found,
) -> Vec<Path> {
    let mut paths: Vec<Path> = Vec::new();
    for path in ignored {
        if path.segments().is_empty() {
            paths.extend(kind.attributes.keys().map(Path::key));
        } else {
            paths.push(path.clone());
        }
    }
    // By the schema: a set in another order, or a value that is known only in an apply, is no difference.
    let differences = match ignored.is_empty() {
        true => Vec::new(),
        false => diff::diff(kind, &object.attributes, wanted, None),
    };
    let differs = |path: &Path| {
        let mut known = differences.iter().filter(|change| change.after.is_known());
        known.any(|change| change.path.starts_with(path) || path.starts_with(&change.path))
    };
    paths.retain(|path| {
        let Some(Segment::Key(name)) = path.segments().first() else { return false };
        let Some(attribute) = kind.attributes.get(name) else { return false };
        if attribute.mode == Mode::Computed || attribute.write_only || attribute.sensitive {
            return false;
        }
        let there = object.attributes.at(path).cloned().unwrap_or_default();
        let is_other =
            differs(path) && wanted.at(path).is_some_and(|wanted| !wanted.is_null() && *wanted != there);
        if wanted.at(path).unwrap_or(&Value::Null) != &there {
            wanted.set(path, there);
        }
        is_other
    });
    paths
}

/// Records the earlier address of each renamed resource.
pub fn renames(desired: &mut [Desired], moved: Vec<Moved>) {
    for Moved { from, to } in moved {
        if let Some(resource) = desired.iter_mut().find(|resource| resource.address == to)
            && !resource.lifecycle.moved_from.contains(&from)
        {
            resource.lifecycle.moved_from.push(from);
        }
    }
}
