//! `slipway state rebuild`

use std::process::ExitCode;
use std::sync::Arc;

use slipway_engine::{Rebuild, Rebuilt, State, establish};
use slipway_provider_hosts::CLAIM;
use slipway_resource::{Address, ClusterUid, Desired, Value};
use slipway_state_store::verify::{Mend, verify};
use slipway_state_store::{
    Acquire, Backend, ClusterName, Error, Generation, Head, HeadStands, Holder, SystemClock, head_stands,
    read_head, restore_head,
};

use super::recover::{self, Keys};
use crate::actor::Actor;
use crate::cli::state::RebuildArguments;
use crate::error::CommandError;
use crate::holding;
use crate::planning::Prepared;
use crate::program::Context;
use crate::secrets;
use crate::specs::{self, Selection};
use crate::ui;

/// Makes a lost or damaged state anew from what carries the cluster's ownership.
pub(crate) async fn run(context: &Context, arguments: &RebuildArguments) -> Result<ExitCode, CommandError> {
    let selection = Selection {
        files: arguments.files.clone(),
        cluster: Some(arguments.cluster.clone()),
        provider: arguments.provider.clone(),
        provider_config: arguments.provider_config.clone(),
    };
    let wanted = specs::one(context, &selection)?;
    let name = ClusterName::new(wanted.cluster.name.as_str())?;
    let backend = context.backend()?;
    let head = match head_stands(&*backend, &name).await? {
        HeadStands::Whole => read_head(&*backend, &name).await?.map(|(head, _)| head),
        HeadStands::Lost | HeadStands::Damaged => None,
    };
    let damage = damage(context, &backend, &name, head.as_ref(), arguments.force).await?;
    for problem in &damage {
        context.output.message(&format!("  {problem}"));
    }
    if damage.is_empty() && !arguments.force {
        let message = format!("the state of {name} is not damaged; nothing was done");
        return Err(CommandError::new("CLI0037", message)
            .hint("`--force` rebuilds it all the same, and what was applied last is not known afterwards"));
    }
    let prepared = Prepared::without_state(context, wanted).await?;
    let found = find(&prepared, head.as_ref()).await?;
    context.output.result(&report(&found))?;
    if arguments.dry_run {
        context.output.message("Nothing was written.");
        return Ok(ExitCode::from(2));
    }
    if !arguments.change.yes {
        ui::prompt::confirm(context, "Make this the state?")?;
    }
    write(context, arguments, &backend, &prepared, &found, head.is_none()).await
}

/// What is wrong with the present state.
async fn damage(
    context: &Context,
    backend: &Arc<dyn Backend>,
    cluster: &ClusterName,
    head: Option<&Head>,
    force: bool,
) -> Result<Vec<String>, CommandError> {
    let missing = || vec![format!("{cluster}/head: it is missing")];
    let report = match verify(&**backend, cluster).await {
        Ok(report) => report,
        Err(Error::NoCluster { .. }) => return Ok(missing()),
        Err(error) => return Err(error.into()),
    };
    let present = report.findings.iter().filter(|finding| finding.mend == Mend::Rebuild);
    let mut found: Vec<String> =
        present.map(|finding| format!("{}: {}", finding.key, finding.problem)).collect();
    if found.is_empty() && head.is_none() {
        found = missing();
    }
    if found.is_empty() {
        match State::read(&**backend, cluster.as_str()).await {
            Ok(state) => {
                found.extend(secrets::lost(&context.keyring(), backend, cluster, state.as_ref()).await?)
            }
            Err(error @ slipway_engine::Error::Corrupt { .. }) => found.push(error.to_string()),
            // What another key opens or a newer Slipway reads is not damaged.
            Err(error) if !force => return Err(error.into()),
            Err(error) => found.push(error.to_string()),
        }
    }
    if head.is_some_and(|head| head.deleted) {
        found.push(format!("{cluster} is recorded as deleted"));
    }
    Ok(found)
}

/// What was found of a cluster.
struct Found {
    rebuilt: Rebuilt,
    desired: Vec<Desired>,
    keys: Keys,
    /// Keys that the store has lost and a control plane has.
    recovered: Vec<Address>,
}

/// Asks the cloud and the machines, with the unique id that the head has, if there is a head.
async fn find(prepared: &Prepared, head: Option<&Head>) -> Result<Found, CommandError> {
    let mut catalogs = recover::catalogs(prepared)?;
    let (desired, _) = prepared.expand(&mut catalogs).await?;
    let cluster = &prepared.wanted.cluster;
    let uid = head.filter(|head| !head.deleted).map(|head| ClusterUid::new(head.uid.as_str()));
    let keys = recover::keys(prepared, &catalogs, &desired, uid.as_ref()).await?;
    let rebuild = Rebuild {
        cluster: &cluster.name,
        uid,
        spec: crate::planning::to_json(cluster)?,
        catalogs,
        desired: &desired,
        running: keys.running.clone(),
    };
    let mut rebuilt = rebuild.run(&prepared.providers).await?;
    let recovered = recover::complete(prepared, &mut rebuilt, &keys, &desired).await?;
    Ok(Found { rebuilt, desired, keys, recovered })
}

fn report(found: &Found) -> String {
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
         What was applied last is not known: fields that left the spec since are seen again after the next apply.\n",
        rebuilt.snapshot.cluster, rebuilt.snapshot.uid
    ));
    text
}

/// Takes the cluster, looks once more now that nobody else changes anything, and commits.
async fn write(
    context: &Context,
    arguments: &RebuildArguments,
    backend: &Arc<dyn Backend>,
    prepared: &Prepared,
    seen: &Found,
    is_lost: bool,
) -> Result<ExitCode, CommandError> {
    let cluster = ClusterName::new(prepared.wanted.cluster.name.as_str())?;
    let snapshot = &seen.rebuilt.snapshot;
    let uid = slipway_state_store::ClusterUid::new(snapshot.uid.as_str())?;
    let actor = Actor::current(context);
    if is_lost {
        let meta = holding::lost_head(&actor, slipway_engine::about(&snapshot.spec));
        restore_head(backend, &cluster, uid.clone(), Generation(0), meta).await?;
    }
    let mut acquire = Acquire::new(actor.doing("state rebuild")).over_damage().create(uid);
    acquire.wait = arguments.change.wait;
    let holder = Holder::acquire(backend.clone(), &cluster, acquire, Arc::new(SystemClock)).await?;
    let rebuilt = match under_hold(prepared, &holder, seen).await {
        Ok(rebuilt) => rebuilt,
        Err(error) => {
            let _ = holder.release(None).await;
            return Err(error);
        }
    };
    let detail = format!("{} resources found by ownership", rebuilt.snapshot.resources.len());
    let generation = holding::commit(holder, &actor, "state rebuild", &rebuilt.snapshot, detail).await?;
    context.output.result(&format!("{cluster} is at generation {generation}."))?;
    context.output.message("`slipway plan` shows what there is left to do.");
    Ok(ExitCode::SUCCESS)
}

/// Takes again what is this cluster's, looks once more, and stores recovered keys.
async fn under_hold(prepared: &Prepared, holder: &Holder, seen: &Found) -> Result<Rebuilt, CommandError> {
    prepared.vault.hold(holder.journal().clone());
    let held = holder.head();
    let uid = ClusterUid::new(held.uid.as_str());
    let claims = lost_claims(seen);
    establish(&prepared.wanted.cluster.name, &uid, &claims, &[CLAIM], &prepared.providers).await?;
    let mut found = find(prepared, Some(&held)).await?;
    recover::keep(prepared, &mut found.rebuilt, &found.keys, &found.recovered, &found.desired).await?;
    Ok(found.rebuilt)
}

/// The claims of hosts that have something of the cluster, and that the inventory does not know any more.
fn lost_claims(seen: &Found) -> Vec<Desired> {
    let is_used = |host: &str| {
        let on_it = format!("{host}:");
        seen.rebuilt.snapshot.resources.values().any(|record| record.identity.as_str().starts_with(&on_it))
    };
    let lost = seen.desired.iter().filter(|desired| {
        let host = desired.attributes.get("host").and_then(Value::as_str);
        desired.address.kind() == CLAIM
            && seen.rebuilt.missing.contains(&desired.address)
            && host.is_some_and(is_used)
    });
    lost.cloned().collect()
}
