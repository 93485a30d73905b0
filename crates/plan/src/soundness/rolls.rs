//! Checks that the steps of a roll keep their order, as far as it follows from the plan.
//!
//! How many machines may leave at once is not in the plan: [`over_budget`] needs the roll as the provider of the pool sees it.

use std::collections::{BTreeMap, BTreeSet};

use slipway_resource::provider::{Member, Rollout, operation};
use slipway_resource::{Address, Identity, Value};

use crate::change::{ChangeAction, MachineChange, ResourceChange};
use crate::nodes::Gates;
use crate::step::{Step, StepAction, StepId};

/// The steps of the roll of one pool.
pub(crate) struct Roll<'p> {
    pub change: &'p ResourceChange,
    /// The change of the pool itself, which starts no machine before it is done.
    pub update: Option<&'p Step>,
    /// By machine.
    pub cordons: BTreeMap<String, &'p Step>,
    pub drains: BTreeMap<String, &'p Step>,
    pub removals: BTreeMap<String, &'p Step>,
    /// By slot.
    pub starts: BTreeMap<String, &'p Step>,
    pub verified: BTreeMap<String, &'p Step>,
    /// Gates that wait for machines that exist already.
    pub waits: Vec<&'p Step>,
    /// The deletion of the pool itself.
    pub deletion: Option<&'p Step>,
    /// A step that does the same as another one.
    pub doubled: Option<&'p Step>,
    /// A gate that names neither a machine nor a slot, although it is one of a machine.
    pub unnamed: Option<&'p Step>,
}

impl<'p> Roll<'p> {
    fn new(change: &'p ResourceChange) -> Self {
        Self {
            change,
            update: None,
            cordons: BTreeMap::new(),
            drains: BTreeMap::new(),
            removals: BTreeMap::new(),
            starts: BTreeMap::new(),
            verified: BTreeMap::new(),
            waits: Vec::new(),
            deletion: None,
            doubled: None,
            unnamed: None,
        }
    }

    fn add(&mut self, step: &'p Step) {
        let (name, arguments) = match &step.action {
            StepAction::Operation { name, arguments } => (name, arguments),
            StepAction::Update => {
                self.update = Some(step);
                return;
            }
            StepAction::Delete { surplus: false } | StepAction::RemovedWithParent { .. } => {
                self.deletion = Some(step);
                return;
            }
            _ => return,
        };
        let text = |key: &str| arguments.get(key).map(Value::to_plain_text);
        let known = match (name.as_str(), text("slot"), self.machine(step, text("member"))) {
            (operation::SURGE, Some(slot), _) => self.starts.insert(slot, step),
            (operation::VERIFY, Some(slot), _) => self.verified.insert(slot, step),
            (operation::VERIFY, None, _) => {
                self.waits.push(step);
                None
            }
            (operation::CORDON, _, Some(machine)) => self.cordons.insert(machine, step),
            (operation::DRAIN, _, Some(machine)) => self.drains.insert(machine, step),
            (operation::REMOVE, _, Some(machine)) => self.removals.insert(machine, step),
            (operation::SURGE | operation::CORDON | operation::DRAIN | operation::REMOVE, _, _) => {
                self.unnamed = Some(step);
                None
            }
            _ => None,
        };
        if known.is_some() {
            self.doubled = Some(step);
        }
    }

    /// The machine of a gate, by its argument or by its node.
    fn machine(&self, step: &Step, member: Option<String>) -> Option<String> {
        let is_of =
            |machine: &&MachineChange| machine.node.as_ref().is_some_and(|node| node.address == step.address);
        let of_node = || Some(self.change.machines.iter().find(is_of)?.identity.as_str().to_owned());
        member.or_else(of_node)
    }

    /// The steps with which machines leave: their cordon, or their removal where nothing is drained. The first to leave comes first.
    pub fn departures(&self) -> Vec<(&'p Step, &'p Step)> {
        let mut departures: Vec<(&Step, &Step)> = self
            .removals
            .iter()
            .map(|(machine, removal)| {
                let first = self.cordons.get(machine).or_else(|| self.drains.get(machine));
                (first.copied().unwrap_or(*removal), *removal)
            })
            .collect();
        departures.sort_by_key(|(_, removal)| removal.id);
        departures
    }

    /// The gates that wait for machines on nodes of the cluster, which are not gates of the pool itself.
    pub fn verifications(&self) -> impl Iterator<Item = &'p Step> {
        let all = self.verified.values().chain(&self.waits).copied();
        all.filter(|step| step.roll.is_some())
    }

    /// The steps after which one more machine is ready: its verification, or its start where nothing verifies it.
    pub fn arrivals(&self) -> Vec<&'p Step> {
        let verified = self.starts.iter().map(|(slot, start)| self.verified.get(slot).unwrap_or(start));
        verified.copied().chain(self.waits.iter().copied()).collect()
    }
}

/// The rolls of a plan by pool. The machines of a pool that is replaced are not rolled.
pub(crate) fn of<'p>(changes: &'p [ResourceChange], steps: &'p [Step]) -> BTreeMap<&'p Address, Roll<'p>> {
    let rolled = |change: &&ResourceChange| !change.machines.is_empty() && !change.action.is_replace();
    let mut rolls: BTreeMap<&Address, Roll<'p>> =
        changes.iter().filter(rolled).map(|change| (&change.address, Roll::new(change))).collect();
    for step in steps {
        if let Some(roll) = rolls.get_mut(step.roll.as_ref().unwrap_or(&step.address)) {
            roll.add(step);
        }
    }
    rolls
}

/// Which steps come after at least one of these, by the number of the step. The steps are numbered in an order in which they can be
/// carried out.
fn after(steps: &[Step], earlier: &[&Step]) -> Vec<bool> {
    let mut is_earlier = vec![false; steps.len()];
    for step in earlier {
        if let Some(marked) = is_earlier.get_mut(step.id.index()) {
            *marked = true;
        }
    }
    let mut after: Vec<bool> = Vec::with_capacity(steps.len());
    for step in steps {
        let waits = step.depends_on.iter().any(|needed| {
            let at = |marks: &[bool]| marks.get(needed.index()).copied().unwrap_or(false);
            at(&is_earlier) || at(&after)
        });
        after.push(waits);
    }
    after
}

/// Whether a step is one of those that were found.
fn is_in(found: &[bool], step: &Step) -> bool {
    found.get(step.id.index()).copied().unwrap_or(false)
}

/// The first step of a roll that comes too early, as a sentence.
pub(crate) fn fault(changes: &[ResourceChange], steps: &[Step]) -> Option<String> {
    of(changes, steps).values().find_map(|roll| {
        let doubled = roll.doubled.map(|step| format!("{} is two steps", step.title()));
        doubled
            .or_else(|| roll.unnamed.map(|step| format!("{} names no machine of the roll", step.title())))
            .or_else(|| incomplete(roll))
            .or_else(|| other_node(roll))
            .or_else(|| emptied_first(roll))
            .or_else(|| deleted_last(roll))
            .or_else(|| changed_first(steps, roll))
            .or_else(|| one_alone(steps, roll))
    })
}

/// `later` does not wait for `earlier`, as a sentence.
pub(crate) fn too_early(later: &Step, earlier: &Step) -> String {
    format!("{} does not wait for {}", later.title(), earlier.title())
}

/// Each machine that leaves is removed, and has all gates that empty its node. Each new machine is verified if the machines are
/// nodes, or if others are verified.
fn incomplete(roll: &Roll<'_>) -> Option<String> {
    let address = &roll.change.address;
    for machine in &roll.change.machines {
        let name = machine.identity.as_str();
        let Some(removal) = roll.removals.get(name) else {
            return Some(format!("{address} shows that its machine {name} leaves, and no step removes it"));
        };
        let (cordon, drain) = (roll.cordons.contains_key(name), roll.drains.contains_key(name));
        if machine.node.is_some() && !drain {
            return Some(not_drained(removal));
        }
        if (machine.node.is_some() || drain) && !cordon {
            return Some(not_cordoned(removal));
        }
        if cordon && !drain {
            return Some(not_drained(removal));
        }
    }
    let is_verified =
        !roll.verified.is_empty() || roll.change.machines.iter().any(|machine| machine.node.is_some());
    if let Some(start) = unverified(roll).filter(|_| is_verified) {
        return Some(start);
    }
    let (_, early) = roll.verified.iter().find(|(slot, _)| !roll.starts.contains_key(slot.as_str()))?;
    Some(format!("{}, and no step starts this machine", early.title()))
}

/// The first new machine that no step verifies, as a sentence.
fn unverified(roll: &Roll<'_>) -> Option<String> {
    let (_, start) = roll.starts.iter().find(|(slot, _)| !roll.verified.contains_key(slot.as_str()))?;
    Some(format!("{}, and no step verifies the new machine", start.title()))
}

/// The gates on nodes are on nodes of one type. A new machine has the name of its pool and its slot until its node is known.
fn other_node(roll: &Roll<'_>) -> Option<String> {
    let own_type = roll
        .change
        .machines
        .iter()
        .filter_map(|machine| machine.node.as_ref())
        .map(|node| node.address.kind())
        .chain(roll.verifications().map(|step| step.address.kind()))
        .next()?;
    let is_other_type = |step: &&Step| step.roll.is_some() && step.address.kind() != own_type;
    let named_otherwise = |(slot, step): (&String, &&Step)| {
        let name = format!("{}/{slot}", roll.change.address.name());
        step.roll.is_some() && (step.address.name() != name || step.identity.is_some())
    };
    let verified = roll.verified.iter().find(|(slot, step)| named_otherwise((*slot, *step)));
    let step = roll.verifications().find(is_other_type).or_else(|| verified.map(|(_, step)| *step))?;
    Some(format!("verify {} is on no node of {}", step.address, roll.change.address))
}

/// A pool is deleted after all of its machines are removed.
fn deleted_last(roll: &Roll<'_>) -> Option<String> {
    let deletion = roll.deletion.filter(|_| roll.change.action == ChangeAction::Delete)?;
    let early = roll.removals.values().find(|removal| !deletion.depends_on.contains(&removal.id))?;
    Some(too_early(deletion, early))
}

/// A machine is cordoned, drained and removed, and a new one is started before it is verified.
fn emptied_first(roll: &Roll<'_>) -> Option<String> {
    let waits = |later: &Step, earlier: &Step| {
        (!later.depends_on.contains(&earlier.id)).then(|| too_early(later, earlier))
    };
    for (machine, drain) in &roll.drains {
        let cordon = roll.cordons.get(machine).and_then(|cordon| waits(drain, cordon));
        let removal = roll.removals.get(machine).and_then(|removal| waits(removal, drain));
        if cordon.is_some() || removal.is_some() {
            return cordon.or(removal);
        }
    }
    for (slot, verified) in &roll.verified {
        let start = roll.starts.get(slot);
        if let Some(fault) = start.and_then(|start| waits(verified, start)) {
            return Some(fault);
        }
    }
    None
}

/// The pool changes before a machine leaves or is started.
fn changed_first(steps: &[Step], roll: &Roll<'_>) -> Option<String> {
    let update = roll.update.filter(|_| roll.change.action == ChangeAction::Update)?;
    let changed = after(steps, &[update]);
    let departures = roll.departures().into_iter().map(|(departure, _)| departure);
    let mut begins = departures.chain(roll.starts.values().copied());
    begins.find(|step| !is_in(&changed, step)).map(|step| too_early(step, update))
}

/// The first machine is replaced alone: the others leave after it, and after a new machine is there. A pool that gets smaller may
/// have no new machine until then.
fn one_alone(steps: &[Step], roll: &Roll<'_>) -> Option<String> {
    let departures = roll.departures();
    let (_, first) = departures.first()?;
    let others = || departures.iter().skip(1).map(|(departure, _)| *departure);
    let gone = after(steps, &[*first]);
    if let Some(early) = others().find(|departure| !is_in(&gone, departure)) {
        return Some(too_early(early, first));
    }
    if roll.starts.len() < departures.len() {
        return None;
    }
    let arrivals = roll.arrivals();
    let there = after(steps, &arrivals);
    let early = others().find(|departure| !is_in(&there, departure))?;
    arrivals.first().map(|arrival| too_early(early, arrival))
}

/// A machine that is removed without a drain although it is a node now, or a new one that nothing verifies, as a sentence. The
/// nodes that a plan file names are not trusted.
pub(crate) fn ungated(roll: &Roll<'_>, rollout: &Rollout, gates: &Gates) -> Option<String> {
    let is_node = |machine: &String| match gates {
        Gates::None => false,
        Gates::OfPool => true,
        Gates::OfNodes { by_member, .. } => by_member.contains_key(&Identity::new(machine.as_str())),
    };
    for (machine, removal) in roll.removals.iter().filter(|(machine, _)| rollout.drains() && is_node(machine))
    {
        if !roll.drains.contains_key(machine) {
            return Some(not_drained(removal));
        }
        if !roll.cordons.contains_key(machine) {
            return Some(not_cordoned(removal));
        }
    }
    let other = match gates {
        Gates::None => return None,
        Gates::OfPool => None,
        Gates::OfNodes { kind, .. } => roll.verifications().find(|step| step.address.kind() != kind),
    };
    unverified(roll).or_else(|| {
        other.map(|step| format!("verify {} is on no node of {}", step.address, roll.change.address))
    })
}

fn not_drained(removal: &Step) -> String {
    format!("{}, and no step drains its node", removal.title())
}

fn not_cordoned(removal: &Step) -> String {
    format!("{}, and no step cordons its node", removal.title())
}

/// A machine that leaves before enough machines are ready, by the budget of its pool as it exists now, as a sentence.
///
/// The machines of the roll are compared as a whole: those that may leave at the same time have no order.
pub(crate) fn over_budget(roll: &Roll<'_>, rollout: &Rollout) -> Option<String> {
    let leaves = |member: &Member| roll.removals.contains_key(member.identity.as_str());
    let ready = rollout.members.iter().filter(|member| member.ready).count();
    // Machines that are not ready leave first, and nothing has to be ready for them.
    let unready = rollout.members.iter().filter(|member| !member.ready && leaves(member)).count();
    let (size, surge) = (rollout.size as usize, rollout.max_surge as usize);
    let unavailable =
        if surge == 0 { rollout.max_unavailable.max(1) } else { rollout.max_unavailable } as usize;
    let floor = size.saturating_sub(unavailable);
    let arrivals: BTreeSet<StepId> = roll.arrivals().into_iter().map(|step| step.id).collect();
    let mut departures: Vec<(usize, &Step)> = roll
        .departures()
        .into_iter()
        .map(|(step, _)| (step.depends_on.iter().filter(|id| arrivals.contains(*id)).count(), step))
        .collect();
    departures.sort_by_key(|(waits, step)| (*waits, step.id));
    for (position, (waits, step)) in departures.into_iter().enumerate().skip(unready) {
        let started = (size + surge + position).saturating_sub(rollout.members.len()).min(roll.starts.len());
        let needed = (floor + position + 1).saturating_sub(unready + ready).min(roll.waits.len() + started);
        if waits < needed {
            return Some(format!(
                "{} waits for {waits} ready machines, and the budget of {} needs {needed} with the machines that it has now",
                step.title(),
                roll.change.address
            ));
        }
    }
    None
}
