//! Opens the secrets of a step: their texts are known from right before the step until it has ended.

use std::sync::Arc;

use slipway_resource::provider::Action;
use slipway_resource::{ErrorClass, ProviderError, Value};

use super::{Shared, Unit};
use crate::journal::Effect;
use crate::secrets::{self, Kept, SecretError, Texts};

/// Gives the secrets of a step their texts, and those that the state will keep their fingerprints.
///
/// # Errors
/// When a text cannot be read, or is not the one that the plan was made for.
pub(super) async fn open(mut unit: Unit, kept: Kept, shared: &Arc<Shared>) -> Result<Unit, ProviderError> {
    let invalid = |error: SecretError| ProviderError::new(ErrorClass::Invalid, error.to_string());
    let texts = secrets::open_kept(&kept, &*shared.secrets, &shared.uid).await.map_err(invalid)?;
    let (shared, address) = (shared.clone(), unit.address.clone());
    // A text in a file is read, and perhaps decrypted: no other step waits for that.
    let filled = tokio::task::spawn_blocking(move || fill(&mut unit, &texts, &shared).map(|()| unit)).await;
    match filled {
        Ok(filled) => filled.map_err(invalid),
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => {
            let text = format!("the secrets of {address} were not opened: the run ends");
            Err(ProviderError::new(ErrorClass::Cancelled, text))
        }
    }
}

fn fill(unit: &mut Unit, texts: &Texts, shared: &Shared) -> Result<(), SecretError> {
    let each =
        |value: &mut Value| secrets::fill(value, &*shared.secrets, texts, shared.fingerprints.as_ref());
    if let Some(call) = &mut unit.call
        && let Action::Create { desired } | Action::Update { desired, .. } = &mut call.request.action
    {
        each(desired)?;
    }
    if let Effect::Put { record, .. } = &mut unit.effect
        && let Some(applied) = &mut record.applied
    {
        each(applied)?;
        secrets::strip(applied);
    }
    Ok(())
}
