//! Reasons as one sentence, with the chain of their causes.

use std::collections::{HashMap, HashSet};

use super::clean::clean;
use crate::reason::{Reason, ReasonCode};

/// A reason and its causes in a sentence without a full stop, as
/// `sim_network.main is replaced, because cidr changed (network.cidr, specs/a.yaml:14:11)`.
#[must_use]
pub fn because(reason: &Reason) -> String {
    let mut out = String::new();
    push(&mut out, reason);
    out
}

/// Reasons as sentences, each once. Attributes that changed for the same field of the spec share a sentence, as `max, min and size
/// changed (pools[workers].size, specs/a.yaml:14:9)`, which names at most `limit` of them.
pub(super) fn sentences<'r>(reasons: impl Iterator<Item = &'r Reason>, limit: usize) -> Vec<String> {
    let mut groups: Vec<Vec<&Reason>> = Vec::new();
    let mut known: HashMap<Vec<&str>, usize> = HashMap::new();
    for reason in reasons {
        let places = if is_plain(reason) { reason.places() } else { Vec::new() };
        if places.is_empty() {
            groups.push(vec![reason]);
            continue;
        }
        let position = *known.entry(places).or_insert(groups.len());
        match groups.get_mut(position) {
            Some(group) => group.push(reason),
            None => groups.push(vec![reason]),
        }
    }
    let mut seen: HashSet<String> = HashSet::new();
    let sentences = groups.iter().filter_map(|group| sentence(group, limit));
    sentences.filter(|sentence| seen.insert(sentence.clone())).collect()
}

/// Whether a reason says nothing but that an attribute changed.
fn is_plain(reason: &Reason) -> bool {
    reason.code == ReasonCode::FieldChanged
        && reason.causes.is_empty()
        && reason.path.as_ref().is_some_and(|path| reason.message == format!("{path} changed"))
}

/// The sentence of reasons that differ in their attribute only; `None` of none.
fn sentence(group: &[&Reason], limit: usize) -> Option<String> {
    let first = *group.first()?;
    let mut paths: Vec<String> =
        group.iter().filter_map(|reason| reason.path.as_ref()).map(ToString::to_string).collect();
    paths.dedup();
    if paths.len() < 2 {
        return Some(because(first));
    }
    let more = paths.len().saturating_sub(limit);
    if more > 0 {
        paths.truncate(limit);
        paths.push(format!("{more} more"));
    }
    let last = paths.pop()?;
    let message = format!("{} and {last} changed", paths.join(", "));
    Some(because(&Reason { message, ..first.clone() }))
}

fn push(out: &mut String, reason: &Reason) {
    let message = clean(reason.message.trim_end());
    out.push_str(message.strip_suffix('.').unwrap_or(&message));
    let places: Vec<&str> =
        reason.places().into_iter().filter(|place| !reason.message.contains(*place)).collect();
    if !places.is_empty() {
        out.push_str(" (");
        out.push_str(&clean(&places.join(", ")));
        out.push(')');
    }
    // That the attribute cannot be changed in place is said by the mark on its line.
    let causes = reason.causes.iter().filter(|cause| cause.code != ReasonCode::CannotUpdateInPlace);
    for (position, cause) in causes.enumerate() {
        out.push_str(if position == 0 { ", because " } else { ", and because " });
        push(out, cause);
    }
}

#[cfg(test)]
mod tests {
    use slipway_resource::Path;

    use super::*;

    #[test]
    fn attributes_of_one_field_share_a_sentence() {
        let changed = |path: &str, location: &str| {
            let mut reason =
                Reason::new(ReasonCode::FieldChanged, format!("{path} changed")).at(&Path::key(path));
            reason.origin = Some("pools[w].size".to_owned());
            reason.location = Some(location.to_owned());
            reason
        };
        let reasons = ["max", "min", "size"].map(|path| changed(path, "a.yaml:3:9"));
        assert_eq!(sentences(reasons.iter(), 6), ["max, min and size changed (pools[w].size, a.yaml:3:9)"]);
        assert_eq!(sentences(reasons.iter(), 2), ["max, min and 1 more changed (pools[w].size, a.yaml:3:9)"]);
        let others =
            [changed("max", "a.yaml:3:9"), changed("image", "a.yaml:4:9"), changed("max", "a.yaml:3:9")];
        assert_eq!(
            sentences(others.iter(), 6),
            ["max changed (pools[w].size, a.yaml:3:9)", "image changed (pools[w].size, a.yaml:4:9)"]
        );
        let without_place = ["max", "min"].map(|path| {
            Reason::new(ReasonCode::FieldChanged, format!("{path} changed")).at(&Path::key(path))
        });
        assert_eq!(sentences(without_place.iter(), 6), ["max changed", "min changed"]);
    }

    #[test]
    fn causes_follow_each_other() {
        let mut field = Reason::new(ReasonCode::FieldChanged, "cidr changed");
        field.origin = Some("network.cidr".to_owned());
        field.location = Some("specs/a.yaml:14:11".to_owned());
        let mut replaced = Reason::new(ReasonCode::ReferenceReplaced, "sim_network.main is replaced.");
        replaced.causes = vec![field];
        assert_eq!(
            because(&replaced),
            "sim_network.main is replaced, because cidr changed (network.cidr, specs/a.yaml:14:11)"
        );
    }
}
