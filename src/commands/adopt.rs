//! `slipway adopt`

pub(in crate::commands) mod nodes;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;

use slipway_bootstrap::from_cluster::Placement;
use slipway_builtin::NAME as SECRETS;
use slipway_engine::{Adopted, Adoption, State, establish};
use slipway_provider_hosts::{AGENT, CLAIM};
use slipway_resource::provider::Applied;
use slipway_resource::{Address, ClusterUid, Desired, Token};
use slipway_state_store::{Acquire, Backend, ClusterName, Holder, SystemClock, read_head};

use crate::actor::Actor;
use crate::cli::adoption::AdoptArguments;
use crate::error::CommandError;
use crate::holding;
use crate::planning::{self, Prepared};
use crate::program::Context;
use crate::specs::{self, Selection};
use crate::ui;

/// Takes over what another tool made for a cluster. Writes nothing but the state.
pub(crate) async fn run(context: &Context, arguments: &AdoptArguments) -> Result<ExitCode, CommandError> {
    let wanted = specs::one(context, &Selection::from(&arguments.spec))?;
    let name = ClusterName::new(wanted.cluster.name.as_str())?;
    let backend = context.backend()?;
    refuse_known(&*backend, &name).await?;
    let prepared = Prepared::without_state(context, wanted).await?;
    let uid = slipway_state_store::ClusterUid::random()?;
    let (adopted, _) = find(&prepared, &ClusterUid::new(uid.as_str()), None).await?;
    context.output.result(&report(&adopted))?;
    refuse_ambiguous(&adopted)?;
    if arguments.dry_run {
        context.output.message("Nothing was written.");
        return Ok(ExitCode::from(2));
    }
    if !arguments.change.yes {
        ui::prompt::confirm(context, "Take this over?")?;
    }
    let actor = Actor::current(context);
    let mut acquire = Acquire::new(actor.doing("adopt")).create(uid);
    acquire.wait = arguments.change.wait;
    let holder = Holder::acquire(backend, &name, acquire, Arc::new(SystemClock)).await?;
    let adopted = match again(&prepared, &holder).await {
        Ok(adopted) => adopted,
        Err(error) => {
            // Why it cannot be taken over is more worth telling than why it could not be let go.
            let _ = holder.release(None).await;
            return Err(error);
        }
    };
    let detail = format!("{} resources taken over", adopted.snapshot.resources.len());
    let generation = holding::commit(holder, &actor, "adopt", &adopted.snapshot, detail).await?;
    context
        .output
        .result(&format!("{name} is at generation {generation}. Nothing in the cloud was changed."))?;
    context.output.message("`slipway plan` shows what differs from the spec.");
    Ok(ExitCode::SUCCESS)
}

/// Refuses a cluster of which there is a state.
async fn refuse_known(backend: &dyn Backend, name: &ClusterName) -> Result<(), CommandError> {
    match read_head(backend, name).await? {
        Some((head, _)) if !head.deleted && head.snapshot.is_some() => Err(known(name)),
        _ => Ok(()),
    }
}

fn known(name: &ClusterName) -> CommandError {
    CommandError::new("CLI0050", format!("there is a state of {name} already; nothing was done")).hint(
        "`slipway plan` shows what differs from the spec; `slipway state rebuild` mends a damaged state",
    )
}

/// Looks once more now that nobody else changes anything.
async fn again(prepared: &Prepared, holder: &Holder) -> Result<Adopted, CommandError> {
    let cluster = &prepared.wanted.cluster.name;
    let state = State::of_view(cluster, holder.read().await?)?;
    if !state.snapshot.resources.is_empty() || state.is_interrupted() {
        return Err(known(&ClusterName::new(cluster.as_str())?));
    }
    let uid = state.snapshot.uid;
    let (mut adopted, desired) = find(prepared, &uid, Some(holder)).await?;
    refuse_ambiguous(&adopted)?;
    // Secrets that were found get their places in the store.
    for desired in &desired {
        let Some(record) = adopted.snapshot.resources.get_mut(&desired.address) else { continue };
        if record.provider == SECRETS {
            let token = Token::new("adopt");
            let kept = prepared.vault.keep(&uid, &desired.address, &desired.attributes, token).await;
            record.identity = kept?;
        }
    }
    Ok(adopted)
}

/// Looks for what the spec wants. Under a hold, also what is nobody's but Slipway's is made: hosts are claimed, and get
/// the agents that look after them.
async fn find(
    prepared: &Prepared,
    uid: &ClusterUid,
    holder: Option<&Holder>,
) -> Result<(Adopted, Vec<Desired>), CommandError> {
    let mut catalogs = nodes::catalogs(prepared, Placement::ADOPTING)?;
    let (desired, _) = prepared.expand(&mut catalogs).await?;
    nodes::look(prepared, &catalogs, uid).await?;
    let cluster = &prepared.wanted.cluster;
    let mut established: BTreeMap<Address, Applied> = BTreeMap::new();
    if let Some(holder) = holder {
        prepared.vault.hold(holder.journal().clone());
        established = establish(&cluster.name, uid, &desired, &[CLAIM, AGENT], &prepared.providers).await?;
    }
    let spec = planning::to_json(cluster)?;
    let adoption =
        Adoption { cluster: &cluster.name, uid: uid.clone(), spec, catalogs, desired: &desired, established };
    let is_written = |field: &str| prepared.wanted.is_written(field);
    let adopted = adoption.run(&prepared.providers, &is_written).await?;
    Ok((adopted, desired))
}

/// Refuses to guess.
fn refuse_ambiguous(adopted: &Adopted) -> Result<(), CommandError> {
    if adopted.ambiguous.is_empty() {
        return Ok(());
    }
    let message = "several objects fit the same resource; nothing was done";
    let mut error = CommandError::new("CLI0051", message.to_owned());
    for (address, identities) in &adopted.ambiguous {
        let identities: Vec<&str> = identities.iter().map(|identity| identity.as_str()).collect();
        error = error.cause(format!("{address}: {}", identities.join(", ")));
    }
    Err(error.hint("delete those that are left over, or take the cluster's tags off them"))
}

fn report(adopted: &Adopted) -> String {
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
    let owned = adopted.snapshot.resources.values().filter(|record| !record.existing).count();
    text.push_str(&format!("Found {owned} resources of {}.\n", adopted.snapshot.cluster));
    text
}
