//! What changes mean.

use slipway_resource::provider::{
    Disruption, Fate, Member, PlanItem, Planned, PreflightFinding, PreflightItem, Prerequisite, Rollout,
};
use slipway_resource::{Identity, ProviderError};

use super::{Malformed, address, optional_identity, optional_value, path, paths, texts, value};
use crate::generated as proto;
use crate::wire::WireValue;

impl From<PlanItem> for proto::PlanItem {
    fn from(item: PlanItem) -> Self {
        Self {
            address: item.address.to_string(),
            desired: item.desired.map(WireValue::new),
            observed: item.observed.map(WireValue::new),
            last_applied: item.last_applied.map(WireValue::new),
        }
    }
}

impl TryFrom<proto::PlanItem> for PlanItem {
    type Error = Malformed;

    fn try_from(message: proto::PlanItem) -> Result<Self, Malformed> {
        Ok(Self {
            address: address(&message.address)?,
            desired: optional_value(message.desired)?,
            observed: optional_value(message.observed)?,
            last_applied: optional_value(message.last_applied)?,
        })
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
            normalised: Some(WireValue::new(planned.normalised)),
            replace_paths: texts(&planned.replace_paths),
            unknown_after: texts(&planned.unknown_after),
            reasons: planned.reasons,
            disruption: disruption.into(),
            estimate_ms: planned.estimate_ms,
            rollout: planned.rollout.map(Into::into),
        }
    }
}

impl TryFrom<proto::Planned> for Planned {
    type Error = Malformed;

    fn try_from(message: proto::Planned) -> Result<Self, Malformed> {
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
            size: rollout.size,
            members: rollout.members.into_iter().map(Into::into).collect(),
            max_surge: rollout.max_surge,
            max_unavailable: rollout.max_unavailable,
            drain_timeout_ms: rollout.drain_timeout_ms,
            ready_timeout_ms: rollout.ready_timeout_ms,
            prerequisites: rollout.prerequisites.into_iter().map(Into::into).collect(),
            durations: durations.collect(),
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
            size: message.size,
            members: all(message.members)?,
            max_surge: message.max_surge,
            max_unavailable: message.max_unavailable,
            drain_timeout_ms: message.drain_timeout_ms,
            ready_timeout_ms: message.ready_timeout_ms,
            prerequisites: all(message.prerequisites)?,
            durations_ms: durations.map(|entry| (entry.operation, entry.duration_ms)).collect(),
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
        })
    }
}

impl From<Prerequisite> for proto::Prerequisite {
    fn from(prerequisite: Prerequisite) -> Self {
        Self {
            address: prerequisite.address.to_string(),
            identity: prerequisite.identity.map(|identity| identity.as_str().to_owned()),
            operation: prerequisite.operation,
            arguments: Some(WireValue::new(prerequisite.arguments)),
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
            desired: Some(WireValue::new(item.desired)),
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
            identity: None,
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
