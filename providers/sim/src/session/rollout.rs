//! The machines of a pool that a rollout replaces or removes, their order, and the limits. Pure.
//!
//! * A machine from another template than the desired one is replaced. After an interrupted roll, new
//!   machines are kept, including surge machines, so that fewer further ones are needed.
//! * Machines beyond the desired size are retired: first those with an old template, then machines that are
//!   not ready, then the newest. A pool that is deleted retires all its machines.
//! * While a roll has more machines than the size, and all have the same template, the oldest are retired: the
//!   roll has started others in their place.
//! * A place that an interrupted roll left empty, when no other machine is replaced, is shown as a machine
//!   that does not exist any more and is to be replaced.
//! * A control plane with etcd volumes is replaced one machine at a time without surge, since a volume can be
//!   attached to only one machine. Any other control plane is replaced one machine at a time with one surge
//!   machine.

use std::collections::BTreeMap;

use slipway_resource::provider::{Fate, Member, NodeReference, OnBlocked, Prerequisite, Rollout, operation};
use slipway_resource::{Address, Entries, Identity, Path, Value};

use crate::cloud::{boot_ms, pod, template_digest};
use crate::kind::{SNAPSHOT, TEMPLATE, drain_ms, operation_ms};

/// The role of pools whose machines are no nodes.
pub(super) const BASTION: &str = "bastion";

/// One machine as it was observed.
pub(super) struct Seen<'a> {
    value: &'a Value,
}

impl<'a> Seen<'a> {
    fn text(&self, name: &str) -> &'a str {
        self.value.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    fn flag(&self, name: &str) -> bool {
        self.value.get(name).and_then(Value::as_bool) == Some(true)
    }

    fn rounds(&self) -> u64 {
        let rounds = self.value.get("drain_rounds").and_then(Value::as_integer);
        u64::try_from(rounds.unwrap_or_default()).unwrap_or_default()
    }

    fn member(&self, fate: Fate) -> Member {
        let id = self.text("identity");
        Member {
            name: self.text("name").to_owned(),
            identity: Identity::new(id),
            fate,
            ready: self.flag("ready"),
            blockers: Vec::new(),
            node: Some(NodeReference::ProviderId(format!("sim:///{id}"))),
        }
    }
}

/// The machines of an observed pool, the oldest first.
pub(super) fn machines(observed: &Value) -> Vec<Seen<'_>> {
    seen(observed, "machines")
}

fn seen<'a>(observed: &'a Value, name: &str) -> Vec<Seen<'a>> {
    let items = observed.get(name).and_then(Value::as_list);
    items.unwrap_or_default().iter().map(|value| Seen { value }).collect()
}

/// Whether machines of the desired pool are made from another template than the observed one has.
pub(super) fn template_changes(wanted: &Entries, observed: &Value) -> bool {
    let before = observed.as_map().and_then(template_digest);
    template_digest(wanted) != before
}

/// The rollout of a pool's machines; `None` when the pool neither exists nor is desired.
pub(super) fn rollout(seed: u64, wanted: Option<&Entries>, observed: Option<&Value>) -> Option<Rollout> {
    let mut members = observed.map(|observed| members(wanted, observed)).unwrap_or_default();
    let nothing = Value::Null;
    let observed = observed.unwrap_or(&nothing);
    let attributes = wanted.or_else(|| observed.as_map())?;
    let text = |name: &str| attributes.get(name).and_then(Value::as_str).unwrap_or_default();
    let number = |name: &str, default: u64| {
        attributes
            .get(name)
            .and_then(Value::as_integer)
            .and_then(|number| u64::try_from(number).ok())
            .unwrap_or(default)
    };
    let role = text("role");
    if role == BASTION {
        members.iter_mut().for_each(|member| member.node = None);
    }
    let size = wanted.map_or(0, |wanted| wanted_size(wanted, observed));
    let (max_surge, max_unavailable) = limits(attributes, role, size as u64);
    let (group, exclusive, after) = match role {
        "controlPlane" => ("control-plane", true, &[][..]),
        "apiServer" => ("api-server", false, &["control-plane"][..]),
        BASTION => (BASTION, false, &[][..]),
        _ => ("worker", false, &["control-plane", "api-server"][..]),
    };
    let boot = boot_ms(seed, text("cluster"), text("name"), 0);
    let rounds = machines(observed).iter().map(Seen::rounds).max();
    let drains = attributes.get("drain").and_then(Value::as_bool) != Some(false);
    // A bastion is no node: the gate that launches it waits until it has booted.
    let surge = operation_ms(operation::SURGE).max(if role == BASTION { boot } else { 0 });
    let durations = [
        (operation::SURGE, surge),
        // The machine boots while the call that launches it returns.
        (operation::VERIFY, (boot + number("settle_ms", 0)).saturating_sub(operation_ms(operation::SURGE))),
        (operation::CORDON, operation_ms(operation::CORDON)),
        (operation::DRAIN, drain_ms(rounds.unwrap_or_default())),
        (operation::REMOVE, operation_ms(operation::REMOVE)),
    ];
    Some(Rollout {
        group: group.to_owned(),
        exclusive,
        after: after.iter().map(|group| (*group).to_owned()).collect(),
        size: u32::try_from(size).unwrap_or(u32::MAX),
        members,
        max_surge,
        max_unavailable,
        drain_timeout_ms: if drains { number("drain_timeout_ms", 900_000) } else { 0 },
        ready_timeout_ms: number("ready_timeout_ms", 900_000),
        prerequisites: prerequisites(wanted, observed),
        durations_ms: durations.into_iter().map(|(name, duration)| (name.to_owned(), duration)).collect(),
        loses: loses(observed),
        irremovable: None,
        settle_ms: number("settle_ms", 0),
        ignore_budgets: text("drain_budgets") == "ignore",
        on_blocked: OnBlocked::of(text("drain_on_blocked")),
    })
}

/// The data that is lost with a machine of an observed pool: that of the disks that are deleted with it.
fn loses(observed: &Value) -> Option<String> {
    let disks = observed.get("volumes").and_then(Value::as_list).unwrap_or_default();
    let deleted = |disk: &&Value| disk.get("delete_on_termination").and_then(Value::as_bool) != Some(false);
    let name = |(index, disk): (usize, &Value)| {
        let text = |field: &str| disk.get(field).and_then(Value::as_str);
        let device = text("device").map_or_else(|| format!("{}", index + 1), str::to_owned);
        text("mount_path").map_or(device.clone(), |path| format!("{device} ({path})"))
    };
    let names: Vec<String> = disks.iter().filter(deleted).enumerate().map(name).collect();
    Rollout::data_disks(&names)
}

/// Sentences on a rollout.
pub(super) fn reasons(rollout: &Rollout) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for member in &rollout.members {
        let sentence = match &member.fate {
            Fate::Keep => continue,
            Fate::Replace { reason, .. } => format!("replaced: {reason}"),
            Fate::Retire { reason } => format!("retired: {reason}"),
        };
        *counts.entry(sentence).or_default() += 1;
    }
    counts
        .into_iter()
        .map(|(sentence, count)| {
            let noun = if count == 1 { "machine is" } else { "machines are" };
            format!("{count} {noun} {sentence}")
        })
        .collect()
}

fn members(wanted: Option<&Entries>, observed: &Value) -> Vec<Member> {
    let machines = machines(observed);
    let Some(wanted) = wanted else {
        let reason = "the pool goes".to_owned();
        return machines
            .iter()
            .map(|machine| machine.member(Fate::Retire { reason: reason.clone() }))
            .collect();
    };
    let digest = template_digest(wanted);
    let size = wanted_size(wanted, observed);
    let (current, mut outdated): (Vec<&Seen<'_>>, Vec<&Seen<'_>>) =
        machines.iter().partition(|machine| digest.as_deref() == Some(machine.text("template_digest")));
    let (ahead, mut keep): (Vec<&Seen<'_>>, Vec<&Seen<'_>>) =
        current.into_iter().partition(|machine| machine.flag("surplus"));
    let replaced = outdated.len().min(size.saturating_sub(keep.len()));
    // Ready machines are replaced last, so that capacity is kept as long as possible.
    outdated.sort_by_key(|machine| machine.flag("ready"));
    let (gone, outdated) = outdated.split_at(outdated.len() - replaced);
    let is_rolled = !ahead.is_empty();
    keep.extend(ahead);
    let mut retired = Vec::new();
    if keep.len() > size && is_rolled {
        let staying = keep.split_off(keep.len() - size);
        retired = std::mem::replace(&mut keep, staying);
        // They are listed in the reverse order.
        retired.reverse();
    } else if keep.len() > size {
        keep.sort_by_key(|machine| !machine.flag("ready"));
        retired = keep.split_off(size);
    }
    let ghosts = if gone.is_empty() && outdated.is_empty() && retired.is_empty() {
        seen(observed, "vacancies").into_iter().take(size - keep.len()).collect()
    } else {
        Vec::new()
    };

    let beyond = || Fate::Retire { reason: format!("the desired size of the pool is {size}") };
    let mut members: Vec<Member> = Vec::new();
    members.extend(gone.iter().map(|machine| machine.member(beyond())));
    members.extend(retired.iter().rev().map(|machine| machine.member(beyond())));
    members.extend(ghosts.iter().map(|ghost| {
        ghost.member(Fate::Replace { reason: "it is gone and nothing took its place".to_owned(), path: None })
    }));
    members.extend(outdated.iter().map(|machine| {
        let (reason, path) = difference(machine, wanted, observed);
        machine.member(Fate::Replace { reason, path })
    }));
    members.extend(keep.iter().map(|machine| machine.member(Fate::Keep)));
    members
}

/// The desired number of machines in a pool; a size chosen by an autoscaler is kept within the bounds.
fn wanted_size(wanted: &Entries, observed: &Value) -> usize {
    let number = |value: Option<&Value>| {
        let number = value.and_then(Value::as_integer);
        usize::try_from(number.unwrap_or_default()).unwrap_or_default()
    };
    let min = number(wanted.get("min"));
    // If an autoscaler owns the size, the observed size counts, within the desired bounds.
    let size = match wanted.get("size") {
        Some(Value::Integer(_)) => wanted.get("size"),
        _ => observed.get("size"),
    };
    number(size).clamp(min, number(wanted.get("max")).max(min))
}

/// Why a machine has to be replaced.
fn difference(machine: &Seen<'_>, wanted: &Entries, observed: &Value) -> (String, Option<Path>) {
    for name in ["kubernetes_version", "image", "machine_type"] {
        if let Some(after) = wanted.get(name) {
            let before = machine.text(name);
            match after {
                Value::String(after) if after != before => {
                    return (format!("{name} {before} → {after}"), Some(Path::key(name)));
                }
                _ => {}
            }
        }
    }
    for name in TEMPLATE {
        let (before, after) = (observed.get(name), wanted.get(name));
        let secret = matches!(after, Some(Value::Secret(_)));
        if before != after && !secret {
            return (format!("{name} changes"), Some(Path::key(*name)));
        }
    }
    ("it was made from an older template of the pool".to_owned(), Some(Path::key("template_version")))
}

fn limits(attributes: &Entries, role: &str, size: u64) -> (u32, u32) {
    let holds_volumes = attributes
        .get("volume_ids")
        .is_some_and(|ids| !matches!(ids, Value::Null) && ids.as_list().is_none_or(|ids| !ids.is_empty()));
    if role == "controlPlane" && holds_volumes {
        return (0, 1);
    }
    let amount = |name: &str, up: bool| {
        let text = attributes.get(name).and_then(Value::as_str).unwrap_or_default();
        u32::try_from(pod::amount(text, size, up)).unwrap_or(u32::MAX)
    };
    let surge = amount("max_surge", true);
    let unavailable = amount("max_unavailable", false);
    match (role, surge, unavailable) {
        ("controlPlane", 0, _) => (0, 1),
        ("controlPlane", _, _) => (1, 0),
        (_, 0, unavailable) => (0, unavailable.max(1)),
        (_, surge, unavailable) => (surge, unavailable),
    }
}

/// A backup of etcd before a new release rolls over the control plane.
fn prerequisites(wanted: Option<&Entries>, observed: &Value) -> Vec<Prerequisite> {
    let Some(wanted) = wanted else { return Vec::new() };
    let key = "kubernetes_version";
    if observed.is_null() || wanted.get(key) == observed.get(key) {
        return Vec::new();
    }
    let reason = format!(
        "before {} → {}",
        observed.get(key).map(Value::to_plain_text).unwrap_or_default(),
        wanted.get(key).map(Value::to_plain_text).unwrap_or_default()
    );
    let stores = wanted.get("snapshot_before_roll").and_then(Value::as_map);
    stores
        .into_iter()
        .flatten()
        .filter_map(|(address, identity)| {
            Some(Prerequisite {
                address: address.parse::<Address>().ok()?,
                identity: identity.as_str().map(Identity::new),
                operation: SNAPSHOT.to_owned(),
                arguments: Value::map([("reason", reason.as_str())]),
            })
        })
        .collect()
}
