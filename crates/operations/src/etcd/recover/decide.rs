//! The decision how etcd is recovered, from what was found on the control planes. Pure.

use super::survey::{ControlPlane, MemberData};
use super::{Absent, Begun, Progress, Source};
use crate::error::Error;

/// The work that a recovery has to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// A new recovery.
    New(Choice),
    /// A recovery that an earlier run began.
    Continue(Begun, Progress),
}

/// The source of a new recovery, and the machines that take part.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) source: Source,
    pub(super) machines: Vec<String>,
    pub(super) absent: Vec<Absent>,
}

/// Why nothing is recovered.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Etcd has a majority, or can get one back.
    Majority(String),
    /// No data is left. The reason for each machine.
    Nothing(Vec<String>),
    /// An interrupted recovery cannot go on.
    Interrupted(String),
}

impl Refusal {
    pub(super) fn into_error(self, cluster: &str) -> Error {
        let cluster = cluster.to_owned();
        match self {
            Self::Majority(why) => Error::EtcdHasMajority { cluster, why },
            Self::Nothing(missing) => Error::NothingToRecover { cluster, missing },
            Self::Interrupted(why) => Error::RecoveryInterrupted { cluster, why },
        }
    }
}

/// Decides what is recovered.
pub(super) fn decide(found: &[ControlPlane], from_snapshot: Option<&str>) -> Result<Decision, Refusal> {
    if let Some(begun) = found.iter().find_map(|one| one.begun.as_ref()) {
        let progress = interrupted(found, begun)?;
        return Ok(Decision::Continue(begun.clone(), progress));
    }
    refuse_majority(found)?;
    let survivor = survivor(found);
    let source = match (from_snapshot, survivor) {
        (Some(name), _) if found.iter().any(|one| one.unreachable.is_none()) => {
            Source::Snapshot(name.to_owned())
        }
        (None, Some((machine, _))) => Source::Survivor(machine.to_owned()),
        _ => return Err(Refusal::Nothing(found.iter().map(missing).collect())),
    };
    let (mut machines, mut absent) = (Vec::new(), Vec::new());
    for one in found {
        match reason_for_absence(one, survivor.map(|(_, data)| data)) {
            None => machines.push(one.machine.clone()),
            Some(reason) => absent.push(Absent { machine: one.machine.clone(), reason }),
        }
    }
    Ok(Decision::New(Choice { source, machines, absent }))
}

/// Refuses to recover an etcd that has a majority, or that has enough data for one.
fn refuse_majority(found: &[ControlPlane]) -> Result<(), Refusal> {
    if let Some(one) = found.iter().find(|one| has_majority(one)) {
        return Err(Refusal::Majority(format!("a majority of its members answers {}", one.machine)));
    }
    let intact: Vec<&str> =
        found.iter().filter(|one| one.data.is_some()).map(|one| one.machine.as_str()).collect();
    if intact.len() > found.len() / 2 {
        return Err(Refusal::Majority(format!(
            "{} of {} members have their data ({}), which is a majority as soon as they run",
            intact.len(),
            found.len(),
            intact.join(", ")
        )));
    }
    Ok(())
}

fn has_majority(one: &ControlPlane) -> bool {
    one.status.as_ref().is_some_and(|status| status.has_majority)
}

/// The survivor with the newest data. All of one history is a beginning of the data with the greatest revision. A recovery
/// makes revisions much greater, so data of an earlier history is never the newest.
fn survivor(found: &[ControlPlane]) -> Option<(&str, &MemberData)> {
    let data = found.iter().filter_map(|one| Some((one.machine.as_str(), one.data.as_ref()?)));
    let position = |data: &MemberData| (data.revision, data.term, data.commit);
    // Of equals, the first one by name.
    data.reduce(|best, other| if position(other.1) > position(best.1) { other } else { best })
}

/// Why a control plane takes no part. One without data takes part: it gets that of the source.
fn reason_for_absence(one: &ControlPlane, newest: Option<&MemberData>) -> Option<String> {
    if let Some(why) = &one.unreachable {
        return Some(why.clone());
    }
    let (data, newest) = (one.data.as_ref()?, newest?);
    (data.cluster_id != newest.cluster_id)
        .then(|| format!("its data is that of another etcd, the cluster {}", data.cluster_id))
}

/// What is missing on a machine, in a sentence.
fn missing(one: &ControlPlane) -> String {
    let why = one.unreachable.as_ref().or(one.damage.as_ref()).map_or("it has no data", String::as_str);
    if why.contains(&one.machine) { why.to_owned() } else { format!("{}: {why}", one.machine) }
}

/// How far an earlier run of a recovery came.
fn interrupted(found: &[ControlPlane], begun: &Begun) -> Result<Progress, Refusal> {
    let other = found.iter().filter_map(|one| one.begun.as_ref()).find(|other| other.id != begun.id);
    if let Some(other) = other {
        return Err(Refusal::Interrupted(format!(
            "two recoveries have begun, {} and {}: undo both",
            begun.id, other.id
        )));
    }
    let part = || found.iter().filter(|one| begun.machines.contains(&one.machine));
    if let Some(away) = part().find(|one| one.unreachable.is_some()) {
        let why = away.unreachable.as_deref().unwrap_or_default();
        return Err(Refusal::Interrupted(format!(
            "{} takes part in the recovery {} and does not answer: {why}",
            away.machine, begun.id
        )));
    }
    let is_replaced = part().any(|one| one.is_replaced);
    if is_replaced && part().any(|one| one.begun.is_none()) {
        return Ok(Progress::Restored);
    }
    if !is_replaced && found.iter().any(has_majority) {
        return Ok(Progress::Needless);
    }
    Ok(Progress::Interrupted)
}

#[cfg(test)]
mod tests;
