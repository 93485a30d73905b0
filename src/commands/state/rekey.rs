//! `slipway state rekey`

use std::process::ExitCode;
use std::sync::Arc;

use slipway_secrets::rekey::{Rekeyed, rekey};
use slipway_secrets::{KeyName, SealedBackend};
use slipway_state_store::{Acquire, Backend, ClusterName, Error, Holder, SystemClock};

use crate::cli::state::RekeyArguments;
use crate::error::CommandError;
use crate::program::Context;

/// Encrypts all objects of clusters again, with new data keys, for the keys of the configuration.
pub(crate) async fn run(context: &Context, arguments: &RekeyArguments) -> Result<ExitCode, CommandError> {
    let place = context.bare_backend()?;
    let mut total = Rekeyed::default();
    for cluster in super::verify::named(&*place, &arguments.clusters).await? {
        let done = one(context, arguments, &place, &cluster).await?;
        let Rekeyed { resealed, sealed, cleared, left_out } = done;
        context.output.outcome(&format!(
            "{cluster}: encrypted {} again with the current keys, {sealed} for the first time; decrypted {cleared}.\n",
            counted(resealed, "object", "objects"),
        ))?;
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
    let holder = match Holder::acquire(backend, cluster, acquire, Arc::new(SystemClock)).await {
        // A tombstone cannot be held, and has no secrets.
        Err(Error::NoCluster { .. }) if arguments.clusters.is_empty() => return Ok(Rekeyed::default()),
        holder => holder?,
    };
    let done = rekey(place, &keyring, cluster, holder.journal(), seals).await;
    let released = holder.release(None).await;
    let done = done?;
    released?;
    Ok(done)
}
