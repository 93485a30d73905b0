//! The decision about one resource: pure, from its desired, observed and recorded attributes.

mod attributes;
mod reasons;

use std::collections::BTreeMap;

pub(crate) use attributes::{attributes_after, attributes_of_new, fields_of, sensitive_paths};
pub(crate) use reasons::lifecycle_texts;
use reasons::{change_reason, forgotten_secrets, lifecycle_reasons, unknown_keys};
use slipway_resource::diff::{self, Change};
use slipway_resource::provider::{Disruption, Planned, Rollout};
use slipway_resource::{Address, Desired, Digest, Path, ResourceType, Value};

use crate::change::{ChangeAction, RecordTemplate, ResourceChange};
use crate::imports;
use crate::nodes::Gates;
use crate::observations::Found;
use crate::outdated;
use crate::outside;
use crate::precondition::Precondition;
use crate::reason::{Located, Reason, ReasonCode};
use crate::state::Record;

/// The planner's knowledge of a desired resource when it makes the decision.
pub(crate) struct KnownResource<'a> {
    pub desired: &'a Desired,
    /// The desired attributes, with references resolved as far as they are known.
    pub resolved: &'a Value,
    pub kind: &'a ResourceType,
    pub provider: &'a str,
    pub record: Option<&'a Record>,
    pub object: Option<&'a Found>,
    /// Its attributes as its provider sees them when it knows the desired ones, where these are more.
    pub seen: Option<&'a Value>,
    pub surplus: Vec<Found>,
    /// Attributes that keep the value that was found on adoption, with the digests of the values desired
    /// then.
    pub as_found: BTreeMap<Path, Digest>,
    /// Attributes that the spec says to leave alone, and whose desired value differs.
    pub ignored: Vec<Path>,
    pub previous_address: Option<Address>,
    pub depends_on: &'a [Address],
    pub force_replace: bool,
    /// Whether the object has lost the ownership tags of the cluster.
    pub lost_tags: bool,
    /// Whether the spec gives the object to the cluster, which had none at this address.
    pub imported: bool,
    /// Its machines as they were found, for a pool.
    pub machines: Option<outside::Machines>,
    /// Whether machines are replaced on request: their number then says nothing.
    pub is_rolled: bool,
    /// Whether the state had fingerprints of its secrets that cannot be compared any more.
    pub forgets: bool,
}

/// The decision about a resource.
pub(crate) struct Decision {
    pub change: ResourceChange,
    /// Whether the resource itself changes. A surplus object or a roll may need steps without such a change.
    pub surplus: Vec<Found>,
    pub rollout: Option<Rollout>,
    /// The gates of the roll.
    pub gates: Gates,
    /// Whether the roll also replaces machines that match their pool.
    pub anew: bool,
    pub estimate_ms: Option<u64>,
    /// Computed attributes that an update will change.
    pub unknown_after: Vec<Path>,
    /// The arguments of the gate that prepares the change.
    pub prepare: Option<Value>,
    /// The drift to report: `before` as it was applied, `after` as it is.
    pub drift: Option<Box<ResourceChange>>,
    /// Properties of the spec that the infrastructure does not implement.
    pub infrastructure_only: Option<String>,
}

/// The context of a decision: positions of fields of the spec, and resources that give way to new ones.
pub(crate) struct Context<'a> {
    pub locate: &'a (dyn Fn(&str) -> Option<Located> + Send + Sync),
    /// The fields of the spec that differ from those that were applied last.
    pub changed: &'a [String],
    pub replaced: &'a BTreeMap<Address, Vec<Reason>>,
}

/// Decides about a resource of the spec.
pub(crate) fn decide(known: KnownResource<'_>, mut planned: Planned, context: &Context<'_>) -> Decision {
    if known.resolved.has_reference() {
        crate::resolve::restore_references(&mut planned.normalised, known.resolved);
    }
    let Some(object) = known.object else {
        return create(known, planned, context);
    };
    let last_applied = known.record.and_then(|record| record.applied.as_ref());
    let attributes = known.seen.unwrap_or(&object.attributes);
    let all = diff::diff(known.kind, attributes, &planned.normalised, last_applied);
    let (ignored, mut changes): (Vec<Change>, Vec<Change>) = all.into_iter().partition(|change| {
        known.desired.lifecycle.ignore_changes.iter().any(|path| change.path.starts_with(path))
    });
    if known.desired.lifecycle.existing.is_some() {
        // The cluster uses this existing object and does not own it, so the object stays unchanged.
        changes.clear();
    }
    for change in &mut changes {
        change.replaces |= planned.replace_paths.iter().any(|path| change.path.starts_with(path));
    }
    let mut reasons: Vec<Reason> =
        changes.iter().map(|change| change_reason(&known, change, last_applied, context)).collect();
    let mut action = action(&known, &changes, last_applied);
    let is_used = known.desired.lifecycle.existing.is_some();
    let pool = planned.rollout.as_ref().zip(known.machines);
    let restarts = outside::restarts(pool.filter(|_| !is_used), &planned.unknown_after);
    if let (ChangeAction::NoOp, Some(reason)) = (action, restarts) {
        action = ChangeAction::Update;
        reasons.push(reason);
    }
    if known.imported {
        reasons.push(imports::reason());
    } else if known.lost_tags && action != ChangeAction::NoOp && !action.is_replace() {
        reasons.push(outside::retagged());
    }
    if action == ChangeAction::Update {
        // They come first: of many reasons, a view of the plan shows only the first ones.
        let mut first = lifecycle_reasons(&known);
        first.append(&mut reasons);
        reasons = first;
    }
    if action == ChangeAction::NoOp {
        let mut unrecorded = lifecycle_reasons(&known);
        unrecorded.extend(known.lost_tags.then(outside::retagged));
        unrecorded.extend(last_applied.filter(|_| known.forgets).map(forgotten_secrets));
        unrecorded.extend(last_applied.and_then(|applied| unknown_keys(&known, applied)));
        unrecorded.extend(
            last_applied.and_then(|applied| {
                outdated::reason(&known, &object.attributes, &planned.normalised, applied)
            }),
        );
        if !unrecorded.is_empty() {
            action = ChangeAction::Record;
            reasons.extend(unrecorded);
        }
    }
    if known.force_replace {
        reasons.push(Reason::new(ReasonCode::Requested, "its replacement was asked for"));
    }
    if action == ChangeAction::Adopt && !known.imported {
        let text = match known.record {
            Some(record) if record.applied.is_none() => {
                "the state does not have what was applied last, as after it was rebuilt"
            }
            _ => "it carries this cluster's ownership and the state does not know it",
        };
        reasons.push(Reason::new(ReasonCode::Unrecorded, text));
    }
    if let Some(previous) = &known.previous_address {
        reasons.push(Reason::new(ReasonCode::Renamed, format!("it was {previous} before")));
    }
    reasons.extend(planned.reasons.iter().map(|text| Reason::new(ReasonCode::Provider, text.as_str())));
    let drift = outside::extend(
        drift(&known, object, attributes, &changes, last_applied),
        outside::reasons(&known, object, planned.rollout.as_ref().zip(known.machines), &changes),
        || ResourceChange {
            action: ChangeAction::Update,
            identity: Some(object.identity.clone()),
            after: attributes.clone(),
            ..blank(&known)
        },
    );
    let idle = action == ChangeAction::NoOp && known.previous_address.is_none();
    let precondition = if idle && planned.rollout.is_none() {
        Precondition::None
    } else {
        let mut managed: Vec<&Value> = vec![&planned.normalised];
        managed.extend(last_applied);
        // These attributes are observed without knowledge of the desired ones, so they are read again before
        // the step.
        Precondition::unchanged(known.kind, &object.attributes, &managed)
    };
    let after = attributes_after(
        planned.normalised,
        (known.kind, attributes),
        action.is_replace(),
        (&ignored, &planned.unknown_after),
    );
    let retag = known.lost_tags && !action.is_replace();
    let mut change = ResourceChange {
        action,
        retag,
        identity: Some(object.identity.clone()),
        before: if idle && planned.rollout.is_none() { Value::Null } else { attributes.clone() },
        after,
        changes,
        ignored: left_alone(&known, ignored),
        reasons,
        disruption: planned.disruption,
        confirmation: if action.is_replace() { confirmation(&known) } else { None },
        precondition,
        ..if idle && planned.rollout.is_none() { bare(&known) } else { blank(&known) }
    };
    // The new object has tags.
    change.record.untagged &= !action.is_replace();
    Decision {
        change,
        surplus: known.surplus,
        rollout: planned.rollout,
        gates: Gates::None,
        anew: false,
        estimate_ms: planned.estimate_ms,
        unknown_after: planned.unknown_after,
        prepare: planned.prepare,
        drift,
        infrastructure_only: planned.infrastructure_only,
    }
}

/// The differences that the spec says to leave alone: those hidden from the provider, and those that it
/// reports nevertheless.
fn left_alone(known: &KnownResource<'_>, shown: Vec<Change>) -> Vec<Path> {
    let mut paths = known.ignored.clone();
    paths.extend(shown.into_iter().map(|change| change.path));
    paths.sort();
    paths.dedup();
    paths
}

fn action(known: &KnownResource<'_>, changes: &[Change], last_applied: Option<&Value>) -> ChangeAction {
    if known.desired.lifecycle.existing.is_some() {
        return if known.record.is_some() { ChangeAction::NoOp } else { ChangeAction::Adopt };
    }
    if known.force_replace || changes.iter().any(|change| change.replaces) {
        return if known.kind.create_before_delete {
            ChangeAction::ReplaceCreateFirst
        } else {
            ChangeAction::ReplaceDeleteFirst
        };
    }
    if !changes.is_empty() {
        return ChangeAction::Update;
    }
    let recorded =
        known.record.zip(known.object).is_some_and(|(record, object)| record.identity == object.identity);
    if recorded && last_applied.is_some() { ChangeAction::NoOp } else { ChangeAction::Adopt }
}

fn create(known: KnownResource<'_>, planned: Planned, context: &Context<'_>) -> Decision {
    let origin = known.desired.origin(&Path::root()).map(str::to_owned);
    let vanished = known.record.is_some_and(|record| !record.existing);
    let mut reason = if vanished {
        Reason::new(ReasonCode::Vanished, "it is gone from the cloud, and the state knows it")
    } else {
        Reason::new(ReasonCode::Wanted, "the spec asks for it")
    };
    reason = reason.located(origin.as_deref().and_then(context.locate));
    reason.origin = origin;
    let mut reasons = vec![reason];
    reasons.extend(planned.reasons.iter().map(|text| Reason::new(ReasonCode::Provider, text.as_str())));
    let after = attributes_of_new(planned.normalised, known.kind);
    let drift = vanished.then(|| {
        Box::new(ResourceChange {
            action: ChangeAction::Delete,
            identity: known.record.map(|record| record.identity.clone()),
            before: known.record.and_then(|record| record.applied.clone()).unwrap_or_default(),
            reasons: vec![Reason::new(ReasonCode::Vanished, "it was deleted outside Slipway")],
            ..blank(&known)
        })
    });
    let change = ResourceChange {
        action: ChangeAction::Create,
        after,
        reasons,
        disruption: Disruption::None,
        precondition: Precondition::AbsentOrOurs,
        ..blank(&known)
    };
    Decision {
        change,
        surplus: known.surplus,
        rollout: planned.rollout,
        gates: Gates::None,
        anew: false,
        estimate_ms: planned.estimate_ms,
        unknown_after: Vec::new(),
        prepare: None,
        drift,
        infrastructure_only: planned.infrastructure_only,
    }
}

fn blank(known: &KnownResource<'_>) -> ResourceChange {
    let lifecycle = &known.desired.lifecycle;
    ResourceChange {
        record: RecordTemplate {
            applied: known.resolved.clone(),
            depends_on: known.depends_on.to_vec(),
            retain: lifecycle.retain,
            protected: lifecycle.protected,
            existing: lifecycle.existing.is_some(),
            as_found: known.as_found.clone(),
            untagged: stays_untagged(known),
        },
        sensitive: sensitive_paths(&known.kind.attributes),
        ..bare(known)
    }
}

/// Whether another tool made the object, and nothing has written the ownership tags since.
fn stays_untagged(known: &KnownResource<'_>) -> bool {
    known.record.is_some_and(|record| record.untagged)
        && known.previous_address.is_none()
        && known.object.is_some_and(|object| !object.owned)
}

/// A change that has only the addresses, the provider and the schema version of the resource.
fn bare(known: &KnownResource<'_>) -> ResourceChange {
    ResourceChange {
        previous_address: known.previous_address.clone(),
        ..ResourceChange::bare(&known.desired.address, known.provider, known.kind.version)
    }
}

/// Why its replacement needs a confirmation by name.
fn confirmation(known: &KnownResource<'_>) -> Option<String> {
    if known.kind.stateful {
        Some("replacing it loses its data".to_owned())
    } else if known.desired.lifecycle.protected || known.record.is_some_and(|record| record.protected) {
        Some("it is protected".to_owned())
    } else {
        None
    }
}

/// The part of a difference that was made outside Slipway.
fn drift(
    known: &KnownResource<'_>,
    object: &Found,
    attributes: &Value,
    changes: &[Change],
    last_applied: Option<&Value>,
) -> Option<ResourceChange> {
    let applied = last_applied?;
    let drifted: Vec<Change> = changes
        .iter()
        .filter(|change| !known.kind.is_set_by_provider(&change.path, known.resolved))
        .filter(|change| {
            applied.at(&change.path).unwrap_or(&Value::Null)
                == known.resolved.at(&change.path).unwrap_or(&Value::Null)
        })
        .filter(|change| change.after.is_known())
        .map(|change| Change { before: change.after.clone(), after: change.before.clone(), ..change.clone() })
        .collect();
    if drifted.is_empty() {
        return None;
    }
    let reasons = drifted
        .iter()
        .map(|change| {
            let text = format!("{} was changed outside Slipway", change.path);
            Reason::new(ReasonCode::FieldDrifted, text).at(&change.path)
        })
        .collect();
    Some(ResourceChange {
        action: ChangeAction::Update,
        identity: Some(object.identity.clone()),
        before: applied.clone(),
        after: attributes.clone(),
        changes: drifted,
        reasons,
        ..blank(known)
    })
}
