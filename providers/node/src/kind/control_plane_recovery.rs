//! The service that brings a self-hosted control plane back when nothing of it runs.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use slipway_resource::{Attribute, Digest, ProviderError, ResourceType, Type, Value};

use super::form::{self, memorise, recall};
use super::{Kind, Place, Work};
use crate::attributes::Attributes;
use crate::disk::Access;
use crate::error::{invalid, permanent};
use crate::ledger::Found;
use crate::own_program::OwnService;
use crate::self_hosted::Settings;
use crate::supervise;

/// The service that looks after self-hosted components, with its settings.
pub(crate) struct ControlPlaneRecovery;

/// The service. It is one of the last processes to be ended when memory runs out.
const SERVICE: OwnService = OwnService {
    name: "slipway-control-plane-recovery",
    description: "Slipway: recovery of a self-hosted control plane",
    verb: "control-plane-recovery",
    restart_seconds: 2,
    unit: "After=network.target\nStartLimitIntervalSec=0\n",
    service: "UMask=0077\nOOMScoreAdjust=-900\n",
    depend: "\tneed net\n",
};

const SETTINGS: &str = "/etc/slipway/control-plane-recovery.json";

/// The settings that the service was started with.
#[derive(Default, Serialize, Deserialize)]
struct Memory {
    started_with: String,
}

#[async_trait]
impl Kind for ControlPlaneRecovery {
    fn resource_type(&self) -> ResourceType {
        form::resource_type(
            "A service of a machine whose control plane runs as DaemonSets: while a component does not run, as after a loss of power, the \
             kubelet starts it from the manifest that was checked last.",
            1_000,
            [(
                "running",
                Attribute::optional(Type::Bool)
                    .default_to(true)
                    .describe("Whether the service runs as it was defined. Not to be set."),
            )],
        )
    }

    fn identity(&self, _: Attributes<'_>) -> Result<String, ProviderError> {
        Ok(SERVICE.name.to_owned())
    }

    async fn look(&self, _: &Work) -> Result<Found, ProviderError> {
        Ok(Found::Nothing)
    }

    async fn make(&self, work: &Work) -> Result<Json, ProviderError> {
        let memory: Memory = recall(work.place.memory()).unwrap_or_default();
        let disk = &work.host().disk;
        let settings = Settings { root: disk.root().path().to_owned() };
        let text = serde_json::to_string_pretty(&settings).map_err(|error| permanent(error.to_string()))?;
        let definition = SERVICE.definition(supervise::of(work.host()), &disk.target(SETTINGS)?)?;
        let with = Digest::of(&(&settings, &definition)).map_err(|error| invalid(error.to_string()))?;
        work.blocking(move |work| work.host().disk.write(SETTINGS, text.as_bytes(), Access::mode(0o600)))
            .await?;
        SERVICE.run(work, &definition, memory.started_with != with.as_str()).await?;
        memorise(&Memory { started_with: with.as_str().to_owned() })
    }

    async fn remove(&self, work: &Work) -> Result<(), ProviderError> {
        SERVICE.remove(work).await?;
        work.blocking(|work| work.host().disk.remove(SETTINGS).map(drop)).await
    }

    async fn read(&self, place: &Place) -> Result<Option<Value>, ProviderError> {
        let disk = &place.host.disk;
        let Some(text) = disk.read_text(SETTINGS)? else { return Ok(None) };
        if serde_json::from_str::<Settings>(&text).is_err() {
            return Ok(None);
        }
        let definition = SERVICE.definition(supervise::of(&place.host), &disk.target(SETTINGS)?)?;
        let is_running = SERVICE.is_running(&place.host, &definition).await?;
        Ok(Some(Value::map([("running", is_running)])))
    }
}
