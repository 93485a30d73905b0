//! `slipway state rebuild`

use std::process::ExitCode;

use slipway_operations::rebuilding::Protection;
use slipway_operations::{Damage, Error, Rebuilding, rebuilding};

use crate::cli::state::RebuildArguments;
use crate::error::CommandError;
use crate::program::Context;
use crate::specs::{self, Selection};
use crate::ui;
use crate::unplanned::{self, Treatment};

/// Rebuilds a lost or damaged state from the objects with the cluster's ownership.
pub(crate) async fn run(context: &Context, arguments: &RebuildArguments) -> Result<ExitCode, CommandError> {
    let selection = Selection {
        files: arguments.files.clone(),
        cluster: Some(arguments.cluster.clone()),
        provider: arguments.provider.clone(),
        provider_config: arguments.provider_config.clone(),
    };
    let spec = specs::one(context, &selection)?;
    let name = spec.cluster.name.clone();
    let environment = context.environment()?;
    let damage = Damage::look(&environment, &name, arguments.force, arguments.key_lost).await;
    let damage = damage.map_err(|error| refused(&name, error))?;
    for problem in &damage.problems {
        context.output.message(&format!("  {problem}"));
    }
    if damage.problems.is_empty() && !arguments.force {
        return Err(Error::NotDamaged { cluster: name }.into());
    }
    let rebuilding = Rebuilding::look(&environment, spec, &damage).await?;
    ui::report::found(
        context,
        &arguments.result,
        arguments.change.yes || arguments.dry_run,
        &report(rebuilding.found()),
    )?;
    if arguments.dry_run {
        let rebuilt = &rebuilding.found().rebuilt;
        ui::report::dry_run(context, &arguments.result, &rebuilt.snapshot, &rebuilt.missing)?;
        return Ok(ExitCode::from(2));
    }
    let change = rebuilding.change(&environment).await?;
    let treatment = Treatment { approve: arguments.approve, yes: arguments.change.yes };
    let Some(allowed) = unplanned::allow(context, &environment, change, treatment).await? else {
        return Ok(ExitCode::SUCCESS);
    };
    if !arguments.change.yes {
        ui::prompt::confirm(context, "Make this the state?")?;
    }
    let generation = rebuilding.commit(&environment, &allowed, arguments.change.wait).await?;
    let text = format!("{name} is at generation {generation}.");
    ui::report::changed(context, &arguments.result, (&name, generation), &text)?;
    context.output.message("`slipway plan` shows what there is left to do.");
    Ok(ExitCode::SUCCESS)
}

/// A failure to look at the present state, with the way out where it can never be opened again.
fn refused(cluster: &str, error: Error) -> CommandError {
    let is_about_key = rebuilding::is_about_key(&error);
    let failure = CommandError::from(error);
    if !is_about_key {
        return failure;
    }
    failure.hint(format!(
        "if the key is lost, `--key-lost` gives up what it sealed: the secrets of {cluster} and, if the whole state is encrypted, \
         the state"
    ))
}

fn report(found: &rebuilding::Found) -> String {
    let rebuilt = &found.rebuilt;
    let mut text = String::new();
    let mut put = |mark: &str, what: String| text.push_str(&format!("  {mark} {what}\n"));
    for (address, record) in &rebuilt.snapshot.resources {
        if found.recovered.contains(address) {
            let fingerprint = found.keys.running.get(address).map_or("", String::as_str);
            put("≡", format!("{address}  ({fingerprint}): recovered from a control plane"));
        } else {
            put("≡", format!("{address}  ({})", record.identity));
        }
    }
    for (address, identity) in &rebuilt.doubled {
        put("-", format!("{address}  ({identity}): one too many"));
    }
    for address in &rebuilt.missing {
        let key = found.keys.missing.iter().find(|(missing, _)| missing == address);
        match key {
            Some((_, file)) => put(
                "!",
                format!(
                    "{address}: not recovered: neither the state store nor {file} of a control plane has it"
                ),
            ),
            None => put(
                "?",
                format!("{address}: the spec asks for it, and nothing was found; the next plan makes it"),
            ),
        }
    }
    let count = rebuilt.snapshot.resources.len();
    text.push_str(&format!(
        "Found {count} resources of {} (uid {}) in the cloud.\n\
         The values of the last apply are unknown. A field that was removed from the spec since then is not reset by the \
         next apply.\n",
        rebuilt.snapshot.cluster, rebuilt.snapshot.uid
    ));
    text.push_str(match found.protection {
        Protection::Written => "The cluster is protected from deletion, as the spec says.\n",
        Protection::Recorded(true) => {
            "The cluster is protected from deletion, as it was in the state; the spec does not protect it. The next \
             complete apply removes the protection, unless the spec has `deletionProtection: true`.\n"
        }
        Protection::Recorded(false) => {
            "The cluster is not protected from deletion, as it was not in the state. `deletionProtection: true` in the spec \
             protects it.\n"
        }
        Protection::Unknown => {
            "Whether the cluster was protected from deletion is not known, so it is protected now. The next complete apply \
             removes the protection, unless the spec has `deletionProtection: true`.\n"
        }
    });
    text
}
