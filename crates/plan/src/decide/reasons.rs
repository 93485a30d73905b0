//! Why a resource changes.

use slipway_resource::diff::Change;
use slipway_resource::{Path, Value};

use super::{Context, KnownResource};
use crate::fields::narrowed;
use crate::reason::{Reason, ReasonCode};
use crate::state::Record;

/// Changes to the settings that the state keeps about the resource.
pub(super) fn lifecycle_reasons(known: &KnownResource<'_>) -> Vec<Reason> {
    let Some(record) = known.record else { return Vec::new() };
    let lifecycle = &known.desired.lifecycle;
    let kept = (lifecycle.retain, lifecycle.protected, lifecycle.existing.is_some());
    let texts = lifecycle_texts(record, kept);
    texts.into_iter().map(|text| Reason::new(ReasonCode::LifecycleChanged, text)).collect()
}

/// What differs from a record if a resource is retained, protected, or an existing object that is only used, as sentences.
pub(crate) fn lifecycle_texts(
    record: &Record,
    (retain, protected, existing): (bool, bool, bool),
) -> Vec<&'static str> {
    let mut texts = Vec::new();
    if record.protected != protected {
        texts.push(if protected { "it is protected now" } else { "it is not protected any more" });
    }
    if record.retain != retain {
        texts.push(if retain {
            "it stays in the cloud when the spec or the cluster goes"
        } else {
            "it is deleted when it is removed from the spec, or with the cluster"
        });
    }
    if record.existing != existing {
        texts.push(
            "the spec names it as an existing object: it is only used, and stays when the cluster is deleted",
        );
    }
    texts
}

/// Secrets of the user whose fingerprint the state cannot compare any more. They may differ from the applied
/// ones.
pub(super) fn forgotten_secrets(last_applied: &Value) -> Reason {
    let mut sources = Vec::new();
    last_applied.for_each_secret(&mut |secret| {
        if secret.fingerprint.is_none() && secret.keeper().is_none() {
            sources.push(format!("`{}`", secret.source));
        }
    });
    let text = format!(
        "{} cannot be compared with what was applied: the state has lost the key of its fingerprints",
        sources.join(", ")
    );
    Reason::new(ReasonCode::Unrecorded, text)
}

/// Keys for data that the user gives and that the state never compared with the ones in use, as after an adoption.
pub(super) fn unknown_keys(known: &KnownResource<'_>, applied: &Value) -> Option<Reason> {
    let is_unknown = |value: &Value| match value {
        Value::Secret(secret) => secret.fingerprint.is_none() && secret.keeper().is_none(),
        _ => false,
    };
    let keys: Vec<&str> = applied
        .as_map()?
        .iter()
        .filter(|(name, value)| is_unknown(value) && known.kind.is_key_material(&Path::key(name.as_str())))
        .map(|(name, _)| name.as_str())
        .collect();
    if known.forgets || known.desired.lifecycle.existing.is_some() || keys.is_empty() {
        return None;
    }
    let text = format!("{} was never compared with what is in use", keys.join(", "));
    Some(Reason::new(ReasonCode::Unrecorded, text))
}

/// Why one attribute differs, with the chain of causes.
pub(super) fn change_reason(
    known: &KnownResource<'_>,
    change: &Change,
    last_applied: Option<&Value>,
    context: &Context<'_>,
) -> Reason {
    let wanted = known.resolved.at(&change.path).unwrap_or(&Value::Null);
    let applied = last_applied.map(|applied| applied.at(&change.path).unwrap_or(&Value::Null));
    let origin = known.desired.origin(&change.path);
    let mut reason = match applied {
        _ if known.kind.is_set_by_provider(&change.path, known.resolved) => {
            Reason::new(ReasonCode::FieldChanged, format!("{} is set by its provider", change.path))
        }
        Some(applied) if applied == wanted && wanted.is_known() => {
            Reason::new(ReasonCode::FieldDrifted, format!("{} was changed outside Slipway", change.path))
        }
        Some(_) if wanted.is_null() => {
            Reason::new(ReasonCode::FieldRemoved, format!("{} is not in the spec any more", change.path))
        }
        _ => Reason::new(ReasonCode::FieldChanged, format!("{} changed", change.path)),
    };
    if change.replaces {
        reason.message.push_str("; it cannot be changed in place");
        reason
            .causes
            .push(Reason::new(ReasonCode::CannotUpdateInPlace, "needs a new object").at(&change.path));
    }
    let mut causes = Vec::new();
    if let Some(written) = known.desired.attributes.at(&change.path) {
        written.for_each_reference(&mut |reference| {
            if let Some(behind) = context.replaced.get(&reference.address) {
                let mut cause =
                    Reason::new(ReasonCode::ReferenceReplaced, format!("{} is replaced", reference.address));
                cause.because_of = Some(reference.address.clone());
                cause.causes.clone_from(behind);
                causes.push(cause);
            }
        });
    }
    // With causes the field is not narrowed: the reason of the replaced resource names the changed field.
    let origin = origin.map(|origin| match reason.code {
        ReasonCode::FieldDrifted => origin.to_owned(),
        _ if !causes.is_empty() => origin.to_owned(),
        _ => narrowed(origin, context.changed),
    });
    reason.causes.extend(causes);
    reason = reason.located(origin.as_deref().and_then(context.locate));
    reason.origin = origin;
    reason.at(&change.path)
}
