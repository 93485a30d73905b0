//! What the store has of a cluster, and no key at hand opens. It is not damaged, and a rebuild with other keys would lose it.

use std::sync::Arc;

use slipway_secrets::{KEY_SERVICE, NO_KEY, SecretStore, WRONG_KEY};
use slipway_state_store::{Backend, ClusterName, Error as StoreError, Prefix};

use crate::environment::Environment;
use crate::error::Error;

/// Refuses keys that do not open the newest snapshot or a secret of a cluster.
///
/// # Errors
/// The one of the first object that cannot be opened, and when the store cannot be listed.
pub(super) async fn check_keys(
    environment: &Environment,
    backend: &Arc<dyn Backend>,
    cluster: &ClusterName,
) -> Result<(), Error> {
    let prefix = Prefix::new(&format!("{cluster}/snapshots")).map_err(StoreError::from)?;
    let snapshots = backend.list(&prefix).await.map_err(StoreError::from)?;
    if let Some(newest) = snapshots.last()
        && let Err(error) = backend.get(newest).await
    {
        refuse(StoreError::from(error))?;
    }
    let store =
        |uid: &str| SecretStore::new(backend.clone(), environment.keyring.clone(), cluster.clone(), uid);
    let any = store("");
    for reference in any.list_all().await? {
        // What is damaged is no reason to keep the state.
        let Ok(Some(uid)) = any.owner(&reference).await else { continue };
        if let Err(error) = store(uid.as_str()).get(&reference).await {
            refuse(error)?;
        }
    }
    Ok(())
}

/// Passes on an error that is about a key; a rebuild mends the others.
fn refuse(error: impl Into<Error>) -> Result<(), Error> {
    let error = error.into();
    if is_about_key(&error) { Err(error) } else { Ok(()) }
}

/// Whether an object is whole, and no key at hand opens it.
#[must_use]
pub fn is_about_key(error: &Error) -> bool {
    // No key, another key of the same name, and a key service that does not answer.
    matches!(error.code(), Some(NO_KEY | WRONG_KEY | KEY_SERVICE))
}
