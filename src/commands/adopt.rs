//! `slipway adopt`

use std::process::ExitCode;

use slipway_engine::Adopted;
use slipway_operations::{Adopting, KeySource};
use slipway_provider_hosts::{AGENT, CLAIM};

use crate::cli::adoption::AdoptArguments;
use crate::error::CommandError;
use crate::program::Context;
use crate::specs::{self, Selection};
use crate::ui;

/// Adopts the objects of another tool for a cluster. Writes only the state.
pub(crate) async fn run(context: &Context, arguments: &AdoptArguments) -> Result<ExitCode, CommandError> {
    let spec = specs::one(context, &Selection::from(&arguments.spec))?;
    let name = spec.cluster.name.clone();
    let environment = context.environment()?;
    let keys = match arguments.keys.as_deref() {
        None => KeySource::Spec,
        Some("none") => KeySource::Nowhere,
        Some(place) => KeySource::At(place.to_owned()),
    };
    let adopting = Adopting::look(&environment, spec, keys).await?;
    ui::report::found(
        context,
        &arguments.result,
        arguments.change.yes || arguments.dry_run,
        &report(adopting.found(), adopting.notes()),
    )?;
    adopting.refuse_ambiguous()?;
    if arguments.dry_run {
        let Adopted { snapshot, missing, .. } = adopting.found();
        ui::report::dry_run(context, &arguments.result, snapshot, missing)?;
        return Ok(ExitCode::from(2));
    }
    if !arguments.change.yes {
        ui::prompt::confirm(context, "Take this over?")?;
    }
    let generation = adopting.take_over(&environment, arguments.change.wait).await?;
    let text = format!("{name} is at generation {generation}. Nothing in the cloud was changed.");
    ui::report::changed(context, &arguments.result, (&name, generation), &text)?;
    context.output.message("`slipway plan` shows what differs from the spec.");
    Ok(ExitCode::SUCCESS)
}

fn report(adopted: &Adopted, notes: &[String]) -> String {
    let mut text = String::new();
    let mut put = |mark: &str, what: String| text.push_str(&format!("  {mark} {what}\n"));
    for (address, record) in &adopted.snapshot.resources {
        let how = if record.existing { ": only used" } else { "" };
        put("≡", format!("{address}  ({}){how}", record.identity));
    }
    for (address, identities) in &adopted.ambiguous {
        put("!", format!("{address}: {} objects fit", identities.len()));
    }
    for address in &adopted.missing {
        // These are made with the adoption itself.
        if [CLAIM, AGENT].contains(&address.kind()) {
            put("+", format!("{address}"));
            continue;
        }
        put("?", format!("{address}: the spec asks for it, and nothing was found; the next plan makes it"));
    }
    for (address, paths) in &adopted.as_found {
        let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
        let what = format!("{address}: the spec does not ask for {}, which stays as found", paths.join(", "));
        put("=", what);
    }
    for note in notes {
        put("i", note.clone());
    }
    let owned = adopted.snapshot.resources.values().filter(|record| !record.existing).count();
    text.push_str(&format!("Found {owned} resources of {}.\n", adopted.snapshot.cluster));
    text
}
