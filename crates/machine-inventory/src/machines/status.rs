//! The status of an ElementalMachine while it is reconciled.

use jiff::Timestamp;
use serde_json::json;

use crate::api::{ElementalMachine, ElementalMachineStatus, Initialization};
use crate::conditions::{ASSOCIATION_READY, Draft, HOST_READY, PROVIDER_ID_READY};
use crate::context::Context;
use crate::core_api::condition;
use crate::writing::Failure;

/// A status that is being changed.
pub(super) struct Status {
    /// Everything but the conditions.
    pub(super) fields: ElementalMachineStatus,
    /// The conditions.
    pub(super) draft: Draft,
}

impl Status {
    /// The status of a machine as it was read.
    pub(super) fn of(machine: &ElementalMachine) -> Self {
        let fields = machine.status.clone().unwrap_or_default();
        let draft = Draft::new(&fields.conditions, machine.metadata.generation, Timestamp::now());
        Self { fields, draft }
    }

    /// The machine is provisioned. That is never taken back.
    pub(super) fn provisioned(&mut self) {
        self.fields.ready = true;
        self.fields.initialization = Some(Initialization { provisioned: Some(true) });
    }

    /// The machine has failed for good: only its deletion helps.
    pub(super) fn fail(&mut self, reason: &str, message: String) {
        self.draft.set(ASSOCIATION_READY, false, reason, message.clone());
        self.fields.failure_reason = Some(reason.to_owned());
        self.fields.failure_message = Some(message);
    }

    /// Writes the status if it differs.
    pub(super) async fn write(
        mut self,
        context: &Context,
        machine: &ElementalMachine,
    ) -> Result<(), Failure> {
        self.draft.summarise(&[ASSOCIATION_READY, HOST_READY, PROVIDER_ID_READY]);
        self.fields.conditions = self.draft.into_conditions();
        if machine.status.as_ref() != Some(&self.fields) {
            context.patch_status(machine, json!(self.fields)).await?;
        }
        Ok(())
    }
}

/// Whether the bootstrap data of a machine has run, on whatever host. It must not run again.
pub(super) fn has_bootstrapped(machine: &ElementalMachine) -> bool {
    machine.status.as_ref().is_some_and(|status| {
        let host = condition(&status.conditions, HOST_READY);
        status.ready || host.is_some_and(|host| host.status == "True")
    })
}
