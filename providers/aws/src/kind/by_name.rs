//! What kinds share whose objects have a name that cannot be there twice: a create that is sent again finds what it made.

use std::time::Duration;

use slipway_resource::{ErrorClass, Identity, ProviderError, Value};

use super::{Found, Kind, taken};
use crate::act::{Act, Wait};
use crate::owner::Owner;

/// For how long an object is waited for that is said to exist and cannot be read yet.
const CONSISTENCY: Duration = Duration::from_secs(30);

/// `None` in place of `not-found`.
pub(super) fn if_any<T>(result: Result<T, ProviderError>) -> Result<Option<T>, ProviderError> {
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

/// What a creating call means that was refused because the name is taken: an object that an earlier attempt made is
/// brought into shape, any other is a conflict.
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

/// The object of that name, when it is the one that an action is about.
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
