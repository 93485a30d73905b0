//! The order in which machines change and leave.

use std::collections::BTreeMap;

use slipway_cluster_input::ClusterInput;
use slipway_resource::{Address, Desired, Turn, Value};

use super::super::configuration::is_control_plane;
use super::super::rotation::RotatedKey;
use super::super::{Machine, Placement, programs};
use super::authorities_rotated::KEY_OF_SNAPSHOTS;
use super::{KUBELET_CREDENTIALS, KUBELET_SETTINGS, MACHINES, Making, OBJECT, inside, is_inside_of};

impl Making<'_> {
    /// A deleted control plane is removed as a node while its own components still run.
    pub(super) fn leaves_first(&mut self, machine: &Machine) {
        let own = |desired: &&Desired| {
            matches!(desired.address.kind(), "static_pod" | "etcd_member" | "etcd_voter")
                && is_inside_of(desired, &machine.name)
        };
        let own: Vec<Address> =
            self.resources.iter().filter(own).map(|desired| desired.address.clone()).collect();
        if let Some(node) = self.node(machine) {
            node.depends_on.extend(own);
            node.depends_on.sort();
            node.depends_on.dedup();
        }
    }

    /// Founding members are removed one after the other: etcd removes no member while the removal of another
    /// is in progress.
    pub(super) fn members_leave_in_turn(&mut self, founding: &[&Machine]) {
        for pair in founding.windows(2) {
            let [before, machine] = pair else { continue };
            let (before, member) =
                (inside("etcd_member", before, "etcd"), inside("etcd_member", machine, "etcd"));
            for desired in self.resources.iter_mut().filter(|desired| desired.address == member) {
                desired.depends_on.push(before.clone());
            }
        }
    }

    /// No control plane changes before all machines have fetched their programs: a mirror without one is
    /// noticed before any change.
    pub(super) fn programs_come_first(&mut self) {
        let of_kind = |kind: &str| {
            let found = self.resources.iter().filter(|desired| desired.address.kind() == kind);
            found.map(|desired| desired.address.clone()).collect::<Vec<Address>>()
        };
        let programs = of_kind("program");
        for desired in self.resources.iter_mut().filter(|desired| desired.address.kind() == "static_pod") {
            desired.depends_on.extend(programs.iter().cloned());
        }
    }

    /// Programs that a spec lists for the first time come to one machine after the other, where machines are nodes already. The
    /// order is that of all changes.
    pub(super) fn programs_come_in_turn(&mut self) {
        let elected = self.placement.elected().map(|machine| machine.name.as_str());
        let mut machines: Vec<&Machine> = self
            .placement
            .machines
            .iter()
            .filter(|machine| machine.programs_from_start == Some(false))
            .collect();
        machines.sort_by_cached_key(|machine| {
            let control_plane = is_control_plane(self.cluster, machine);
            let rank = rank(Part::Node, control_plane, elected == Some(machine.name.as_str()));
            (rank, unit_of(Part::Node, control_plane, machine))
        });
        programs::in_turn(&mut self.resources, &machines);
    }

    /// Resources on machines change on one machine first, then within the budgets of the pools: a setting
    /// that breaks a machine breaks only one. Control planes change one after the other, so that the API
    /// answers and etcd keeps its majority. All pods of control planes change before any kubelet, which may
    /// not be newer than the API servers. Settings for joining machines change last: such machines get
    /// settings that every kubelet already uses.
    pub(super) fn machines_change_in_turn(&mut self) {
        let machines: BTreeMap<&str, &Machine> =
            self.placement.machines.iter().map(|machine| (machine.name.as_str(), machine)).collect();
        let elected = self.placement.elected().map(|machine| machine.name.as_str());
        let joining = Address::new(OBJECT, KUBELET_SETTINGS);
        for desired in &mut self.resources {
            if desired.address == joining {
                desired.lifecycle.turn = Some(Turn {
                    group: MACHINES.to_owned(),
                    unit: KUBELET_SETTINGS.to_owned(),
                    rank: LAST,
                    at_once: 1,
                });
                continue;
            }
            let host = desired.attributes.get("host").and_then(Value::as_str);
            let Some(machine) = host.and_then(|host| machines.get(host)) else { continue };
            let control_plane = is_control_plane(self.cluster, machine);
            let follows = self.placement.balancer.is_some()
                || self.placement.rotations.contains_key(&RotatedKey::KubernetesCa);
            desired.lifecycle.turn = part_of(desired, follows).map(|part| Turn {
                group: MACHINES.to_owned(),
                unit: unit_of(part, control_plane, machine),
                rank: rank(part, control_plane, elected == Some(machine.name.as_str())),
                at_once: at_once(self.cluster, self.placement, machine),
            });
        }
    }
}

/// The types whose deletion can break a machine that stays.
const REMOVED_IN_TURN: [&str; 3] = ["installed_programs", "kernel_module", "sysctl"];

/// The turns in which recorded resources of machines are deleted that the spec does not have any more: each in that of the kubelet of
/// its machine, as a change would be. Those of machines that leave have none.
#[must_use]
pub fn turns_of_removals<'a>(
    desired: &[Desired],
    recorded: impl Iterator<Item = &'a Address>,
) -> BTreeMap<Address, Turn> {
    let desired: BTreeMap<&Address, &Desired> =
        desired.iter().map(|desired| (&desired.address, desired)).collect();
    let removed = recorded
        .filter(|address| REMOVED_IN_TURN.contains(&address.kind()) && !desired.contains_key(address));
    let turn = |address: &Address| {
        let (machine, _) = address.name().split_once('/')?;
        let kubelet = Address::new("service", format!("{machine}/kubelet"));
        desired.get(&kubelet)?.lifecycle.turn.clone()
    };
    removed.filter_map(|address| Some((address.clone(), turn(address)?))).collect()
}

/// The part of a machine that a resource belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The kubelet, and the machine itself.
    Node,
    /// Pods of the control plane, and the files that they read at the start.
    ControlPlane,
}

/// The part of a machine that a change of a resource can break; `None` where it cannot. Certificates and keys
/// are not settings, and encryption at rest must change everywhere at the same time. A kubelet moves to the balancer of its node,
/// or back, and to other authorities of the API, in its turn; an endpoint that is gone is left at once.
fn part_of(desired: &Desired, kubelet_in_turn: bool) -> Option<Part> {
    let name = desired.address.name().split_once('/').map_or("", |(_, name)| name);
    match (desired.address.kind(), name) {
        ("static_pod", _)
        | ("file", "audit-policy" | "authentication-configuration" | "admission-configuration") => {
            Some(Part::ControlPlane)
        }
        ("file", "encryption-configuration" | "ca" | "admin.conf") => None,
        ("file", name) if name.starts_with("pki/") || name.starts_with(KEY_OF_SNAPSHOTS) => None,
        ("service" | "file" | "sysctl" | "kernel_module" | "installed_programs", _) => Some(Part::Node),
        (KUBELET_CREDENTIALS, _) if kubelet_in_turn => Some(Part::Node),
        _ => None,
    }
}

/// The unit that a part of a machine changes with.
fn unit_of(part: Part, control_plane: bool, machine: &Machine) -> String {
    match part {
        Part::Node if control_plane => format!("{}/node", machine.name),
        _ => machine.name.clone(),
    }
}

/// The order of changes: the pods of control planes, then kubelets, with control planes before workers. The
/// machine of the elected endpoint is the last of each.
const fn rank(part: Part, control_plane: bool, elected: bool) -> u32 {
    match (control_plane, part, elected) {
        (true, Part::ControlPlane, false) => 0,
        (true, Part::ControlPlane, true) => 1,
        (true, Part::Node, false) => 2,
        (false, _, _) => 3,
        (true, Part::Node, true) => 4,
    }
}

/// The rank after those of all machines.
const LAST: u32 = 5;

/// The number of machines of a pool that may change at the same time: one control plane, and as many workers
/// as may be unavailable.
fn at_once(cluster: &ClusterInput, placement: &Placement, machine: &Machine) -> u32 {
    let pool = cluster.pool(&machine.pool).filter(|_| !is_control_plane(cluster, machine));
    let count = placement.machines.iter().filter(|other| other.pool == machine.pool).count();
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    pool.map_or(1, |pool| pool.rollout.max_unavailable.of_rounded_down(count).max(1))
}
