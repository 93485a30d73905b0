//! Creates whose answers were lost and whose objects were not found: the objects may appear after the end of
//! the wait.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use slipway_resource::{Address, Identity, ProviderError};

use crate::act::Act;
use crate::kind::{self, Condition, Kind};
use crate::look::tagged;
use crate::owner::ADDRESS;

/// The resources with a create that is sent again although an earlier one may have had its effect.
#[derive(Default)]
pub(crate) struct Lost {
    addresses: Mutex<BTreeSet<Address>>,
}

impl Lost {
    /// Remembers a resource.
    pub fn add(&self, address: &Address) {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner).insert(address.clone());
    }

    fn has(&self, address: &Address) -> bool {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner).contains(address)
    }
}

/// Removes objects of an earlier create of the same resource that reads show only now. Objects that appear
/// later still are found by their tags in the next plan, which removes them.
///
/// # Errors
/// As the calls say.
pub(crate) async fn remove_twins(
    act: &Act<'_>,
    kind: &dyn Kind,
    identity: &Identity,
) -> Result<(), ProviderError> {
    let address = &act.request.ownership.address;
    let (Some(tag), true) = (kind.tagged_as(), act.cloud.shared::<Lost>().has(address)) else {
        return Ok(());
    };
    let ids = tagged(act.cloud, (ADDRESS, &address.to_string())).await?;
    for id in ids.get(tag).into_iter().flatten().filter(|id| id.as_str() != identity.as_str()) {
        let twin = Identity::new(id.as_str());
        let Some(found) = kind::read(kind, act.cloud, &twin).await? else { continue };
        let is_ours = found.owner.as_ref().is_some_and(|owner| owner.uid == act.request.ownership.uid);
        if is_ours && found.condition != Condition::Ending {
            act.progress(format!("{twin} is of a create whose answer was lost, and goes"));
            kind::or_gone(kind.delete(act, &twin).await)?;
        }
    }
    Ok(())
}
