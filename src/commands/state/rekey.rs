//! `slipway state rekey`

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;

use slipway_engine::State;
use slipway_secrets::rekey::{Rekeyed, rekey};
use slipway_secrets::store::FINGERPRINT_KEY;
use slipway_secrets::{KeyName, Keyring, SealedBackend};
use slipway_state_store::{Acquire, Backend, ClusterName, Error, Holder, Key, SystemClock};

use crate::cli::state::RekeyArguments;
use crate::error::CommandError;
use crate::program::Context;

/// Encrypts all objects of clusters again, with new data keys, for the keys of the configuration.
pub(crate) async fn run(context: &Context, arguments: &RekeyArguments) -> Result<ExitCode, CommandError> {
    let place = context.bare_backend()?;
    let mut total = Rekeyed::default();
    for cluster in super::verify::named(&*place, &arguments.clusters).await? {
        let done = one(context, arguments, &place, &cluster).await?;
        let Rekeyed { resealed, sealed, cleared, left_out, unopened } = done;
        context.output.outcome(&format!(
            "{cluster}: encrypted {} again with the current keys, {sealed} for the first time; decrypted {cleared}.\n",
            counted(resealed, "object", "objects"),
        ))?;
        let passed_over = super::passed_over("Not encrypted again", &unopened);
        if !passed_over.is_empty() {
            context.output.message(passed_over.trim_end());
        }
        for key in left_out {
            context.output.message(&format!(
                "{cluster}: machines read keys with {key}, and they are not encrypted for it any more. Run `slipway apply` \
                 for the spec of {cluster}: it encrypts them for it again."
            ));
        }
        total.resealed += resealed + sealed;
    }
    if total.resealed > 0 {
        let names: Vec<String> = context.keyring().names().await?.iter().map(KeyName::to_string).collect();
        context
            .output
            .message(&format!("Each of these keys alone decrypts the state: {}.", names.join(", ")));
    }
    Ok(ExitCode::SUCCESS)
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Rekeys one cluster while holding it, so that no other run writes.
async fn one(
    context: &Context,
    arguments: &RekeyArguments,
    place: &Arc<dyn Backend>,
    cluster: &ClusterName,
) -> Result<Rekeyed, CommandError> {
    let (keyring, seals) = (context.keyring(), context.configuration.encryption.state);
    // Objects that are not encrypted yet are read, too, because they are to be encrypted.
    let backend = Arc::new(SealedBackend::new(place.clone(), keyring.clone(), seals).with_clear());
    let mut acquire = Acquire::new(context.actor()?.doing("state rekey"));
    acquire.wait = arguments.wait;
    let holder = match Holder::acquire(backend.clone(), cluster, acquire, Arc::new(SystemClock)).await {
        // A tombstone cannot be held, and has no secrets.
        Err(Error::NoCluster { .. }) if arguments.clusters.is_empty() => return Ok(Rekeyed::default()),
        holder => holder?,
    };
    let done = under_hold((place, &*backend), &keyring, cluster, &holder, seals).await;
    let released = holder.release(None).await;
    let done = done?;
    released?;
    Ok(done)
}

/// Rekeys a cluster whose state the keys at hand open. Objects that the state does not need may be sealed for a key that was lost.
async fn under_hold(
    (place, backend): (&Arc<dyn Backend>, &dyn Backend),
    keyring: &Keyring,
    cluster: &ClusterName,
    holder: &Holder,
    seals: bool,
) -> Result<Rekeyed, CommandError> {
    let state = State::read(backend, cluster.as_str()).await?;
    let records = state.iter().flat_map(|state| state.snapshot.resources.values());
    let secrets: BTreeSet<String> =
        records.map(|record| format!("{cluster}/secrets/{}", record.identity)).collect();
    let snapshot = state.as_ref().and_then(|state| state.head.snapshot.as_ref());
    // The key of the fingerprints is no resource.
    let fingerprints = format!("{cluster}/secrets/{FINGERPRINT_KEY}/");
    let is_needed = |key: &Key| {
        key.as_str().starts_with(&fingerprints)
            || secrets.contains(key.as_str())
            || snapshot.is_some_and(|snapshot| snapshot.key == key.as_str())
    };
    Ok(rekey(place, keyring, cluster, holder.journal(), seals, &is_needed).await?)
}
