//! `slipway state mv` and `slipway state rm`

use std::process::ExitCode;

use slipway_operations::{Holding, Unplanned, recorded};
use slipway_resource::{Address, Identity};

use crate::cli::state::{MoveArguments, RemoveArguments};
use crate::code;
use crate::error::CommandError;
use crate::program::Context;
use crate::ui;
use crate::unplanned::{self, Treatment};

/// Gives a record another address.
pub(crate) async fn rename(context: &Context, arguments: &MoveArguments) -> Result<ExitCode, CommandError> {
    let from = address(&arguments.from)?;
    let to = address(&arguments.to)?;
    if from.kind() != to.kind() {
        let message = format!("{from} cannot become {to}: an object keeps its type");
        return Err(CommandError::new(code::NEW_ADDRESS, message));
    }
    let environment = context.environment()?;
    let shown = recorded::read(&environment, &arguments.cluster, None).await?;
    recorded::select(&arguments.cluster, &shown.snapshot, &[from.to_string()])?;
    let identity = |snapshot: &slipway_plan::Snapshot| {
        snapshot.resources.get(&from).map(|record| record.identity.clone())
    };
    let object = identity(&shown.snapshot);
    let named = object.as_ref().map_or_else(String::new, |object| format!("  ({object})"));
    context.output.message(&format!("  {from} → {to}{named}"));
    if let Some(machines) = still_to_replace(&shown.snapshot, &from) {
        context
            .output
            .message(&format!("  The roll of {from} did not end. It continues at {to}: {machines}"));
    }
    let types = recorded::Types::of(&environment, &[&shown.snapshot]).await?;
    let effect = format!("{from} ({}) is {to}", object.as_ref().map_or("", Identity::as_str));
    let change = Unplanned::of(&environment, "state mv", &arguments.cluster, vec![effect]).await?;
    let treatment = Treatment { approve: arguments.approve, yes: arguments.change.yes };
    let Some(allowed) = unplanned::allow(context, &environment, change, treatment).await? else {
        return Ok(ExitCode::SUCCESS);
    };
    match types.holds(&shown.snapshot, &from) {
        Some(holds) => {
            context.output.message(&format!(
                "{from} {holds}. At a wrong address, the next apply uses it in the place of another object."
            ));
            let question = format!("To give it the address {to}, type `{from}`:");
            let name = from.to_string();
            ui::prompt::named(context, arguments.confirm.as_deref(), (question.as_str(), name.as_str()))?;
        }
        None if arguments.change.yes => {}
        None => ui::prompt::confirm(context, "Give it this address? The cloud is not touched.")?,
    }
    let holding = Holding::take(&environment, &allowed, arguments.change.wait).await?;
    let mut snapshot = holding.state.snapshot.clone();
    if let Err(error) = recorded::select(&arguments.cluster, &snapshot, &[from.to_string()]) {
        return holding.give_back(CommandError::from(error)).await;
    }
    // The object shown to the user must be the one that is moved; another run may have changed the record
    // since.
    if identity(&snapshot) != object {
        let error = CommandError::new(
            code::CHANGED_MEANWHILE,
            format!("{from} was changed in the meantime; nothing was done"),
        );
        return holding.give_back(error.hint("look again, and try again")).await;
    }
    if snapshot.resources.contains_key(&to) {
        let error = CommandError::new(code::NEW_ADDRESS, format!("{to} is the address of another resource"));
        let hint = format!("`slipway state rm {} {to}` forgets that one", arguments.cluster);
        return holding.give_back(error.hint(hint)).await;
    }
    if let Some(record) = snapshot.resources.remove(&from) {
        snapshot.resources.insert(to.clone(), record);
    }
    if let Some(left) = snapshot.rolls.remove(&from) {
        snapshot.rolls.insert(to.clone(), left);
    }
    for record in snapshot.resources.values_mut() {
        for needed in record.depends_on.iter_mut().filter(|needed| **needed == from) {
            needed.clone_from(&to);
        }
    }
    let generation = holding.commit(&snapshot, format!("{from} is {to}")).await?;
    let text = format!("{from} is {to} from now on. {} is at generation {generation}.", arguments.cluster);
    ui::report::changed(context, &arguments.result, (&arguments.cluster, generation), &text)?;
    context.output.message(&format!(
        "The ownership tags of the object stay as they are. The next plan changes them if the spec has {to} and they have another \
         address. If the spec has {from} and not {to}, the next plan gives the object that address again."
    ));
    Ok(ExitCode::SUCCESS)
}

/// Forgets records. Slipway does not change their objects any more.
pub(crate) async fn forget(context: &Context, arguments: &RemoveArguments) -> Result<ExitCode, CommandError> {
    let environment = context.environment()?;
    let shown = recorded::read(&environment, &arguments.cluster, None).await?;
    let selected = recorded::select(&arguments.cluster, &shown.snapshot, &arguments.addresses)?;
    for address in &selected {
        let identity = shown.snapshot.resources.get(address).map(|record| record.identity.as_str());
        context.output.message(&format!("  ∅ {address}  ({})", identity.unwrap_or_default()));
        if let Some(machines) = still_to_replace(&shown.snapshot, address) {
            context.output.message(&format!(
                "  ! the roll of {address} did not end, and is forgotten with it; these machines are not replaced: {machines}"
            ));
        }
    }
    let forgets = |address: &&Address| {
        let record = shown.snapshot.resources.get(*address);
        format!("{address} ({}) is forgotten", record.map_or("", |record| record.identity.as_str()))
    };
    let effects = selected.iter().map(forgets).collect();
    let change = Unplanned::of(&environment, "state rm", &arguments.cluster, effects).await?;
    let treatment = Treatment { approve: arguments.approve, yes: arguments.change.yes };
    let Some(allowed) = unplanned::allow(context, &environment, change, treatment).await? else {
        return Ok(ExitCode::SUCCESS);
    };
    if !arguments.change.yes {
        ui::prompt::confirm(context, "Forget these? The cloud is not touched.")?;
    }
    let holding = Holding::take(&environment, &allowed, arguments.change.wait).await?;
    let mut snapshot = holding.state.snapshot.clone();
    // The object shown to the user must be the one that is forgotten; another run may have changed the record
    // since.
    let moved = selected.iter().find(|address| {
        let identity = |snapshot: &slipway_plan::Snapshot| {
            snapshot.resources.get(address).map(|record| record.identity.clone())
        };
        identity(&snapshot) != identity(&shown.snapshot)
    });
    if let Some(address) = moved {
        let error = CommandError::new(
            code::CHANGED_MEANWHILE,
            format!("{address} was changed in the meantime; nothing was done"),
        );
        return holding.give_back(error.hint("look again, and try again")).await;
    }
    for address in &selected {
        let Some(record) = snapshot.resources.remove(address) else { continue };
        snapshot.rolls.remove(address);
        let forgotten = snapshot.forgotten.entry((*address).clone()).or_default();
        forgotten.push(record.identity);
        forgotten.extend(record.deposed);
        forgotten.sort();
        forgotten.dedup();
    }
    for record in snapshot.resources.values_mut() {
        record.depends_on.retain(|needed| !selected.contains(&needed));
    }
    let names: Vec<String> = selected.iter().map(ToString::to_string).collect();
    let generation = holding.commit(&snapshot, format!("forgot {}", names.join(", "))).await?;
    let count = if names.len() == 1 { "1 resource".to_owned() } else { format!("{} resources", names.len()) };
    let cluster = &arguments.cluster;
    let text = format!("Forgot {count}. {cluster} is at generation {generation}.");
    ui::report::changed(context, &arguments.result, (cluster, generation), &text)?;
    context.output.message(
        "The objects are in the cloud as before and keep the cluster's ownership. They are left alone, also when the \
         cluster is deleted, unless the spec asks for their address: then the next apply takes them over again instead \
         of making others.",
    );
    Ok(ExitCode::SUCCESS)
}

/// The machines of a pool that a roll which did not end is still to replace.
fn still_to_replace(snapshot: &slipway_plan::Snapshot, pool: &Address) -> Option<String> {
    let machines = snapshot.rolls.get(pool).filter(|machines| !machines.is_empty())?;
    Some(machines.iter().map(Identity::as_str).collect::<Vec<_>>().join(", "))
}

fn address(text: &str) -> Result<Address, CommandError> {
    text.parse().map_err(|error: slipway_resource::AddressError| {
        CommandError::new(code::NO_ADDRESS, format!("`{text}` is not an address of a resource")).cause(error)
    })
}
