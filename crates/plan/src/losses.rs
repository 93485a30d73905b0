//! The data that machines of a saved plan lose with their deletion, read again before the plan is carried
//! out.
//!
//! Types do not say which machines have local disks. The provider of a pool does, from the pool as it exists
//! now. The statement in a plan file is not trusted.

use std::collections::{BTreeMap, BTreeSet};

use slipway_resource::provider::{DiscoverRequest, PlanItem, ReadRequest, Rollout, operation};
use slipway_resource::{Address, Identity, Observation, ProviderError, Value};

use crate::change::{ChangeAction, ResourceChange};
use crate::error::Error;
use crate::file::{Mode, Plan};
use crate::nodes::Nodes;
use crate::providers::{Providers, ask};
use crate::soundness::rolls;
use crate::state::{Snapshot, by_identity};
use crate::step::StepAction;

/// Refuses a plan whose steps remove machines with data, or all machines of a pool at once, without asking for a confirmation.
///
/// # Errors
/// [`Error::Unsound`], and when a pool of a cluster that stays cannot be read.
pub(crate) async fn check(plan: &Plan, providers: &Providers, prior: Option<&Snapshot>) -> Result<(), Error> {
    for change in plan.changes.iter().filter(|change| change.confirmation.is_none()) {
        if !removes_machines(plan, change, providers) {
            continue;
        }
        match hides_loss(change, providers, prior).await {
            Ok(false) => {}
            Ok(true) => {
                let fault = format!(
                    "{} loses what its machines hold, and the plan asks for no confirmation",
                    change.address
                );
                return Err(Error::Unsound { fault });
            }
            // The name of the cluster confirms every loss.
            Err(_) if plan.mode == Mode::Delete => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Refuses a plan that deletes an object that the state does not have at its address, unless the provider finds the object by the
/// ownership of the cluster, and the state does not have it at another address. An older object of the address is deleted only if
/// it is found in this way: the state alone, as from an archive, does not tell.
///
/// # Errors
/// [`Error::Unsound`], and when a provider cannot be asked.
pub(crate) async fn check_owners(
    plan: &Plan,
    providers: &Providers,
    prior: Option<&Snapshot>,
) -> Result<(), Error> {
    let moved =
        plan.changes.iter().filter_map(|change| Some((&change.address, change.previous_address.as_ref()?)));
    let moved: BTreeMap<&Address, &Address> = moved.collect();
    let mut unrecorded: BTreeMap<&str, Vec<(&Address, &Identity)>> = BTreeMap::new();
    for step in plan.steps.iter().filter(|step| matches!(step.action, StepAction::Delete { .. })) {
        let Some(identity) = &step.identity else { continue };
        let records = |address| prior.and_then(|prior| prior.resources.get(address));
        let is_recorded = [Some(&step.address), moved.get(&step.address).copied()]
            .into_iter()
            .flatten()
            .filter_map(records)
            .any(|record| record.identity == *identity);
        if let (false, Some((name, _, _))) = (is_recorded, providers.of_type(step.address.kind())) {
            unrecorded.entry(name).or_default().push((&step.address, identity));
        }
    }
    if unrecorded.is_empty() {
        return Ok(());
    }
    let recorded = by_identity(prior.into_iter().flat_map(|prior| &prior.resources));
    for (name, deleted) in unrecorded {
        let Some(handle) = providers.get(name) else { continue };
        let mut types: Vec<String> = deleted.iter().map(|(address, _)| address.kind().to_owned()).collect();
        types.sort();
        types.dedup();
        let request = DiscoverRequest { uid: plan.binding.uid.clone(), cluster: plan.cluster.clone(), types };
        let found = handle.session.discover(request).await;
        let found = found
            .map_err(|source| Error::Provider { provider: name.to_owned(), source: Box::new(source) })?;
        let owned: BTreeSet<(&Address, &Identity)> =
            found.observed.iter().map(|object| (&object.address, &object.identity)).collect();
        for (address, identity) in deleted {
            let why = match recorded.get(&(address.kind(), identity)) {
                Some(other) => format!("which is {other} in the state"),
                None if owned.contains(&(address, identity)) => continue,
                None if moved.get(address).is_some_and(|old| owned.contains(&(*old, identity))) => continue,
                None => "which does not have the ownership of the cluster and of this address".to_owned(),
            };
            return Err(Error::Unsound { fault: format!("it deletes {identity} as {address}, {why}") });
        }
    }
    Ok(())
}

/// Whether the steps of a change take machines of a pool away.
fn removes_machines(plan: &Plan, change: &ResourceChange, providers: &Providers) -> bool {
    let Some((_, _, kind)) = providers.of_type(change.address.kind()) else { return false };
    let removes = |action: &StepAction| match action {
        StepAction::Delete { .. } | StepAction::RemovedWithParent { .. } => true,
        StepAction::Operation { name, .. } => name == operation::REMOVE,
        _ => false,
    };
    kind.operations.contains_key(operation::REMOVE)
        && plan.steps.iter().any(|step| step.address == change.address && removes(&step.action))
}

/// Refuses a plan by which machines of a pool leave before as many are ready as the budget of the pool needs, or without a drain
/// of the nodes that they are. New machines must be verified where the nodes of the pool are.
///
/// # Errors
/// [`Error::Unsound`], and when a pool cannot be read.
pub(crate) async fn check_budgets(
    plan: &Plan,
    providers: &Providers,
    prior: Option<&Snapshot>,
) -> Result<(), Error> {
    let mut nodes = Nodes::new(providers, prior);
    for (address, roll) in rolls::of(&plan.changes, &plan.steps) {
        if roll.removals.is_empty() || plan.mode == Mode::Delete {
            continue;
        }
        let Some((_, _, kind)) = providers.of_type(address.kind()) else { continue };
        let Some(mut rollout) = rollout(roll.change, providers, prior).await? else { continue };
        if let Some(why) = &rollout.irremovable {
            return Err(Error::Unsound {
                fault: format!("machines of {address} leave, and have to stay: {why}"),
            });
        }
        // Where the nodes cannot be read, the steps of the roll fail too.
        if let Ok((gates, _)) = nodes.join(address, &mut rollout, kind).await
            && let Some(fault) =
                rolls::ungated(&roll, &rollout, &gates).or_else(|| rolls::over_budget(&roll, &rollout))
        {
            return Err(Error::Unsound { fault });
        }
    }
    Ok(())
}

/// Whether machines that leave have data, by the pool as it exists.
async fn hides_loss(
    change: &ResourceChange,
    providers: &Providers,
    prior: Option<&Snapshot>,
) -> Result<bool, Error> {
    let rollout = rollout(change, providers, prior).await?;
    Ok(rollout.is_some_and(|rollout| {
        !rollout.members.is_empty() && (rollout.loses.is_some() || change.action.is_replace())
    }))
}

/// The roll of a change, by the pool as it exists and by what was applied to it last; none where there is nothing to roll.
async fn rollout(
    change: &ResourceChange,
    providers: &Providers,
    prior: Option<&Snapshot>,
) -> Result<Option<Rollout>, Error> {
    let Some((name, handle, _)) = providers.of_type(change.address.kind()) else { return Ok(None) };
    let failed =
        |source: ProviderError| Error::Provider { provider: name.to_owned(), source: Box::new(source) };
    let Some(identity) = &change.identity else { return Ok(None) };
    let request = ReadRequest { address: change.address.clone(), identity: identity.clone() };
    let read = handle.session.read(vec![request]).await.map_err(failed)?;
    let observed: Value = match read.into_iter().next().map(|read| read.observation) {
        Some(Observation::Present(attributes)) => attributes,
        Some(Observation::Unreadable(error)) => return Err(failed(error)),
        Some(Observation::Absent) | None => return Ok(None),
    };
    let goes = change.action == ChangeAction::Delete;
    // Clouds do not show all settings of a pool.
    let addresses = [Some(&change.address), change.previous_address.as_ref()].into_iter().flatten();
    let mut records = addresses.filter_map(|address| prior?.resources.get(address));
    let last_applied = records.next().and_then(|record| record.applied.clone());
    let item = PlanItem {
        address: change.address.clone(),
        desired: (!goes).then(|| change.record.applied.clone()),
        observed: Some(observed),
        last_applied,
    };
    let planned = ask(providers, vec![item]).await?;
    Ok(planned.into_iter().next().and_then(|planned| planned.rollout))
}
