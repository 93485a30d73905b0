//! Finds the result of an action after a crash. The ledger knows it, since it is written before the object.

use std::sync::Arc;

use slipway_resource::provider::{Action, Applied, EventSink, Resolution, ResumeRequest};
use slipway_resource::{Identity, ProviderError, Value};

use super::NodeSession;
use super::actual::is_as_wanted;
use crate::attributes::{Attributes, lacks_texts};
use crate::kind::Place;
use crate::ledger::{Entry, Stage};

impl NodeSession {
    pub(super) async fn find_again(
        &self,
        resume: ResumeRequest,
        events: EventSink,
    ) -> Result<Resolution, ProviderError> {
        let ResumeRequest { request, superseded, .. } = resume;
        let address = request.ownership.address.clone();
        let kind = self.kinds.of(&address)?;
        self.host.reachable()?;
        let token = request.token.as_str();
        match &request.action {
            Action::Create { desired } | Action::Update { desired, .. } => {
                let identity = Identity::new(kind.identity(Attributes(desired))?);
                let Some(entry) = self.entry_of(&address, &identity).await? else {
                    return Ok(Resolution::NotDone);
                };
                if entry.token != token || entry.uid != request.ownership.uid.as_str() {
                    return Ok(Resolution::NotDone);
                }
                if superseded && entry.stage != Stage::Done {
                    // The ledger finds existing objects, and the next plan includes them: nothing is waited
                    // for.
                    return Ok(Resolution::NotDone);
                }
                if !lacks_texts(desired) {
                    // The action continues where it was interrupted: creation can be repeated.
                    return self.act(request, events).await.map(Resolution::Done);
                }
                self.judge(&address, identity, entry, desired).await
            }
            Action::Delete { identity } => match self.entry_of(&address, identity).await? {
                Some(_) => Ok(Resolution::NotDone),
                // The object is gone, or never was ours.
                None => {
                    self.release().await?;
                    Ok(Resolution::Done(Applied::default()))
                }
            },
            Action::Tag { identity } => {
                let entry = self.entry_of(&address, identity).await?;
                match entry.filter(|entry| entry.address == address) {
                    Some(_) => self.act(request, events).await.map(Resolution::Done),
                    None => Ok(Resolution::NotDone),
                }
            }
            // Gates wait and check; they are run again.
            Action::Operation { .. } => Ok(Resolution::NotDone),
        }
    }

    /// The result of an action whose secrets are not available: determined by the existing object.
    async fn judge(
        &self,
        address: &slipway_resource::Address,
        identity: Identity,
        mut entry: Entry,
        desired: &Value,
    ) -> Result<Resolution, ProviderError> {
        let kind = self.kinds.of(address)?;
        let place = Place { host: Arc::clone(&self.host), identity, entry: Some(entry.clone()) };
        let was_new = entry.stage == Stage::Creating;
        match kind.read(&place).await? {
            Some(attributes) if is_as_wanted(&kind.resource_type(), &attributes, desired) => {
                entry.stage = Stage::Done;
                self.write_down(entry).await?;
                Ok(Resolution::Done(Applied::new(place.identity, attributes)))
            }
            None => Ok(Resolution::NotDone),
            // A new object exists in part; the next observation finds it in the ledger.
            Some(_) if was_new => Ok(Resolution::Unknown),
            Some(_) => Ok(Resolution::NotDone),
        }
    }
}
