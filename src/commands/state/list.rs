//! `slipway state list` and `slipway state show`

use std::fmt::Write as _;
use std::process::ExitCode;

use serde_json::json;
use slipway_operations::recorded::{self, Types};
use slipway_plan::render::{self, TextOptions};
use slipway_plan::{Record, Snapshot};
use slipway_resource::Address;

use crate::cli::ReportFormat;
use crate::cli::state::{ListArguments, ShowStateArguments};
use crate::error::CommandError;
use crate::program::Context;

/// Lists the addresses that the state has.
pub(crate) async fn list(context: &Context, arguments: &ListArguments) -> Result<ExitCode, CommandError> {
    let recorded = recorded::read(&context.environment()?, &arguments.cluster, arguments.generation).await?;
    let addresses = recorded::select(&arguments.cluster, &recorded.snapshot, &arguments.addresses)?;
    let text = match arguments.output {
        ReportFormat::Text => addresses.iter().map(|address| format!("{address}\n")).collect::<String>(),
        ReportFormat::Json => {
            let one = |address: &&Address| {
                let record = recorded.snapshot.resources.get(*address);
                json!({
                    "address": address,
                    "type": address.kind(),
                    "name": address.name(),
                    "provider": record.map(|record| &record.provider),
                    "identity": record.map(|record| &record.identity),
                })
            };
            let resources: Vec<_> = addresses.iter().map(one).collect();
            super::json(&json!({
                "cluster": arguments.cluster,
                "generation": recorded.generation,
                "resources": resources,
            }))?
        }
    };
    context.output.result(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Shows what the state has of a cluster or of some of its resources.
pub(crate) async fn show(
    context: &Context,
    arguments: &ShowStateArguments,
) -> Result<ExitCode, CommandError> {
    let recorded = recorded::read(&context.environment()?, &arguments.cluster, arguments.generation).await?;
    let snapshot = &recorded.snapshot;
    let addresses = recorded::select(&arguments.cluster, snapshot, &arguments.addresses)?;
    let types = Types::of(&context.environment()?, &[snapshot]).await?;
    let records: Vec<(&Address, &Record)> = addresses
        .into_iter()
        .filter_map(|address| Some((address, snapshot.resources.get(address)?)))
        .collect();
    if recorded.is_ahead {
        let message = "A run is under way or was interrupted: what it has done so far is included.";
        context.output.message(message);
    }
    let text = match arguments.output {
        ReportFormat::Text => {
            let mut text = String::new();
            if arguments.addresses.is_empty() {
                text.push_str(&heading(&recorded));
            }
            for (address, record) in records {
                text.push_str(&resource(context, address, record, &types));
            }
            text
        }
        ReportFormat::Json => {
            let resources: Vec<_> =
                records.iter().map(|(address, record)| resource_json(address, record, &types)).collect();
            super::json(&json!({
                "cluster": snapshot.cluster,
                "uid": snapshot.uid,
                "generation": recorded.generation,
                "spec_digest": snapshot.spec_digest,
                "accounts": snapshot.scopes,
                "resources": resources,
                "forgotten": snapshot.forgotten,
            }))?
        }
    };
    context.output.result(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn heading(recorded: &recorded::Recorded) -> String {
    let Snapshot { cluster, uid, resources, scopes, forgotten, .. } = &recorded.snapshot;
    let mut text = format!(
        "{cluster} at generation {}: {} resources\n  uid: {uid}\n",
        recorded.generation,
        resources.len()
    );
    for (provider, scope) in scopes {
        let region = scope.region.as_ref().map(|region| format!(" in region {region}")).unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {provider}: account {}{region}", scope.account);
    }
    if resources.values().any(|record| record.applied.is_none()) {
        text.push_str("  of some resources what was applied last is not known, as after a rebuild\n");
    }
    for (address, identities) in forgotten {
        let names: Vec<&str> = identities.iter().map(|identity| identity.as_str()).collect();
        let _ = match names.is_empty() {
            true => writeln!(text, "  not found: {address}"),
            false => writeln!(text, "  forgotten: {address} ({})", names.join(", ")),
        };
    }
    text.push('\n');
    text
}

fn resource(context: &Context, address: &Address, record: &Record, types: &Types) -> String {
    let mut text = format!("{address}  ({})\n", record.identity);
    let marks = [
        (record.existing, "it was there before and is only used"),
        (record.retain, "it stays in the cloud when the spec or the cluster goes"),
        (record.protected, "deleting it needs a confirmation by name"),
        (record.applied.is_none(), "what was applied last is not known"),
    ];
    for (_, mark) in marks.iter().filter(|(is_set, _)| *is_set) {
        let _ = writeln!(text, "  {mark}");
    }
    for older in &record.deposed {
        let _ = writeln!(text, "  an older object of it is still there: {older}");
    }
    if let Some(applied) = &record.applied {
        let (color, width) = (context.output.color(), context.output.width());
        let options = TextOptions { color, width, verbose: true, ..TextOptions::default() };
        text.push_str(&render::applied(applied, types.get(address.kind()), 4, &options));
    }
    text
}

fn resource_json(address: &Address, record: &Record, types: &Types) -> serde_json::Value {
    let applied =
        record.applied.as_ref().map(|applied| render::applied_json(applied, types.get(address.kind())));
    json!({
        "address": address,
        "type": address.kind(),
        "name": address.name(),
        "provider": record.provider,
        "identity": record.identity,
        "schema_version": record.schema_version,
        "applied": applied,
        "depends_on": record.depends_on,
        "retain": record.retain,
        "protected": record.protected,
        "existing": record.existing,
        "deposed": record.deposed,
    })
}
