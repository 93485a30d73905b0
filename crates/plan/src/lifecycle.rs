//! What a spec says about resources beyond their attributes, whatever provider they are of.

use slipway_resource::{Desired, Moved, Path};

use crate::target;

/// Marks attributes as somebody else's: pairs of an address pattern and an attribute path, `*` for all.
pub fn ignore_changes<'a>(desired: &mut [Desired], ignored: impl Iterator<Item = (&'a str, &'a str)>) {
    for (pattern, attribute) in ignored {
        let path = if attribute == "*" { Ok(Path::root()) } else { attribute.parse() };
        let Ok(path) = path else { continue };
        for resource in
            desired.iter_mut().filter(|resource| target::matches(pattern, &resource.address.to_string()))
        {
            if !resource.lifecycle.ignore_changes.contains(&path) {
                resource.lifecycle.ignore_changes.push(path.clone());
            }
        }
    }
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
