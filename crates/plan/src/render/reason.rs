//! Reasons as one sentence, with the chain of their causes.

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
    use super::*;

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
