//! Everything of a cluster sealed anew: with new data keys, for the recipients of now.

use std::sync::Arc;

use slipway_state_store::backend::Error as BackendError;
use slipway_state_store::{Backend, ClusterName, Journal, Key, Prefix};

use crate::backend::{passes, seal};
use crate::envelope::{Envelope, Expected};
use crate::error::Result;
use crate::keyring::Keyring;
use crate::{retry, store};

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rekeyed {
    /// Envelopes that were sealed anew.
    pub resealed: usize,
    /// Objects that were in clear and are sealed now.
    pub sealed: usize,
    /// Objects that were sealed and are in clear now.
    pub cleared: usize,
}

/// Seals every envelope of a cluster anew. With `seals`, what lies in clear is sealed too; without, only the secrets are
/// sealed afterwards.
///
/// The cluster is to be held: nobody else writes meanwhile. Each object is replaced whole by compare-and-swap, so that
/// everything can be read at any time by who has both the old and the new keys; a run that was interrupted is simply
/// begun again. `backend` is the place itself, without a layer that seals.
///
/// # Errors
/// When an envelope cannot be opened, the hold is lost, or the store fails. What was replaced until then stays replaced.
pub async fn rekey(
    backend: &Arc<dyn Backend>,
    keyring: &Keyring,
    cluster: &ClusterName,
    fence: &Journal,
    seals: bool,
) -> Result<Rekeyed> {
    keyring.renew();
    let mut done = Rekeyed::default();
    for key in backend.list(&Prefix::new(cluster.as_str())?).await? {
        let is_secret = key.as_str().split('/').nth(1) == Some(store::FOLDER);
        if passes(&key) && !is_secret {
            continue;
        }
        one(&**backend, keyring, &key, fence, seals || is_secret, &mut done).await?;
    }
    Ok(done)
}

async fn one(
    backend: &dyn Backend,
    keyring: &Keyring,
    key: &Key,
    fence: &Journal,
    seals: bool,
    done: &mut Rekeyed,
) -> Result<()> {
    let mut attempt = 0;
    loop {
        attempt += 1;
        let Some((bytes, tag)) = backend.get(key).await? else { return Ok(()) };
        let mut next = *done;
        let replacement = if Envelope::is(&bytes) {
            let opened = keyring.open(&Expected::at(key.as_str()), &bytes).await?;
            if seals {
                next.resealed += 1;
                keyring.seal(opened.context, &opened.plain).await?
            } else {
                next.cleared += 1;
                opened.plain.to_vec()
            }
        } else if seals {
            next.sealed += 1;
            seal(keyring, key, &bytes).await?
        } else {
            return Ok(());
        };
        fence.valid().await?;
        match backend.update(key, replacement.into(), &tag).await {
            Ok(_) => {
                *done = next;
                return Ok(());
            }
            Err(BackendError::NotFound { .. }) => return Ok(()),
            // What has changed it is an attempt of this one whose answer was lost: nobody else writes.
            Err(BackendError::Conflict { .. }) if attempt > 1 => {}
            Err(error) if retry::again(attempt, &error).await => {}
            Err(error) => return Err(error.into()),
        }
    }
}
