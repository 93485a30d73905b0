//! Turns decisions into a plan: scope, confirmations, steps, and the rules of whole plans.

use std::collections::{BTreeMap, BTreeSet};

use slipway_resource::provider::{Disruption, Rollout, operation};
use slipway_resource::schema::Part;
use slipway_resource::{Address, Digest, Identity, Path};

use super::{Inputs, Uncompared};
use crate::assemble::{self, Decided};
use crate::cascade::Cascades;
use crate::change::{ChangeAction, ResourceChange};
use crate::decide::Decision;
use crate::error::Error;
use crate::file::{Binding, FORMAT, Mode, Plan, WITH_DEPENDENCIES};
use crate::graph::Dependencies;
use crate::irreplaceable::Guard;
use crate::lint::lint;
use crate::nodes::Nodes;
use crate::orphans;
use crate::providers::preflight;
use crate::queue::ReadyQueue;
use crate::reason::{Reason, ReasonCode};
use crate::scope::LeftOut;
use crate::state::Record;
use crate::{
    circles, cordoned, estimate, ground, holds, ignored, on_demand, prices, recorded, scope, succession,
    target,
};

/// What a cluster without a state has forgotten.
static NOTHING_FORGOTTEN: BTreeMap<Address, Vec<Identity>> = BTreeMap::new();

/// The missing gates of a roll if the nodes of the cluster are not known.
const NOT_DRAINED: &str = "no node is cordoned or drained, and new machines are not verified: Slipway has no access to \
                           the API of the cluster";
/// Why control planes that are rolled without a look at their nodes are confirmed.
const NOT_VERIFIED: &str = "its control planes leave one after the other, and nothing checks that a new one serves the API and \
                            etcd before the next one leaves: --infrastructure-only does not connect to the cluster";

/// Makes a plan of what was decided.
///
/// # Errors
/// When the plan would lose something irreplaceable or breaks a rule of whole plans, and as providers say.
pub(super) async fn finish(
    inputs: &Inputs<'_>,
    dependencies: &Dependencies,
    records: &BTreeMap<Address, Record>,
    mut nodes: Nodes<'_>,
    mut decided: Decided,
) -> Result<Plan, Error> {
    on_demand::leave_out(&mut decided, dependencies);
    let standing_on =
        orphans::standing_on(decided.by_address.keys(), records, &inputs.observations, &|kind| {
            inputs.providers.of_type(kind).map(|(_, _, declared)| declared)
        });
    ground::keep(&mut decided, &standing_on);
    let rule_of = |address: &Address| inputs.providers.of_type(address.kind())?.2.irreplaceable.as_ref();
    let is_asked_for = |address: &Address| {
        let declared = inputs.providers.of_type(address.kind()).map(|(_, _, declared)| declared);
        let fingerprint = declared
            .and_then(|declared| declared.attributes.get(&declared.irreplaceable.as_ref()?.fingerprint));
        fingerprint.is_some_and(|fingerprint| fingerprint.mode == slipway_resource::Mode::OptionalComputed)
    };
    let is_key = |address: &Address, path: &Path| {
        let declared = inputs.providers.of_type(address.kind()).map(|(_, _, declared)| declared);
        declared.is_some_and(|declared| declared.is_key_material(path))
    };
    let forgets = |address: &Address| inputs.uncompared.get(address) == Some(&Uncompared::Forgotten);
    let unread = |address: &Address| match inputs.uncompared.get(address) {
        Some(Uncompared::Unread(why)) => Some(why.clone()),
        _ => None,
    };
    let guard = Guard {
        cluster: inputs.cluster,
        mode: inputs.mode,
        records,
        forgotten: inputs.prior.map_or(&NOTHING_FORGOTTEN, |prior| &prior.forgotten),
        observations: &inputs.observations,
        overwrites: &inputs.options.overwrites,
        rule_of: &rule_of,
        is_asked_for: &is_asked_for,
        is_key: &is_key,
        forgets: &forgets,
        unread: &unread,
        depends_on: &dependencies.by_address,
    };
    // Before the scope is applied: a resource that a part creates may replace one that the whole plan would
    // lose.
    guard.enforce(&mut decided)?;
    name_machines_of_replaced(&mut decided);
    name_data_of_machines(&mut decided);
    let mut notes = inputs.notes.clone();
    if inputs.mode == Mode::Apply {
        notes.append(&mut decided.notes);
        name_removed_machines(&mut decided);
        notes.extend(succession::last_workers(&decided).filter(|_| !inputs.options.is_partial()));
    }
    let leaving =
        if inputs.mode == Mode::Apply { succession::leaving_control_planes(&decided) } else { None };
    let machines = succession::machines(&decided);
    let part = scope::of(&inputs.options, &inputs.desired, dependencies, &decided);
    let pending = part.map_or_else(Vec::new, |part| {
        let leaving = guard.leaving(&decided);
        let pending = scope::narrow(&mut decided, part, &inputs.desired, dependencies, &standing_on);
        guard.name_successors(&mut decided, &leaving);
        pending
    });
    if let Some(leaving) = leaving.filter(|leaving| leaving.is_in(&decided)) {
        return Err(leaving.into());
    }
    if inputs.mode == Mode::Apply {
        keep_irremovable(&decided)?;
    }
    let is_asked =
        |left: &&LeftOut| left.action.is_replace() && target::any(&inputs.options.replace, &left.address);
    if let Some(left) = pending.iter().find(is_asked) {
        return Err(Error::ReplacedOutside { address: left.address.clone() });
    }
    for decision in decided.by_address.values_mut() {
        decision.change.surplus = decision.surplus.iter().map(|found| found.identity.clone()).collect();
        confirm_surplus(inputs, &mut decision.change);
    }
    let cascades =
        Cascades::find(&decided, &|kind| inputs.providers.of_type(kind).map(|(_, _, declared)| declared));
    if inputs.mode == Mode::Apply {
        ignored::check(inputs, &decided)?;
    }
    // A report of drift replaces nothing, so that nothing has to let go of anything.
    if inputs.mode != Mode::Drift {
        holds::settle(&mut decided, dependencies, &inputs.desired, &|kind| {
            inputs.providers.of_type(kind).map(|(_, _, declared)| declared)
        })?;
    }
    if inputs.mode == Mode::Apply {
        succession::name_outages(&mut decided, &machines);
    }
    join_nodes(inputs, &mut nodes, &mut decided).await?;
    drain_nodes(inputs, &mut nodes, &mut decided).await?;
    cordoned::take_back(inputs, records, &mut nodes, &mut decided).await;
    let steps = if inputs.mode == Mode::Drift {
        Vec::new()
    } else {
        let uses = |own: &Address, needed: &Address| uses(own, needed, dependencies, records);
        let order = circles::opened(&standing_on, &decided, &uses);
        assemble::steps(&mut decided, dependencies, &order, inputs.providers, &cascades)?
    };
    let recorded = if inputs.mode == Mode::Apply && !inputs.options.is_partial() {
        recorded::dependencies(inputs.prior, dependencies, &decided)
    } else {
        BTreeMap::new()
    };
    let (infrastructure_only, infrastructure_accepted) =
        infrastructure_only(&decided, inputs.options.infrastructure_only);
    let rate_classes =
        inputs.providers.iter().flat_map(|(_, handle)| handle.info.rate_classes.clone()).collect();
    let findings = if inputs.options.preflight {
        preflight(inputs.providers, &decided, &steps).await?
    } else {
        Vec::new()
    };
    let mut kept = std::mem::take(&mut decided.kept);
    let mut changes = Vec::with_capacity(decided.by_address.len());
    for decision in decided.by_address.into_values() {
        let change = decision.change;
        let stays = change.action == ChangeAction::Forget && change.identity.is_some() && is_kept(&change);
        if stays { kept.push(change) } else { changes.push(change) }
    }
    kept.sort_by(|left, right| left.address.cmp(&right.address));
    let mut ignored = if inputs.mode == Mode::Apply { decided.ignored } else { Vec::new() };
    ignored.sort_by(|left, right| left.address.cmp(&right.address));
    let estimate_ms = estimate::estimate_ms(&steps, &rate_classes);
    let critical_path_ms = ReadyQueue::new(&steps, &rate_classes).critical_path_ms();
    let plan = Plan {
        format: if recorded.is_empty() { FORMAT } else { WITH_DEPENDENCIES },
        cluster: inputs.cluster.to_owned(),
        mode: inputs.mode,
        binding: Binding {
            uid: inputs.uid.clone(),
            generation: inputs.generation,
            snapshot: None,
            continues: None,
            spec_digest: Digest::of(&inputs.spec).map_err(Error::Write)?,
            catalogs: inputs.catalogs.clone(),
            providers: inputs
                .providers
                .iter()
                .map(|(name, handle)| (name.to_owned(), handle.pin.clone()))
                .collect(),
        },
        spec: inputs.spec.clone(),
        changes,
        unchanged: decided.unchanged,
        dependencies: recorded,
        drift: decided.drift,
        kept,
        steps,
        outlook: Vec::new(),
        left_out: pending.len() as u64,
        pending,
        ignored,
        notes,
        findings,
        infrastructure_only,
        infrastructure_accepted,
        sets_protection: None,
        prices: prices::ask(inputs).await?,
        rate_classes,
        estimate_ms,
        critical_path_ms,
    };
    let broken = lint(&plan, &|kind| inputs.providers.of_type(kind).map(|(_, _, declared)| declared));
    if broken.is_empty() { Ok(plan) } else { Err(Error::Contradiction(broken)) }
}

/// Whether an object uses another one, and is not only recorded to come after it: the spec says so, or the attributes that were
/// applied last name the other object.
fn uses(
    own: &Address,
    needed: &Address,
    dependencies: &Dependencies,
    records: &BTreeMap<Address, Record>,
) -> bool {
    if dependencies.by_address.get(own).is_some_and(|needs| needs.contains(needed)) {
        return true;
    }
    let Some(applied) = records.get(own).and_then(|record| record.applied.as_ref()) else { return false };
    let mut refers = false;
    applied.for_each_reference(&mut |reference| refers |= reference.address == *needed);
    refers || records.get(needed).is_some_and(|record| holds::mentions(applied, record.identity.as_str()))
}

/// Requires a confirmation for the deletion of a second object of an address that has data or machines. A pool that a replacement
/// has left behind was confirmed with the replacement.
fn confirm_surplus(inputs: &Inputs<'_>, change: &mut ResourceChange) {
    let Some((_, _, kind)) = inputs.providers.of_type(change.address.kind()) else { return };
    let has = match kind.stateful {
        true => "data",
        false if kind.operations.contains_key(operation::REMOVE) => "machines",
        false => return,
    };
    let record = inputs.prior.and_then(|prior| prior.resources.get(&change.address));
    let is_leftover = |identity: &Identity| {
        !kind.stateful && record.is_some_and(|record| record.deposed.contains(identity))
    };
    let lost: Vec<&str> =
        change.surplus.iter().filter(|identity| !is_leftover(identity)).map(Identity::as_str).collect();
    if !lost.is_empty() {
        change.confirm(format!(
            "it also deletes {} with its {has}, another object of this address",
            lost.join(", ")
        ));
    }
}

/// Joins the nodes of the cluster to the machines of all rolls, now that it is decided which machines leave.
async fn join_nodes(inputs: &Inputs<'_>, nodes: &mut Nodes<'_>, decided: &mut Decided) -> Result<(), Error> {
    for (address, decision) in &mut decided.by_address {
        let rolls = !decision.change.action.is_replace();
        let Some(rollout) = decision.rollout.as_mut().filter(|rollout| rolls && rollout.has_leaving()) else {
            continue;
        };
        let Some((provider, _, kind)) = inputs.providers.of_type(address.kind()) else { continue };
        let is_exclusive = rollout.exclusive;
        let joined = nodes.join(address, rollout, kind).await;
        let (gates, unknown) = joined
            .map_err(|source| Error::Provider { provider: provider.to_owned(), source: Box::new(source) })?;
        decision.gates = gates;
        if unknown {
            let is_requested = inputs.mode == Mode::Apply && inputs.options.infrastructure_only;
            name_unknown(&mut decision.change, is_exclusive && is_requested);
        }
    }
    Ok(())
}

/// Says that nothing is known of the nodes of a roll. Control planes that are rolled like this on request may become none, and are
/// confirmed by the name of their pool.
fn name_unknown(change: &mut ResourceChange, is_confirmed: bool) {
    change.reasons.push(Reason::new(ReasonCode::NotDrained, NOT_DRAINED));
    if is_confirmed {
        change.disruption = Disruption::Outage;
        change.confirm(NOT_VERIFIED);
    }
}

/// Names the nodes that are drained for a change of their kubelets in place.
async fn drain_nodes(inputs: &Inputs<'_>, nodes: &mut Nodes<'_>, decided: &mut Decided) -> Result<(), Error> {
    for (address, decision) in &mut decided.by_address {
        let change = &mut decision.change;
        let drains = change.action == ChangeAction::Update && change.disruption == Disruption::Rolling;
        let Some((provider, _, kind)) = inputs.providers.of_type(address.kind()) else { continue };
        if !drains || kind.part(address.name()) != Some(Part::Kubelet) {
            continue;
        }
        let name = address.name().rsplit_once('/').map_or(address.name(), |(host, _)| host);
        let found = nodes.of_kubelet(address, name).await;
        let found = found
            .map_err(|source| Error::Provider { provider: provider.to_owned(), source: Box::new(source) })?;
        match found {
            Some((node, blockers)) => {
                change.drained = Some(node);
                let blocked = |blocker: String| {
                    Reason::new(ReasonCode::Provider, format!("its drain is blocked now: {blocker}"))
                };
                change.reasons.extend(blockers.into_iter().map(blocked));
            }
            None => {
                let text = format!(
                    "nothing is drained: the cluster has no node {name} that takes pods again afterwards"
                );
                change.reasons.push(Reason::new(ReasonCode::NotDrained, text));
            }
        }
    }
    Ok(())
}

/// Machines of a pool that is replaced go with it, all at once and without a drain: the plan names them, and the loss is
/// confirmed by the pool's name.
fn name_machines_of_replaced(decided: &mut Decided) {
    for decision in decided.by_address.values_mut() {
        let Some(rollout) = decision.rollout.as_ref().filter(|_| decision.change.action.is_replace()) else {
            continue;
        };
        if rollout.members.is_empty() {
            continue;
        }
        let change = &mut decision.change;
        change.machines = assemble::all_machines(rollout, "its pool is replaced");
        change.disruption = Disruption::Outage;
        let count = rollout.members.len();
        let machines =
            if count == 1 { "its machine".to_owned() } else { format!("its {count} machines at once") };
        change.confirm(format!("replacing it removes {machines}, without a drain"));
    }
}

/// The machines of a deleted pool leave one after the other, which users of the cluster notice as a roll.
fn name_removed_machines(decided: &mut Decided) {
    for decision in decided.by_address.values_mut() {
        let leaves = decision.rollout.as_ref().is_some_and(Rollout::has_leaving);
        if leaves && decision.change.action == ChangeAction::Delete {
            decision.change.disruption = decision.change.disruption.max(Disruption::Rolling);
        }
    }
}

/// The roll by which machines of a pool leave.
fn leaving(decision: &Decision) -> Option<&Rollout> {
    let is_replaced = decision.change.action.is_replace();
    let goes = |rollout: &&Rollout| rollout.has_leaving() || is_replaced && !rollout.members.is_empty();
    decision.rollout.as_ref().filter(goes)
}

/// Refuses a plan by which machines leave that have to stay while the cluster does.
fn keep_irremovable(decided: &Decided) -> Result<(), Error> {
    for (address, decision) in &decided.by_address {
        if let Some(why) = leaving(decision).and_then(|rollout| rollout.irremovable.clone()) {
            return Err(Error::MachinesStay { address: address.clone(), why });
        }
    }
    Ok(())
}

/// Data that machines take with them is named, and its loss is confirmed by the pool's name.
fn name_data_of_machines(decided: &mut Decided) {
    for decision in decided.by_address.values_mut() {
        let Some(loss) = leaving(decision).and_then(loss) else { continue };
        let change = &mut decision.change;
        change.reasons.push(Reason::new(ReasonCode::Provider, loss.as_str()));
        change.confirm(loss);
    }
}

/// A sentence on the data that machines of a roll take with them, if they have any.
pub(super) fn loss(rollout: &Rollout) -> Option<String> {
    rollout.loses.as_ref().map(|loses| format!("each machine that goes loses {loses}"))
}

/// Properties of the spec that the infrastructure does not implement, and whether that was accepted: by this
/// request, or by the one that created the unchanged resources.
fn infrastructure_only(decided: &Decided, is_accepted: bool) -> (Vec<String>, bool) {
    let changed = decided.by_address.values().filter_map(|decision| decision.infrastructure_only.clone());
    let mut all: BTreeSet<String> = changed.collect();
    let is_accepted = is_accepted || all.is_empty() && !decided.infrastructure_only.is_empty();
    all.extend(decided.infrastructure_only.iter().cloned());
    (all.into_iter().collect(), is_accepted)
}

fn is_kept(change: &ResourceChange) -> bool {
    change.reasons.iter().any(|reason| reason.code == ReasonCode::Retained)
}

#[cfg(test)]
mod tests {
    use slipway_resource::provider::{Fate, Member};

    use super::*;
    use crate::assemble::plain;
    use crate::examples::workers;

    fn decided(action: ChangeAction) -> Decided {
        let address = "any_template.a".parse().unwrap();
        let change = ResourceChange { action, ..ResourceChange::bare(&address, "any", 1) };
        let text = Some("its machines do not become nodes".to_owned());
        let mut decided = Decided::default();
        decided.insert(Decision { infrastructure_only: text, ..plain(change) });
        decided
    }

    #[test]
    fn a_template_that_stays_as_it_is_makes_no_nodes_either() {
        for (action, is_accepted) in [(ChangeAction::NoOp, true), (ChangeAction::Create, false)] {
            let (missing, accepted) = infrastructure_only(&decided(action), false);
            assert_eq!((missing.len(), accepted), (1, is_accepted), "{action:?}");
        }
        assert_eq!(infrastructure_only(&Decided::default(), false), (Vec::new(), false));
    }

    #[test]
    fn control_planes_whose_nodes_are_not_known_are_confirmed_for_the_infrastructure_alone() {
        let address: Address = "pool.a".parse().unwrap();
        let named = |is_confirmed: bool| {
            let mut change = ResourceChange::bare(&address, "any", 1);
            name_unknown(&mut change, is_confirmed);
            assert!(change.reasons.iter().any(|reason| reason.code == ReasonCode::NotDrained));
            (change.confirmation.is_some(), change.disruption)
        };
        assert_eq!(named(false), (false, Disruption::None));
        assert_eq!(named(true), (true, Disruption::Outage));
    }

    #[test]
    fn machines_that_have_to_stay_do_not_leave() {
        let decided = |fate: Fate, why: Option<&str>| {
            let member = Member {
                name: "m".to_owned(),
                identity: Identity::new("m"),
                fate,
                ready: true,
                blockers: Vec::new(),
                node: None,
            };
            let rollout = Rollout { members: vec![member], irremovable: why.map(str::to_owned), ..workers() };
            let address = "pool.a".parse().unwrap();
            let change =
                ResourceChange { action: ChangeAction::Update, ..ResourceChange::bare(&address, "any", 1) };
            let mut decided = Decided::default();
            decided.insert(Decision { rollout: Some(rollout), ..plain(change) });
            decided
        };
        let retired = || Fate::Retire { reason: "it is one too many".to_owned() };
        let replaced = || Fate::Replace { reason: "its image changes".to_owned(), path: None };
        let why = Some("its disk cannot be moved");
        for fate in [retired(), replaced()] {
            let refused = keep_irremovable(&decided(fate, why)).unwrap_err();
            assert_eq!(
                refused.to_string(),
                "pool.a: its machines cannot be replaced or removed: its disk cannot be moved"
            );
        }
        assert!(keep_irremovable(&decided(Fate::Keep, why)).is_ok());
        assert!(keep_irremovable(&decided(retired(), None)).is_ok());
    }
}
