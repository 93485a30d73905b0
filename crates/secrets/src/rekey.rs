//! Encrypts all objects of a cluster again: with new data keys, for the present recipients.

use std::collections::BTreeSet;
use std::sync::Arc;

use slipway_state_store::backend::Error as BackendError;
use slipway_state_store::{Backend, ClusterName, Journal, Key, Prefix};

use crate::backend::{passes, seal};
use crate::envelope::{Envelope, Expected};
use crate::error::Result;
use crate::key::KeyName;
use crate::keyring::Keyring;
use crate::{retry, store};

/// The objects that were changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rekeyed {
    /// Envelopes that were encrypted again.
    pub resealed: usize,
    /// Plain objects that are encrypted now.
    pub sealed: usize,
    /// Encrypted objects that are plain now.
    pub cleared: usize,
    /// Keys of key services for which secrets were encrypted beside the recipients of the keyring, and are not any
    /// more. An apply encrypts them for these keys again.
    pub left_out: BTreeSet<KeyName>,
    /// Objects that no key at hand opens, and that the state does not need. They stay as they are.
    pub unopened: Vec<Key>,
}

/// Encrypts every envelope of a cluster again. With `seals`, plain objects are encrypted too; without, only
/// the secrets are encrypted afterwards.
///
/// The cluster must be held, so that no other process writes. Each object is replaced atomically by
/// compare-and-swap, so that a reader with both the old and the new keys can read everything at any time. An
/// interrupted run is simply started again. `backend` is the backend itself, without an encrypting layer.
/// Envelopes that no key at hand opens are passed over, unless `is_needed` says that the state needs them.
///
/// # Errors
/// When a needed envelope cannot be decrypted, the hold is lost, or the store fails. Objects that were replaced
/// until then stay replaced.
pub async fn rekey(
    backend: &Arc<dyn Backend>,
    keyring: &Keyring,
    cluster: &ClusterName,
    fence: &Journal,
    seals: bool,
    is_needed: &(dyn Fn(&Key) -> bool + Sync),
) -> Result<Rekeyed> {
    keyring.renew();
    let mut done = Rekeyed::default();
    for key in backend.list(&Prefix::new(cluster.as_str())?).await? {
        let is_secret = key.as_str().split('/').nth(1) == Some(store::FOLDER);
        if passes(&key) && !is_secret {
            continue;
        }
        match one(&**backend, keyring, &key, fence, seals || is_secret, &mut done).await {
            Err(error) if error.lacks_key() && !is_needed(&key) => done.unopened.push(key),
            result => result?,
        }
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
        let mut next = done.clone();
        let replacement = if Envelope::is(&bytes) {
            let opened = keyring.open(&Expected::at(key.as_str()), &bytes).await?;
            if seals {
                next.resealed += 1;
                let present = keyring.names().await?;
                let of_services = opened.names.into_iter().filter(|name| name.service().is_some());
                next.left_out.extend(of_services.filter(|name| !present.contains(name)));
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
            // Under the hold, only an earlier attempt with a lost answer can have changed it.
            Err(BackendError::Conflict { .. }) if attempt > 1 => {}
            Err(error) if retry::again(attempt, &error).await => {}
            Err(error) => return Err(error.into()),
        }
    }
}
