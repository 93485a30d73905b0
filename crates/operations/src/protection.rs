//! Protection from deletion: its state, its changes, and the refusal of a deletion.

use slipway_engine::State;
use slipway_plan::{Mode, Plan, Snapshot};
use slipway_resource::provider::ExpandNote;

use crate::error::Error;
use crate::opened::Opened;

/// The field of the spec.
const FIELD: &str = "deletionProtection";

/// The effect of a plan on the protection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Planned {
    /// The cluster is not protected any more.
    Lifted,
    /// The cluster is protected from now on.
    Set,
    /// The spec takes the protection away, and a plan of a part does not.
    Kept,
}

impl Planned {
    /// The protection that the plan records; none where it stays as it is.
    pub fn sets(self) -> Option<bool> {
        match self {
            Self::Lifted => Some(false),
            Self::Set => Some(true),
            Self::Kept => None,
        }
    }

    /// The remark of the plan.
    pub fn note(self) -> ExpandNote {
        let message = match self {
            Self::Lifted => {
                "is false from now on: once this plan is carried out, `slipway delete` is not refused any more"
            }
            Self::Set => "is true from now on: once this plan is carried out, `slipway delete` is refused",
            Self::Kept => "stays true: a plan of a part of the cluster does not take the protection away",
        };
        ExpandNote { field: FIELD.to_owned(), message: message.to_owned() }
    }
}

/// The recorded protection of a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// As the last generation has it, with its number; none before the first.
    complete: Option<(u64, bool)>,
    /// As the run has it that did not complete; none where every run did.
    begun: Option<bool>,
}

impl Known {
    /// The protection in a state, beside its last generation.
    #[must_use]
    pub fn of(complete: Option<&Snapshot>, state: &State) -> Self {
        Self {
            complete: complete.map(|complete| (state.head.generation.0, is_set(&complete.spec))),
            begun: state.is_interrupted().then(|| is_set(&state.snapshot.spec)),
        }
    }

    /// Whether the last complete generation or a run that began since protects the cluster.
    pub(crate) fn is_protected(self) -> bool {
        self.complete.is_some_and(|(_, is_set)| is_set) || self.begun == Some(true)
    }

    /// As the last run has it that completed, and before any as the one that began.
    fn now(self) -> Option<bool> {
        self.complete.map(|(_, is_set)| is_set).or(self.begun)
    }
}

/// Refuses to delete a protected cluster. The spec of an incomplete run removes no protection, unless that is
/// requested by name.
///
/// # Errors
/// When the cluster is protected: by the last generation, by a run that began, or by the named spec.
pub(crate) fn check(
    cluster: &str,
    known: Known,
    written: Option<bool>,
    unprotect: bool,
) -> Result<(), Error> {
    let refused = |lifted_since| Err(Error::Protected { cluster: cluster.to_owned(), lifted_since });
    match (known.complete, known.begun) {
        (Some((generation, true)), Some(false)) if !unprotect => refused(Some(generation)),
        (Some((_, true)), Some(false)) => Ok(()),
        (Some((_, true)), _) | (_, Some(true)) => refused(None),
        _ if written == Some(true) => refused(None),
        _ => Ok(()),
    }
}

/// The protection of a cluster in the state, and in the spec that the caller names.
///
/// # Errors
/// [`Error::Protected`].
pub fn check_opened(opened: &Opened, unprotect: bool) -> Result<(), Error> {
    let spec = &opened.spec;
    let written = (!spec.recorded).then_some(spec.cluster.deletion_protection);
    check(&spec.cluster.name, opened.protection, written, unprotect)
}

/// The remark on a deletion that is only shown and will be refused.
#[must_use]
pub fn will_be_refused() -> ExpandNote {
    let message = "this deletion will be refused, with `--confirm` too: set deletionProtection to false in the spec, and apply that first";
    ExpandNote { field: FIELD.to_owned(), message: message.to_owned() }
}

/// The effect of a plan on the protection. A partial plan does not remove it: such a plan leaves out other
/// changes that were reviewed together with this one.
pub(crate) fn planned(known: Known, spec: &mut serde_json::Value, is_partial: bool) -> Option<Planned> {
    match (known.now()?, is_set(spec)) {
        (true, false) if is_partial => {
            set(spec, true);
            Some(Planned::Kept)
        }
        (true, false) => Some(Planned::Lifted),
        (false, true) => Some(Planned::Set),
        _ => None,
    }
}

/// A plan that shows another effect on the protection than its spec has, or none in its notes, as a sentence. Plans of a part have
/// the protection in their spec that they keep.
pub(crate) fn hidden(plan: &Plan, known: Known) -> Option<String> {
    if plan.mode != Mode::Apply {
        return None;
    }
    let planned = planned(known, &mut plan.spec.clone(), false);
    if plan.sets_protection != planned.and_then(Planned::sets) {
        return Some(format!("sets_protection is not what its spec has in {FIELD}"));
    }
    let note = planned?.note();
    (!plan.notes.contains(&note)).then(|| format!("sets_protection changes {FIELD}, and no note says so"))
}

/// Whether a plan has nothing to do and nothing to record.
#[must_use]
pub fn is_nothing(plan: &Plan) -> bool {
    plan.is_empty() && plan.sets_protection.is_none()
}

/// Whether a spec as the state keeps it protects its cluster.
pub(crate) fn is_set(spec: &serde_json::Value) -> bool {
    spec.get(FIELD).and_then(serde_json::Value::as_bool).unwrap_or(false)
}

/// Writes the protection into a spec as the state keeps it.
pub(crate) fn set(spec: &mut serde_json::Value, is_protected: bool) {
    if let Some(fields) = spec.as_object_mut() {
        fields.insert(FIELD.to_owned(), is_protected.into());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(complete: Option<bool>, begun: Option<bool>, written: Option<bool>, unprotect: bool) -> bool {
        let known = Known { complete: complete.map(|is_set| (3, is_set)), begun };
        check("demo", known, written, unprotect).is_err()
    }

    #[test]
    fn only_a_complete_run_takes_protection_away() {
        assert!(refused(Some(true), None, Some(false), true), "the spec that is named takes nothing away");
        assert!(refused(Some(true), Some(false), None, false), "an incomplete run takes nothing away");
        assert!(!refused(Some(true), Some(false), None, true), "but for who says so");
        assert!(refused(Some(true), Some(true), None, true));
        assert!(refused(Some(false), Some(true), None, false), "a run that began to protect it");
        assert!(refused(None, Some(true), None, true), "the first run did not complete");
        assert!(refused(None, None, Some(true), false) && refused(Some(false), None, Some(true), false));
        assert!(!refused(Some(false), None, None, false) && !refused(None, None, Some(false), false));
    }

    #[test]
    fn a_plan_says_what_becomes_of_the_protection() {
        let said = |known: Option<bool>, wanted: bool, is_partial: bool| {
            let known = Known { complete: known.map(|is_set| (3, is_set)), begun: None };
            let mut spec = json!({ "name": "demo", FIELD: wanted });
            (planned(known, &mut spec, is_partial), is_set(&spec))
        };
        assert_eq!(said(Some(true), false, false), (Some(Planned::Lifted), false));
        assert_eq!(said(Some(true), false, true), (Some(Planned::Kept), true));
        assert_eq!(said(Some(false), true, true), (Some(Planned::Set), true));
        assert_eq!(said(Some(true), true, false), (None, true));
        assert_eq!(said(None, true, false), (None, true), "the first apply has nothing to compare with");
    }
}
