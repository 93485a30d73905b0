//! What the store has of a cluster, and no key at hand opens. It is not damaged, and a rebuild with other keys would lose it.

use std::collections::BTreeMap;
use std::sync::Arc;

use slipway_secrets::{KEY_SERVICE, NO_KEY, SecretStore, WRONG_KEY};
use slipway_state_store::backend::Error as BackendError;
use slipway_state_store::{Backend, ClusterName, Epoch, Error as StoreError, Head, Key, Prefix, layout};

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

/// The segments of the journal that the state needs and that no key at hand opens, in order, with their errors. Without a head,
/// the state may need every segment.
///
/// # Errors
/// When the store cannot be listed.
pub(super) async fn segments(
    backend: &dyn Backend,
    cluster: &ClusterName,
    head: Option<&Head>,
) -> Result<Vec<(Key, BackendError)>, Error> {
    let mut unopened = Vec::new();
    for key in backend.list(&layout::journals(cluster)).await.map_err(StoreError::from)? {
        let place = layout::epoch(&key).zip(layout::sequence(&key));
        let start = head.map(|head| (head.journal_from.epoch, head.journal_from.sequence));
        if place < start || head.is_some_and(|head| head.deleted) {
            continue;
        }
        // A segment that cannot be read for another reason is damage, and is reported as such.
        if let Err(error @ BackendError::Sealed { .. }) = backend.get(&key).await
            && is_key_code(Some(error.code()))
        {
            unopened.push((key, error));
        }
    }
    Ok(unopened)
}

/// Says which segments a rebuild leaves unread, one sentence for each epoch.
pub(super) fn set_aside(unopened: &[(Key, BackendError)]) -> Vec<String> {
    let mut epochs: BTreeMap<Option<Epoch>, Vec<&Key>> = BTreeMap::new();
    for (key, _) in unopened {
        epochs.entry(layout::epoch(key)).or_default().push(key);
    }
    let keys = epochs.values().filter_map(|keys| Some((keys.first()?, keys.last()?, keys.len())));
    let texts = keys.map(|(first, last, count)| {
        let which = match count {
            1 => first.to_string(),
            _ => format!("{first} to {}", last.name()),
        };
        format!(
            "{which}: no available key decrypts this part of the journal. It stays in the store unread, and the changes of \
             its run are looked up in the cloud"
        )
    });
    texts.collect()
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
    is_key_code(error.code())
}

fn is_key_code(code: Option<&str>) -> bool {
    matches!(code, Some(NO_KEY | WRONG_KEY | KEY_SERVICE))
}
