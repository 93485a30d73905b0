//! The instances of a group that a rollout replaces or removes, their order, and the limits.
//!
//! * An instance that was not launched from the desired version of the desired template is replaced. So is
//!   every instance if this plan creates the version.
//! * An instance that an interrupted roll has detached from the group is replaced first: its replacement
//!   exists already.
//! * If a group shrinks, the instances named here are removed: the update of the group detaches them, and
//!   they are drained before they end. An autoscaler chooses the instances that it removes by itself.
//! * If the group is deleted, all instances are removed, after a drain.
//! * Instances in a warm pool are no machines yet: they are renewed with the group.
//! * A version that changes by itself, `$Latest` or `$Default`, is no reason for a replacement, because its
//!   meaning at the launch of an instance is not known.

pub(super) mod in_place;
pub(super) mod missing;

use std::collections::BTreeMap;

use slipway_resource::provider::{Fate, Member, NodeReference, OnBlocked, PlanItem, Rollout, operation};
use slipway_resource::{Identity, Path, Value};

use super::etcd::{ETCD_DATA, EtcdData};

/// The fewest members of etcd of which two are left when one leaves.
const SEVERAL: usize = 3;
/// The strategy of pools whose instances are never replaced by a plan.
const IN_PLACE: &str = "in-place";
/// The group of pools whose instances are no nodes.
const BASTION: &str = "bastion";
/// The typical time until an instance is a ready node, in milliseconds.
const BOOT_MS: u64 = 60_000;
/// The default time limit of a drain, in milliseconds.
const DRAIN_MS: u64 = 900_000;
/// The default time limit until an instance is a ready node, in milliseconds.
const READY_MS: u64 = 900_000;

/// The rollout of a group's instances. Without instances, it tells which groups come first.
pub(super) fn rollout(wanted: &Value, observed: Option<&Value>) -> Rollout {
    let size = size(wanted, observed);
    let mut members = observed.map(|observed| members(wanted, observed, size)).unwrap_or_default();
    let manner = Manner::of(wanted);
    if let Some(observed) = observed {
        name_nodes(&mut members, observed, &manner);
    }
    of_members(&manner, size, members)
}

/// Why no instance may leave a group that has members of etcd on volumes: it shrinks so far that no majority of them is left. The
/// members of the other volumes remain members, because they can only be removed by a majority.
pub(super) fn gives_up_majority(applied: &Value, wanted: &Value, observed: &Value) -> Option<String> {
    let has_volumes = |group: &Value| Manner::of(group).etcd_data == Some(EtcdData::Elsewhere);
    let (before, after) = (size(applied, Some(observed)), size(wanted, Some(observed)));
    let is_lost = after < before && after.saturating_mul(2) <= before;
    (is_lost && (has_volumes(applied) || has_volumes(wanted))).then(|| {
        format!(
            "{before} instances of the group run members of etcd, {after} of {before} is no majority, and Slipway does not remove \
             members of etcd on AWS before their instances leave"
        )
    })
}

/// The rollout of a deleted group; `None` when it has no instances.
pub(super) fn of_removal(item: &PlanItem) -> Option<Rollout> {
    let observed = item.observed.as_ref()?;
    // AWS does not show how instances are replaced; the state knows.
    let manner = Manner::of(item.last_applied.as_ref().unwrap_or(observed));
    let goes = || Fate::Retire { reason: "its group goes".to_owned() };
    let seen = instances(observed).into_iter();
    let mut members: Vec<Member> = seen.map(|instance| member(instance, goes())).collect();
    name_nodes(&mut members, observed, &manner);
    (!members.is_empty()).then(|| of_members(&manner, 0, members))
}

/// Names the nodes of instances by their provider ids, as the cloud controller manager sets them.
fn name_nodes(members: &mut [Member], observed: &Value, manner: &Manner) {
    if !manner.has_nodes() {
        return;
    }
    for instance in instances(observed) {
        let (Some(zone), Some(id)) = (text(instance, "zone"), text(instance, "id")) else { continue };
        for member in members.iter_mut().filter(|member| member.identity.as_str() == id) {
            member.node = Some(node_of(zone, id));
        }
    }
}

/// The node of an instance.
#[must_use]
pub fn node_of(zone: &str, id: &str) -> NodeReference {
    NodeReference::ProviderId(format!("aws:///{zone}/{id}"))
}

/// The instances that an update detaches from its group because the group shrinks. The plan has named them,
/// from the same attributes by the same rule.
#[must_use]
pub fn retired(prior: &Value, desired: &Value) -> Vec<String> {
    let members = rollout(desired, Some(prior)).members.into_iter();
    let left: Vec<&str> = instances(prior)
        .into_iter()
        .filter(|one| is_detached(one))
        .filter_map(|one| text(one, "id"))
        .collect();
    members
        .filter(|member| matches!(member.fate, Fate::Retire { .. }))
        .map(|member| member.identity.to_string())
        .filter(|id| !left.contains(&id.as_str()))
        .collect()
}

fn of_members(manner: &Manner, size: u32, members: Vec<Member>) -> Rollout {
    let (max_surge, max_unavailable) = manner.limits(size);
    let drains = manner.drain && manner.has_nodes();
    Rollout {
        group: manner.group.clone(),
        exclusive: manner.group == "control-plane",
        after: match manner.group.as_str() {
            "control-plane" | BASTION => Vec::new(),
            "api-server" => vec!["control-plane".to_owned()],
            _ => vec!["control-plane".to_owned(), "api-server".to_owned()],
        },
        size,
        members,
        max_surge,
        max_unavailable,
        drain_timeout_ms: if drains { manner.drain_timeout_ms } else { 0 },
        ready_timeout_ms: manner.ready_timeout_ms,
        prerequisites: Vec::new(),
        durations_ms: BTreeMap::from([(operation::VERIFY.to_owned(), BOOT_MS + manner.settle_ms)]),
        loses: manner.loses(),
        irremovable: manner.irremovable(),
        settle_ms: manner.settle_ms,
        ignore_budgets: manner.drain_budgets == "ignore",
        on_blocked: OnBlocked::of(&manner.drain_on_blocked),
    }
}

/// Sentences on a rollout.
pub(super) fn reasons(rollout: &Rollout) -> Vec<String> {
    let mut counts: BTreeMap<(bool, &str), usize> = BTreeMap::new();
    for member in &rollout.members {
        match &member.fate {
            Fate::Keep => {}
            Fate::Replace { reason, .. } => *counts.entry((false, reason)).or_default() += 1,
            Fate::Retire { reason } => *counts.entry((true, reason)).or_default() += 1,
        }
    }
    let fates = counts.into_iter().map(|((leaves, reason), count)| match (leaves, count) {
        (false, 1) => format!("1 instance is replaced: {reason}"),
        (false, _) => format!("{count} instances are replaced: {reason}"),
        (true, 1) => format!("1 instance leaves: {reason}"),
        (true, _) => format!("{count} instances leave: {reason}"),
    });
    fates.collect()
}

/// How the instances of a group are replaced: its `rollout` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manner {
    /// The name of the groups that know of each other: `control-plane`, `api-server`, `worker`, `bastion`.
    pub group: String,
    /// How many may exist beyond the size: a count or a percentage.
    pub max_surge: String,
    /// How many may be missing: a count or a percentage.
    pub max_unavailable: String,
    /// Whether nodes are drained.
    pub drain: bool,
    /// `respect` or `ignore`.
    pub drain_budgets: String,
    /// `fail`, `skip` or `force`.
    pub drain_on_blocked: String,
    /// How long a drain may take.
    pub drain_timeout_ms: u64,
    /// How long an instance may take to become a ready node.
    pub ready_timeout_ms: u64,
    /// How long a node must stay ready before the next one is replaced.
    pub settle_ms: u64,
    /// The data disks that are deleted with an instance.
    pub data_disks: Vec<String>,
    /// Where etcd keeps its data; `None` for instances without etcd, and where it is not known.
    pub(crate) etcd_data: Option<EtcdData>,
    /// Whether a plan that replaces an instance is refused.
    pub in_place_only: bool,
}

impl Default for Manner {
    fn default() -> Self {
        Self {
            group: "worker".to_owned(),
            max_surge: "1".to_owned(),
            max_unavailable: "0".to_owned(),
            drain: true,
            drain_budgets: "respect".to_owned(),
            drain_on_blocked: "fail".to_owned(),
            drain_timeout_ms: DRAIN_MS,
            ready_timeout_ms: READY_MS,
            settle_ms: 0,
            data_disks: Vec::new(),
            etcd_data: None,
            in_place_only: false,
        }
    }
}

impl Manner {
    /// The settings of a group's attributes; missing ones have their defaults.
    #[must_use]
    pub fn of(attributes: &Value) -> Self {
        let block = attributes.get("rollout").unwrap_or(&Value::Null);
        let usual = Self::default();
        let text = |name: &str, usual: String| {
            block
                .get(name)
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
                .map_or(usual, str::to_owned)
        };
        let millis = |name: &str, usual: u64| {
            let number = block.get(name).and_then(Value::as_integer);
            number.and_then(|number| u64::try_from(number).ok()).unwrap_or(usual)
        };
        Self {
            group: text("group", usual.group),
            max_surge: text("max_surge", usual.max_surge),
            max_unavailable: text("max_unavailable", usual.max_unavailable),
            drain: block.get("drain").and_then(Value::as_bool).unwrap_or(usual.drain),
            drain_budgets: text("drain_budgets", usual.drain_budgets),
            drain_on_blocked: text("drain_on_blocked", usual.drain_on_blocked),
            drain_timeout_ms: millis("drain_timeout_ms", usual.drain_timeout_ms),
            ready_timeout_ms: millis("ready_timeout_ms", usual.ready_timeout_ms),
            settle_ms: millis("settle_ms", usual.settle_ms),
            data_disks: block
                .get("data_disks")
                .and_then(Value::as_list)
                .unwrap_or_default()
                .iter()
                .filter_map(|disk| disk.as_str().map(str::to_owned))
                .collect(),
            etcd_data: block.get(ETCD_DATA).and_then(Value::as_str).and_then(EtcdData::of),
            in_place_only: block.get("strategy").and_then(Value::as_str) == Some(IN_PLACE),
        }
    }

    /// How many instances may exist beyond a size, and how many may be missing: at least one of the two
    /// limits is not zero.
    #[must_use]
    pub fn limits(&self, size: u32) -> (u32, u32) {
        let surge = amount(&self.max_surge, size, true);
        let unavailable = amount(&self.max_unavailable, size, false);
        match (self.group.as_str(), surge, unavailable) {
            ("control-plane", 0, _) => (0, 1),
            ("control-plane", _, _) => (1, 0),
            (_, 0, unavailable) => (0, unavailable.max(1)),
            limits => (limits.1, limits.2),
        }
    }

    /// The data that is lost with an instance; `None` when no disk with data is deleted with it.
    fn loses(&self) -> Option<String> {
        let etcd = self.etcd_loss();
        let losses: Vec<String> = Rollout::data_disks(&self.data_disks).into_iter().chain(etcd).collect();
        (!losses.is_empty()).then(|| losses.join(", and "))
    }

    /// The data of etcd that is lost with an instance; `None` without such data.
    pub(super) fn etcd_loss(&self) -> Option<String> {
        self.etcd_data.and_then(EtcdData::loss)
    }

    /// Whether these instances can be replaced by ones with etcd's data on volumes, although their own data is on the disks that they
    /// boot from: they are three at least, so that the others have all data when one leaves, and none leaves without a replacement.
    pub(super) fn moves_etcd_to_volumes(&self, rollout: &Rollout) -> bool {
        let stays = |member: &Member| !matches!(member.fate, Fate::Retire { .. });
        self.etcd_data == Some(EtcdData::Elsewhere)
            && rollout.members.len() >= SEVERAL
            && rollout.members.iter().all(stays)
    }

    /// Why no instance may leave its group; `None` where instances may.
    pub(super) fn irremovable(&self) -> Option<String> {
        self.etcd_data.and_then(EtcdData::irremovable)
    }

    /// Whether the instances are nodes of the cluster.
    #[must_use]
    pub fn has_nodes(&self) -> bool {
        self.group != BASTION
    }

    /// One line of at most 256 characters, for a tag.
    #[must_use]
    pub fn to_line(&self) -> String {
        format!(
            "group={} surge={} unavailable={} drain={} budgets={} blocked={} drain-ms={} ready-ms={} settle-ms={}",
            self.group,
            self.max_surge,
            self.max_unavailable,
            self.drain,
            self.drain_budgets,
            self.drain_on_blocked,
            self.drain_timeout_ms,
            self.ready_timeout_ms,
            self.settle_ms
        )
    }

    /// Reads such a line; missing settings have their defaults.
    #[must_use]
    pub fn from_line(line: &str) -> Self {
        let mut manner = Self::default();
        for (name, value) in line.split(' ').filter_map(|field| field.split_once('=')) {
            let millis = |usual: u64| value.parse().unwrap_or(usual);
            match name {
                "group" => value.clone_into(&mut manner.group),
                "surge" => value.clone_into(&mut manner.max_surge),
                "unavailable" => value.clone_into(&mut manner.max_unavailable),
                "drain" => manner.drain = value != "false",
                "budgets" => value.clone_into(&mut manner.drain_budgets),
                "blocked" => value.clone_into(&mut manner.drain_on_blocked),
                "drain-ms" => manner.drain_timeout_ms = millis(manner.drain_timeout_ms),
                "ready-ms" => manner.ready_timeout_ms = millis(manner.ready_timeout_ms),
                "settle-ms" => manner.settle_ms = millis(manner.settle_ms),
                _ => {}
            }
        }
        manner
    }
}

/// A count, or a percentage of `total`, rounded up or down.
fn amount(text: &str, total: u32, up: bool) -> u32 {
    let text = text.trim();
    match text.strip_suffix('%') {
        Some(percent) => {
            let part = u64::from(total) * percent.trim().parse::<u64>().unwrap_or_default();
            let part = if up { part.div_ceil(100) } else { part / 100 };
            u32::try_from(part).unwrap_or(u32::MAX)
        }
        None => text.parse().unwrap_or_default(),
    }
}

/// The desired number of instances of a group; a size chosen by an autoscaler is kept within the bounds.
fn size(wanted: &Value, observed: Option<&Value>) -> u32 {
    let number = |value: &Value, name: &str| value.get(name).and_then(Value::as_integer);
    let min = number(wanted, "min_size").unwrap_or_default();
    let max = number(wanted, "max_size").unwrap_or(min).max(min);
    let chosen = number(wanted, "desired_capacity")
        .or_else(|| observed.and_then(|observed| number(observed, "desired_capacity")));
    u32::try_from(chosen.unwrap_or(min).clamp(min, max)).unwrap_or_default()
}

/// The running instances of a group: in it, or detached by an earlier run. The detached ones come first, then
/// by id.
fn instances(observed: &Value) -> Vec<&Value> {
    let mut instances: Vec<&Value> = observed
        .get("instances")
        .and_then(Value::as_list)
        .unwrap_or_default()
        .iter()
        .filter(|instance| !matches!(state(instance), Some(state) if state.starts_with("Warmed") || is_going(state)))
        .collect();
    instances.sort_by_key(|instance| (!is_detached(instance), text(instance, "id").unwrap_or_default()));
    instances
}

fn members(wanted: &Value, observed: &Value, size: u32) -> Vec<Member> {
    let launch = Launch::of(wanted);
    let instances = instances(observed);
    let inside = instances.iter().filter(|instance| !is_detached(instance)).count();
    let beyond_size = inside.saturating_sub(usize::try_from(size).unwrap_or(usize::MAX));
    let leaving = leaving(&instances, &launch, fewer(observed, size).min(beyond_size));
    let beyond = || Fate::Retire { reason: format!("the desired size of the group is {size}") };
    let of = |instance: &Value| {
        if flag(instance, "retired") {
            return beyond();
        }
        if is_detached(instance) {
            return Fate::Replace {
                reason: "it has left the group, where its replacement is".to_owned(),
                path: Some(Path::key("instances")),
            };
        }
        if text(instance, "id").is_some_and(|id| leaving.contains(&id)) {
            return beyond();
        }
        match launch.differs(instance) {
            Some(reason) => Fate::Replace { reason, path: Some(launch.path()) },
            None => Fate::Keep,
        }
    };
    instances.into_iter().map(|instance| member(instance, of(instance))).collect()
}

/// By how many instances a group shrinks. Instances beyond its own size, such as while AWS rebalances its
/// zones, are not counted.
fn fewer(observed: &Value, size: u32) -> usize {
    let desired = observed.get("desired_capacity").and_then(Value::as_integer).unwrap_or_default();
    usize::try_from(desired.saturating_sub(i64::from(size))).unwrap_or_default()
}

/// The ids of the instances that are removed when a group shrinks. Instances that are not in service come
/// first, then those that would be replaced anyway, then those of the largest zone. Instances with scale-in
/// protection come last.
fn leaving<'a>(instances: &[&'a Value], launch: &Launch<'_>, count: usize) -> Vec<&'a str> {
    let mut staying: Vec<&'a Value> =
        instances.iter().copied().filter(|instance| !is_detached(instance)).collect();
    let mut leaving = Vec::new();
    while leaving.len() < count {
        let in_zone = |instance: &Value| {
            staying.iter().filter(|other| text(other, "zone") == text(instance, "zone")).count()
        };
        let next = staying.iter().enumerate().min_by_key(|(_, instance)| {
            (
                flag(instance, "protected"),
                is_ready(instance),
                launch.differs(instance).is_none(),
                std::cmp::Reverse(in_zone(instance)),
                text(instance, "id").unwrap_or_default().to_owned(),
            )
        });
        let Some((index, _)) = next else { break };
        leaving.extend(text(staying.remove(index), "id"));
    }
    leaving
}

fn member(instance: &Value, fate: Fate) -> Member {
    let id = text(instance, "id").unwrap_or_default();
    Member {
        name: id.to_owned(),
        identity: Identity::new(id),
        fate,
        ready: is_ready(instance),
        blockers: Vec::new(),
        node: None,
    }
}

/// Whether an instance is in service. A detached one counts as ready, because its node continues to serve.
fn is_ready(instance: &Value) -> bool {
    let in_service = matches!(state(instance), None | Some("InService"));
    let healthy = text(instance, "health") != Some("Unhealthy");
    is_detached(instance) || in_service && healthy
}

fn text<'a>(instance: &'a Value, name: &str) -> Option<&'a str> {
    instance.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

fn state(instance: &Value) -> Option<&str> {
    text(instance, "state")
}

fn is_going(state: &str) -> bool {
    state.starts_with("Terminat") || state == "Detached"
}

fn is_detached(instance: &Value) -> bool {
    flag(instance, "detached")
}

fn flag(instance: &Value, name: &str) -> bool {
    instance.get(name).and_then(Value::as_bool) == Some(true)
}

/// The template from which new instances of a group are launched.
struct Launch<'a> {
    mixed: bool,
    template: Option<&'a Value>,
    version: Option<&'a Value>,
}

impl<'a> Launch<'a> {
    fn of(group: &'a Value) -> Self {
        let block = |value: &'a Value, name: &str| value.get(name)?.as_list()?.first();
        let specification = block(group, "mixed_instances_policy")
            .and_then(|policy| block(policy, "launch_template"))
            .and_then(|template| block(template, "launch_template_specification"));
        match specification {
            Some(template) => Self {
                mixed: true,
                template: template.get("launch_template_id"),
                version: template.get("version"),
            },
            None => {
                let template = block(group, "launch_template");
                Self {
                    mixed: false,
                    template: template.and_then(|template| template.get("id")),
                    version: template.and_then(|template| template.get("version")),
                }
            }
        }
    }

    fn path(&self) -> Path {
        Path::key(if self.mixed { "mixed_instances_policy" } else { "launch_template" })
    }

    /// Why an instance differs from new ones; `None` when it does not.
    fn differs(&self, instance: &Value) -> Option<String> {
        let version = text(instance, "version").unwrap_or("of no known number");
        match self.template {
            None | Some(Value::Null) => return None,
            Some(Value::String(wanted)) => match text(instance, "launch_template") {
                None => return Some(format!("it was not made from launch template {wanted}")),
                Some(found) if found != wanted => {
                    return Some(format!("launch template {found} → {wanted}"));
                }
                Some(_) => {}
            },
            Some(_) => return Some("the launch template is created again".to_owned()),
        }
        match self.version {
            None | Some(Value::Null) => None,
            Some(Value::String(wanted)) if wanted.starts_with('$') => None,
            Some(Value::String(wanted)) if wanted == version => None,
            Some(Value::String(wanted)) => {
                Some(format!("version {version} → {wanted} of the launch template"))
            }
            Some(_) => Some(format!("the launch template changes; it was made from version {version}")),
        }
    }
}

#[cfg(test)]
mod tests;
