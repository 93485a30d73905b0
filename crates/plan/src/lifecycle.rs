//! What a spec says about resources beyond their attributes, whatever provider they are of.

use std::collections::BTreeSet;

use slipway_resource::{Desired, Moved, Path, Segment, validate};

use crate::providers::Providers;
use crate::target;

/// Marks attributes as somebody else's: pairs of an address pattern and an attribute path, `*` for all.
///
/// Returns a sentence for each pair that means nothing here.
pub fn ignore_changes<'a>(
    desired: &mut [Desired],
    ignored: impl Iterator<Item = (&'a str, &'a str)>,
    providers: &Providers,
) -> Vec<String> {
    let mut remarks = Vec::new();
    for (pattern, attribute) in ignored {
        let path = if attribute == "*" { Ok(Path::root()) } else { attribute.parse() };
        let Ok(path) = path else {
            remarks.push(format!("`{attribute}` is no path of an attribute such as `tags.owner`"));
            continue;
        };
        let mut matched = false;
        let mut names: BTreeSet<&str> = BTreeSet::new();
        let mut known = path.segments().is_empty();
        for resource in
            desired.iter_mut().filter(|resource| target::matches(pattern, &resource.address.to_string()))
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

/// Notes under which address each renamed resource was known before.
pub fn renames(desired: &mut [Desired], moved: Vec<Moved>) {
    for Moved { from, to } in moved {
        if let Some(resource) = desired.iter_mut().find(|resource| resource.address == to)
            && !resource.lifecycle.moved_from.contains(&from)
        {
            resource.lifecycle.moved_from.push(from);
        }
    }
}
