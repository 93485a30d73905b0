//! Common parts of types whose names are unique: a create that is sent again finds the object that it
//! created.

use std::time::Duration;

use slipway_resource::{ErrorClass, Identity, ProviderError, Value};

use super::{Found, Kind, taken};
use crate::act::{Act, Wait};
use crate::owner::Owner;

/// How long an object is waited for that exists by its name and cannot be read yet.
const CONSISTENCY: Duration = Duration::from_secs(30);

/// `None` in place of `not-found`.
pub(crate) fn if_any<T>(result: Result<T, ProviderError>) -> Result<Option<T>, ProviderError> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.class == ErrorClass::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether an object is the one that an action is about.
pub(super) fn is_ours(act: &Act<'_>, found: &Found) -> bool {
    owns(act, found.owner.as_ref())
}

/// Whether the owner of an object makes it the one that an action is about.
pub(super) fn owns(act: &Act<'_>, owner: Option<&Owner>) -> bool {
    let ownership = &act.request.ownership;
    match owner {
        None => act.takes_over(),
        Some(owner) => owner.uid == ownership.uid && owner.address.as_ref() == Some(&ownership.address),
    }
}

/// Handles a creating call that was refused because the name is taken. An object of an earlier attempt is
/// completed; any other object is a conflict.
///
/// # Errors
/// `conflict`, or as the calls say.
pub(super) async fn claim(
    kind: &dyn Kind,
    act: &Act<'_>,
    identity: Identity,
    desired: &Value,
) -> Result<Identity, ProviderError> {
    let mut wait = Wait::for_at_most(CONSISTENCY);
    loop {
        match super::read(kind, act.cloud, &identity).await? {
            Some(found) if is_ours(act, &found) => {
                kind.update(act, &identity, &found.attributes, desired).await?;
                return Ok(identity);
            }
            Some(_) => return Err(taken(&format!("{} {identity}", kind.name()))),
            None => act.pause(&mut wait, &format!("{identity} exists and could not be read")).await?,
        }
    }
}

/// The object with this name, if it is the one of the action.
///
/// # Errors
/// As the read says.
pub(super) async fn made(
    kind: &dyn Kind,
    act: &Act<'_>,
    identity: Identity,
) -> Result<Option<Identity>, ProviderError> {
    let found = super::read(kind, act.cloud, &identity).await?;
    Ok(found.filter(|found| is_ours(act, found)).map(|_| identity))
}
