//! Plans of changes.

use slipway_resource::provider::{
    Disruption, DryRun, Fate, Member, OnBlocked, PlanItem, Planned, PreflightFinding, PreflightItem,
    Prerequisite, Rollout,
};
use slipway_resource::{Identity, ProviderError, Value};

use super::{Malformed, address, optional_identity, optional_value, path, paths, texts, value};
use crate::generated as proto;
use crate::generated::SameAs;
use crate::wire::WireValue;

impl From<&PlanItem> for proto::PlanItem {
    fn from(item: &PlanItem) -> Self {
        let wire = |value: &Option<_>| value.as_ref().map(WireValue::new);
        let (desired, observed) = (wire(&item.desired), wire(&item.observed));
        let last_applied = wire(&item.last_applied);
        let same = last_applied
            .as_ref()
            .map_or(SameAs::Unspecified, |value| same_as(value, desired.as_ref(), observed.as_ref()));
        Self {
            address: item.address.to_string(),
            desired,
            observed,
            last_applied: last_applied.filter(|_| same == SameAs::Unspecified),
            last_applied_same_as: same.into(),
        }
    }
}

impl TryFrom<&proto::PlanItem> for PlanItem {
    type Error = Malformed;

    fn try_from(message: &proto::PlanItem) -> Result<Self, Malformed> {
        let desired = optional_value(message.desired.as_ref())?;
        let observed = optional_value(message.observed.as_ref())?;
        let last_applied = match known(message.last_applied_same_as)? {
            SameAs::Unspecified => optional_value(message.last_applied.as_ref())?,
            SameAs::Desired => Some(present(desired.clone())?),
            SameAs::Observed => Some(present(observed.clone())?),
        };
        Ok(Self { address: address(&message.address)?, desired, observed, last_applied })
    }
}

/// Which value of an item this is, by their bytes.
fn same_as(value: &WireValue, desired: Option<&WireValue>, observed: Option<&WireValue>) -> SameAs {
    if desired == Some(value) {
        SameAs::Desired
    } else if observed == Some(value) {
        SameAs::Observed
    } else {
        SameAs::Unspecified
    }
}

fn known(same: i32) -> Result<SameAs, Malformed> {
    // A guess would be a wrong value.
    SameAs::try_from(same).map_err(|_| Malformed::new("same_as", same.to_string()))
}

fn present<T>(value: Option<T>) -> Result<T, Malformed> {
    value.ok_or_else(|| Malformed::new("same_as", "a value that is absent"))
}

/// The answer to an item; values that equal those in the item are not sent again.
#[must_use]
pub fn planned_to_message(planned: Planned, item: &proto::PlanItem) -> proto::Planned {
    let mut message = proto::Planned::from(planned);
    let same = message.normalised.as_ref().map_or(SameAs::Unspecified, |normalised| {
        same_as(normalised, item.desired.as_ref(), item.observed.as_ref())
    });
    if same != SameAs::Unspecified {
        message.normalised = None;
        message.normalised_same_as = same.into();
    }
    message
}

/// The plan in an answer to an item.
pub(crate) fn planned_from_message(message: proto::Planned, item: PlanItem) -> Result<Planned, Malformed> {
    let normalised = match known(message.normalised_same_as)? {
        SameAs::Unspecified => return message.try_into(),
        SameAs::Desired => item.desired,
        SameAs::Observed => item.observed,
    };
    let mut normalised = present(normalised)?;
    forget_texts(&mut normalised);
    let message = proto::Planned { normalised_same_as: SameAs::Unspecified.into(), ..message };
    Ok(Planned { normalised, ..message.try_into()? })
}

impl From<DryRun> for proto::Rehearsal {
    fn from(dry_run: DryRun) -> Self {
        Self {
            desired: dry_run.desired.as_ref().map(WireValue::new),
            observed: dry_run.observed.as_ref().map(WireValue::new),
            reasons: dry_run.reasons,
            replace_paths: texts(&dry_run.replace_paths),
        }
    }
}

impl TryFrom<proto::Rehearsal> for DryRun {
    type Error = Malformed;

    fn try_from(message: proto::Rehearsal) -> Result<Self, Malformed> {
        Ok(Self {
            desired: optional_value(message.desired.as_ref())?,
            observed: optional_value(message.observed.as_ref())?,
            reasons: message.reasons,
            replace_paths: paths(&message.replace_paths)?,
        })
    }
}

/// Leaves of secrets what a provider gets to see in Plan, and so may answer.
fn forget_texts(value: &mut Value) {
    match value {
        Value::Secret(secret) => secret.text = None,
        Value::List(items) => items.iter_mut().for_each(forget_texts),
        Value::Map(entries) => entries.values_mut().for_each(forget_texts),
        _ => {}
    }
}

impl From<Planned> for proto::Planned {
    fn from(planned: Planned) -> Self {
        let disruption = match planned.disruption {
            Disruption::None => proto::Disruption::None,
            Disruption::Rolling => proto::Disruption::Rolling,
            Disruption::Brief => proto::Disruption::Brief,
            Disruption::Outage => proto::Disruption::Outage,
        };
        Self {
            normalised: Some(WireValue::new(&planned.normalised)),
            replace_paths: texts(&planned.replace_paths),
            unknown_after: texts(&planned.unknown_after),
            reasons: planned.reasons,
            disruption: disruption.into(),
            estimate_ms: planned.estimate_ms,
            rollout: planned.rollout.map(Into::into),
            normalised_same_as: SameAs::Unspecified.into(),
            infrastructure_only: planned.infrastructure_only,
            prepare: planned.prepare.as_ref().map(WireValue::new),
        }
    }
}

impl TryFrom<proto::Planned> for Planned {
    type Error = Malformed;

    fn try_from(message: proto::Planned) -> Result<Self, Malformed> {
        if known(message.normalised_same_as)? != SameAs::Unspecified {
            return Err(Malformed::new("same_as", "a value of another message"));
        }
        Ok(Self {
            normalised: value(message.normalised)?,
            replace_paths: paths(&message.replace_paths)?,
            unknown_after: paths(&message.unknown_after)?,
            reasons: message.reasons,
            disruption: match proto::Disruption::try_from(message.disruption) {
                Ok(proto::Disruption::None) => Disruption::None,
                Ok(proto::Disruption::Rolling) => Disruption::Rolling,
                Ok(proto::Disruption::Brief) => Disruption::Brief,
                // The worst is assumed of what is not known.
                Ok(proto::Disruption::Outage) | Err(_) => Disruption::Outage,
            },
            estimate_ms: message.estimate_ms,
            rollout: message.rollout.map(TryInto::try_into).transpose()?,
            infrastructure_only: message.infrastructure_only,
            prepare: optional_value(message.prepare.as_ref())?,
        })
    }
}

impl From<Rollout> for proto::Rollout {
    fn from(rollout: Rollout) -> Self {
        let durations = rollout
            .durations_ms
            .into_iter()
            .map(|(operation, duration_ms)| proto::GateDuration { operation, duration_ms });
        Self {
            group: rollout.group,
            exclusive: rollout.exclusive,
            after: rollout.after,
            loses: rollout.loses,
            irremovable: rollout.irremovable,
            size: rollout.size,
            members: rollout.members.into_iter().map(Into::into).collect(),
            max_surge: rollout.max_surge,
            max_unavailable: rollout.max_unavailable,
            drain_timeout_ms: rollout.drain_timeout_ms,
            ready_timeout_ms: rollout.ready_timeout_ms,
            prerequisites: rollout.prerequisites.into_iter().map(Into::into).collect(),
            durations: durations.collect(),
            settle_ms: rollout.settle_ms,
            ignore_budgets: rollout.ignore_budgets,
            on_blocked: match rollout.on_blocked {
                OnBlocked::Fail => proto::OnBlocked::Fail,
                OnBlocked::Skip => proto::OnBlocked::Skip,
                OnBlocked::Force => proto::OnBlocked::Force,
            }
            .into(),
        }
    }
}

impl TryFrom<proto::Rollout> for Rollout {
    type Error = Malformed;

    fn try_from(message: proto::Rollout) -> Result<Self, Malformed> {
        let durations = message.durations.into_iter();
        Ok(Self {
            group: message.group,
            exclusive: message.exclusive,
            after: message.after,
            loses: message.loses,
            irremovable: message.irremovable,
            size: message.size,
            members: all(message.members)?,
            max_surge: message.max_surge,
            max_unavailable: message.max_unavailable,
            drain_timeout_ms: message.drain_timeout_ms,
            ready_timeout_ms: message.ready_timeout_ms,
            prerequisites: all(message.prerequisites)?,
            durations_ms: durations.map(|entry| (entry.operation, entry.duration_ms)).collect(),
            settle_ms: message.settle_ms,
            ignore_budgets: message.ignore_budgets,
            on_blocked: match proto::OnBlocked::try_from(message.on_blocked) {
                Ok(proto::OnBlocked::Skip) => OnBlocked::Skip,
                Ok(proto::OnBlocked::Force) => OnBlocked::Force,
                // The safest is assumed of what is not known.
                Ok(proto::OnBlocked::Fail) | Err(_) => OnBlocked::Fail,
            },
        })
    }
}

fn all<M, T: TryFrom<M, Error = Malformed>>(messages: Vec<M>) -> Result<Vec<T>, Malformed> {
    messages.into_iter().map(TryInto::try_into).collect()
}

impl From<Member> for proto::Member {
    fn from(member: Member) -> Self {
        use proto::fate::Kind;
        let fate = match member.fate {
            Fate::Keep => Kind::Keep(proto::Keep {}),
            Fate::Replace { reason, path } => {
                Kind::Replace(proto::Replace { reason, path: path.map(|path| path.to_string()) })
            }
            Fate::Retire { reason } => Kind::Retire(proto::Retire { reason }),
        };
        Self {
            name: member.name,
            identity: member.identity.as_str().to_owned(),
            fate: Some(proto::Fate { kind: Some(fate) }),
            ready: member.ready,
            blockers: member.blockers,
            node: member.node.map(Into::into),
        }
    }
}

impl TryFrom<proto::Member> for Member {
    type Error = Malformed;

    fn try_from(message: proto::Member) -> Result<Self, Malformed> {
        use proto::fate::Kind;
        Ok(Self {
            name: message.name,
            identity: Identity::new(message.identity),
            fate: match message.fate.and_then(|fate| fate.kind) {
                Some(Kind::Keep(_)) => Fate::Keep,
                Some(Kind::Replace(replace)) => Fate::Replace {
                    reason: replace.reason,
                    path: replace.path.as_deref().map(path).transpose()?,
                },
                Some(Kind::Retire(retire)) => Fate::Retire { reason: retire.reason },
                None => return Err(Malformed::missing("fate")),
            },
            ready: message.ready,
            blockers: message.blockers,
            node: message.node.map(TryInto::try_into).transpose()?,
        })
    }
}

impl From<Prerequisite> for proto::Prerequisite {
    fn from(prerequisite: Prerequisite) -> Self {
        Self {
            address: prerequisite.address.to_string(),
            identity: prerequisite.identity.map(|identity| identity.as_str().to_owned()),
            operation: prerequisite.operation,
            arguments: Some(WireValue::new(&prerequisite.arguments)),
        }
    }
}

impl TryFrom<proto::Prerequisite> for Prerequisite {
    type Error = Malformed;

    fn try_from(message: proto::Prerequisite) -> Result<Self, Malformed> {
        Ok(Self {
            address: address(&message.address)?,
            identity: optional_identity(message.identity),
            operation: message.operation,
            arguments: value(message.arguments)?,
        })
    }
}

impl From<PreflightItem> for proto::PreflightItem {
    fn from(item: PreflightItem) -> Self {
        Self {
            address: item.address.to_string(),
            action: item.action,
            desired: Some(WireValue::new(&item.desired)),
        }
    }
}

impl TryFrom<proto::PreflightItem> for PreflightItem {
    type Error = Malformed;

    fn try_from(message: proto::PreflightItem) -> Result<Self, Malformed> {
        Ok(Self {
            address: address(&message.address)?,
            action: message.action,
            desired: value(message.desired)?,
        })
    }
}

impl From<PreflightFinding> for proto::PreflightFinding {
    fn from(finding: PreflightFinding) -> Self {
        let error = ProviderError {
            class: finding.class,
            message: finding.message,
            hint: finding.hint,
            address: finding.address,
            field: None,
            identity: None,
            code: None,
        };
        Self { finding: Some(error.into()) }
    }
}

impl TryFrom<proto::PreflightFinding> for PreflightFinding {
    type Error = Malformed;

    fn try_from(message: proto::PreflightFinding) -> Result<Self, Malformed> {
        let error = message.finding.ok_or_else(|| Malformed::missing("finding"))?;
        let error = ProviderError::try_from(error)?;
        Ok(Self { address: error.address, class: error.class, message: error.message, hint: error.hint })
    }
}
