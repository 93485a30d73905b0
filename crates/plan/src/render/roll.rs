//! The machines that a change rolls, and the gates they go through.

use std::collections::{BTreeMap, HashMap, HashSet};

use slipway_resource::Address;

use super::clean::{clean, plural, wrap};
use super::duration::duration;
use super::group::View;
use super::line::{Line, Mark, Style};
use super::names;
use super::text::TextOptions;
use crate::change::{MachineChange, ResourceChange};
use crate::file::Plan;
use crate::step::{Step, StepAction, StepId};

/// Maximum number of machines, including new ones, whose gates are listed one by one without `--verbose`.
const LISTED: usize = 16;

/// Lines about the machines of a change: which, why, and who blocks them.
pub(super) fn lines(
    change: &ResourceChange,
    view: &View<'_>,
    options: &TextOptions,
    indent: usize,
) -> Vec<Line> {
    if change.machines.is_empty() {
        return Vec::new();
    }
    let mut out = vec![Line::at(indent).text(headline(change, view))];
    let mut fates: Vec<(bool, &str, Vec<&str>)> = Vec::new();
    let mut place: HashMap<(bool, &str), usize> = HashMap::new();
    for machine in &change.machines {
        let key = (machine.replaced, machine.reason.as_str());
        let position = *place.entry(key).or_insert_with(|| {
            fates.push((key.0, key.1, Vec::new()));
            fates.len() - 1
        });
        if let Some(fate) = fates.get_mut(position) {
            fate.2.push(&machine.name);
        }
    }
    for (replaced, reason, names) in fates {
        let what = if replaced { "replaced" } else { "removed" };
        let head = format!("{what} because {}: ", clean(reason.trim_end_matches('.')));
        out.extend(wrapped(&format!("{head}{}", names::listed(&names)), indent + 2, options, Style::Plain));
    }
    out.extend(blockers(&change.machines, options, indent + 2));
    out
}

fn headline(change: &ResourceChange, view: &View<'_>) -> String {
    let time: u64 = operations(change, view).map(|step| step.estimate_ms).fold(0, u64::saturating_add);
    let machines = plural(change.machines.len(), "machine", "machines");
    if change.action.is_replace() {
        format!("{machines}, all at once, without a drain")
    } else if time == 0 {
        format!("{machines}, in this order")
    } else {
        format!("{machines}, in this order, {} of work", duration(time))
    }
}

/// Pods that would block the drain of machines, as warnings.
fn blockers(machines: &[MachineChange], options: &TextOptions, indent: usize) -> Vec<Line> {
    let mut by_blocker: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for machine in machines {
        for blocker in &machine.blockers {
            by_blocker.entry(blocker).or_default().push(&machine.name);
        }
    }
    by_blocker
        .into_iter()
        .flat_map(|(blocker, names)| {
            let text = format!("! {} (blocks {})", clean(blocker), names::listed(&names));
            wrapped(&text, indent, options, Style::Warning)
        })
        .map(|line| line.marked(Mark::Attention))
        .collect()
}

/// What a change waits for before its roll, and the gates of each machine in their order.
pub(super) struct Turns<'p> {
    /// The gates on other resources and the rolls of other pools that come before, as `snapshot sim_backup_store.etcd-main`.
    pub(super) first: Vec<String>,
    /// The machines, each with its gates, in the order in which each has its first one.
    pub(super) machines: Vec<(String, Vec<&'p Step>)>,
}

impl<'p> Turns<'p> {
    /// The turns of the machines of a change.
    pub(super) fn of(change: &ResourceChange, view: &View<'p>) -> Self {
        let mut turns = Self { first: Vec::new(), machines: Vec::new() };
        let mut first: Vec<&Step> = Vec::new();
        let mut place: HashMap<String, usize> = HashMap::new();
        let names: HashMap<&str, &str> = change
            .machines
            .iter()
            .map(|machine| (machine.identity.as_str(), machine.name.as_str()))
            .collect();
        for step in operations(change, view) {
            let subject = node(step, &names).or_else(|| machine(step)).unwrap_or_else(|| "all".to_owned());
            let position = *place.entry(subject.clone()).or_insert_with(|| {
                turns.machines.push((subject, Vec::new()));
                turns.machines.len() - 1
            });
            if let Some((_, gates)) = turns.machines.get_mut(position) {
                gates.push(step);
            }
            first.extend(prerequisites(step, view.plan));
        }
        first.sort_by_key(|step| step.id);
        first.dedup_by_key(|step| step.id);
        turns.first = before(&first, view);
        turns
    }
}

/// The gates before a roll in words. Gates of another roll are one entry if that roll ends with them.
fn before(gates: &[&Step], view: &View<'_>) -> Vec<String> {
    let ids: HashSet<StepId> = gates.iter().map(|step| step.id).collect();
    let mut rolls: HashMap<&Address, bool> = HashMap::new();
    let mut out = Vec::new();
    for step in gates {
        let pool = step.pool();
        let is_first = !rolls.contains_key(pool);
        let is_roll = *rolls.entry(pool).or_insert_with(|| ends_with(pool, &ids, view));
        match (is_roll, is_first) {
            (true, true) => out.push(format!("roll {pool}")),
            (true, false) => {}
            (false, _) => out.push(view.titles.title(step)),
        }
    }
    out
}

/// Whether the machines of a pool are rolled, and none of its gates comes after all of these.
fn ends_with(pool: &Address, gates: &HashSet<StepId>, view: &View<'_>) -> bool {
    let is_rolled = |change: &ResourceChange| change.address == *pool && change.rolls();
    if !view.plan.changes.iter().any(is_rolled) {
        return false;
    }
    let is_gate = |step: &&&Step| matches!(step.action, StepAction::Operation { .. });
    let own: Vec<&Step> = view.steps(pool).iter().filter(is_gate).copied().collect();
    let followed: HashSet<StepId> = own.iter().flat_map(|step| step.depends_on.iter().copied()).collect();
    own.iter().filter(|step| !followed.contains(&step.id)).all(|step| gates.contains(&step.id))
}

/// The gates by machine, in the order in which each has its first one.
pub(super) fn gates(
    change: &ResourceChange,
    view: &View<'_>,
    options: &TextOptions,
    indent: usize,
) -> Vec<Line> {
    if change.machines.is_empty() {
        return Vec::new();
    }
    let Turns { first, machines } = Turns::of(change, view);
    let mut out: Vec<Line> =
        first.iter().map(|title| Line::at(indent + 2).text(format!("first {}", clean(title)))).collect();
    let shown = if options.verbose || machines.len() <= LISTED { machines.len() } else { LISTED / 4 };
    let width = machines.iter().take(shown).map(|(subject, _)| subject.chars().count()).max();
    let width = width.unwrap_or(0);
    for (position, (subject, gates)) in machines.iter().take(shown).enumerate() {
        let gates: Vec<&str> = gates.iter().map(|step| step.action.verb()).collect();
        let text = format!("{:>3}. {subject:width$}  {}", position + 1, clean(&gates.join(", ")));
        out.push(Line::at(indent + 2).text(text));
    }
    if machines.len() > shown {
        let text = format!("     … and {} more in the same way", machines.len() - shown);
        out.push(Line::at(indent + 2).with(Style::Faint, text));
    }
    out
}

/// Gates on other resources that a step waits for.
pub(super) fn prerequisites<'p>(step: &'p Step, plan: &'p Plan) -> impl Iterator<Item = &'p Step> {
    step.depends_on
        .iter()
        .filter_map(|id| plan.steps.get(id.index()))
        .filter(|other| matches!(other.action, StepAction::Operation { .. }) && other.address != step.address)
        // The gates of a roll are steps on the pool and on its nodes.
        .filter(|other| other.pool() != step.pool())
}

fn operations<'v, 'p>(
    change: &ResourceChange,
    view: &'v View<'p>,
) -> impl Iterator<Item = &'p Step> + use<'v, 'p> {
    view.steps(&change.address)
        .iter()
        .copied()
        .filter(|step| matches!(step.action, StepAction::Operation { .. }))
}

/// The name of the node that a gate is about, where it is among the names of the change's machines by identity.
fn node(step: &Step, names: &HashMap<&str, &str>) -> Option<String> {
    let StepAction::Operation { arguments, .. } = &step.action else { return None };
    if step.roll.is_some() && arguments.get("slot").is_none() {
        return Some(clean(step.address.name()).into_owned());
    }
    let member = arguments.get("member")?.as_str()?;
    Some(clean(names.get(member)?).into_owned())
}

/// The machine that a gate is about.
pub(super) fn machine(step: &Step) -> Option<String> {
    let StepAction::Operation { arguments, .. } = &step.action else { return None };
    if step.roll.is_some() && arguments.get("slot").is_none() {
        return Some(clean(step.address.name()).into_owned());
    }
    if let Some(member) = arguments.get("member") {
        return Some(clean(&member.to_plain_text()).into_owned());
    }
    let slot = arguments.get("slot")?;
    Some(format!("new machine {}", clean(&slot.to_plain_text())))
}

/// A sentence over as many lines as it needs, the further ones indented.
pub(super) fn wrapped(text: &str, indent: usize, options: &TextOptions, style: Style) -> Vec<Line> {
    let room = options.width.saturating_sub(indent + 2).max(24);
    wrap(text, room)
        .into_iter()
        .enumerate()
        .map(|(position, line)| Line::at(indent + if position == 0 { 0 } else { 2 }).with(style, line))
        .collect()
}
